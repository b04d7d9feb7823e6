//! What a read model consists of.

use super::offline::{OfflinePlan, OfflinePlanError};
use crate::format::bodies::{Bodies, OpaqueBodies};
use crate::ir::{Graph, NodeId, TensorId};
use crate::profile::Profile;
use bayplan_planner::Table;
use std::ops::Range;

/// Whose kernels run the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// Unknown ones: no scratch but what the file declares; constants are folded at load.
    #[default]
    Unknown,
    /// The reference kernels of `TFLite` Micro: nodes carry the scratch that these ask for, and what
    /// computes constants is a node like any other.
    Micro,
    /// The reference kernels of `LiteRT`: nodes carry the temporaries that decide arenas.
    LiteRt,
}

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Branches and loops.
    pub bodies: Bodies,
    /// Alignment that the graph asks for.
    pub alignment: u64,
    /// What nodes need beside their tensors.
    pub kernels: Kernels,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            bodies: Bodies::Inline,
            alignment: Profile::bayplan().alignment,
            kernels: Kernels::Unknown,
        }
    }
}

/// An operator's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index of its subgraph.
    pub subgraph: usize,
    /// Its position there.
    pub operator: usize,
}

/// A metadata entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Its name.
    pub name: String,
    /// The buffer with its contents.
    pub buffer: usize,
    /// Its contents, as bytes of the file.
    pub range: Range<usize>,
}

/// A model that was read.
#[derive(Clone, Debug)]
pub struct TfliteModel {
    /// The main subgraph, with those that it runs inlined.
    pub graph: Graph,
    /// Where each node stands in the file; several may belong to one branch or loop.
    pub operators: Table<NodeId, Place>,
    /// By subgraph and index in the file: the tensor. Nothing for tensors of subgraphs that are not
    /// part of the graph; of a subgraph inlined twice, those of the first time. Tensor i of subgraph
    /// 0 is tensor i of the graph.
    pub tensors: Vec<Vec<Option<TensorId>>>,
    /// Where the contents of constants stand in the file; nothing for all else.
    pub data: Table<TensorId, Option<Range<usize>>>,
    /// Resource variables by name, as states of the graph.
    pub variables: Vec<(String, TensorId)>,
    /// Operators computed at load: their results are weights without data in the file.
    pub folded: Vec<Place>,
    /// Nodes whose bodies are not planned ([`Bodies::Apart`]).
    pub opaque: Vec<OpaqueBodies>,
    /// Operands of custom operators that are their scratch, with bytes.
    pub workspaces: Vec<(NodeId, TensorId)>,
    /// Nodes whose kernels may need scratch that is not known, for [`Kernels::Micro`].
    pub scratch_unknown: Vec<NodeId>,
    /// Every metadata entry.
    pub metadata: Vec<Metadata>,
    /// The plan that the file carries, or why it is none.
    pub offline: Option<Result<OfflinePlan, OfflinePlanError>>,
}
