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
use rayon::prelude::*;
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

/// What is asked about a buffer, in the order in which they are placed: by start, then as
/// [`super::greedy`] would.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    start: Step,
    size: Reverse<u64>,
    own_alignment: Reverse<u64>,
    id: BufferId,
    end: Step,
    alignment: u64,
}

/// Places the buffers of a plain problem in the order of their starts. Nothing for other problems, or where
/// more than [`MANY`] live at once.
pub(super) fn place(problem: &Problem, fit: Fit) -> Option<Table<BufferId, Place>> {
    if !suits(problem) {
        return None;
    }
    let arena = problem.arenas().ids().next()?;
    let mut places = Table::filled(Place { arena, offset: 0 }, problem.buffers().len());
    let buffers = problem.buffers().iter();
    let buffers = buffers.filter(|(_, buffer)| !buffer.extent.is_empty());
    // One look at each buffer: a million of them are far apart in memory.
    let order = buffers.map(|(id, buffer)| Next {
        start: buffer.lifetime().start,
        size: Reverse(buffer.size()),
        own_alignment: Reverse(buffer.alignment),
        id,
        end: buffer.lifetime().end,
        alignment: problem.alignment(id, arena),
    });
    let mut order: Vec<Next> = order.collect();
    order.par_sort_unstable();
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut ends: BinaryHeap<Reverse<(Step, u64)>> = BinaryHeap::new();
    for next in order {
        while let Some(&Reverse((end, lo))) = ends.peek()
            && end <= next.start
        {
            ends.pop();
            live.remove(live.partition_point(|block| block.0 < lo));
        }
        if live.len() > MANY {
            return None;
        }
        let size = next.size.0;
        let (at, offset) = gap(&live, size, next.alignment, fit);
        live.insert(at, (offset, offset + size));
        ends.push(Reverse((next.end, offset)));
        places[next.id].offset = offset;
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
