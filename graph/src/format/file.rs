//! The own graph format: the types of a file, the same for RON and JSON.
//!
//! ```json
//! {"tensors":[{"name":"x","bytes":1024,"kind":"input"}, …],
//!  "ops":[{"name":"relu","inputs":["a"],"outputs":["b"],"inplace":[["a","b"]],"scratch_bytes":0}, …]}
//! ```
//!
//! `docs/graph-format.md` lists every key. Unknown keys are refused, so that a misspelt one is not
//! silently ignored.

use crate::dtype::DType;
use crate::ir::Role;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A graph file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphFile {
    /// The model's name; the file's name where absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Alignment of every offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<u64>,
    /// Names that must survive to the end, beside tensors of kind output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Inputs and outputs live in the caller's memory.
    #[serde(default, skip_serializing_if = "is_false")]
    pub external_io: bool,
    /// For executors: elements of tensors, row by row; one number stands for all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Values>,
    /// For executors: what operators without a kind do with all of their operands, element by element: `add` or `multiply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elementwise: Option<String>,
    /// The tensors.
    #[serde(default)]
    pub tensors: Vec<TensorEntry>,
    /// The operators, in order of execution.
    #[serde(default)]
    pub ops: Vec<OpEntry>,
    /// Graphs that operators call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subgraphs: Vec<SubgraphEntry>,
}

/// Elements of a tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// Every element.
    All(f64),
    /// Each element.
    Each(Vec<f64>),
}

/// A tensor of a graph file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorEntry {
    /// Unique name.
    pub name: String,
    /// Bytes; may be left out where `dtype` and `shape` say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What it is for.
    pub kind: Role,
    /// Element type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<DType>,
    /// Dimensions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// An input that the caller reads again after the run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep: bool,
    /// A given offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_offset: Option<u64>,
}

/// An operator of a graph file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpEntry {
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Operator kind, free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// Operands; `""` where an optional one is absent.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Results.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// Offers: the kernel may write the second over the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inplace: Vec<(String, String)>,
    /// Facts: the second is the first under another shape, the same bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alias: Vec<(String, String)>,
    /// Facts: the second is the bytes of the first from this byte on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<(String, String, u64)>,
    /// Variables that it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Scratch bytes while it runs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub scratch_bytes: u64,
    /// Further scratch blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scratch: Vec<u64>,
    /// The subgraph that it runs: operands and results are bound in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The call that it was inlined from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// For executors: attributes of the kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
}

impl OpEntry {
    /// The operator kind, `""` where not said.
    pub fn kind(&self) -> &str {
        self.op.as_deref().unwrap_or("")
    }
}

/// A graph that operators call. Its tensors of kind input and output are bound to the caller's
/// operands and results in the order of `inputs` and `outputs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubgraphEntry {
    /// Name that `call` uses.
    pub name: String,
    /// Bound to the caller's operands, in order.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Bound to the caller's results, in order.
    #[serde(default)]
    pub outputs: Vec<String>,
    /// Its tensors.
    #[serde(default)]
    pub tensors: Vec<TensorEntry>,
    /// Its operators, in order of execution.
    #[serde(default)]
    pub ops: Vec<OpEntry>,
}

// serde hands the fields by reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
