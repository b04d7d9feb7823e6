//! The way to a [`Graph`]: declare tensors, add nodes in order of execution, build.
//!
//! Goes in: names and sizes as a caller or a file has them. Comes out: a verified graph, or every
//! rule that is broken, with names ([`crate::verify`]).
//!
//! # Example
//!
//! ```
//! use bayplan_graph::{GraphBuilder, Role};
//!
//! let mut model = GraphBuilder::new("two layers");
//! let x = model.tensor("x", 1024, Role::Input);
//! let w = model.tensor("w", 65_536, Role::Weight);
//! let h = model.tensor("h", 4096, Role::Activation);
//! let r = model.tensor("r", 4096, Role::Activation);
//! let y = model.tensor("y", 256, Role::Output);
//! model.node("dense", "MatMul", &[x, w], &[h]);
//! model.node("relu", "Relu", &[h], &[r]).in_place(h, r);
//! model.node("head", "Head", &[r], &[y]).scratch(512);
//! let graph = model.build()?;
//! assert_eq!(graph.nodes().len(), 3);
//! # Ok::<(), bayplan_graph::GraphErrors>(())
//! ```

use crate::dtype::DType;
use crate::ir::{Draft, Graph, Node, Role, Tensor, TensorId, View};
use crate::verify::{self, GraphErrors};
use bayplan_planner::Table;

/// Collects a model and verifies it at the end.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    pub(crate) draft: Draft,
}

impl GraphBuilder {
    /// An empty model.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            draft: Draft {
                name: name.into(),
                tensors: Table::new(),
                nodes: Table::new(),
                alignment: 1,
                external_io: false,
            },
        }
    }

    /// Every offset is a multiple of `alignment`.
    pub fn alignment(&mut self, alignment: u64) -> &mut Self {
        self.draft.alignment = alignment;
        self
    }

    /// Inputs and outputs live in the caller's memory.
    pub fn external_io(&mut self, external: bool) -> &mut Self {
        self.draft.external_io = external;
        self
    }

    /// Declares a tensor by its bytes.
    pub fn tensor(&mut self, name: impl Into<String>, bytes: u64, role: Role) -> TensorId {
        self.draft.tensors.push(Tensor {
            name: name.into(),
            bytes,
            dtype: None,
            shape: None,
            role,
            is_output: role == Role::Output,
            keep: false,
            fixed_offset: None,
        })
    }

    /// Declares a dense tensor by element type and shape. Bytes beyond 64 bits are reported by
    /// [`GraphBuilder::build`].
    pub fn shaped(
        &mut self,
        name: impl Into<String>,
        dtype: DType,
        shape: &[u64],
        role: Role,
    ) -> TensorId {
        let bytes = dtype.bytes(shape).unwrap_or(u64::MAX);
        let id = self.tensor(name, bytes, role);
        self.draft.tensors[id].dtype = Some(dtype);
        self.draft.tensors[id].shape = Some(shape.to_vec());
        id
    }

    /// The tensor must survive to the end, whatever its role.
    pub fn output(&mut self, tensor: TensorId) -> &mut Self {
        self.draft.tensors[tensor].is_output = true;
        self
    }

    /// The caller reads this input again after the run.
    pub fn keep(&mut self, tensor: TensorId) -> &mut Self {
        self.draft.tensors[tensor].keep = true;
        self
    }

    /// The tensor's offset is given and may not change.
    pub fn fixed_offset(&mut self, tensor: TensorId, offset: u64) -> &mut Self {
        self.draft.tensors[tensor].fixed_offset = Some(offset);
        self
    }

    /// Adds a node behind all others. What else it does is said on the result.
    pub fn node(
        &mut self,
        name: impl Into<String>,
        op: impl Into<String>,
        inputs: &[TensorId],
        outputs: &[TensorId],
    ) -> NodeBuilder<'_> {
        let id = self.draft.nodes.push(Node {
            name: name.into(),
            op: op.into(),
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: outputs.to_vec(),
            in_place: Vec::new(),
            views: Vec::new(),
            writes: Vec::new(),
            scratch: Vec::new(),
            scope: None,
        });
        NodeBuilder {
            node: &mut self.draft.nodes[id],
        }
    }

    /// Verifies everything.
    pub fn build(self) -> Result<Graph, GraphErrors> {
        verify::verify(&self.draft)?;
        Ok(Graph::assemble(self.draft))
    }
}

/// Says more about the node just added.
pub struct NodeBuilder<'a> {
    pub(crate) node: &'a mut Node,
}

#[expect(
    clippy::return_self_not_must_use,
    reason = "the node is in the model already; a chain ends as a statement"
)]
impl NodeBuilder<'_> {
    /// The kernel may write `output` over `input`, reading each element before it writes it.
    pub fn in_place(self, input: TensorId, output: TensorId) -> Self {
        self.node.in_place.push((input, output));
        self
    }

    /// `output` is `input` under another shape: the same bytes.
    pub fn view(self, input: TensorId, output: TensorId) -> Self {
        self.slice(input, output, 0)
    }

    /// `output` is a contiguous part of `input`, `offset` bytes from its start.
    pub fn slice(self, input: TensorId, output: TensorId, offset: u64) -> Self {
        self.node.views.push(View {
            input,
            output,
            offset,
        });
        self
    }

    /// The node changes `state` in its place.
    pub fn writes(self, state: TensorId) -> Self {
        self.node.writes.push(state);
        self
    }

    /// The node needs `bytes` of scratch while it runs; 0 asks for none.
    pub fn scratch(self, bytes: u64) -> Self {
        if bytes > 0 {
            self.node.scratch.push(bytes);
        }
        self
    }

    /// An optional operand that is absent comes next.
    pub fn absent_input(self) -> Self {
        self.node.inputs.push(None);
        self
    }
}
