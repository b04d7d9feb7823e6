//! Who is there during these steps: an index over time, and the free offsets that follow from it.
//!
//! Goes in: a problem and, one by one, the buffers that are present with their places. Comes out: a feasible
//! offset for another one. Who lives with it is told by an index over time ([`TimeIndex`]), or, where that is
//! nearly all of them, by one pass from the bottom ([`Shelf`]).

mod time;

pub(crate) use time::TimeIndex;

use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::Place;
use crate::problem::{Pair, Problem};
use crate::shelf::{Fit, Shelf, Wanted, aligned};

/// Buffers placed so far, and where another one may go.
pub(crate) struct Occupancy<'a> {
    problem: &'a Problem,
    time: TimeIndex,
    places: Table<BufferId, Option<Place>>,
    /// By arena, the same rectangles by first byte; only kept where no pair may overlap.
    shelves: Table<ArenaId, Shelf>,
    /// How many rectangles the last search met.
    met: usize,
    /// How many rectangles all searches have looked at: what the time of a greedy goes into.
    looked_at: usize,
    /// Ranges of offsets that are taken: `from..to`, kept to spare an allocation a query.
    blocked: Vec<(u64, u64)>,
}

/// From this share of the placed rectangles on (1 in so many), a pass over all of them by first byte
/// is faster than finding and sorting those that are live.
const DENSE: usize = 12;

impl<'a> Occupancy<'a> {
    /// Nothing is placed.
    pub(crate) fn new(problem: &'a Problem) -> Self {
        Self {
            problem,
            time: TimeIndex::new(problem, false),
            places: Table::filled(None, problem.buffers().len()),
            shelves: problem.arenas().ids().map(|_| Shelf::default()).collect(),
            met: 0,
            looked_at: 0,
            blocked: Vec::new(),
        }
    }

    /// All buffers with a fixed offset are placed.
    pub(crate) fn with_fixed(problem: &'a Problem) -> Self {
        let mut occupancy = Self::new(problem);
        for (id, buffer) in problem.buffers().iter() {
            if let Some(offset) = buffer.fixed_offset {
                let arena = buffer.arenas[0];
                occupancy.put(id, Place { arena, offset });
            }
        }
        occupancy
    }

    pub(crate) fn place(&self, buffer: BufferId) -> Option<Place> {
        self.places[buffer]
    }

    pub(crate) fn put(&mut self, buffer: BufferId, place: Place) {
        self.places[buffer] = Some(place);
        self.time.set_present(buffer, true);
        if self.problem.pairs().is_empty() {
            for rect in &self.problem.buffers()[buffer].extent {
                let (lo, hi) = (place.offset + rect.lo, place.offset + rect.hi);
                self.shelves[place.arena].put(lo, hi, rect.steps);
            }
        }
    }

    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// A feasible offset for `buffer` in `arena`, not under `from`; the last of all where there is none within
    /// 64 bits, which can only be among places that came from elsewhere.
    pub(crate) fn find(&mut self, buffer: BufferId, arena: ArenaId, from: u64, fit: Fit) -> u64 {
        let alignment = self.problem.alignment(buffer, arena);
        let shelf = &self.shelves[arena];
        if let [rect] = self.problem.buffers()[buffer].extent[..]
            && rect.lo == 0
            && self.problem.pairs().is_empty()
            && self.met * DENSE > shelf.len()
        {
            let (offset, live) = shelf.find(Wanted {
                steps: rect.steps,
                bytes: rect.hi,
                alignment,
                from,
                fit,
            });
            self.met = live;
            self.looked_at += shelf.len();
            return offset;
        }
        self.collect_blocked(buffer, arena);
        self.met = self.blocked.len();
        // They are sorted: about twice the work of a pass.
        self.looked_at += 2 * self.met;
        self.blocked.sort_unstable();
        let mut cursor = aligned(from, alignment);
        let mut best: Option<(u64, u64)> = None;
        for &(blocked_from, blocked_to) in &self.blocked {
            if cursor < blocked_from {
                if fit == Fit::First {
                    return cursor;
                }
                let slack = blocked_from - 1 - cursor;
                if best.is_none_or(|(least, _)| slack < least) {
                    best = Some((slack, cursor));
                }
            }
            if blocked_to > cursor {
                cursor = aligned(blocked_to, alignment);
            }
        }
        best.map_or(cursor, |(_, offset)| offset)
    }

