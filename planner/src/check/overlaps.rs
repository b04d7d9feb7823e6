//! No two buffers use the same byte of an arena at the same step, save where a pair keeps its distance.

use super::MAX_VIOLATIONS;
use super::violation::Violation;
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::problem::{Problem, Rect};
use std::collections::BTreeMap;

/// Listing the overlaps of a wrong plan takes at most about this many comparisons.
const MAX_COMPARISONS: usize = 2_000_000_000;

/// A rectangle at its place: steps × absolute bytes.
#[derive(Clone, Copy)]
struct Placed {
    buffer: BufferId,
    rect: Rect,
    lo: u64,
    hi: u64,
}

/// Reports what shares a byte at a step. Walks over time. Where nothing overlaps, that is seen from neighbours alone; where something
/// does, each rectangle is compared with all that are live when it starts, so that all is reported.
pub(super) fn check(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
    for arena in problem.arenas().ids() {
        let mut rects: Vec<Placed> = Vec::new();
        for (buffer, b) in problem.buffers().iter() {
            let place = plan.places[buffer];
            if place.arena == arena {
                rects.extend(b.extent.iter().map(|&rect| Placed {
                    buffer,
                    rect,
                    lo: place.offset + rect.lo,
                    hi: place.offset + rect.hi,
                }));
            }
        }
        rects.sort_by_key(|r| (r.rect.steps.start, r.buffer));
        if !all_apart(&rects) {
            report_overlaps(problem, plan, &rects, found);
        }
    }
}

/// Whether no two of these rectangles, sorted by start, share a byte at a step. The live ones are
/// kept by first byte; as long as they are apart, a new one meets another iff it meets the last of
/// those that begin below its end.
fn all_apart(rects: &[Placed]) -> bool {
    let mut by_end: Vec<&Placed> = rects.iter().collect();
    by_end.sort_by_key(|r| r.rect.steps.end);
    let mut ended = by_end.into_iter().peekable();
    let mut live: BTreeMap<u64, u64> = BTreeMap::new();
    for new in rects {
        while let Some(dead) = ended.next_if(|dead| dead.rect.steps.end <= new.rect.steps.start) {
            live.remove(&dead.lo);
        }
        if live
            .range(..new.hi)
            .next_back()
            .is_some_and(|(_, &hi)| hi > new.lo)
        {
            return false;
        }
        live.insert(new.lo, new.hi);
    }
    true
}

/// Compares every two rectangles that live together. Stops after [`MAX_COMPARISONS`], but not before
/// something was found: a plan that is wrong is refused in any case.
fn report_overlaps(problem: &Problem, plan: &Plan, rects: &[Placed], found: &mut Vec<Violation>) {
    let mut live: Vec<&Placed> = Vec::new();
    let mut comparisons = 0;
    for new in rects {
        live.retain(|old| old.rect.steps.end > new.rect.steps.start);
        comparisons += live.len();
        for old in &live {
            let meet = old.lo < new.hi && new.lo < old.hi && old.buffer != new.buffer;
            if meet && !excused(problem, plan, old.buffer, new.buffer) {
                found.push(overlap(problem, old, new));
            }
        }
        let enough = found.len() >= MAX_VIOLATIONS || comparisons > MAX_COMPARISONS;
        if enough && !found.is_empty() {
            return;
        }
        live.push(new);
    }
}

fn overlap(problem: &Problem, old: &Placed, new: &Placed) -> Violation {
    let name = |placed: &Placed| problem.buffers()[placed.buffer].name.clone();
    Violation::Overlap {
        first: name(old),
        second: name(new),
        steps: (
            old.rect.steps.start.max(new.rect.steps.start),
            old.rect.steps.end.min(new.rect.steps.end),
        ),
        lo: old.lo.max(new.lo),
        hi: old.hi.min(new.hi),
    }
}

/// Whether a pair keeps the distance at which the two may overlap.
fn excused(problem: &Problem, plan: &Plan, a: BufferId, b: BufferId) -> bool {
    problem.pair(a, b).is_some_and(|pair| {
        let (lower, upper) = (
            plan.places[pair.lower].offset,
            plan.places[pair.upper].offset,
        );
        u128::from(upper) >= u128::from(lower) + u128::from(pair.distance)
    })
}
