//! Min-offset: always place the buffer whose lowest feasible offset is lowest.
//!
//! The order of google/minimalloc's solver (ASPLOS 2023) without its search: every unplaced buffer
//! has a floor, the least offset above all placed buffers that overlap it in time. The buffer with
//! the lowest floor is placed there; ties go by a static rank made of W(idth of life), A(rea) and
//! T(otal of the fullest step of its life), each descending, then by alignment descending, then by id.
//!
//! Floors only rise. They are kept for rectangles, in a tree that raises all of a time range at once
//! ([`Floors`]); a buffer's floor is the highest that any of its rectangles demands. Memory is linear.

use super::floors::Floors;
use super::greedy::{area, load, may_hold};
use super::{Strategy, TICK, Tick};
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::occupancy::Occupancy;
use crate::plan::Place;
use crate::problem::Problem;
use crate::shelf::Fit;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Places every buffer of `problem`, arena by arena; nothing if `tick` ends it.
pub(super) fn place(
    problem: &Problem,
    strategy: Strategy,
    tick: &Tick<'_>,
) -> Option<Table<BufferId, Place>> {
    let letters = Letters::new(problem, strategy, tick)?;
    if tick(0) {
        return None;
    }
    Placer::new(problem, tick)?.place(&letters.rank(|_, key| key))
}

/// By lower buffer of a pair: the upper buffers, with the distance that they must keep.
fn uppers(problem: &Problem) -> BTreeMap<BufferId, Vec<(BufferId, u64)>> {
    let mut uppers: BTreeMap<BufferId, Vec<(BufferId, u64)>> = BTreeMap::new();
    for pair in problem.pairs() {
        uppers
            .entry(pair.lower)
            .or_default()
            .push((pair.upper, pair.distance));
    }
    uppers
}

/// Positions that are corrected one by one, for an alignment of their own or a fixed buffer in the way: some
/// seconds of work. What comes after is placed as soon as its floor is the lowest, wherever it then lies, so
/// that many thousand buffers of several alignments that all live together do not take hours.
const CORRECTIONS: usize = 1 << 22;

/// Places the buffers of a problem, in one order of ties or in another.
pub(super) struct Placer<'a> {
    problem: &'a Problem,
    floors: Floors,
    fixed: Option<Occupancy<'a>>,
    uppers: BTreeMap<BufferId, Vec<(BufferId, u64)>>,
    places: Table<BufferId, Option<Place>>,
    tick: &'a Tick<'a>,
    /// Buffers placed since the last tick.
    since: usize,
    /// Positions corrected one by one, over all runs.
    pub(super) corrected: usize,
}

impl<'a> Placer<'a> {
    /// Nothing if `tick` ends it.
    pub(super) fn new(problem: &'a Problem, tick: &'a Tick<'a>) -> Option<Self> {
        let placer = Self {
            problem,
            floors: Floors::new(problem),
            fixed: None,
            uppers: uppers(problem),
            places: Table::filled(None, problem.buffers().len()),
            tick,
            since: 0,
            corrected: 0,
        };
        (!tick(0)).then_some(placer)
    }

    /// Places every buffer, arena by arena; of equal floors the lower rank goes first. Nothing if the tick
    /// ends it.
    pub(super) fn place(&mut self, rank: &Table<BufferId, u32>) -> Option<Table<BufferId, Place>> {
        let buffers = self.problem.buffers();
        let any_fixed = buffers.values().any(|b| b.fixed_offset.is_some());
        self.fixed = any_fixed.then(|| Occupancy::with_fixed(self.problem));
        for (id, buffer) in buffers.iter() {
            let given = buffer.extent.is_empty() || buffer.fixed_offset.is_some();
            self.places[id] = given.then(|| Place {
                arena: buffer.arenas[0],
                offset: buffer.fixed_offset.unwrap_or(0),
            });
        }
        for arena in self.problem.arenas().ids() {
            if !self.fill(arena, rank) {
                return None;
            }
        }
        let places = self.places.values();
        let places = places.map(|place| place.expect("the last arena takes the rest"));
        Some(places.collect())
    }

    /// Places what `arena` may hold. A buffer that does not fit and has a later arena waits for it.
    /// False if it was told to stop.
    fn fill(&mut self, arena: ArenaId, rank: &Table<BufferId, u32>) -> bool {
        let buffers = self.problem.buffers();
        let places = &self.places;
        self.floors.reset(self.problem, arena, |id| {
            let here = places[id].is_none() && buffers[id].arenas.contains(&arena);
            here.then(|| rank[id])
        });
        let most = self.corrected.saturating_add(CORRECTIONS);
        while let Some((at, position)) = self.floors.lowest() {
            let entry = self.floors.entry(at);
            let id = entry.buffer;
            let offset = self.lowest(id, arena);
            if offset + entry.rect.lo > position && self.corrected < most {
                self.corrected += 1;
                self.floors.set(at, offset + entry.rect.lo);
                continue;
            }
            self.floors.remove(id);
            let last = buffers[id].arenas.iter().all(|a| *a <= arena);
            if last || may_hold(self.problem, arena, buffers[id].size(), offset) {
                self.put(id, Place { arena, offset });
                self.since += 1;
            }
            if self.since == TICK {
                self.since = 0;
                if (self.tick)(TICK as u64) {
                    return false;
                }
            }
        }
        true
    }

