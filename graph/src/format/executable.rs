//! What graphs of the own format compute.
//!
//! Goes in: a graph file. Comes out: a [`Compute`], and what the file gives its inputs. Operators are those of ONNX, of
//! operator set [`OPSET`], with attributes under their names there; weights and small constants are spelled in `values`.
//! Variables begin as zeros. Planning knows nothing of all this.

mod attributes;
mod promises;
mod values;

use super::file::{GraphFile, OpEntry, TensorEntry};
use super::inline::inline;
use super::onnx::compute::lowered;
use super::own::GraphFileError;
use crate::infer::{Call, Fact};
use crate::ir::{Role, TensorId};
use crate::kernel::{Compute, Constant, Lowered, Part, Source, Target, Unsupported};
use attributes::attributes;
use bayplan_planner::ids::Id;
use promises::{offers, views};
use std::collections::BTreeMap;
use values::{Elements, value_of};

/// The operator set that kinds and attributes are of.
pub const OPSET: i64 = 21;

/// Elements that an input may be given.
const MAX_ELEMENTS: usize = 1 << 28;
/// Elements of weights that rules may look at, over all tensors.
const MAX_KNOWN: u64 = 1 << 22;
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
        Elements::new(values, fact).map_err(no)
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

#[cfg(test)]
mod tests;
