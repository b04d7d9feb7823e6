//! Placed rectangles of one arena by first byte, for searches among many that live together.
//!
//! Goes in: rectangles at their places. Comes out: the offsets that are free during some steps, in
//! one pass from the bottom. Rectangles are kept in chunks; a chunk knows the hull and the core of
//! its lifetimes and its widest gap, so that a chunk of which all or none are live during the asked
//! steps is passed in O(1):
//!
//! ```text
//! chunk   steps  |---------|        hull 0..12
//!                   |---------|     core 3..9: every one of them is live there
//! ```

use crate::lifetime::{Lifetime, Step};

const CHUNK: usize = 256;

/// How a free range of offsets is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The lowest feasible offset.
    First,
    /// The lowest feasible offset of the narrowest closed gap; above everything if there is none.
    Best,
}

#[derive(Clone, Copy)]
struct Item {
    lo: u64,
    hi: u64,
    steps: Lifetime,
}

struct Chunk {
    /// Sorted by first byte.
    items: Vec<Item>,
    first_start: Step,
    last_start: Step,
    first_end: Step,
    last_end: Step,
    /// End of the highest item.
    top: u64,
    /// Widest run of bytes that no item of the chunk covers, between its bottom and its top.
    widest_gap: u64,
}

impl Chunk {
    fn new(items: Vec<Item>) -> Self {
        let mut chunk = Self {
            first_start: Step(u32::MAX),
            last_start: Step(0),
            first_end: Step(u32::MAX),
            last_end: Step(0),
            top: 0,
            widest_gap: 0,
            items,
        };
        chunk.top = chunk.items.first().map_or(0, |item| item.lo);
        for item in &chunk.items {
            chunk.first_start = chunk.first_start.min(item.steps.start);
            chunk.last_start = chunk.last_start.max(item.steps.start);
            chunk.first_end = chunk.first_end.min(item.steps.end);
            chunk.last_end = chunk.last_end.max(item.steps.end);
            chunk.widest_gap = chunk.widest_gap.max(item.lo.saturating_sub(chunk.top));
            chunk.top = chunk.top.max(item.hi);
        }
        chunk
    }

    fn none_live(&self, steps: Lifetime) -> bool {
        self.last_end <= steps.start || steps.end <= self.first_start
    }

    fn all_live(&self, steps: Lifetime) -> bool {
        self.last_start < steps.end && steps.start < self.first_end
    }
}

/// The next multiple of `alignment`; the last offset of all where that is beyond 64 bits.
pub(crate) fn aligned(offset: u64, alignment: u64) -> u64 {
    let multiple = offset.checked_next_multiple_of(alignment);
    multiple.unwrap_or(u64::MAX)
}

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) steps: Lifetime,
    pub(crate) bytes: u64,
    pub(crate) alignment: u64,
    /// Not under this offset.
    pub(crate) from: u64,
    pub(crate) fit: Fit,
}

/// The placed rectangles of an arena.
#[derive(Default)]
pub(crate) struct Shelf {
    chunks: Vec<Chunk>,
    count: usize,
}

impl Shelf {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds the bytes `lo..hi` during `steps`.
    pub(crate) fn put(&mut self, lo: u64, hi: u64, steps: Lifetime) {
        self.count += 1;
        let item = Item { lo, hi, steps };
        let after = self.chunks.partition_point(|chunk| chunk.items[0].lo <= lo);
        let at = after.saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Chunk::new(vec![item]));
            return;
        };
        let mut items = std::mem::take(&mut chunk.items);
        let position = items.partition_point(|other| other.lo <= lo);
        items.insert(position, item);
        if items.len() <= CHUNK {
            *chunk = Chunk::new(items);
            return;
        }
        let upper = items.split_off(CHUNK / 2);
        *chunk = Chunk::new(items);
        self.chunks.insert(at + 1, Chunk::new(upper));
    }

    /// A free offset, and how many rectangles were live.
    pub(crate) fn find(&self, wanted: Wanted) -> (u64, usize) {
        let mut search = Search::new(wanted);
        for chunk in &self.chunks {
            if chunk.none_live(wanted.steps) {
                continue;
            }
            let whole = chunk.all_live(wanted.steps) && chunk.widest_gap < wanted.bytes;
            if whole {
                search.live += chunk.items.len();
                search.pass(chunk.items[0].lo, chunk.top);
            } else {
                for item in chunk
                    .items
                    .iter()
                    .filter(|item| item.steps.overlaps(wanted.steps))
                {
                    search.live += 1;
                    search.pass(item.lo, item.hi);
                }
            }
            if search.done {
                break;
            }
        }
        let offset = search.best.map_or(search.cursor, |(_, offset)| offset);
        (offset, search.live)
    }
}

