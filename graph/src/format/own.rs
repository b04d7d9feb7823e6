//! Reading and writing the own graph format.
//!
//! Goes in: RON or JSON text. Comes out: a [`GraphFile`], and from it a verified [`Graph`]; or an
//! error that names the place. A graph can be written back: its file is canonical, and its hash is
//! what a plan is tied to.

use super::file::{GraphFile, OpEntry, TensorEntry};
use super::inline::inline;
use crate::build::GraphBuilder;
use crate::ir::{Graph, Role, TensorId};
use crate::verify::GraphErrors;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What is wrong with a graph file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphFileError {
    /// Not the format.
    #[error("{message}")]
    Syntax {
        /// 1-based line.
        line: usize,
        /// 1-based column.
        column: usize,
        /// What was found and expected.
        message: String,
    },
    /// Nothing in it.
    #[error("the file is empty: it has no tensors")]
    Empty,
    /// A name that no tensor has.
    #[error("`{op}` names tensor `{tensor}` in `{key}`, which is not declared")]
    UnknownTensor {
        /// The operator, or the graph.
        op: String,
        /// The key.
        key: &'static str,
        /// The name.
        tensor: String,
    },
    /// Neither bytes nor shape.
    #[error(
        "tensor `{tensor}` has no size: it states neither `bytes` nor `dtype` and `shape`{producer}"
    )]
    Unsized {
        /// The tensor.
        tensor: String,
        /// The operator that makes it, in words.
        producer: String,
    },
    /// A shape whose bytes do not fit in 64 bits.
    #[error("the shape of tensor `{tensor}` makes more bytes than 64 bits can count")]
    ShapeOverflow {
        /// The tensor.
        tensor: String,
    },
    /// A call of nothing.
    #[error("`{op}` calls subgraph `{name}`, which is not in the file")]
    UnknownSubgraph {
        /// The operator.
        op: String,
        /// The name.
        name: String,
    },
    /// Two subgraphs with one name.
    #[error("subgraph `{name}` is there twice")]
    DuplicateSubgraph {
        /// The name.
        name: String,
    },
    /// Calls too deep, perhaps recursive.
    #[error(
        "subgraph `{name}` is called more than {limit} calls deep; a graph may not call itself"
    )]
    CallsTooDeep {
        /// The name.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// A key that has no meaning on a call.
    #[error(
        "`{op}` calls a subgraph and states `{key}`; what its operators do is said in the subgraph"
    )]
    CallExtras {
        /// The operator.
        op: String,
        /// The key.
        key: &'static str,
    },
    /// Wrong number of operands or results.
    #[error("`{op}` calls subgraph `{name}` with {found} {what}, which has {expected}")]
    CallArity {
        /// The operator.
        op: String,
        /// The subgraph.
        name: String,
        /// `inputs` or `outputs`.
        what: &'static str,
        /// In the call.
        found: usize,
        /// In the subgraph.
        expected: usize,
    },
    /// A called graph that hands an input on as an output, or binds one name twice.
    #[error(
        "subgraph `{name}` binds `{tensor}` twice (an input handed on as an output needs an operator between)"
    )]
    PassedThrough {
        /// The subgraph.
        name: String,
        /// The tensor.
        tensor: String,
    },
    /// Too many operators.
    #[error("more than {limit} operators after inlining")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The graph breaks rules.
    #[error(transparent)]
    Graph(#[from] GraphErrors),
}

/// RON or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Rusty Object Notation.
    Ron,
    /// JavaScript Object Notation.
    Json,
}

/// Reads a file's text.
pub fn parse(text: &str, syntax: Syntax) -> Result<GraphFile, GraphFileError> {
    if text.trim().is_empty() {
        return Err(GraphFileError::Empty);
    }
    match syntax {
        Syntax::Json => serde_json::from_str(text).map_err(|error| GraphFileError::Syntax {
            line: error.line(),
            column: error.column(),
            message: without_place(&error.to_string()),
        }),
        Syntax::Ron => {
            let extensions = ron::extensions::Extensions::IMPLICIT_SOME;
            let options = ron::Options::default().with_default_extension(extensions);
            options
                .from_str(text)
                .map_err(|error| GraphFileError::Syntax {
                    line: error.span.start.line,
                    column: error.span.start.col,
                    message: error.code.to_string(),
                })
        }
    }
}

