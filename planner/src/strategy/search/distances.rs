//! Which distances of two buffers' offsets are allowed.
//!
//! A rectangle `a` of the first buffer and `b` of the second that share a step share a byte where the second
//! starts above the first by more than `a.lo - b.hi` and by less than `a.hi - b.lo`. What no two
//! rectangles forbid is allowed; a pair forbids less.

use crate::ids::BufferId;
use crate::numbers::gcd;
use crate::problem::{Buffer, Problem, Rect};

/// Distances from the first to the second number, both included, in bytes.
pub(super) type Range = (i128, i128);

/// No end of a range.
pub(super) const FAR: i128 = 1 << 70;

/// How far above the first buffer the second may start, ascending; ends are multiples of what divides both
/// alignments.
pub(super) fn distances(problem: &Problem, ids: [BufferId; 2], align: [u64; 2]) -> Vec<Range> {
    let [first, second] = ids.map(|id| &problem.buffers()[id]);
    let mut closed = closed(first, second);
    if let Some(pair) = problem.pair(ids[0], ids[1]) {
        let distance = i128::from(pair.distance);
        for range in &mut closed {
            if pair.lower == ids[0] {
                range.1 = range.1.min(distance - 1);
            } else {
                range.0 = range.0.max(1 - distance);
            }
        }
    }
    closed.retain(|range| range.0 <= range.1);
    closed.sort_unstable();
    let step = i128::from(gcd(align[0], align[1]));
    let mut open = Vec::new();
    let mut from = -FAR;
    for (least, most) in closed.into_iter().chain([(FAR + 1, FAR + 1)]) {
        // Whole steps only; no end stays as it is.
        let up = if from == -FAR {
            from
        } else {
            from + (-from).rem_euclid(step)
        };
        let down = if least > FAR {
            FAR
        } else {
            least - 1 - (least - 1).rem_euclid(step)
        };
        if up <= down {
            open.push((up, down));
        }
        from = from.max(most + 1);
    }
    open
}

/// Distances at which two buffers share a byte at some step.
fn closed(first: &Buffer, second: &Buffer) -> Vec<Range> {
    let rects = first
        .extent
        .iter()
        .flat_map(|a| second.extent.iter().map(move |b| (a, b)));
    let meet = |(a, b): &(&Rect, &Rect)| a.steps.overlaps(b.steps);
    let range = |(a, b): (&Rect, &Rect)| {
        let [least, most] =
            [(a.lo, b.hi), (a.hi, b.lo)].map(|(x, y)| i128::from(x) - i128::from(y));
        (least + 1, most - 1)
    };
    rects.filter(meet).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::problem::{Arena, Pair, Proof};

    /// What is allowed between two buffers of which the second is a single byte, at offsets of `align`.
    fn allowed(extent: Vec<Rect>, align: u64, pair: Option<(usize, u64)>) -> Vec<Range> {
        let ids = [0, 1].map(BufferId::from_index);
        let pair = pair.map(|(lower, distance)| Pair {
            lower: ids[lower],
            upper: ids[1 - lower],
            distance,
            proof: Proof::DiagonalOverlap { op: "conv".into() },
        });
        let buffers = vec![Buffer::with_extent("a", extent), Buffer::new("b", 0..9, 1)];
        let pairs = pair.into_iter().collect();
        let problem = Problem::new(vec![Arena::new("arena")].into(), buffers.into(), pairs);
        distances(&problem.unwrap(), ids, [align, align])
    }

    #[test]
    fn holes_and_what_lies_below_are_allowed() {
        let ring = || vec![Rect::new(0..3, 2..4), Rect::new(0..3, 7..9)];
        assert_eq!(allowed(ring(), 1, None), [(-FAR, 1), (4, 6), (9, FAR)]);
        assert_eq!(allowed(ring(), 5, None), [(-FAR, 0), (5, 5), (10, FAR)]);
        assert_eq!(allowed(ring(), 8, None), [(-FAR, 0), (16, FAR)]);
        assert_eq!(
            allowed(ring(), 1, Some((0, 8))),
            [(-FAR, 1), (4, 6), (8, FAR)]
        );
        assert_eq!(
            allowed(ring(), 1, Some((1, 0))),
            [(-FAR, 1), (4, 6), (9, FAR)]
        );
        let later = vec![Rect::new(9..12, 0..4)];
        assert_eq!(allowed(later, 1, None), [(-FAR, FAR)]);
    }
}
