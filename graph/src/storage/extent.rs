//! The rectangles that a class covers in time and bytes.
//!
//! Goes in: the members of a class with their lifetimes. Comes out: rectangles, at each step the
//! union of what is live, so that the tail of a shrunk class and the rest of a sliced one are free:
//!
//! ```text
//! a 0..2 × 0..4096, b over a 1..4 × 0..2048  →  (0..2, 0..4096), (2..4, 0..2048)
//! ```

use super::Class;
use crate::ir::Graph;
use crate::lifetimes::Lifetimes;
use bayplan_planner::{Lifetime, Rect, Step};
use std::collections::BTreeMap;

/// Beyond this many member × boundary visits a class is covered by its hull: sound, and linear.
const MAX_WORK: usize = 4_000_000;

/// The extent of a class.
pub(super) fn extent(
    graph: &Graph,
    lifetimes: &Lifetimes,
    class: &Class,
    granule: u64,
) -> Vec<Rect> {
    let members = class.members.iter().filter_map(|member| {
        let steps = lifetimes.get(member.tensor)?;
        let end = member
            .offset
            .saturating_add(graph.tensors()[member.tensor].bytes);
        Some(Rect::new(steps, member.offset..end))
    });
    let widened = members.filter(|rect| rect.lo < rect.hi).map(|rect| Rect {
        lo: rect.lo - rect.lo % granule,
        hi: rounded(rect.hi, granule),
        ..rect
    });
    let members: Vec<Rect> = widened.collect();
    union(members)
}

/// The next multiple of `granule`; what 64 bits cannot hold stays, and is refused with the problem.
pub(crate) fn rounded(bytes: u64, granule: u64) -> u64 {
    bytes.checked_next_multiple_of(granule).unwrap_or(bytes)
}

/// Disjoint rectangles that cover exactly what the given ones cover.
fn union(mut members: Vec<Rect>) -> Vec<Rect> {
    if members.len() < 2 {
        return members;
    }
    members.sort_unstable();
    let mut boundaries: Vec<Step> = members
        .iter()
        .flat_map(|r| [r.steps.start, r.steps.end])
        .collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    let mut live: Vec<Rect> = Vec::new();
    let mut next = members.iter().peekable();
    let mut open: BTreeMap<(u64, u64), Step> = BTreeMap::new();
    let mut rects = Vec::new();
    let mut work = 0;
    for &step in &boundaries {
        live.retain(|r| r.steps.end > step);
        while let Some(rect) = next.next_if(|r| r.steps.start <= step) {
            live.push(*rect);
        }
        work += live.len();
        if work > MAX_WORK {
            return vec![hull(&members)];
        }
        let ranges = merged(&mut live);
        let closed: Vec<(u64, u64)> = open
            .keys()
            .copied()
            .filter(|range| !ranges.contains(range))
            .collect();
        for range in closed {
            let start = open.remove(&range).expect("it is open");
            rects.push(rect(start, step, range));
        }
        for range in ranges {
            open.entry(range).or_insert(step);
        }
    }
    rects.sort_unstable();
    rects
}

fn rect(start: Step, end: Step, (lo, hi): (u64, u64)) -> Rect {
    Rect {
        steps: Lifetime { start, end },
        lo,
        hi,
    }
}

/// The union of byte ranges, as sorted ranges that do not touch.
fn merged(live: &mut [Rect]) -> Vec<(u64, u64)> {
    live.sort_unstable_by_key(|r| (r.lo, r.hi));
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for r in live.iter() {
        match ranges.last_mut() {
            Some(last) if r.lo <= last.1 => last.1 = last.1.max(r.hi),
            _ => ranges.push((r.lo, r.hi)),
        }
    }
    ranges
}

fn hull(members: &[Rect]) -> Rect {
    let steps = members.iter().map(|r| r.steps).reduce(Lifetime::hull);
    let lo = members.iter().map(|r| r.lo).min().unwrap_or(0);
    let hi = members.iter().map(|r| r.hi).max().unwrap_or(0);
    Rect {
        steps: steps.unwrap_or(Lifetime::new(0, 0)),
        lo,
        hi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_in_place_is_one_rectangle() {
        let chain = (0..4).map(|i| Rect::new(i..i + 2, 0..64)).collect();
        assert_eq!(union(chain), [Rect::new(0..5, 0..64)]);
    }

    #[test]
    fn the_tail_of_a_shrunk_class_is_free() {
        let members = vec![Rect::new(0..2, 0..4096), Rect::new(1..4, 0..2048)];
        assert_eq!(
            union(members),
            [Rect::new(0..2, 0..4096), Rect::new(2..4, 0..2048)]
        );
    }

    #[test]
    fn only_the_sliced_part_stays() {
        let members = vec![
            Rect::new(0..2, 0..100),
            Rect::new(1..5, 20..40),
            Rect::new(1..3, 60..70),
        ];
        let expected = [
            Rect::new(0..2, 0..100),
            Rect::new(2..3, 60..70),
            Rect::new(2..5, 20..40),
        ];
        let mut got = union(members);
        got.sort_unstable_by_key(|r| (r.steps.start, r.steps.end));
        assert_eq!(got, expected);
    }

    #[test]
    fn members_apart_in_time_leave_a_gap() {
        let members = vec![Rect::new(0..2, 0..10), Rect::new(5..6, 0..10)];
        assert_eq!(union(members.clone()), members);
    }
}
