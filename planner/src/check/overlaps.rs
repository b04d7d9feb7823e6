//! No two buffers use the same byte of an arena at the same step, save where a pair keeps its distance.

use super::MAX_VIOLATIONS;
use super::violation::Violation;
use crate::ids::BufferId;
use crate::lifetime::{Lifetime, Step};
use crate::plan::Plan;
use crate::problem::Problem;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Listing the overlaps of a wrong plan takes at most about this many comparisons.
const MAX_COMPARISONS: usize = 2_000_000_000;

/// A rectangle at its place: steps × absolute bytes.
#[derive(Clone, Copy)]
struct Placed {
    buffer: BufferId,
    steps: Lifetime,
    lo: u64,
    hi: u64,
}

/// Rectangles that begin in one section of time; sections are walked side by side.
const SECTION: usize = 1 << 16;

/// Reports what shares a byte at a step. Walks over time. Where nothing overlaps, that is seen from
/// neighbours alone; where something does, each rectangle is compared with all that are live when it
/// starts, so that all is reported.
pub(super) fn check(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
    for arena in problem.arenas().ids() {
        let mut rects: Vec<Placed> = Vec::new();
        for (buffer, b) in problem.buffers().iter() {
            let place = plan.places[buffer];
            if place.arena == arena {
                rects.extend(b.extent.iter().map(|&rect| Placed {
                    buffer,
                    steps: rect.steps,
                    lo: place.offset + rect.lo,
                    hi: place.offset + rect.hi,
                }));
            }
        }
        rects.par_sort_unstable_by_key(|r| (r.steps.start, r.buffer, r.lo));
        if !sections_apart(&rects, SECTION) {
            report_overlaps(problem, plan, &rects, found);
        }
    }
}

/// Whether no two of these rectangles, sorted by start, share a byte at a step: whether each section of
/// them is apart, together with what is still live from the sections before. Of two that meet, the one
/// that starts later is in some section, and the other one is there as well or still live.
fn sections_apart(rects: &[Placed], length: usize) -> bool {
    let sections: Vec<&[Placed]> = rects.chunks(length).collect();
    let starts: Vec<Step> = sections.iter().map(|s| s[0].steps.start).collect();
    let mut still_live: Vec<Vec<Placed>> = vec![Vec::new(); sections.len()];
    for (at, section) in sections.iter().enumerate() {
        for rect in *section {
            let later = starts.iter().zip(&mut still_live).skip(at + 1);
            for (_, live) in later.take_while(|(start, _)| rect.steps.end > **start) {
                live.push(*rect);
            }
        }
    }
    let together = sections.par_iter().zip(&still_live);
    together
        .map(|(section, live)| all_apart(&[live, *section].concat()))
        .all(|apart| apart)
}

/// Whether no two of these rectangles, sorted by start, share a byte at a step. The live ones are
/// kept by first byte; as long as they are apart, a new one meets another iff it meets the last of
/// those that begin below its end.
fn all_apart(rects: &[Placed]) -> bool {
    let mut by_end: Vec<(Step, u64)> = rects.iter().map(|r| (r.steps.end, r.lo)).collect();
    by_end.sort_unstable();
    let mut ended = by_end.into_iter().peekable();
    let mut live: BTreeMap<u64, u64> = BTreeMap::new();
    for new in rects {
        while let Some((_, lo)) = ended.next_if(|&(end, _)| end <= new.steps.start) {
            live.remove(&lo);
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
        live.retain(|old| old.steps.end > new.steps.start);
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
            old.steps.start.max(new.steps.start),
            old.steps.end.min(new.steps.end),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    /// Each lives for many steps, so that it reaches into later sections; the last one meets another.
    fn rects(last: u64) -> Vec<Placed> {
        let rect = |n: u32| Placed {
            buffer: BufferId::from_index(n as usize),
            steps: Lifetime::new(n, n + 40),
            lo: u64::from(n % 64),
            hi: u64::from(n % 64) + 1,
        };
        let mut rects: Vec<Placed> = (0..200).map(rect).collect();
        rects[199].lo = last;
        rects[199].hi = last + 1;
        rects
    }

    #[test]
    fn sections_see_what_is_still_live() {
        for length in [1, 3, 16, 50, 1000] {
            for (last, apart) in [(7, true), (31, true), (44, false), (6, false)] {
                assert_eq!(
                    sections_apart(&rects(last), length),
                    apart,
                    "{length} {last}"
                );
            }
        }
        assert!(sections_apart(&[], 4));
    }
}
