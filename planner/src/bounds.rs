//! Lower bounds of the height of every arena, each with a witness that anyone can recompute.
//!
//! Two arguments are used; the better one wins.
//!
//! - *Load*: rectangles that are live at one step need separate bytes. If all of them start at
//!   multiples of `g`, each but the topmost takes its size rounded up to `g`:
//!   `Σ round_up(sizeᵢ, g) − max(round_up(sizeᵢ, g) − sizeᵢ)`. With `g = 1` this is the max load.
//!   Pairs that may overlap are credited with the most that they can share.
//! - *Placed*: given the fixed buffers alone, one buffer cannot start lower than some offset.

use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Step;
use crate::occupancy::Occupancy;
use crate::problem::{Buffer, Problem, Rect};
use crate::shelf::Fit;
use crate::sweep::Profile;
use crate::witness::{Bound, Witness};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Bounds of all arenas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Best bound by arena. Counts buffers that may live in no other arena.
    pub arenas: Table<ArenaId, Bound>,
    /// Largest sum of live sizes by arena (sizes alone, no alignment, pairs not credited), and its
    /// first step.
    pub max_loads: Table<ArenaId, (u64, Step)>,
}

/// At most this many distinct alignments are tried, the largest ones and 1.
const MAX_ALIGNMENTS: usize = 16;

impl Bounds {
    /// Computes the bounds of every arena.
    pub fn new(problem: &Problem) -> Self {
        let relief = Relief::new(problem);
        let mut bounds = Self {
            arenas: Table::new(),
            max_loads: Table::new(),
        };
        for arena in problem.arenas().ids() {
            let max_load = max_load(problem, arena);
            bounds.max_loads.push(max_load);
            let plain = if problem.pairs().is_empty() {
                max_load
            } else {
                load_bound(problem, arena, 1, &relief)
            };
            bounds
                .arenas
                .push(arena_bound(problem, arena, &relief, plain));
        }
        bounds
    }
}

impl Bounds {
    /// Whether `claimed` says what these bounds, computed from the problem alone, say; where a search
    /// is its witness, it may say more.
    pub fn allow(&self, claimed: &Self) -> bool {
        let agree = |(ours, theirs): (&Bound, &Bound)| match theirs.witness {
            Witness::Search { .. } => theirs.bytes > ours.bytes,
            _ => ours == theirs,
        };
        self.max_loads == claimed.max_loads
            && self.arenas.len() == claimed.arenas.len()
            && self.arenas.values().zip(claimed.arenas.values()).all(agree)
    }
}

/// `plain`: the load at alignment 1.
fn arena_bound(problem: &Problem, arena: ArenaId, relief: &Relief, plain: (u64, Step)) -> Bound {
    let mut best = Bound {
        bytes: 0,
        witness: Witness::Nothing,
    };
    for alignment in alignments(problem, arena) {
        let (bytes, step) = match alignment {
            1 => plain,
            _ => load_bound(problem, arena, alignment, relief),
        };
        if bytes > best.bytes {
            let witness = Witness::Load { step, alignment };
            best = Bound { bytes, witness };
        }
    }
    if let Some((bytes, buffer)) = placed_bound(problem, arena)
        && bytes > best.bytes
    {
        let witness = Witness::Placed { buffer };
        best = Bound { bytes, witness };
    }
    best
}

/// 1 and the distinct alignments of the arena's buffers, largest first after 1. In a problem with
/// pairs only 1: two rectangles that overlap cannot both be rounded up.
fn alignments(problem: &Problem, arena: ArenaId) -> Vec<u64> {
    let mut distinct = BTreeSet::new();
    if problem.pairs().is_empty() {
        let ids = problem.buffers().ids();
        distinct.extend(
            ids.filter(|&b| only_in(&problem.buffers()[b], arena))
                .map(|b| problem.alignment(b, arena)),
        );
    }
    distinct.remove(&1);
    let largest = distinct.into_iter().rev().take(MAX_ALIGNMENTS);
    std::iter::once(1).chain(largest).collect()
}

