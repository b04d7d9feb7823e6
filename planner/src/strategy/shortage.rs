//! Why several arenas together do not suffice: which arena, what is missing, and by whom.
//!
//! Goes in: a problem that no assignment was found for, and the arena that overflowed last. Comes out:
//! a fault with the step at which most is missing, who is live there, and whether that is proved: the
//! live buffers that can only be in some arenas together exceed the capacities of those.

use super::PlannerFault;
use super::assign::Lists;
use crate::ids::{ArenaId, BufferId, Id};
use crate::lifetime::Step;
use crate::problem::Problem;
use crate::sweep::Profile;
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
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.arenas.iter().map(|name| format!("`{name}`")).collect();
        let (arenas, has) = match &names[..] {
            [one] => (format!("arena {one}"), "has"),
            several => (format!("arenas {}", several.join(" and ")), "have"),
        };
        let (needed, capacity) = (self.needed, self.capacity);
        let missing = needed - capacity;
        write!(
            f,
            "{arenas} {has} {capacity} bytes and {missing} more are needed at step {}",
            self.step
        )
    }
}

/// The fault of an overflow of `arena`, which in the best packing found needs `height` bytes.
pub(super) fn explain(
    problem: &Problem,
    lists: &Lists,
    arena: ArenaId,
    height: u64,
) -> PlannerFault {
    let arenas = problem.arenas();
    let bounded: Vec<ArenaId> = arenas
        .ids()
        .filter(|&a| arenas[a].capacity.is_some())
        .collect();
    let singles = bounded.iter().map(|&a| vec![a]);
    let groups = singles.chain(std::iter::once(bounded.clone()));
    let mut best: Option<(u64, Shortage)> = None;
    if problem.pairs().is_empty() {
        for group in groups {
            let found = overfull(problem, lists, &group);
            if let Some((missing, shortage)) = found
                && best.as_ref().is_none_or(|(most, _)| missing > *most)
            {
                best = Some((missing, shortage));
            }
        }
    }
    let shortage = best.map_or_else(|| fragmented(problem, lists, arena, height), |(_, s)| s);
    PlannerFault::NoRoom(Box::new(shortage))
}

fn within(problem: &Problem, lists: &Lists, group: &[ArenaId]) -> (Vec<BufferId>, Profile) {
    let inside = |id: &BufferId| lists[*id].iter().all(|arena| group.contains(arena));
    let ids: Vec<BufferId> = lists.ids().filter(inside).collect();
    let rects = ids.iter().flat_map(|&id| &problem.buffers()[id].extent);
    let profile = Profile::new(rects.map(|r| (r.steps, r.bytes())));
    (ids, profile)
}

/// The live bytes that can only be in `group`, where they exceed its capacity.
fn overfull(problem: &Problem, lists: &Lists, group: &[ArenaId]) -> Option<(u64, Shortage)> {
    let capacities = group
        .iter()
        .map(|&a| problem.arenas()[a].capacity.unwrap_or(u64::MAX));
    let capacity = capacities.fold(0, u64::saturating_add);
    let (ids, profile) = within(problem, lists, group);
    let (needed, step) = profile.max();
    let missing = needed
        .checked_sub(capacity)
        .filter(|&missing| missing > 0)?;
    let shortage = Shortage {
        arenas: group
            .iter()
            .map(|&a| problem.arenas()[a].name.clone())
            .collect(),
        capacity,
        needed,
        proved: true,
        step,
        live: live(problem, &ids, step),
    };
    Some((missing, shortage))
}

/// The sizes fit; no packing was found all the same.
fn fragmented(problem: &Problem, lists: &Lists, arena: ArenaId, height: u64) -> Shortage {
    let all: Vec<ArenaId> = problem.arenas().ids().collect();
    let (ids, profile) = within(problem, lists, &all);
    let (_, step) = profile.max();
    let capacity = problem.arenas()[arena].capacity.unwrap_or(0);
    let here = |id: &BufferId| lists[*id].contains(&arena);
    let ids: Vec<BufferId> = ids.into_iter().filter(here).collect();
    Shortage {
        arenas: vec![problem.arenas()[arena].name.clone()],
        capacity,
        needed: height.max(capacity.saturating_add(1)),
        proved: false,
        step,
        live: live(problem, &ids, step),
    }
}

fn live(problem: &Problem, ids: &[BufferId], step: Step) -> Vec<(String, u64)> {
    let there = |id: &&BufferId| {
        let extent = &problem.buffers()[**id].extent;
        extent.iter().any(|r| r.steps.contains(step))
    };
    let mut live: Vec<BufferId> = ids.iter().filter(there).copied().collect();
    live.sort_by_key(|&id| (Reverse(problem.buffers()[id].size()), id.index()));
    let row = |id: BufferId| {
        (
            problem.buffers()[id].name.clone(),
            problem.buffers()[id].size(),
        )
    };
    live.into_iter().map(row).collect()
}
