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
use crate::kernel::{Compute, Constant, Lowered, MAX_OPERANDS, Part, Source, Target, Unsupported};
use bayplan_planner::ids::Id;
use std::collections::BTreeMap;

/// The operator set that kinds and attributes are of.
pub const OPSET: i64 = 21;

/// Elements of values that are kept, over all tensors.
const MAX_ELEMENTS: u64 = 1 << 28;

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
        let bytes = reader.bytes(tensor);
        if tensor.kind == Role::Input
            && let Ok(bytes) = &bytes
        {
            inputs.insert(tensor.name.clone(), bytes.clone());
        }
        if tensor.kind != Role::Weight {
            continue;
        }
        let size = tensor
            .bytes
            .or_else(|| Some(fact(tensor)?.bytes()))
            .unwrap_or(0);
        let constant = compute.constants.push(Constant {
            name: tensor.name.clone(),
            bytes: size,
            source: bytes.map_or_else(Source::Unknown, |bytes| Source::Bytes(bytes.into())),
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
        let mut left = MAX_ELEMENTS;
        let mut entry = |tensor: &'f TensorEntry| {
            let fact = fact(tensor)?;
            left = left.checked_sub(fact.elements())?;
            let value = file
                .values
                .get(&tensor.name)
                .filter(|_| tensor.kind == Role::Weight);
            let value = value.and_then(|values| value_of(values, &fact));
            Some(fact.with(value))
        };
        let tensors = file.tensors.iter();
        let tensors = tensors
            .map(|tensor| (&*tensor.name, (tensor, entry(tensor))))
            .collect();
        Self { file, tensors }
    }

    /// The elements that the file gives a tensor.
    fn bytes(&self, tensor: &TensorEntry) -> Result<Vec<u8>, Unsupported> {
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
        let value = value_of(values, fact);
        let value =
            value.ok_or_else(|| no("`values` has another number of elements than its shape"))?;
        encoded(&value, fact.dtype).ok_or_else(|| no("`values` cannot spell elements of its type"))
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
        offers(op, &parts).map_err(no)?;
        self.place(&written, &mut parts);
        Ok(parts)
    }

    /// Results are counted without the variables among them, and variables apart.
    fn place(&self, written: &[&String], parts: &mut [Part]) {
        let is_state = |name: &str| {
            let found = self.tensors.get(name);
            found.is_some_and(|(tensor, _)| tensor.kind == Role::State)
        };
        let (mut results, mut states) = (0, 0);
        let mut targets = Vec::new();
        for name in written {
            let (count, target): (&mut usize, fn(usize) -> Target) = if is_state(name) {
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

/// Every offer is one that the kernel can keep.
fn offers(op: &OpEntry, parts: &[Part]) -> Result<(), String> {
    for (from, to) in &op.inplace {
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
            return Err(format!(
                "its kernel cannot write `{to}` over `{from}`, as `inplace` offers"
            ));
        }
    }
    Ok(())
}

/// The elements, where there are as many as the shape has.
fn value_of(values: &Values, fact: &Fact) -> Option<Value> {
    let count = usize::try_from(fact.elements())
        .ok()
        .filter(|&count| count as u64 <= MAX_ELEMENTS)?;
    let list = match values {
        Values::All(value) => vec![*value; count],
        Values::Each(list) if list.len() == count => list.clone(),
        Values::Each(_) => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "casts from floats saturate"
    )]
    Some(match fact.dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 => Value::Floats(list),
        _ => Value::Ints(list.into_iter().map(|v| v as i64).collect()),
    })
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
