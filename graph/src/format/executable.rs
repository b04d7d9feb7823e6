//! What graphs of the own format compute.
//!
//! Goes in: a graph file. Comes out: a [`Compute`], and what the file gives its inputs. Operators are those of ONNX, of
//! operator set [`OPSET`], with attributes under their names there; weights and small constants are spelled in `values`.
//! Variables begin as zeros. Planning knows nothing of all this.

use super::file::{GraphFile, OpEntry, TensorEntry, Values};
use super::inline::inline;
use super::onnx::compute::{encode::encoded, lowered};
use super::own::GraphFileError;
use crate::dtype::DType;
use crate::infer::{Attr, Attrs, Call, Fact, Value};
use crate::ir::{Role, TensorId};
use crate::kernel::{
    Compute, Constant, Kernel, Lowered, MAX_OPERANDS, Part, Rearrange, Source, Target, Unsupported,
};
use bayplan_planner::ids::Id;
use std::collections::BTreeMap;

/// The operator set that kinds and attributes are of.
pub const OPSET: i64 = 21;

/// Elements that an input may be given.
const MAX_ELEMENTS: usize = 1 << 28;
/// Elements of weights that rules may look at, over all tensors.
const MAX_KNOWN: u64 = 1 << 22;
/// A weight of so many elements, all of one value, is filled at load.
const FILLED: usize = 1 << 12;

/// What a graph computes.
#[derive(Clone, Debug)]
pub struct Executable {
    /// Kernels and weights.
    pub compute: Compute,
    /// What the file gives inputs, by name.
    pub inputs: BTreeMap<String, Vec<u8>>,
}

/// Reads what a file says for executors. The tensors and nodes are those of the graph that the file describes.
pub fn executable(file: GraphFile) -> Result<Executable, GraphFileError> {
    let file = inline(file)?;
    let reader = Reader::new(&file);
    let mut compute = Compute {
        nodes: file.ops.iter().map(|op| reader.node(op)).collect(),
        ..Compute::default()
    };
    let mut inputs = BTreeMap::new();
    for (index, tensor) in file.tensors.iter().enumerate() {
        if tensor.kind == Role::Input
            && let Ok(elements) = reader.elements(tensor)
            && elements.count <= MAX_ELEMENTS
        {
            inputs.insert(tensor.name.clone(), elements.bytes.repeat(elements.count));
        }
        if tensor.kind != Role::Weight {
            continue;
        }
        let source = match reader.elements(tensor) {
            Ok(elements) => elements.source(&tensor.name, &mut compute),
            Err(why) => Source::Unknown(why),
        };
        let size = tensor
            .bytes
            .or_else(|| Some(fact(tensor)?.bytes()))
            .unwrap_or(0);
        let constant = compute.constants.push(Constant {
            name: tensor.name.clone(),
            bytes: size,
            source,
        });
        compute
            .weights
            .insert(TensorId::from_index(index), constant);
    }
    Ok(Executable { compute, inputs })
}

/// Tensors of a file by name.
struct Reader<'f> {
    file: &'f GraphFile,
    tensors: BTreeMap<&'f str, (&'f TensorEntry, Option<Fact>)>,
}

/// Type and shape, where both are stated and sound.
fn fact(tensor: &TensorEntry) -> Option<Fact> {
    let fact = Fact::new(tensor.dtype?, tensor.shape.clone()?).ok()?;
    let agrees = tensor.bytes.is_none_or(|bytes| bytes == fact.bytes());
    agrees.then_some(fact)
}

