//! Facts about operators that a model file does not state: `--ops FILE.ron`.
//!
//! Goes in: a RON list, one entry for each operator kind. What is said holds for every node of that
//! kind, by position of operands and results:
//!
//! ```ron
//! [
//!     (op: "MyAttention", scratch_bytes: 4096, inplace: [(0, 0)]),
//!     (op: "MyReshape", alias: [(0, 0)], outputs: [Like(0)]),
//!     (op: "MyPool", outputs: [Dense(f32, [1, 7, 7, 1280])]),
//! ]
//! ```

use crate::dtype::DType;
use crate::format::file::{GraphFile, OpEntry};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a result's size follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputShape {
    /// Element type, shape and bytes of the operand at this position.
    Like(usize),
    /// This element type and shape.
    Dense(DType, Vec<u64>),
    /// This many bytes.
    Bytes(u64),
}

/// Facts about one operator kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpFacts {
    /// The kind, compared without regard to case.
    pub op: String,
    /// Scratch bytes while it runs.
    #[serde(default)]
    pub scratch_bytes: u64,
    /// Pairs of positions (operand, result) that the kernel may compute in place.
    #[serde(default)]
    pub inplace: Vec<(usize, usize)>,
    /// Pairs of positions (operand, result): the result is the operand's bytes.
    #[serde(default)]
    pub alias: Vec<(usize, usize)>,
    /// Sizes of results, by position.
    #[serde(default)]
    pub outputs: Vec<OutputShape>,
}

/// Why facts could not be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// The file is not a list of facts.
    #[error("{message}")]
    Syntax {
        /// 1-based.
        line: usize,
        /// 1-based.
        column: usize,
        /// What the reader said.
        message: String,
    },
    /// No node is of this kind.
    #[error("no node is of kind `{op}`; the graph has {kinds}")]
    UnknownOp {
        /// The kind.
        op: String,
        /// The kinds that occur.
        kinds: String,
    },
    /// A position that a node does not have.
    #[error("facts of `{op}` name {what} {position}, but node `{node}` has {count}")]
    Position {
        /// The kind.
        op: String,
        /// The node.
        node: String,
        /// `operand` or `result`.
        what: &'static str,
        /// As given.
        position: usize,
        /// How many there are.
        count: usize,
    },
}

/// Reads a facts file.
pub fn read(text: &str) -> Result<Vec<OpFacts>, FactsError> {
    let options =
        ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    options
        .from_str(text)
        .map_err(|error: ron::error::SpannedError| FactsError::Syntax {
            line: error.span.start.line,
            column: error.span.start.col,
            message: error.code.to_string(),
        })
}

/// Adds what the facts say to every node of their kind.
pub fn apply(file: &mut GraphFile, facts: &[OpFacts]) -> Result<(), FactsError> {
    for fact in facts {
        let mut shapes: BTreeMap<String, OutputShape> = BTreeMap::new();
        let mut any = false;
        for op in file
            .ops
            .iter_mut()
            .chain(file.subgraphs.iter_mut().flat_map(|s| &mut s.ops))
        {
            if op.kind().eq_ignore_ascii_case(&fact.op) {
                any = true;
                apply_to(op, fact, &mut shapes)?;
            }
        }
        if !any {
            let op = fact.op.clone();
            return Err(FactsError::UnknownOp {
                op,
                kinds: kinds(file),
            });
        }
        resolve(file, &shapes);
    }
    Ok(())
}

fn apply_to(
    op: &mut OpEntry,
    fact: &OpFacts,
    shapes: &mut BTreeMap<String, OutputShape>,
) -> Result<(), FactsError> {
    if fact.scratch_bytes > 0 {
        op.scratch.push(fact.scratch_bytes);
    }
    for (pairs, into) in [
        (&fact.inplace, &mut op.inplace),
        (&fact.alias, &mut op.alias),
    ] {
        for &(input, output) in pairs {
            let input = named(&op.inputs, input, "operand", fact, &op.name)?;
            let output = named(&op.outputs, output, "result", fact, &op.name)?;
            if !input.is_empty()
                && !output.is_empty()
                && !into.contains(&(input.clone(), output.clone()))
            {
                into.push((input, output));
            }
        }
    }
    for (position, shape) in fact.outputs.iter().enumerate() {
        let output = named(&op.outputs, position, "result", fact, &op.name)?;
        let shape = match shape {
            OutputShape::Like(input) => {
                named(&op.inputs, *input, "operand", fact, &op.name)?;
                shape.clone()
            }
            _ => shape.clone(),
        };
        shapes.insert(output, shape);
    }
    Ok(())
}

fn named(
    names: &[String],
    position: usize,
    what: &'static str,
    fact: &OpFacts,
    node: &str,
) -> Result<String, FactsError> {
    names
        .get(position)
        .cloned()
        .ok_or_else(|| FactsError::Position {
            op: fact.op.clone(),
            node: node.to_owned(),
            what,
            position,
            count: names.len(),
        })
}

/// Sizes results in order of the file, so that one may be like an earlier result.
fn resolve(file: &mut GraphFile, shapes: &BTreeMap<String, OutputShape>) {
    if shapes.is_empty() {
        return;
    }
    let ops: Vec<OpEntry> = file.ops.clone();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for (position, tensor) in file.tensors.iter().enumerate() {
        index.insert(tensor.name.clone(), position);
    }
    for op in &ops {
        for output in &op.outputs {
            let (Some(shape), Some(&at)) = (shapes.get(output), index.get(output)) else {
                continue;
            };
            let source = match shape {
                OutputShape::Like(input) => op.inputs.get(*input).and_then(|name| index.get(name)),
                _ => None,
            };
            let source = source.map(|&from| file.tensors[from].clone());
            let tensor = &mut file.tensors[at];
            match shape {
                OutputShape::Like(_) => {
                    if let Some(source) = source {
                        tensor.dtype = source.dtype;
                        tensor.shape = source.shape;
                        tensor.bytes = source.bytes;
                    }
                }
                OutputShape::Dense(dtype, dims) => {
                    tensor.dtype = Some(*dtype);
                    tensor.shape = Some(dims.clone());
                    tensor.bytes = None;
                }
                OutputShape::Bytes(bytes) => tensor.bytes = Some(*bytes),
            }
        }
    }
}

fn kinds(file: &GraphFile) -> String {
    let mut kinds: Vec<&str> = file
        .ops
        .iter()
        .map(OpEntry::kind)
        .filter(|k| !k.is_empty())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.is_empty() {
        return "no operator kinds (key `op`)".into();
    }
    let more = kinds.len().saturating_sub(12);
    kinds.truncate(12);
    let listed = kinds.join(", ");
    if more > 0 {
        format!("{listed} and {more} more")
    } else {
        listed
    }
}