fn only_in(buffer: &Buffer, arena: ArenaId) -> bool {
    buffer.arenas == [arena]
}

/// The largest load over all steps, and its first step.
fn max_load(problem: &Problem, arena: ArenaId) -> (u64, Step) {
    let buffers = problem.buffers().values();
    let rects = buffers.filter(|buffer| only_in(buffer, arena));
    let rects = rects.flat_map(|buffer| &buffer.extent);
    Profile::new(rects.map(|rect| (rect.steps, rect.bytes()))).max()
}

/// The largest load over all steps with rectangles rounded up to `alignment`, and its first step.
fn load_bound(problem: &Problem, arena: ArenaId, alignment: u64, relief: &Relief) -> (u64, Step) {
    let mut events: Vec<(Step, bool, u64)> = Vec::new();
    for (id, buffer) in problem.buffers().iter() {
        let counts =
            only_in(buffer, arena) && problem.alignment(id, arena).is_multiple_of(alignment);
        let rects = buffer
            .extent
            .iter()
            .filter(|r| counts && r.lo.is_multiple_of(alignment));
        for rect in rects {
            events.push((rect.steps.start, true, rect.bytes()));
            events.push((rect.steps.end, false, rect.bytes()));
        }
    }
    events.sort_unstable();
    let mut slacks: BTreeMap<u64, usize> = BTreeMap::new();
    let mut sum = 0_u128;
    let mut best = (0_u64, Step(0));
    let mut at = 0;
    while at < events.len() {
        let step = events[at].0;
        while at < events.len() && events[at].0 == step {
            let (_, begins, bytes) = events[at];
            let rounded = u128::from(bytes).next_multiple_of(u128::from(alignment));
            let slack = u64::try_from(rounded - u128::from(bytes)).expect("under the alignment");
            let count = slacks.entry(slack).or_insert(0);
            if begins {
                sum += rounded;
                *count += 1;
            } else {
                sum -= rounded;
                *count -= 1;
            }
            if *count == 0 {
                slacks.remove(&slack);
            }
            at += 1;
        }
        let top = slacks.last_key_value().map_or(0, |(&slack, _)| slack);
        let load = sum.saturating_sub(u128::from(top) + relief.at(arena, step));
        if let Ok(load) = u64::try_from(load)
            && load > best.0
        {
            best = (load, step);
        }
    }
    best
}

/// The highest end that the fixed buffers force upon one buffer.
fn placed_bound(problem: &Problem, arena: ArenaId) -> Option<(u64, BufferId)> {
    let mut buffers = problem.buffers().values();
    if !buffers.any(|b| b.fixed_offset.is_some() && only_in(b, arena)) {
        return None;
    }
    let mut occupancy = Occupancy::with_fixed(problem);
    let mut best: Option<(u64, BufferId)> = None;
    for (id, buffer) in problem.buffers().iter() {
        if !only_in(buffer, arena) || buffer.extent.is_empty() {
            continue;
        }
        let offset = match buffer.fixed_offset {
            Some(offset) => offset,
            None => occupancy.find(id, arena, 0, Fit::First),
        };
        let end = offset + buffer.size();
        if best.is_none_or(|(highest, _)| end > highest) {
            best = Some((end, id));
        }
    }
    best
}

/// The most bytes that pairs can share at each step: subtracted from a load (Bonferroni).
#[derive(Default)]
struct Relief {
    /// Changes of the sum by (arena, step).
    sums: BTreeMap<(ArenaId, Step), u128>,
}