impl<'f> Reader<'f> {
    fn new(file: &'f GraphFile) -> Self {
        let mut left = MAX_KNOWN;
        let mut entry = |tensor: &'f TensorEntry| {
            let fact = fact(tensor)?;
            let values = file
                .values
                .get(&tensor.name)
                .filter(|_| tensor.kind == Role::Weight);
            let value = values.and_then(|values| {
                let rest = left.checked_sub(fact.elements())?;
                let value = value_of(values, &fact)?;
                left = rest;
                Some(value)
            });
            Some(fact.with(value))
        };
        let tensors = file.tensors.iter();
        let tensors = tensors
            .map(|tensor| (&*tensor.name, (tensor, entry(tensor))))
            .collect();
        Self { file, tensors }
    }

    /// The elements that the file gives a tensor.
    fn elements(&self, tensor: &TensorEntry) -> Result<Elements, Unsupported> {
        let no = |why: &str| Unsupported {
            op: "constant".into(),
            why: why.to_owned(),
        };
        let values = self.file.values.get(&tensor.name);
        let values = values.ok_or_else(|| no("the file gives it no `values`"))?;
        let known = self
            .tensors
            .get(&*tensor.name)
            .and_then(|(_, fact)| fact.as_ref());
        let fact = known.ok_or_else(|| no("`values` need `dtype` and `shape`"))?;
        let count = usize::try_from(fact.elements());
        let count = count.map_err(|_| no("it has more elements than this machine can address"))?;
        let (list, count) = match values {
            Values::All(value) => (std::slice::from_ref(value), count),
            Values::Each(list) if list.len() == count => (&list[..], 1),
            Values::Each(_) => {
                return Err(no("`values` has another number of elements than its shape"));
            }
        };
        let bytes = encoded(&rounded(list, fact.dtype), fact.dtype);
        let bytes = bytes.ok_or_else(|| no("`values` cannot spell elements of its type"))?;
        Ok(Elements { bytes, count })
    }

    fn node(&self, op: &OpEntry) -> Lowered {
        let kind = match (op.kind(), self.file.elementwise.as_deref()) {
            ("", Some("multiply")) if op.inputs.len() == 1 => "Identity",
            ("", Some("multiply")) => "Mul",
            ("", Some("add")) => "Sum",
            (kind, _) => kind,
        };
        let no = |why: String| Unsupported {
            op: kind.to_owned(),
            why,
        };
        if kind.is_empty() {
            return Err(no("the file does not say what it computes (`op`)".into()));
        }
        let stated = |name: &String| {
            let found = self
                .tensors
                .get(&**name)
                .and_then(|(_, fact)| fact.as_ref());
            found.ok_or_else(|| no(format!("`{name}` states no `dtype` and `shape`")))
        };
        let mut operands = Vec::new();
        for name in &op.inputs {
            operands.push(if name.is_empty() {
                None
            } else {
                Some(stated(name)?)
            });
        }
        let written: Vec<&String> = op
            .outputs
            .iter()
            .chain(&op.writes)
            .filter(|name| !name.is_empty())
            .collect();
        let results = written
            .iter()
            .map(|name| stated(name))
            .collect::<Result<Vec<&Fact>, _>>()?;
        let attrs = attributes(op).map_err(|name| {
            no(format!(
                "attribute `{name}` is no number, text or list of numbers"
            ))
        })?;
        let call = Call {
            op: kind,
            opset: OPSET,
            inputs: &operands,
            attrs: &attrs,
            outputs: results.len(),
            fold_limit: 0,
        };
        let mut parts = lowered(call, &results)?;
        let states: Vec<&String> = written
            .iter()
            .copied()
            .filter(|name| self.is_state(name))
            .collect();
        views(op, &parts).map_err(no)?;
        offers(op, &parts, &states).map_err(no)?;
        self.place(&written, &mut parts);
        Ok(parts)
    }

    fn is_state(&self, name: &str) -> bool {
        let found = self.tensors.get(name);
        found.is_some_and(|(tensor, _)| tensor.kind == Role::State)
    }

    /// Results are counted without the variables among them, and variables apart.
    fn place(&self, written: &[&String], parts: &mut [Part]) {
        let (mut results, mut states) = (0, 0);
        let mut targets = Vec::new();
        for name in written {
            let (count, target): (&mut usize, fn(usize) -> Target) = if self.is_state(name) {
                (&mut states, Target::State)
            } else {
                (&mut results, Target::Result)
            };
            targets.push(target(*count));
            *count += 1;
        }
        for part in parts {
            if let Target::Result(at) = part.write {
                part.write = targets[at];
            }
        }
    }
}

/// Bytes, so many times.
struct Elements {
    bytes: Vec<u8>,
    count: usize,
}

impl Elements {
    /// Where a weight's bytes are; a large one of a single value is filled at load.
    fn source(self, name: &str, compute: &mut Compute) -> Source {
        if self.count <= FILLED {
            return Source::Bytes(self.bytes.repeat(self.count).into());
        }
        let moves = Rearrange::strided(self.bytes.len(), &[self.count], &[0], 0);
        let element = compute.constants.push(Constant {
            name: format!("{name}/element"),
            bytes: self.bytes.len() as u64,
            source: Source::Bytes(self.bytes.into()),
        });
        Source::Computed {
            operands: vec![element],
            parts: vec![Part::simple(Kernel::Rearrange(moves), 1)],
        }
    }
}

/// Every view shows what the kernel makes.
fn views(op: &OpEntry, parts: &[Part]) -> Result<(), String> {
    let aliases = op.alias.iter().map(|(from, to)| (from, to, 0));
    let slices = op.slices.iter().map(|(from, to, at)| (from, to, *at));
    for (from, to, offset) in aliases.chain(slices) {
        let Some(at) = op.outputs.iter().position(|name| name == to) else {
            continue; // refused by the graph
        };
        let shows = |part: &Part| match part.reads[..] {
            [read] => op.inputs.get(read) == Some(from) && part.kernel.is_window(offset),
            _ => false,
        };
        let mut own = parts.iter().filter(|part| part.write == Target::Result(at));
        if !own.all(shows) {
            return Err(format!(
                "its kernel does more than to view `{to}` in `{from}`, as `alias` or `slices` says"
            ));
        }
    }
    Ok(())
}

