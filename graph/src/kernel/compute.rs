//! What a model computes, beside its graph: kernels of nodes, contents of weights.
//!
//! Goes in: what a reader knows of a file. Comes out: for every node its parts, or why there are none;
//! for every weight where its bytes are, or how they come about at load.

use super::Part;
use crate::ir::{NodeId, TensorId};
use bayplan_planner::Table;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

bayplan_planner::id_type!(
    /// A constant of a [`Compute`].
    ConstantId
);

/// Why a node cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{op}: {why}")]
pub struct Unsupported {
    /// Its kind.
    pub op: String,
    /// What is missing, in words; "no kernel" where the kind is not known at all.
    pub why: String,
}

/// The parts of a node, in order of execution.
pub type Lowered = Result<Vec<Part>, Unsupported>;

/// Where the bytes of a constant are.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In the model's file.
    File {
        /// First byte.
        offset: u64,
    },
    /// In a file of its own.
    External {
        /// Where it is.
        path: PathBuf,
        /// First byte.
        offset: u64,
    },
    /// Here.
    Bytes(Arc<[u8]>),
    /// Computed at load, in order: the part's positions are into `operands`.
    Computed {
        /// Constants before this one.
        operands: Vec<ConstantId>,
        /// What is computed, in order of execution; each writes result 0.
        parts: Vec<Part>,
    },
    /// Nobody knows how: the operator that makes it has no kernel.
    Unknown(Unsupported),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// For people.
    pub name: String,
    /// How many.
    pub bytes: u64,
    /// Where they are.
    pub source: Source,
}

/// What a model computes.
#[derive(Clone, Debug, Default)]
pub struct Compute {
    /// By node of the graph.
    pub nodes: Table<NodeId, Lowered>,
    /// Every constant; those that are computed come after what they are computed from.
    pub constants: Table<ConstantId, Constant>,
    /// The constant that each weight of the graph is.
    pub weights: BTreeMap<TensorId, ConstantId>,
}
