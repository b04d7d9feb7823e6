//! The graph: tensors with roles, nodes in file order, edges.
//!
//! A [`Graph`] comes out of [`crate::GraphBuilder`] (every reader of model files uses it) and holds,
//! from then on: every name resolves; every tensor has known bytes; one producer for each tensor,
//! and for a state one writer for each *version*; file order is an order of execution. How tensors
//! were spelled in their file is no longer known.
//!
//! Edges are kept on petgraph and are private: data edges from producer to reader, and for states
//! edges that keep reads and writes in the order of the file.

use crate::dtype::DType;
use bayplan_planner::Table;
use bayplan_planner::ids::Id;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use serde::{Deserialize, Serialize};

bayplan_planner::id_type!(
    /// A tensor of a [`Graph`].
    TensorId
);
bayplan_planner::id_type!(
    /// A node (an operator at its place in the file) of a [`Graph`].
    NodeId
);

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Given by the caller before the run.
    #[serde(rename = "input")]
    Input,
    /// Read by the caller after the run.
    #[serde(rename = "output")]
    Output,
    /// Constant; never in the arena.
    #[serde(rename = "weight")]
    Weight,
    /// Made and used up within the run.
    #[serde(rename = "temp")]
    Activation,
    /// Kept from one run to the next, changed by nodes that write it.
    #[serde(rename = "variable")]
    State,
}

impl Role {
    /// All roles, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Input,
        Self::Output,
        Self::Activation,
        Self::State,
        Self::Weight,
    ];

    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Weight => "weight",
            Self::Activation => "activation",
            Self::State => "state",
        }
    }
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Unique in its graph.
    pub name: String,
    /// Bytes of its contents.
    pub bytes: u64,
    /// Element type, where known.
    pub dtype: Option<DType>,
    /// Dimensions, where known.
    pub shape: Option<Vec<u64>>,
    /// What it is for.
    pub role: Role,
    /// Must survive to the end of the run: an output, also one that is an input or intermediate.
    pub is_output: bool,
    /// An input that the caller reads again after the run.
    pub keep: bool,
    /// A given offset.
    pub fixed_offset: Option<u64>,
}

/// A fact: `output` is the bytes `offset..offset + output.bytes` of `input` under another shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Whose bytes.
    pub input: TensorId,
    /// The view.
    pub output: TensorId,
    /// Where in the input it begins.
    pub offset: u64,
}

/// An operator at its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// For people; need not be unique.
    pub name: String,
    /// Operator kind, free text.
    pub op: String,
    /// Operands in order; `None` where an optional one is absent.
    pub inputs: Vec<Option<TensorId>>,
    /// Results in order. States are not results; see `writes`.
    pub outputs: Vec<TensorId>,
    /// Offers: the kernel may write `.1` over `.0`, reading each element before it writes it.
    pub in_place: Vec<(TensorId, TensorId)>,
    /// Results that are bytes of an operand.
    pub views: Vec<View>,
    /// States that it changes in their place.
    pub writes: Vec<TensorId>,
    /// Scratch blocks, bytes each.
    pub scratch: Vec<u64>,
    /// The subgraph call that it was inlined from, if any.
    pub scope: Option<String>,
}

impl Node {
    /// Operands that are present.
    pub fn operands(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.inputs.iter().flatten().copied()
    }
}

/// Why one node must run before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// The second reads what the first makes.
    Data(TensorId),
    /// Both touch this state, at least one of them writes it.
    State(TensorId),
}

/// What a builder collected: the parts of a graph before they are verified.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) tensors: Table<TensorId, Tensor>,
    pub(crate) nodes: Table<NodeId, Node>,
    pub(crate) alignment: u64,
    pub(crate) external_io: bool,
}

/// A model: tensors, nodes, edges.
#[derive(Clone, Debug)]
pub struct Graph {
    name: String,
    tensors: Table<TensorId, Tensor>,
    nodes: Table<NodeId, Node>,
    alignment: u64,
    external_io: bool,
    producers: Table<TensorId, Option<NodeId>>,
    readers: Table<TensorId, Vec<NodeId>>,
    writers: Table<TensorId, Vec<NodeId>>,
    edges: DiGraph<(), Dependency>,
}

impl Graph {
    /// Only for the builder, after verification.
    pub(crate) fn assemble(draft: Draft) -> Self {
        let tensors = draft.tensors.len();
        let mut graph = Self {
            name: draft.name,
            producers: Table::filled(None, tensors),
            readers: Table::filled(Vec::new(), tensors),
            writers: Table::filled(Vec::new(), tensors),
            tensors: draft.tensors,
            nodes: draft.nodes,
            alignment: draft.alignment,
            external_io: draft.external_io,
            edges: DiGraph::new(),
        };
        graph.link();
        graph
    }

