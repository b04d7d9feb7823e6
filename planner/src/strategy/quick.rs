//! A plan at once: what is made when planning was stopped before it had any.
//!
//! Buffers in order of their start, each in the tightest block that is free, or on top: what an
//! allocator at run time would do (best fit with freed neighbours joined, Knuth, The Art of Computer
//! Programming 1, 2.5). All offsets are above the given ones; gaps in extents and pairs are not made use
//! of. O(n log n): a million buffers take less than a second.

use super::greedy::may_hold;
use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Step;
use crate::plan::Place;
use crate::problem::Problem;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// What such a plan is called.
pub(super) const NAME: &str = "quick";

/// Places every buffer.
pub(super) fn place(problem: &Problem) -> Table<BufferId, Place> {
    let buffers = problem.buffers();
    let mut heaps: Table<ArenaId, Heap> = problem.arenas().ids().map(|_| Heap::default()).collect();
    let mut places: Table<BufferId, Place> = Table::new();
    let mut order: Vec<(Step, BufferId)> = Vec::new();
    for (id, buffer) in buffers.iter() {
        let (arena, offset) = (buffer.arenas[0], buffer.fixed_offset.unwrap_or(0));
        places.push(Place { arena, offset });
        if buffer.fixed_offset.is_some() {
            let top = &mut heaps[arena].top;
            *top = (*top).max(offset + buffer.size());
        } else if !buffer.extent.is_empty() {
            order.push((buffer.lifetime().start, id));
        }
    }
    order.sort_unstable();
    let mut live: BinaryHeap<Reverse<(Step, BufferId)>> = BinaryHeap::new();
    for (start, id) in order {
        while let Some(&Reverse((end, dead))) = live.peek()
            && end <= start
        {
            live.pop();
            let Place { arena, offset } = places[dead];
            heaps[arena].free(offset, offset + buffers[dead].size());
        }
        places[id] = put(problem, &mut heaps, id);
        live.push(Reverse((buffers[id].lifetime().end, id)));
    }
    places
}

/// Takes a block in the first arena that may hold it, or in the last one.
fn put(problem: &Problem, heaps: &mut Table<ArenaId, Heap>, id: BufferId) -> Place {
    let buffer = &problem.buffers()[id];
    let last = buffer.arenas.len() - 1;
    for (at, &arena) in buffer.arenas.iter().enumerate() {
        let alignment = problem.alignment(id, arena);
        let offset = heaps[arena].find(buffer.size(), alignment);
        if at == last || may_hold(problem, arena, buffer.size(), offset) {
            heaps[arena].take(offset, offset + buffer.size());
            return Place { arena, offset };
        }
    }
    unreachable!("every buffer has an arena")
}

/// The free blocks of an arena.
#[derive(Default)]
struct Heap {
    /// Nothing above was ever used.
    top: u64,
    /// End of each free block by its start; no two touch.
    blocks: BTreeMap<u64, u64>,
    /// (length, start) of each.
    by_length: BTreeSet<(u64, u64)>,
}

/// Blocks that are looked at because their alignment may suit by chance.
const LUCK: usize = 8;

impl Heap {
    /// An aligned offset with `size` free bytes.
    fn find(&self, size: u64, alignment: u64) -> u64 {
        let suits = |&(length, start): &(u64, u64)| {
            let offset = start.next_multiple_of(alignment);
            (offset - start + size <= length).then_some(offset)
        };
        let tight = self.by_length.range((size, 0)..).take(LUCK);
        // A block of this length suits wherever it begins.
        let sure = self.by_length.range((size + alignment - 1, 0)..);
        let inside = tight.chain(sure).find_map(suits);
        inside.unwrap_or_else(|| {
            let last = self.blocks.last_key_value();
            let from = last.filter(|&(_, &end)| end == self.top);
            from.map_or(self.top, |(&start, _)| start)
                .next_multiple_of(alignment)
        })
    }

    /// The bytes `lo..hi`, free so far, are in use.
    fn take(&mut self, lo: u64, hi: u64) {
        if hi > self.top {
            let top = std::mem::replace(&mut self.top, hi);
            self.free(top, hi);
        }
        let block = self.blocks.range(..=lo).next_back();
        let (&start, &end) = block.expect("what is taken was free");
        self.remove(start, end);
        self.insert(start, lo);
        self.insert(hi, end);
    }

    /// The bytes `lo..hi` are free again; free neighbours become one block.
    fn free(&mut self, mut lo: u64, mut hi: u64) {
        if let Some((&start, &end)) = self.blocks.range(..lo).next_back()
            && end == lo
        {
            self.remove(start, end);
            lo = start;
        }
        if let Some((&start, &end)) = self.blocks.range(hi..).next()
            && start == hi
        {
            self.remove(start, end);
            hi = end;
        }
        self.insert(lo, hi);
    }

    fn insert(&mut self, start: u64, end: u64) {
        if start < end {
            self.blocks.insert(start, end);
            self.by_length.insert((end - start, start));
        }
    }

    fn remove(&mut self, start: u64, end: u64) {
        self.blocks.remove(&start);
        self.by_length.remove(&(end - start, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::problem::Buffer;
    use crate::strategy::with_heights;

    #[test]
    fn freed_neighbours_become_one_block() {
        let problem = Problem::single(vec![
            Buffer::new("a", 0..2, 10),
            Buffer::new("b", 0..2, 6),
            Buffer::new("keep", 0..9, 4),
            Buffer::new("c", 2..4, 16),
            Buffer::new("d", 4..5, 5),
        ]);
        let problem = problem.unwrap();
        let plan = with_heights(&problem, place(&problem), NAME);
        let offsets: Vec<u64> = plan.places.values().map(|place| place.offset).collect();
        assert_eq!(offsets, [0, 10, 16, 0, 0]);
        assert_eq!(plan.heights[ArenaId::from_index(0)], 20);
    }

    #[test]
    fn alignment_leaves_the_rest_free() {
        let problem = Problem::single(vec![
            Buffer::new("a", 0..9, 3),
            Buffer::new("b", 0..9, 8).aligned(8),
            Buffer::new("c", 1..9, 5),
        ]);
        let problem = problem.unwrap();
        let plan = with_heights(&problem, place(&problem), NAME);
        let offsets: Vec<u64> = plan.places.values().map(|place| place.offset).collect();
        // `c` takes what the alignment of `b` left.
        assert_eq!(offsets, [0, 8, 3]);
    }
}