impl Relief {
    fn new(problem: &Problem) -> Self {
        let mut changes: BTreeMap<(ArenaId, Step), i128> = BTreeMap::new();
        for pair in problem.pairs() {
            let (lower, upper) = (
                &problem.buffers()[pair.lower],
                &problem.buffers()[pair.upper],
            );
            for arena in lower.arenas.iter().filter(|&a| upper.arenas.contains(a)) {
                for (a, b) in lower
                    .extent
                    .iter()
                    .flat_map(|a| upper.extent.iter().map(move |b| (a, b)))
                {
                    let shared = i128::from(most_shared(*a, *b, pair.distance));
                    if a.steps.overlaps(b.steps) && shared > 0 {
                        let start = a.steps.start.max(b.steps.start);
                        let end = a.steps.end.min(b.steps.end);
                        *changes.entry((*arena, start)).or_default() += shared;
                        *changes.entry((*arena, end)).or_default() -= shared;
                    }
                }
            }
        }
        let mut sum = 0_i128;
        let running = changes.into_iter().map(|(key, change)| {
            sum += change;
            (key, u128::try_from(sum).unwrap_or(0))
        });
        Self {
            sums: running.collect(),
        }
    }

    fn at(&self, arena: ArenaId, step: Step) -> u128 {
        let before = self.sums.range(..=(arena, step)).next_back();
        before
            .filter(|((a, _), _)| *a == arena)
            .map_or(0, |(_, &sum)| sum)
    }
}

/// The most bytes of `lower` and `upper` that can coincide when the upper starts `distance` higher.
fn most_shared(lower: Rect, upper: Rect, distance: u64) -> u64 {
    let reach = lower.hi.saturating_sub(distance.saturating_add(upper.lo));
    reach.min(lower.bytes()).min(upper.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::problem::{Arena, Pair, Proof};

    fn bound(buffers: Vec<Buffer>) -> Bound {
        let problem = Problem::single(buffers).unwrap();
        Bounds::new(&problem).arenas[ArenaId::from_index(0)]
    }

    #[test]
    fn the_load_is_a_bound() {
        let bound = bound(vec![
            Buffer::new("a", 0..2, 2560),
            Buffer::new("b", 1..3, 2048),
            Buffer::new("c", 2..4, 1536),
        ]);
        let witness = Witness::Load {
            step: Step(1),
            alignment: 1,
        };
        assert_eq!(
            bound,
            Bound {
                bytes: 4608,
                witness
            }
        );
    }

    #[test]
    fn alignment_rounds_all_but_the_topmost() {
        // Starts at 0 and 64 at the least: 64 + 40.
        let bound = bound(vec![
            Buffer::new("a", 0..2, 40).aligned(64),
            Buffer::new("b", 0..2, 40).aligned(64),
        ]);
        let witness = Witness::Load {
            step: Step(0),
            alignment: 64,
        };
        assert_eq!(
            bound,
            Bound {
                bytes: 104,
                witness
            }
        );
    }

    #[test]
    fn a_buffer_too_large_for_the_hole_under_a_fixed_one_goes_above() {
        let bound = bound(vec![
            Buffer::new("a", 0..2, 2048).fixed_at(1536),
            Buffer::new("b", 0..3, 4096),
        ]);
        let witness = Witness::Placed {
            buffer: BufferId::from_index(1),
        };
        assert_eq!(
            bound,
            Bound {
                bytes: 7680,
                witness
            }
        );
    }

    #[test]
    fn a_pair_is_credited_with_what_it_can_share() {
        let buffers = vec![Buffer::new("in", 0..2, 100), Buffer::new("out", 1..3, 80)];
        let proof = Proof::DiagonalOverlap { op: "conv".into() };
        let (upper, lower) = (BufferId::from_index(0), BufferId::from_index(1));
        let pair = Pair {
            lower,
            upper,
            distance: 30,
            proof,
        };
        let arenas = vec![Arena::new("arena")];
        let problem = Problem::new(arenas.into(), buffers.into(), vec![pair]).unwrap();
        // out 0..80, in 30..130: 50 bytes coincide.
        let bounds = Bounds::new(&problem);
        assert_eq!(bounds.arenas[ArenaId::from_index(0)].bytes, 130);
        assert_eq!(bounds.max_loads[ArenaId::from_index(0)], (180, Step(1)));
    }
}
