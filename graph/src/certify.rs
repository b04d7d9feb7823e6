//! The certificate: a replay of who owns each byte, from the graph alone.
//!
//! **Theorem.** If [`certify`] accepts, then executing the schedule with every tensor and scratch
//! block at its place, (1) every operand is whole when its node reads it: each of its bytes was
//! last written as that byte of that tensor (and of that version, for states); (2) no node writes a
//! byte that it may still read, save where the kernel offers that pair at the same start; (3)
//! outputs, kept inputs and states are whole at the end, and states also when the next run begins.
//!
//! It knows the graph, the schedule and the places. It does not know lifetimes, storage classes or
//! decisions: those are what it checks. Bytes that no tensor is ever read from do not matter to it.

mod ownership;
mod replay;

use crate::ir::{Graph, Node, NodeId};
use crate::placement::Locations;
use crate::schedule::Schedule;
use bayplan_planner::memory::PERSISTENT;
use bayplan_planner::{CheckedPlan, Step};
use std::sync::Arc;

/// One way in which running a plan would go wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Clobber {
    /// The places are not those of this graph.
    #[error("the plan places {found} {what}, the graph has {expected}")]
    Count {
        /// `tensors` or `nodes' scratch`.
        what: &'static str,
        /// In the plan.
        found: usize,
        /// In the graph.
        expected: usize,
    },
    /// A tensor that needs bytes has no place, one beyond its arena, or, for a state, one in an arena
    /// that is not kept from run to run.
    #[error("`{tensor}` is not inside an arena that may hold it")]
    NotInArena {
        /// The tensor or scratch block.
        tensor: String,
    },
    /// A node reads a tensor that is not there, or not whole.
    #[error("step {step}: `{node}` reads `{tensor}`, but its bytes {lo}..{hi} hold {found}")]
    ReadsOther {
        /// When.
        step: Step,
        /// The reader.
        node: String,
        /// The operand.
        tensor: String,
        /// First wrong byte of the arena.
        lo: u64,
        /// End of the wrong range.
        hi: u64,
        /// What is there.
        found: String,
    },
    /// A node reads a tensor before it exists, or reads or writes another version of a state.
    #[error("step {step}: `{node}` needs `{tensor}`, but runs {what}")]
    WrongVersion {
        /// When.
        step: Step,
        /// The reader.
        node: String,
        /// The operand.
        tensor: String,
        /// In words.
        what: &'static str,
    },
    /// A node writes over bytes that it reads or writes otherwise.
    #[error("step {step}: `{node}` writes `{written}` over bytes {lo}..{hi} of its own `{other}`")]
    WritesOver {
        /// When.
        step: Step,
        /// The node.
        node: String,
        /// What it writes.
        written: String,
        /// What is there.
        other: String,
        /// First shared byte of the arena.
        lo: u64,
        /// End.
        hi: u64,
    },
    /// What must survive does not.
    #[error("`{tensor}` must survive, but after the last step its bytes {lo}..{hi} hold {found}")]
    Lost {
        /// The tensor.
        tensor: String,
        /// First wrong byte of the arena.
        lo: u64,
        /// End of the wrong range.
        hi: u64,
        /// What is there.
        found: String,
    },
    /// Inputs and states are given together, before the first step.
    #[error("`{first}` and `{second}` are given before the run, in the same bytes {lo}..{hi}")]
    GivenOverlap {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// First shared byte of the arena.
        lo: u64,
        /// End.
        hi: u64,
    },
}

/// A checked plan together with the graph, schedule and places that it was replayed with.
#[derive(Clone, Debug)]
pub struct CertifiedPlan {
    graph: Arc<Graph>,
    schedule: Schedule,
    checked: CheckedPlan,
    locations: Locations,
}

impl CertifiedPlan {
    /// The graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The order of execution.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The checked plan.
    pub fn checked(&self) -> &CheckedPlan {
        &self.checked
    }

    /// Where everything is.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// Bytes of the arenas of temporaries.
    pub fn arena_bytes(&self) -> u64 {
        self.heights(false)
    }

    /// Bytes kept from run to run.
    pub fn persistent_bytes(&self) -> u64 {
        self.heights(true)
    }

    fn heights(&self, persistent: bool) -> u64 {
        let arenas = self.checked.problem().arenas().values();
        let heights = arenas.zip(self.checked.plan().heights.values());
        let these = heights.filter(|(arena, _)| (arena.name == PERSISTENT) == persistent);
        these
            .map(|(_, &height)| height)
            .fold(0, u64::saturating_add)
    }
}

/// A plan that was refused, with every reason.
#[derive(Clone, Debug)]
pub struct Uncertified {
    /// Why; never empty.
    pub clobbers: Vec<Clobber>,
}

impl std::fmt::Display for Uncertified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "running the plan would go wrong in {} places",
            self.clobbers.len()
        )?;
        self.clobbers.iter().try_for_each(|c| write!(f, "\n{c}"))
    }
}

impl std::error::Error for Uncertified {}

/// Accepts a plan, or reports every clobber. With `reuse_inputs`, inputs that are neither kept nor
/// outputs need not survive their last reader.
pub fn certify(
    graph: Arc<Graph>,
    schedule: Schedule,
    checked: CheckedPlan,
    locations: Locations,
    reuse_inputs: bool,
) -> Result<CertifiedPlan, Uncertified> {
    let clobbers = clobbers(&graph, &schedule, &checked, &locations, reuse_inputs);
    if clobbers.is_empty() {
        Ok(CertifiedPlan {
            graph,
            schedule,
            checked,
            locations,
        })
    } else {
        Err(Uncertified { clobbers })
    }
}

/// At most this many clobbers are listed.
pub const MAX_CLOBBERS: usize = 10_000;

/// Everything that would go wrong (the first [`MAX_CLOBBERS`]).
pub fn clobbers(
    graph: &Graph,
    schedule: &Schedule,
    checked: &CheckedPlan,
    locations: &Locations,
    reuse_inputs: bool,
) -> Vec<Clobber> {
    let mut found = counts(graph, schedule, locations);
    if !found.is_empty() {
        return found;
    }
    found.append(&mut replay::run(
        graph,
        schedule,
        checked,
        locations,
        reuse_inputs,
    ));
    found.truncate(MAX_CLOBBERS);
    found
}

fn counts(graph: &Graph, schedule: &Schedule, locations: &Locations) -> Vec<Clobber> {
    let tensors = ("tensors", locations.tensors.len(), graph.tensors().len());
    let nodes = (
        "nodes' scratch",
        locations.scratch.len(),
        graph.nodes().len(),
    );
    let mut ordered = schedule.order().to_vec();
    ordered.sort_unstable();
    ordered.dedup();
    let each_once = schedule.order().len() == ordered.len();
    let steps = if each_once { ordered.len() } else { usize::MAX };
    let order = ("distinct steps", steps, graph.nodes().len());
    let mut wrong: Vec<_> = [tensors, nodes, order]
        .into_iter()
        .filter(|row| row.1 != row.2)
        .collect();
    if wrong.is_empty() {
        let blocks = |(id, node): (NodeId, &Node)| {
            (
                "scratch blocks",
                locations.scratch[id].len(),
                node.scratch.len(),
            )
        };
        wrong = graph
            .nodes()
            .iter()
            .map(blocks)
            .filter(|row| row.1 != row.2)
            .collect();
    }
    let clobber = |(what, found, expected)| Clobber::Count {
        what,
        found,
        expected,
    };
    wrong.into_iter().map(clobber).collect()
}

#[cfg(test)]
mod tests;
