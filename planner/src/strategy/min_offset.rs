//! Min-offset: always place the buffer whose lowest feasible offset is lowest.
//!
//! The order of google/minimalloc's solver (ASPLOS 2023) without its search: every unplaced buffer
//! has a floor, the least offset above all placed buffers that overlap it in time. The buffer with
//! the lowest floor is placed there; ties go by a static rank made of W(idth of life), A(rea) and
//! T(otal of the fullest step of its life), each descending, then by alignment descending, then by id.
//!
//! Floors only rise, so a heap with stale keys suffices: a key that is too low when it comes up is
//! pushed back. Memory is linear; time is the number of overlapping pairs plus heap work.

use super::Strategy;
use super::greedy::{area, load, may_hold};
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::occupancy::{Fit, Occupancy, TimeIndex};
use crate::plan::Place;
use crate::problem::{Problem, Rect};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Places every buffer of `problem`, arena by arena.
pub(super) fn place(problem: &Problem, strategy: Strategy) -> Table<BufferId, Place> {
    let rank = rank(problem, strategy);
    let mut state = State {
        problem,
        unplaced: TimeIndex::new(problem, true),
        fixed: problem
            .buffers()
            .values()
            .any(|b| b.fixed_offset.is_some())
            .then(|| Occupancy::with_fixed(problem)),
        floors: Table::filled(0, problem.buffers().len()),
        places: Table::filled(None, problem.buffers().len()),
    };
    for (id, buffer) in problem.buffers().iter() {
        if buffer.extent.is_empty() || buffer.fixed_offset.is_some() {
            let (arena, offset) = (buffer.arenas[0], buffer.fixed_offset.unwrap_or(0));
            state.places[id] = Some(Place { arena, offset });
            state.unplaced.set_present(id, false);
        }
    }
    for arena in problem.arenas().ids() {
        state.fill(arena, &rank);
    }
    let places = state
        .places
        .values()
        .map(|place| place.expect("the last arena takes the rest"));
    places.collect()
}

struct State<'a> {
    problem: &'a Problem,
    unplaced: TimeIndex,
    fixed: Option<Occupancy<'a>>,
    /// Least offset above everything placed in the current arena.
    floors: Table<BufferId, u64>,
    places: Table<BufferId, Option<Place>>,
}

impl State<'_> {
    /// Places what `arena` may hold. A buffer that does not fit and has a later arena waits for it.
    fn fill(&mut self, arena: ArenaId, rank: &Table<BufferId, u32>) {
        self.floors.values_mut().for_each(|floor| *floor = 0);
        let buffers = self.problem.buffers();
        let here = buffers
            .ids()
            .filter(|&id| self.places[id].is_none() && buffers[id].arenas.contains(&arena));
        let mut heap: BinaryHeap<Reverse<(u64, u32, BufferId)>> =
            here.map(|id| Reverse((0, rank[id], id))).collect();
        while let Some(Reverse((key, rank, id))) = heap.pop() {
            let offset = self.lowest(id, arena);
            if offset > key {
                heap.push(Reverse((offset, rank, id)));
                continue;
            }
            let last = buffers[id].arenas.iter().all(|a| *a <= arena);
            if last || may_hold(self.problem, arena, buffers[id].size(), offset) {
                self.put(id, Place { arena, offset });
            }
        }
    }

    fn lowest(&mut self, id: BufferId, arena: ArenaId) -> u64 {
        let floor = self.floors[id];
        match &mut self.fixed {
            Some(fixed) => fixed.find(id, arena, floor, Fit::First),
            None => floor.next_multiple_of(self.problem.alignment(id, arena)),
        }
    }

    fn put(&mut self, id: BufferId, place: Place) {
        self.places[id] = Some(place);
        self.unplaced.set_present(id, false);
        let Self {
            problem,
            unplaced,
            floors,
            ..
        } = self;
        for below in &problem.buffers()[id].extent {
            unplaced.overlapping(below.steps, |other| {
                let mut least = above(place.offset, *below, other.rect);
                if let Some(pair) = problem
                    .pair(id, other.buffer)
                    .filter(|pair| pair.lower == id)
                {
                    least = least.min(place.offset.saturating_add(pair.distance));
                }
                let floor = &mut floors[other.buffer];
                *floor = (*floor).max(least);
            });
        }
    }
}

/// The least offset at which `upper` is above `below`, which is placed at `offset`.
fn above(offset: u64, below: Rect, upper: Rect) -> u64 {
    (offset + below.hi).saturating_sub(upper.lo)
}

/// Position of each buffer in the strategy's static order.
fn rank(problem: &Problem, strategy: Strategy) -> Table<BufferId, u32> {
    let load = load(problem);
    let fullest = load.range_max();
    let key = |id: BufferId| {
        let buffer = &problem.buffers()[id];
        let width = u128::from(buffer.lifetime().steps());
        let total = u128::from(fullest.max(buffer.lifetime()));
        let area = area(buffer);
        let letters = match strategy {
            Strategy::MinOffsetWat => [width, area, total],
            Strategy::MinOffsetTaw => [total, area, width],
            _ => [total, width, area],
        };
        (letters.map(Reverse), Reverse(buffer.alignment), id)
    };
    let mut order: Vec<BufferId> = problem.buffers().ids().collect();
    order.sort_by_cached_key(|&id| key(id));
    let mut rank = Table::filled(0_u32, order.len());
    for (position, &id) in order.iter().enumerate() {
        rank[id] = u32::try_from(position).expect("ids are u32");
    }
    debug_assert!(order.len() == rank.len() && order.iter().all(|id| id.index() < rank.len()));
    rank
}
