//! Why several arenas together do not suffice: which arenas, what is missing, and by whom.
//!
//! Goes in: a problem that no assignment was found for, the arena that overflowed last, and whether all
//! assignments were ruled out. Comes out: a fault with the step at which most is missing, who is live there,
//! and whether that is proved. It is, where the live buffers that can only be in some arenas together exceed
//! the capacities of those, or where every assignment was ruled out.

use super::PlannerFault;
use super::assign::Short;
use crate::crowd::{self, Crowd, Lists};
use crate::ids::{ArenaId, BufferId, Id};
use crate::lifetime::Step;
use crate::problem::Problem;
use crate::sweep::Profile;
use crate::words::{grouped, listed};
use std::cmp::Reverse;

/// What several arenas lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The arenas that are full, by name.
    pub arenas: Vec<String>,
    /// Bytes that they have together.
    pub capacity: u64,
    /// Bytes that were needed at the least in what was found: live ones at `step` where
    /// that alone exceeds the capacity, else the height of the lowest packing.
    pub needed: u64,
    /// No other assignment or packing can help.
    pub proved: bool,
    /// The fullest step.
    pub step: Step,
    /// Who is live there and can be nowhere else, with sizes, the largest first.
    pub live: Vec<(String, u64)>,
    /// Name of the arena in which there was no room left.
    pub full: String,
    /// Bytes with which it would perhaps take what had to be there in what was found.
    pub height: u64,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (arenas, has) = match &self.arenas[..] {
            [_] => ("arena", "has"),
            _ => ("arenas", "have"),
        };
        let names = listed(&self.arenas);
        let (capacity, missing) = (grouped(self.capacity), grouped(self.needed - self.capacity));
        let step = self.step;
        write!(
            f,
            "{arenas} {names} {has} {capacity} bytes and {missing} more are needed at step {step}"
        )
    }
}

/// The fault of an overflow; `complete`: all assignments were ruled out.
pub(super) fn explain(
    problem: &Problem,
    lists: &Lists,
    short: &Short,
    complete: bool,
) -> PlannerFault {
    // The one in which most is missing; of equals the first, which is of fewer arenas.
    let crowds = crowd::crowds(problem, lists).into_iter();
    let most = crowds.min_by_key(|crowd| Reverse(crowd.bytes - crowd.capacity));
    let shortage = match most {
        Some(crowd) => overfull(problem, &crowd, short),
        None => Shortage {
            proved: complete,
            ..fragmented(problem, lists, short)
        },
    };
    PlannerFault::NoRoom(Box::new(shortage))
}

/// The live bytes that can only be in some arenas exceed their capacity.
fn overfull(problem: &Problem, crowd: &Crowd, short: &Short) -> Shortage {
    let name = |&arena: &ArenaId| problem.arenas()[arena].name.clone();
    Shortage {
        arenas: crowd.arenas.iter().map(name).collect(),
        capacity: crowd.capacity,
        needed: crowd.bytes,
        proved: true,
        step: crowd.step,
        live: named(problem, crowd.members.clone()),
        full: name(&short.arena),
        height: short.height,
    }
}

/// The sizes fit; no packing was found all the same.
fn fragmented(problem: &Problem, lists: &Lists, short: &Short) -> Shortage {
    let arena = short.arena;
    let full = problem.arenas()[arena].name.clone();
    let capacity = problem.arenas()[arena].capacity.unwrap_or(0);
    let here = |id: &BufferId| lists[*id].contains(&arena);
    let ids: Vec<BufferId> = lists.ids().filter(here).collect();
    let rects = ids.iter().flat_map(|&id| &problem.buffers()[id].extent);
    let (_, step) = Profile::new(rects.map(|r| (r.steps, r.bytes()))).max();
    Shortage {
        arenas: vec![full.clone()],
        capacity,
        needed: short.height.max(capacity.saturating_add(1)),
        proved: false,
        step,
        live: named(problem, crowd::live(problem, &ids, step)),
        full,
        height: short.height,
    }
}

/// Names and sizes, the largest first.
fn named(problem: &Problem, mut ids: Vec<BufferId>) -> Vec<(String, u64)> {
    let size = |id: BufferId| problem.buffers()[id].size();
    ids.sort_by_key(|&id| (Reverse(size(id)), id.index()));
    let row = |id: BufferId| (problem.buffers()[id].name.clone(), size(id));
    ids.into_iter().map(row).collect()
}