    /// The lowest offset that all rectangles of a buffer, its alignment and the fixed buffers allow.
    fn lowest(&mut self, id: BufferId, arena: ArenaId) -> u64 {
        let floors = &self.floors;
        let demands = floors
            .of(id)
            .map(|at| floors.position(at) - floors.entry(at).rect.lo);
        let floor = demands.max().unwrap_or(0);
        match &mut self.fixed {
            Some(fixed) => fixed.find(id, arena, floor, Fit::First),
            None => floor.next_multiple_of(self.problem.alignment(id, arena)),
        }
    }

    /// Places a buffer, which has no floors any more, and raises the floors of what it meets.
    fn put(&mut self, id: BufferId, place: Place) {
        self.places[id] = Some(place);
        let excused = self.excused(id, place);
        for rect in &self.problem.buffers()[id].extent {
            self.floors.raise(rect.steps, place.offset + rect.hi);
        }
        for (at, floor) in excused {
            if self.floors.position(at) > floor {
                self.floors.set(at, floor);
            }
        }
    }

    /// Rectangles that need not lie above the whole of `id`: those of its pairs' upper buffers, with
    /// the position that they must have all the same.
    fn excused(&self, id: BufferId, place: Place) -> Vec<(usize, u64)> {
        let Some(uppers) = self.uppers.get(&id) else {
            return Vec::new();
        };
        let unplaced = uppers
            .iter()
            .filter(|(upper, _)| self.places[*upper].is_none());
        let rects = unplaced.flat_map(|&(upper, distance)| {
            self.floors
                .of(upper)
                .map(move |at| (at, place.offset.saturating_add(distance)))
        });
        let floor = |(at, least): (usize, u64)| {
            let bottom = least.saturating_add(self.floors.entry(at).rect.lo);
            (at, bottom.max(self.floors.position(at)))
        };
        // What is not in this arena has no position, and gets none.
        rects
            .map(floor)
            .filter(|&(_, floor)| floor < u64::MAX)
            .collect()
    }
}

/// What orders the buffers that could all be placed lowest.
pub(super) struct Letters {
    /// The three letters of a strategy, as numbers; then the alignment.
    keys: Table<BufferId, ([u128; 3], u64)>,
}

impl Letters {
    /// Nothing if `tick` ends it.
    pub(super) fn new(problem: &Problem, strategy: Strategy, tick: &Tick<'_>) -> Option<Self> {
        let load = load(problem);
        let fullest = load.range_max();
        if tick(0) {
            return None;
        }
        let mut keys = Table::new();
        for (id, buffer) in problem.buffers().iter() {
            if id.index().is_multiple_of(1 << 14) && tick(0) {
                return None;
            }
            let width = u128::from(buffer.lifetime().steps());
            let total = u128::from(fullest.max(buffer.lifetime()));
            let area = area(buffer);
            let letters = match strategy {
                Strategy::MinOffsetWat => [width, area, total],
                Strategy::MinOffsetTaw => [total, area, width],
                _ => [total, width, area],
            };
            keys.push((letters, buffer.alignment));
        }
        Some(Self { keys })
    }

    /// Position of each buffer in the static order, its first letter as `weighed`.
    pub(super) fn rank(&self, weighed: impl Fn(BufferId, u128) -> u128) -> Table<BufferId, u32> {
        let key = |(id, &([first, second, third], alignment)): (BufferId, &([u128; 3], u64))| {
            (
                Reverse(([weighed(id, first), second, third], alignment)),
                id,
            )
        };
        let mut order: Vec<_> = self.keys.iter().map(key).collect();
        order.sort_unstable();
        let mut rank = Table::filled(0_u32, order.len());
        for (position, &(_, id)) in order.iter().enumerate() {
            rank[id] = u32::try_from(position).expect("ids are u32");
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Buffer;

    /// Buffers that all end together, with these alignments in turn: positions that were corrected.
    fn corrected(alignments: &[u64]) -> usize {
        let buffers = (0..2000_u32)
            .zip(alignments.iter().cycle())
            .map(|(n, &alignment)| {
                let size = 1 + u64::from(n) * 7919 % 4999;
                Buffer::new(format!("b{n}"), n..2001, size).aligned(alignment)
            });
        let problem = Problem::single(buffers.collect()).unwrap();
        let letters = Letters::new(&problem, Strategy::MinOffsetTwa, &|_| false).unwrap();
        let mut placer = Placer::new(&problem, &|_| false).unwrap();
        placer.place(&letters.rank(|_, key| key)).unwrap();
        placer.corrected
    }

    #[test]
    fn few_alignments_need_no_corrections() {
        assert_eq!(corrected(&[1]), 0);
        assert_eq!(corrected(&[64]), 0);
        assert_eq!(corrected(&[16, 64, 16, 256, 24]), 0);
    }

    #[test]
    fn many_alignments_need_some() {
        let many: Vec<u64> = (3..40).step_by(2).collect();
        let corrected = corrected(&many);
        assert!(0 < corrected && corrected <= CORRECTIONS, "{corrected}");
    }
}