/// Every offer is one that the kernel can keep; a variable that is read and written is one as well.
fn offers(op: &OpEntry, parts: &[Part], states: &[&String]) -> Result<(), String> {
    let changed = states.iter().map(|name| (*name, *name));
    let offered = op.inplace.iter().map(|(from, to)| (from, to));
    for (from, to) in offered.chain(changed) {
        let positions = op.inputs.iter().take(MAX_OPERANDS).enumerate();
        let mut positions = positions
            .filter(|(_, name)| *name == from)
            .map(|(at, _)| at);
        let keeps = |at: usize| match parts {
            [] => true,
            [part] => {
                let mut reads = part.reads.iter().enumerate();
                reads.all(|(place, &read)| read != at || part.kernel.in_place(place))
            }
            _ => false,
        };
        if !positions.all(keeps) {
            return Err(if from == to {
                format!("its kernel cannot write the variable `{to}` while it reads it")
            } else {
                format!("its kernel cannot write `{to}` over `{from}`, as `inplace` offers")
            });
        }
    }
    Ok(())
}

/// The elements, where there are as many as the shape has.
fn value_of(values: &Values, fact: &Fact) -> Option<Value> {
    let count = usize::try_from(fact.elements()).ok()?;
    match values {
        Values::All(value) => Some(rounded(&vec![*value; count], fact.dtype)),
        Values::Each(list) if list.len() == count => Some(rounded(list, fact.dtype)),
        Values::Each(_) => None,
    }
}

/// Numbers of a file as elements of this type.
fn rounded(list: &[f64], dtype: DType) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "casts from floats saturate"
    )]
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 => Value::Floats(list.to_vec()),
        _ => Value::Ints(list.iter().map(|&v| v as i64).collect()),
    }
}

