//! Why sharing was refused, as data and in words.

use crate::ir::{Graph, NodeId, TensorId};

/// Why sharing was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Views or in-place are switched off.
    SwitchedOff,
    /// The class holds a constant.
    IsConstant,
    /// The class holds this input, which lives through the whole run.
    IsInput(TensorId),
    /// The class holds this graph output or kept input, whose contents must survive.
    MustSurvive(TensorId),
    /// The class holds this state, and the node does not declare to update it.
    IsState(TensorId),
    /// A node that runs later still reads this member.
    StillReadBy(NodeId, TensorId),
    /// Another operand of the node lies in the bytes to be written.
    OtherOperand(TensorId),
    /// The output is larger than the input.
    Larger,
    /// Elements differ in size.
    ElementSize,
    /// Another result of the node has the bytes.
    TakenBy(TensorId),
    /// The output already shares with this tensor.
    AlreadyShares(TensorId),
    /// One of them lives in the caller's memory.
    External,
    /// Given offsets do not agree.
    FixedElsewhere,
    /// The state is written by this node while the view is still needed: it must be a copy.
    StateWritten(NodeId),
    /// The slice does not start at a multiple of the alignment.
    Misaligned,
    /// Allowed, but the plan without any in-place is lower.
    RaisesPeak,
    /// The stock planner's rule does not take it.
    StockRule,
}

impl Reason {
    /// The reason in words, with names.
    pub fn explain(self, graph: &Graph) -> String {
        let tensor = |id: TensorId| format!("`{}`", graph.tensors()[id].name);
        let node = |id: NodeId| format!("`{}`", graph.nodes()[id].name);
        match self {
            Self::SwitchedOff => "switched off".into(),
            Self::IsConstant => "a constant may not be overwritten".into(),
            Self::IsInput(t) => format!(
                "input {} lives through the whole run (see --reuse-inputs)",
                tensor(t)
            ),
            Self::MustSurvive(t) => format!("{} must survive to the end", tensor(t)),
            Self::IsState(t) => format!("variable {} is not updated by this node", tensor(t)),
            Self::StillReadBy(n, t) => format!("{} still reads {}", node(n), tensor(t)),
            Self::OtherOperand(t) => {
                format!("operand {} lies in the bytes to be written", tensor(t))
            }
            Self::Larger => "the result is larger".into(),
            Self::ElementSize => "elements differ in size".into(),
            Self::TakenBy(t) => format!("{} has the bytes", tensor(t)),
            Self::AlreadyShares(t) => format!("it already shares with {}", tensor(t)),
            Self::External => "one of them lives in the caller's memory".into(),
            Self::FixedElsewhere => "given offsets do not agree".into(),
            Self::StateWritten(n) => {
                format!("{} writes the variable while the view is needed", node(n))
            }
            Self::Misaligned => "its place there is not aligned".into(),
            Self::StockRule => "the stock planner's rule does not take it".into(),
            Self::RaisesPeak => "allowed, but the plan without in-place is lower".into(),
        }
    }

    /// The variant's name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::SwitchedOff => "SwitchedOff",
            Self::IsConstant => "IsConstant",
            Self::IsInput(_) => "IsInput",
            Self::MustSurvive(_) => "MustSurvive",
            Self::IsState(_) => "IsState",
            Self::StillReadBy(..) => "StillReadBy",
            Self::OtherOperand(_) => "OtherOperand",
            Self::Larger => "Larger",
            Self::ElementSize => "ElementSize",
            Self::TakenBy(_) => "TakenBy",
            Self::AlreadyShares(_) => "AlreadyShares",
            Self::External => "External",
            Self::FixedElsewhere => "FixedElsewhere",
            Self::StateWritten(_) => "StateWritten",
            Self::Misaligned => "Misaligned",
            Self::RaisesPeak => "RaisesPeak",
            Self::StockRule => "StockRule",
        }
    }
}