    fn link(&mut self) {
        for (id, node) in self.nodes.iter() {
            self.edges.add_node(());
            node.outputs
                .iter()
                .for_each(|&t| self.producers[t] = Some(id));
            for tensor in node.operands() {
                if self.readers[tensor].last() != Some(&id) {
                    self.readers[tensor].push(id);
                }
            }
            node.writes.iter().for_each(|&t| self.writers[t].push(id));
        }
        let index = |node: NodeId| NodeIndex::new(node.index());
        for (tensor, readers) in self.readers.iter() {
            if let Some(producer) = self.producers[tensor] {
                for &reader in readers {
                    self.edges
                        .add_edge(index(producer), index(reader), Dependency::Data(tensor));
                }
            }
            for (first, second) in state_order(readers, &self.writers[tensor]) {
                self.edges
                    .add_edge(index(first), index(second), Dependency::State(tensor));
            }
        }
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All tensors, in file order.
    pub fn tensors(&self) -> &Table<TensorId, Tensor> {
        &self.tensors
    }

    /// All nodes, in file order.
    pub fn nodes(&self) -> &Table<NodeId, Node> {
        &self.nodes
    }

    /// Alignment that the graph asks for; 1 where it says nothing.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Whether inputs and outputs live in the caller's memory.
    pub fn external_io(&self) -> bool {
        self.external_io
    }

    /// The node that makes a tensor; none for inputs, weights and states.
    pub fn producer(&self, tensor: TensorId) -> Option<NodeId> {
        self.producers[tensor]
    }

    /// The nodes that read a tensor, in file order, each once.
    pub fn readers(&self, tensor: TensorId) -> &[NodeId] {
        &self.readers[tensor]
    }

    /// The nodes that write a state, in file order: writer number v makes version v + 1.
    pub fn writers(&self, state: TensorId) -> &[NodeId] {
        &self.writers[state]
    }

    /// The version of `state` that `node` reads: how many writers come before it in the file.
    pub fn version_read(&self, node: NodeId, state: TensorId) -> usize {
        self.writers[state].partition_point(|&writer| writer < node)
    }

    /// Every pair of nodes that may not change places, with the reason.
    pub fn dependencies(&self) -> impl Iterator<Item = (NodeId, NodeId, Dependency)> + '_ {
        let id = |index: NodeIndex| NodeId::from_index(index.index());
        self.edges
            .edge_references()
            .map(move |e| (id(e.source()), id(e.target()), *e.weight()))
    }

    /// Whether a tensor lives in the caller's memory.
    pub fn is_external(&self, tensor: TensorId) -> bool {
        let tensor = &self.tensors[tensor];
        self.external_io && (matches!(tensor.role, Role::Input | Role::Output) || tensor.is_output)
    }

    /// Bytes of the weights that some node reads (or that are outputs), and of those that none does.
    pub fn weight_bytes(&self) -> (u64, u64) {
        let (mut used, mut unused) = (0_u64, 0_u64);
        for (id, tensor) in self.tensors.iter().filter(|(_, t)| t.role == Role::Weight) {
            let idle = self.readers[id].is_empty() && !tensor.is_output;
            let sum = if idle { &mut unused } else { &mut used };
            *sum = sum.saturating_add(tensor.bytes);
        }
        (used, unused)
    }
}

/// Edges that keep the accesses of one state in file order: every read after the write before it
/// and before the write after it, and the writes in their order.
fn state_order(readers: &[NodeId], writers: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let mut edges: Vec<(NodeId, NodeId)> =
        writers.windows(2).map(|pair| (pair[0], pair[1])).collect();
    for &reader in readers {
        let next = writers.partition_point(|&writer| writer < reader);
        if let Some(&before) = next.checked_sub(1).and_then(|index| writers.get(index)) {
            edges.push((before, reader));
        }
        if let Some(&after) = writers[next..].iter().find(|&&writer| writer != reader) {
            edges.push((reader, after));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_of_a_state_keep_their_order() {
        let node = NodeId::from_index;
        let readers = [node(0), node(2), node(3)];
        let writers = [node(1), node(3)];
        let edges = state_order(&readers, &writers);
        let expected = [(1, 3), (0, 1), (1, 2), (2, 3), (1, 3)];
        assert_eq!(edges, expected.map(|(a, b)| (node(a), node(b))));
    }
}