struct Search {
    wanted: Wanted,
    /// The lowest aligned offset above everything passed.
    cursor: u64,
    /// Slack and offset of the best gap.
    best: Option<(u64, u64)>,
    live: usize,
    done: bool,
}

impl Search {
    fn new(wanted: Wanted) -> Self {
        Self {
            cursor: aligned(wanted.from, wanted.alignment),
            wanted,
            best: None,
            live: 0,
            done: false,
        }
    }

    /// Notes the gap under `lo`, if it suffices, and goes above `hi`.
    fn pass(&mut self, lo: u64, hi: u64) {
        if self.done {
            return;
        }
        if let Some(slack) = lo
            .checked_sub(self.cursor)
            .and_then(|gap| gap.checked_sub(self.wanted.bytes))
            && self.best.is_none_or(|(least, _)| slack < least)
        {
            self.best = Some((slack, self.cursor));
            self.done = self.wanted.fit == Fit::First;
        }
        if hi > self.cursor {
            self.cursor = aligned(hi, self.wanted.alignment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of numbers, so that the test draws the same every time.
    fn draw(state: &mut u64, limit: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 33) % limit
    }

    fn naive(items: &[Item], wanted: Wanted) -> u64 {
        let live: Vec<&Item> = items
            .iter()
            .filter(|i| i.steps.overlaps(wanted.steps))
            .collect();
        let free = |x: u64| live.iter().all(|i| x + wanted.bytes <= i.lo || i.hi <= x);
        let mut tops: Vec<u64> = live.iter().map(|i| i.hi).chain([wanted.from]).collect();
        tops.retain(|&top| top >= wanted.from);
        let mut starts: Vec<u64> = tops
            .iter()
            .map(|t| t.next_multiple_of(wanted.alignment))
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let feasible: Vec<u64> = starts.into_iter().filter(|&x| free(x)).collect();
        if wanted.fit == Fit::First {
            return feasible[0];
        }
        let slack = |x: u64| {
            live.iter()
                .map(|i| i.lo)
                .filter(|&lo| lo >= x)
                .min()
                .map(|lo| lo - x)
        };
        let closed = feasible.iter().filter_map(|&x| Some((slack(x)?, x)));
        closed.min().map_or(*feasible.last().unwrap(), |(_, x)| x)
    }

    #[test]
    fn it_finds_what_a_scan_finds() {
        let mut state = 7;
        for spread in [1, 4, 60] {
            let mut shelf = Shelf::default();
            let mut items = Vec::new();
            for _ in 0..900 {
                let start = u32::try_from(draw(&mut state, spread)).unwrap();
                let steps = Lifetime::new(
                    start,
                    start + 1 + u32::try_from(draw(&mut state, spread)).unwrap(),
                );
                let wanted = Wanted {
                    steps,
                    bytes: 1 + draw(&mut state, 9),
                    alignment: [1, 4, 6][usize::try_from(draw(&mut state, 3)).unwrap()],
                    from: draw(&mut state, 12),
                    fit: if draw(&mut state, 2) == 0 {
                        Fit::First
                    } else {
                        Fit::Best
                    },
                };
                let (offset, live) = shelf.find(wanted);
                assert_eq!(offset, naive(&items, wanted));
                assert_eq!(
                    live > 0,
                    items.iter().any(|i: &Item| i.steps.overlaps(steps)) && live > 0
                );
                let hi = offset + wanted.bytes;
                items.push(Item {
                    lo: offset,
                    hi,
                    steps,
                });
                shelf.put(offset, hi, steps);
            }
            assert_eq!(shelf.len(), 900);
        }
    }
}