/// `serde_json` repeats the place in its message.
fn without_place(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

/// Builds the graph that a file describes. `name` is used where the file has none.
pub fn graph(file: GraphFile, name: &str) -> Result<Graph, GraphFileError> {
    let file = inline(file)?;
    if file.tensors.is_empty() && file.ops.is_empty() {
        return Err(GraphFileError::Empty);
    }
    let name = if file.name.is_empty() {
        name
    } else {
        &file.name
    };
    let mut model = GraphBuilder::new(name);
    model
        .alignment(file.align.unwrap_or(1))
        .external_io(file.external_io);
    let mut ids: BTreeMap<&str, TensorId> = BTreeMap::new();
    for tensor in &file.tensors {
        let id = declare(&mut model, tensor, &file.ops)?;
        // A second tensor of the same name is reported by `verify`.
        ids.entry(&tensor.name).or_insert(id);
    }
    for output in &file.outputs {
        let id = find(&ids, output, "the graph", "outputs")?;
        model.output(id);
    }
    for (index, op) in file.ops.iter().enumerate() {
        add(&mut model, &ids, op, index)?;
    }
    Ok(model.build()?)
}

fn declare(
    model: &mut GraphBuilder,
    tensor: &TensorEntry,
    ops: &[OpEntry],
) -> Result<TensorId, GraphFileError> {
    let computed = match (tensor.dtype, &tensor.shape) {
        (Some(dtype), Some(shape)) => {
            Some(
                dtype
                    .bytes(shape)
                    .ok_or_else(|| GraphFileError::ShapeOverflow {
                        tensor: tensor.name.clone(),
                    })?,
            )
        }
        _ => None,
    };
    let Some(bytes) = tensor.bytes.or(computed) else {
        let producer = ops.iter().find(|op| op.outputs.contains(&tensor.name));
        let producer = producer.map(|op| {
            format!(
                ", and operator `{}` ({}) that makes it does not say",
                op.name,
                op.kind()
            )
        });
        return Err(GraphFileError::Unsized {
            tensor: tensor.name.clone(),
            producer: producer.unwrap_or_default(),
        });
    };
    let id = model.tensor(&*tensor.name, bytes, tensor.kind);
    model.draft.tensors[id].dtype = tensor.dtype;
    model.draft.tensors[id].shape.clone_from(&tensor.shape);
    model.draft.tensors[id].keep = tensor.keep;
    model.draft.tensors[id].fixed_offset = tensor.fixed_offset;
    Ok(id)
}

fn find(
    ids: &BTreeMap<&str, TensorId>,
    tensor: &str,
    op: &str,
    key: &'static str,
) -> Result<TensorId, GraphFileError> {
    ids.get(tensor)
        .copied()
        .ok_or_else(|| GraphFileError::UnknownTensor {
            op: op.to_owned(),
            key,
            tensor: tensor.to_owned(),
        })
}

fn add(
    model: &mut GraphBuilder,
    ids: &BTreeMap<&str, TensorId>,
    op: &OpEntry,
    index: usize,
) -> Result<(), GraphFileError> {
    let name = if op.name.is_empty() {
        format!("{}#{index}", op.kind())
    } else {
        op.name.clone()
    };
    let tensor = |tensor: &String, key| find(ids, tensor, &name, key);
    let mut inputs = Vec::new();
    for input in &op.inputs {
        inputs.push(if input.is_empty() {
            None
        } else {
            Some(tensor(input, "inputs")?)
        });
    }
    let mut outputs = Vec::new();
    let mut writes = Vec::new();
    for output in op.outputs.iter().filter(|output| !output.is_empty()) {
        let id = tensor(output, "outputs")?;
        // A variable listed as a result is changed in its place.
        let list = if model.draft.tensors[id].role == Role::State {
            &mut writes
        } else {
            &mut outputs
        };
        list.push(id);
    }
    for state in &op.writes {
        let id = tensor(state, "writes")?;
        if !writes.contains(&id) {
            writes.push(id);
        }
    }
    let mut in_place = Vec::new();
    for (input, output) in &op.inplace {
        in_place.push((tensor(input, "inplace")?, tensor(output, "inplace")?));
    }
    let mut views = Vec::new();
    let aliases = op.alias.iter().map(|(a, b)| (a, b, 0, "alias"));
    for (input, output, offset, key) in
        aliases.chain(op.slices.iter().map(|(a, b, at)| (a, b, *at, "slices")))
    {
        views.push((tensor(input, key)?, tensor(output, key)?, offset));
    }
    let blocks = std::iter::once(op.scratch_bytes).chain(op.scratch.iter().copied());
    let mut node = model.node(name.clone(), op.kind(), &[], &outputs);
    node.node.inputs = inputs;
    node.node.writes = writes;
    node.node.in_place = in_place;
    node.node.scope.clone_from(&op.scope);
    node.node.scratch = blocks.filter(|&bytes| bytes > 0).collect();
    for (input, output, offset) in views {
        node = node.slice(input, output, offset);
    }
    Ok(())
}

/// The file that describes a graph, canonical: equal graphs have equal files.
pub fn file(graph: &Graph) -> GraphFile {
    let name = |id: TensorId| graph.tensors()[id].name.clone();
    let pairs =
        |list: &[(TensorId, TensorId)]| list.iter().map(|&(a, b)| (name(a), name(b))).collect();
    let tensors = graph.tensors().values().map(|t| TensorEntry {
        name: t.name.clone(),
        bytes: Some(t.bytes),
        kind: t.role,
        dtype: t.dtype,
        shape: t.shape.clone(),
        keep: t.keep,
        fixed_offset: t.fixed_offset,
    });
    let ops = graph.nodes().values().map(|node| OpEntry {
        name: node.name.clone(),
        op: (!node.op.is_empty()).then(|| node.op.clone()),
        inputs: node
            .inputs
            .iter()
            .map(|t| t.map(name).unwrap_or_default())
            .collect(),
        outputs: node.outputs.iter().map(|&t| name(t)).collect(),
        inplace: pairs(&node.in_place),
        slices: node
            .views
            .iter()
            .map(|v| (name(v.input), name(v.output), v.offset))
            .collect(),
        writes: node.writes.iter().map(|&t| name(t)).collect(),
        scratch: node.scratch.clone(),
        scope: node.scope.clone(),
        ..OpEntry::default()
    });
    let listed = graph
        .tensors()
        .values()
        .filter(|t| t.is_output && t.role != Role::Output);
    GraphFile {
        name: graph.name().to_owned(),
        align: (graph.alignment() != 1).then(|| graph.alignment()),
        outputs: listed.map(|t| t.name.clone()).collect(),
        external_io: graph.external_io(),
        tensors: tensors.collect(),
        ops: ops.collect(),
        ..GraphFile::default()
    }
}

/// The file's text.
pub fn text(file: &GraphFile, syntax: Syntax) -> String {
    let mut text = match syntax {
        Syntax::Json => serde_json::to_string_pretty(file).expect("plain data"),
        Syntax::Ron => {
            let pretty = ron::ser::PrettyConfig::new()
                .depth_limit(2)
                .extensions(ron::extensions::Extensions::IMPLICIT_SOME);
            ron::ser::to_string_pretty(file, pretty).expect("plain data")
        }
    };
    text.push('\n');
    text
}

/// SHA-256 over the canonical file without the model's name (a file may be renamed): it changes with
/// any tensor, size, role, operator or edge.
pub fn hash(graph: &Graph) -> String {
    let nameless = GraphFile {
        name: String::new(),
        ..file(graph)
    };
    let canonical = serde_json::to_vec(&nameless).expect("plain data");
    let digest = Sha256::digest(&canonical);
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
