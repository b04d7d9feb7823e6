//! First fit and best fit in the order of starts, as one sweep over time.
//!
//! Whoever starts meets exactly what is live at that step, so the live blocks, kept by first byte, are all
//! there is to look at: a million buffers take a fraction of a second. The places are those that
//! [`super::greedy`] would choose in this order.

use crate::ids::{BufferId, Table};
use crate::lifetime::Step;
use crate::plan::Place;
use crate::problem::Problem;
use crate::shelf::Fit;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// With more live at once, a pass over them is too slow.
const MANY: usize = 1 << 12;

/// Whether it can place these buffers, as far as one can see: a plain problem, one rectangle each, nothing
/// given, one arena.
pub(super) fn suits(problem: &Problem) -> bool {
    let plain = problem.pairs().is_empty()
        && problem.buffers().values().all(|b| {
            b.fixed_offset.is_none()
                && b.arenas.len() == 1
                && b.extent.len() <= 1
                && b.extent.iter().all(|rect| rect.lo == 0)
        });
    plain && problem.arenas().len() == 1
}

/// Places the buffers of a plain problem, which come in the order of their starts. Nothing for other
/// problems, or where more than [`MANY`] live at once.
pub(super) fn place(
    problem: &Problem,
    order: &[BufferId],
    fit: Fit,
) -> Option<Table<BufferId, Place>> {
    if !suits(problem) {
        return None;
    }
    let arena = problem.arenas().ids().next()?;
    let mut places = Table::filled(Place { arena, offset: 0 }, problem.buffers().len());
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut ends: BinaryHeap<Reverse<(Step, u64)>> = BinaryHeap::new();
    for &id in order {
        let buffer = &problem.buffers()[id];
        if buffer.extent.is_empty() {
            continue;
        }
        let (life, size) = (buffer.lifetime(), buffer.size());
        while let Some(&Reverse((end, lo))) = ends.peek()
            && end <= life.start
        {
            ends.pop();
            live.remove(live.partition_point(|block| block.0 < lo));
        }
        if live.len() > MANY {
            return None;
        }
        let (at, offset) = gap(&live, size, problem.alignment(id, arena), fit);
        live.insert(at, (offset, offset + size));
        ends.push(Reverse((life.end, offset)));
        places[id].offset = offset;
    }
    Some(places)
}

/// The gap to take: the index of the block above it, and the offset.
fn gap(live: &[(u64, u64)], size: u64, alignment: u64, fit: Fit) -> (usize, u64) {
    let mut cursor = 0_u64;
    let mut best: Option<(u64, usize, u64)> = None;
    for (index, &(lo, hi)) in live.iter().enumerate() {
        if let Some(slack) = lo.checked_sub(cursor).and_then(|gap| gap.checked_sub(size))
            && best.is_none_or(|(least, ..)| slack < least)
        {
            best = Some((slack, index, cursor));
            if fit == Fit::First {
                break;
            }
        }
        cursor = hi.next_multiple_of(alignment);
    }
    best.map_or((live.len(), cursor), |(_, index, offset)| (index, offset))
}
