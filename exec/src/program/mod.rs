//! A plan as a flat list of commands.
//!
//! Goes in: a [`CertifiedPlan`] and what its nodes compute. Comes out: [`Program`]: commands in order of
//! the schedule, every operand and result a window of an arena or a constant, and sizes checked: a kernel
//! that reached beyond its tensors, or wrote over what it still reads, is an error here. Afterwards the
//! graph is only asked for names.

mod build;
mod displaced;
mod part;
mod show;
#[cfg(test)]
mod tests;

use bayplan_graph::kernel::{Constant, ConstantId, Kernel, Unsupported};
use bayplan_graph::{CertifiedPlan, DType, NodeId, TensorId};
use bayplan_planner::{ArenaId, Table};

/// Bytes of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which arena.
    pub arena: ArenaId,
    /// First byte.
    pub offset: usize,
    /// How many.
    pub bytes: usize,
}

impl Window {
    /// The byte behind the last one.
    pub fn end(self) -> usize {
        self.offset + self.bytes
    }

    /// Whether some byte is in both.
    pub fn overlaps(self, other: Self) -> bool {
        let both = self.arena == other.arena && self.bytes > 0 && other.bytes > 0;
        both && self.offset < other.end() && other.offset < self.end()
    }
}

/// What a dispatch reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Bytes of an arena.
    Arena(Window),
    /// A constant.
    Constant(ConstantId),
}

/// One kernel run.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// Whose kernel it is.
    pub node: NodeId,
    /// What is computed.
    pub kernel: Kernel,
    /// Its operands.
    pub reads: Vec<Read>,
    /// Their positions among the node's operands.
    pub operands: Vec<usize>,
    /// The tensor that is written.
    pub target: TensorId,
    /// Its result.
    pub write: Window,
    /// Positions of operands that lie in exactly the result's bytes.
    pub in_place: Vec<usize>,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Bytes of the caller into an arena: an input.
    Load {
        /// Position among the inputs.
        input: usize,
        /// Where to.
        to: Window,
    },
    /// A kernel.
    Dispatch(Box<Dispatch>),
    /// Everything before is done when this is.
    Wait,
    /// Bytes of an arena, or a constant, to the caller: an output.
    Store {
        /// Position among the outputs.
        output: usize,
        /// Where from.
        from: Read,
    },
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The tensor.
    pub tensor: TensorId,
    /// Its name.
    pub name: String,
    /// Element type, where known.
    pub dtype: Option<DType>,
    /// Dimensions, where known.
    pub shape: Option<Vec<u64>>,
    /// Bytes.
    pub bytes: usize,
}

/// An arena of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaSize {
    /// Its name.
    pub name: String,
    /// Bytes: the height of the plan.
    pub bytes: usize,
    /// Whether its bytes must be there again at the next run.
    pub persistent: bool,
}

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct Program {
    /// Steps in order.
    pub commands: Vec<Command>,
    /// Arenas; the last one may be `caller`, for inputs and outputs that the plan leaves to the caller.
    pub arenas: Table<ArenaId, ArenaSize>,
    /// What is given.
    pub inputs: Vec<Port>,
    /// What is made.
    pub outputs: Vec<Port>,
    /// Constants by id; only those in `used` are read.
    pub constants: Table<ConstantId, Constant>,
    /// The constants that commands read, in ascending order.
    pub used: Vec<ConstantId>,
    /// Where each tensor of the graph is that has bytes of an arena.
    pub windows: Table<TensorId, Option<Window>>,
    plan: CertifiedPlan,
}

impl Program {
    /// The plan that it runs.
    pub fn plan(&self) -> &CertifiedPlan {
        &self.plan
    }

    /// All dispatches, in order.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.commands.iter().filter_map(|command| match command {
            Command::Dispatch(dispatch) => Some(&**dispatch),
            _ => None,
        })
    }

    /// Floating-point operations of one run.
    pub fn flops(&self) -> u64 {
        let each = self.dispatches().map(|dispatch| dispatch.kernel.flops());
        each.fold(0, u64::saturating_add)
    }

    /// Bytes of all arenas, the caller's included.
    pub fn arena_bytes(&self) -> u64 {
        self.arenas.values().map(|arena| arena.bytes as u64).sum()
    }
}

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// Operators without a kernel here.
    #[error("{} operators cannot be run, the first of them `{}`: {}", .0.len(), .0[0].0, .0[0].1)]
    Unsupported(Vec<(String, Unsupported)>),
    /// The nodes are not those of the plan's graph.
    #[error("{found} nodes with kernels, the graph has {expected}")]
    OtherGraph {
        /// How many.
        found: usize,
        /// In the graph.
        expected: usize,
    },
    /// A kernel that reaches beyond a tensor.
    #[error("`{node}`: its kernel {kernel} takes {needed} bytes of `{tensor}`, which has {bytes}")]
    Reach {
        /// The node.
        node: String,
        /// What it computes.
        kernel: &'static str,
        /// The tensor.
        tensor: String,
        /// What it would touch.
        needed: u64,
        /// What there is.
        bytes: u64,
    },
    /// A kernel whose numbers contradict each other.
    #[error("`{node}`: the numbers of its kernel {kernel} contradict each other")]
    Unsound {
        /// The node.
        node: String,
        /// What it computes.
        kernel: &'static str,
    },
    /// A tensor without a place that some kernel reads or writes.
    #[error("`{node}` uses `{tensor}`, which has no bytes")]
    Placeless {
        /// The node.
        node: String,
        /// The tensor.
        tensor: String,
    },
    /// The plan shares bytes that this kernel cannot share.
    #[error(
        "`{node}`: the plan puts its result over `{tensor}`, which the kernel {kernel} still reads"
    )]
    Shares {
        /// The node.
        node: String,
        /// The operand.
        tensor: String,
        /// What it computes.
        kernel: &'static str,
    },
    /// Contents of a weight that are not as many bytes as it has.
    #[error("`{tensor}` has {bytes} bytes, its contents {found}")]
    Constant {
        /// The weight.
        tensor: String,
        /// Bytes of its contents.
        found: u64,
        /// Its own.
        bytes: u64,
    },
    /// A view whose kernel does more than to show its operand's bytes.
    #[error(
        "`{node}`: the graph has `{tensor}` as a view, which the kernel {kernel} does not make"
    )]
    View {
        /// The node.
        node: String,
        /// Its result.
        tensor: String,
        /// What it computes.
        kernel: &'static str,
    },
    /// More bytes than this machine can address.
    #[error("`{what}` has more bytes than this machine can address")]
    TooLarge {
        /// The tensor or arena.
        what: String,
    },
}