/// Attributes as rules know them; or the name of one that none would.
fn attributes(op: &OpEntry) -> Result<Attrs, String> {
    use serde_json::Value as Json;
    let attr = |json: &Json| match json {
        Json::Bool(flag) => Some(Attr::Int(i64::from(*flag))),
        Json::Number(number) => number
            .as_i64()
            .map(Attr::Int)
            .or_else(|| number.as_f64().map(Attr::Float)),
        Json::String(text) => Some(Attr::Text(text.clone())),
        Json::Array(list) => {
            let ints: Option<Vec<i64>> = list.iter().map(Json::as_i64).collect();
            let floats = || list.iter().map(Json::as_f64).collect::<Option<Vec<f64>>>();
            ints.map(Attr::Ints).or_else(|| floats().map(Attr::Floats))
        }
        _ => None,
    };
    let each = op.attributes.iter();
    let each = each.map(|(name, json)| match attr(json) {
        Some(attr) => Ok((name.clone(), attr)),
        None => Err(name.clone()),
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::super::own::{Syntax, graph, parse};
    use super::*;

    fn read(text: &str) -> Executable {
        let file = parse(text, Syntax::Json).unwrap();
        graph(file.clone(), "test").unwrap();
        executable(file).unwrap()
    }

    const HEAD: &str = r#""tensors":[
        {"name":"x","kind":"input","dtype":"f32","shape":[2]},
        {"name":"w","kind":"weight","dtype":"f32","shape":[2]},
        {"name":"s","kind":"variable","dtype":"f32","shape":[2]},
        {"name":"y","kind":"output","dtype":"f32","shape":[2]}]"#;

    #[test]
    fn operators_are_those_of_onnx() {
        let text = format!(
            r#"{{{HEAD},"values":{{"w":[1,2.5],"x":3}},"ops":[
            {{"op":"Add","inputs":["x","w"],"outputs":["y"],"inplace":[["x","y"]]}},
            {{"op":"Identity","inputs":["y"],"writes":["s"]}}]}}"#
        );
        let found = read(&text);
        let nodes: Vec<_> = found
            .compute
            .nodes
            .values()
            .map(|node| node.as_ref().unwrap())
            .collect();
        assert_eq!(
            (nodes[0].len(), nodes[0][0].kernel.name(), nodes[0][0].write),
            (1, "add", Target::Result(0))
        );
        assert_eq!(
            (nodes[1][0].kernel.name(), nodes[1][0].write),
            ("copy", Target::State(0))
        );
        let bytes: Vec<u8> = [1.0_f32, 2.5]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let constant = found.compute.constants.values().next().unwrap();
        assert_eq!(constant.source, Source::Bytes(bytes.into()));
        assert_eq!(
            found.inputs["x"],
            [3.0_f32, 3.0]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        for (values, op, why) in [
            (
                "{}",
                r#"{"inputs":["x","w"],"outputs":["y"]}"#,
                "the file does not say what it computes (`op`)",
            ),
            (
                "{}",
                r#"{"op":"Fancy","inputs":["x"],"outputs":["y"]}"#,
                "no kernel",
            ),
            (
                "{}",
                r#"{"op":"LeakyRelu","inputs":["x"],"outputs":["y"],"attributes":{"alpha":{}}}"#,
                "attribute `alpha` is no number, text or list of numbers",
            ),
            (
                "{}",
                r#"{"op":"Reshape","inputs":["x","w"],"outputs":["y"]}"#,
                "",
            ),
        ] {
            let found = read(&format!(r#"{{{HEAD},"values":{values},"ops":[{op}]}}"#));
            let node = found.compute.nodes.values().next().unwrap();
            if !why.is_empty() {
                assert_eq!(node.as_ref().unwrap_err().why, why, "{op}");
            }
            let constant = found.compute.constants.values().next().unwrap();
            assert!(
                matches!(&constant.source, Source::Unknown(no) if no.why == "the file gives it no `values`")
            );
        }
    }

    #[test]
    fn what_the_kernel_does_not_do_is_refused() {
        for (op, why) in [
            (
                r#"{"op":"Relu","inputs":["x"],"outputs":["y"],"alias":[["x","y"]]}"#,
                "its kernel does more than to view `y` in `x`, as `alias` or `slices` says",
            ),
            (
                r#"{"op":"MatMul","inputs":["s","w"],"outputs":["s"]}"#,
                "its kernel cannot write the variable `s` while it reads it",
            ),
        ] {
            let head = HEAD.replace(
                r#""s","kind":"variable","dtype":"f32","shape":[2]"#,
                r#""s","kind":"variable","dtype":"f32","shape":[2,2]"#,
            );
            let head = head.replace(
                r#""w","kind":"weight","dtype":"f32","shape":[2]"#,
                r#""w","kind":"weight","dtype":"f32","shape":[2,2]"#,
            );
            let copied = r#"{"op":"Identity","inputs":["x"],"outputs":["y"],"alias":[["x","y"]]}"#;
            let ops = if op.contains("MatMul") {
                format!("{op},{copied}")
            } else {
                op.to_owned()
            };
            let found = read(&format!(r#"{{{head},"ops":[{ops}]}}"#));
            let nodes: Vec<_> = found.compute.nodes.values().collect();
            assert_eq!(nodes[0].as_ref().unwrap_err().why, why);
            assert!(nodes[1..].iter().all(|node| node.is_ok()));
        }
    }

    #[test]
    fn stated_results_are_those_of_the_operator() {
        for (op, why) in [
            (
                r#"{"op":"Shape","inputs":["x"],"outputs":["y"]}"#,
                "it makes i64 [1], not f32 [2]",
            ),
            (
                r#"{"op":"Concat","inputs":["x","x"],"outputs":["y"],"attributes":{"axis":0}}"#,
                "it makes f32 [4], not f32 [2]",
            ),
            (
                r#"{"op":"Concat","inputs":["x","x"],"outputs":["y"],"attributes":{"axis":1}}"#,
                "axis 1 of a tensor of rank 1",
            ),
        ] {
            let found = read(&format!(r#"{{{HEAD},"ops":[{op}]}}"#));
            let node = found.compute.nodes.values().next().unwrap();
            assert_eq!(node.as_ref().unwrap_err().why, why);
        }
    }

    #[test]
    fn one_value_for_a_large_weight_takes_no_room() {
        let text = r#"{"tensors":[
            {"name":"w","kind":"weight","dtype":"f32","shape":[1099511627776]},
            {"name":"y","kind":"output","dtype":"f32","shape":[1099511627776]}],
            "values":{"w":2},"ops":[{"op":"Neg","inputs":["w"],"outputs":["y"]}]}"#;
        let found = read(text);
        assert!(found.compute.nodes.values().next().unwrap().is_ok());
        let sizes: Vec<u64> = found.compute.constants.values().map(|c| c.bytes).collect();
        assert_eq!(sizes, [4, 1 << 42]);
    }

    #[test]
    fn an_offer_that_the_kernel_cannot_keep_is_refused() {
        let text = r#"{"tensors":[
            {"name":"x","kind":"input","dtype":"f32","shape":[2,2]},
            {"name":"y","kind":"output","dtype":"f32","shape":[2,2]}],
            "ops":[{"op":"Transpose","inputs":["x"],"outputs":["y"],"inplace":[["x","y"]]}]}"#;
        let found = read(text);
        let why = &found
            .compute
            .nodes
            .values()
            .next()
            .unwrap()
            .as_ref()
            .unwrap_err()
            .why;
        assert_eq!(
            why,
            "its kernel cannot write `y` over `x`, as `inplace` offers"
        );
    }
}