    /// The offsets that placed buffers forbid. A placed rectangle `oa + a.lo..oa + a.hi` and a
    /// rectangle `b` at offset x share a byte iff `oa + a.lo - b.hi < x < oa + a.hi - b.lo`.
    fn collect_blocked(&mut self, buffer: BufferId, arena: ArenaId) {
        let Self {
            problem,
            time,
            places,
            blocked,
            ..
        } = self;
        blocked.clear();
        for rect in &problem.buffers()[buffer].extent {
            time.overlapping(rect.steps, |other| {
                let place = places[other.buffer].expect("present buffers are placed");
                let top = place.offset + other.rect.hi;
                if place.arena != arena || top <= rect.lo || other.buffer == buffer {
                    return;
                }
                let below = (place.offset + other.rect.lo).checked_sub(rect.hi);
                let mut range = (below.map_or(0, |lowest| lowest + 1), top - rect.lo);
                if let Some(pair) = problem.pair(buffer, other.buffer) {
                    relax(&mut range, pair, buffer, place.offset);
                }
                if range.0 < range.1 {
                    blocked.push(range);
                }
            });
        }
    }
}

/// Cuts from a forbidden range what a pair allows.
pub(crate) fn relax(range: &mut (u64, u64), pair: &Pair, buffer: BufferId, other_offset: u64) {
    if pair.upper == buffer {
        range.1 = range.1.min(other_offset.saturating_add(pair.distance));
    } else if let Some(highest) = other_offset.checked_sub(pair.distance) {
        range.0 = range.0.max(highest + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::problem::{Arena, Buffer, Proof, Rect};

    fn buffer(index: usize) -> BufferId {
        BufferId::from_index(index)
    }

    const ARENA: fn() -> ArenaId = || ArenaId::from_index(0);

    #[test]
    fn first_fit_takes_the_leading_gap_and_best_fit_the_narrowest() {
        let problem = Problem::single(vec![
            Buffer::new("low", 0..4, 10),
            Buffer::new("high", 0..4, 10),
            Buffer::new("x", 0..4, 4),
        ]);
        let problem = problem.unwrap();
        let mut occupancy = Occupancy::new(&problem);
        let at = |offset| Place {
            arena: ARENA(),
            offset,
        };
        occupancy.put(buffer(0), at(8));
        occupancy.put(buffer(1), at(23));
        // Gaps 0..8 and 18..23: the first holds x at 0, the narrowest at 18.
        assert_eq!(occupancy.find(buffer(2), ARENA(), 0, Fit::First), 0);
        assert_eq!(occupancy.find(buffer(2), ARENA(), 0, Fit::Best), 18);
        assert_eq!(occupancy.find(buffer(2), ARENA(), 20, Fit::First), 33);
    }

    #[test]
    fn a_pair_allows_the_stated_distance() {
        let buffers = vec![Buffer::new("in", 0..2, 100), Buffer::new("out", 1..3, 100)];
        let proof = Proof::DiagonalOverlap { op: "conv".into() };
        let pair = Pair {
            lower: buffer(1),
            upper: buffer(0),
            distance: 30,
            proof,
        };
        let arenas = vec![Arena::new("arena")];
        let problem = Problem::new(arenas.into(), buffers.into(), vec![pair]).unwrap();
        let mut occupancy = Occupancy::new(&problem);
        occupancy.put(
            buffer(0),
            Place {
                arena: ARENA(),
                offset: 64,
            },
        );
        // `out` may start at 0..=34 (30 under `in`), or from 164 on.
        assert_eq!(occupancy.find(buffer(1), ARENA(), 0, Fit::First), 0);
        assert_eq!(occupancy.find(buffer(1), ARENA(), 34, Fit::First), 34);
        assert_eq!(occupancy.find(buffer(1), ARENA(), 35, Fit::First), 164);
    }

    #[test]
    fn holes_in_an_extent_are_free() {
        let ring = vec![Rect::new(0..4, 0..10), Rect::new(0..4, 20..30)];
        let problem = Problem::single(vec![
            Buffer::with_extent("ring", ring),
            Buffer::new("x", 1..2, 10),
        ]);
        let problem = problem.unwrap();
        let mut occupancy = Occupancy::new(&problem);
        occupancy.put(
            buffer(0),
            Place {
                arena: ARENA(),
                offset: 0,
            },
        );
        assert_eq!(occupancy.find(buffer(1), ARENA(), 0, Fit::First), 10);
    }
}
