//! One-pass greedies: a total order of the buffers, then first fit or best fit for each in turn.
//!
//! Fixed buffers are placed before all others. A buffer with several arenas goes into the first
//! that it fits into, or the last one if it fits nowhere (the checker then says so).

use super::{Strategy, TICK, Tick, online};
use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::{Lifetime, Step};
use crate::occupancy::{Occupancy, TimeIndex};
use crate::plan::Place;
use crate::problem::{Buffer, Problem};
use crate::shelf::Fit;
use crate::sweep::Profile;
use std::cmp::Reverse;

/// Places every buffer of `problem` in the order and with the fit of `strategy`. Gives up once the
/// searches have looked at more than `limit` rectangles, or when `tick` says so.
pub(super) fn place(
    problem: &Problem,
    strategy: Strategy,
    limit: usize,
    tick: &Tick<'_>,
) -> Option<Table<BufferId, Place>> {
    if tick(0) {
        return None;
    }
    let swept = match strategy {
        Strategy::StartFirstFit => online::place(problem, Fit::First),
        Strategy::StartBestFit => online::place(problem, Fit::Best),
        _ => None,
    };
    if swept.is_some() {
        return swept;
    }
    let (order, fit) = order(problem, strategy);
    if tick(0) {
        return None;
    }
    one_by_one(problem, order, fit, limit, tick)
}

fn one_by_one(
    problem: &Problem,
    order: Vec<BufferId>,
    fit: Fit,
    limit: usize,
    tick: &Tick<'_>,
) -> Option<Table<BufferId, Place>> {
    let mut occupancy = Occupancy::with_fixed(problem);
    for (placed, buffer) in order.into_iter().enumerate() {
        if placed % TICK == TICK - 1 && tick(TICK as u64) {
            return None;
        }
        if occupancy.place(buffer).is_none() {
            let place = first_arena_that_fits(problem, &mut occupancy, buffer, fit);
            occupancy.put(buffer, place);
        }
        if occupancy.looked_at() > limit {
            return None;
        }
    }
    let places = problem.buffers().ids().map(|id| occupancy.place(id));
    let places = places
        .map(|place| place.expect("orders name every buffer"))
        .collect();
    Some(places)
}

fn first_arena_that_fits(
    problem: &Problem,
    occupancy: &mut Occupancy<'_>,
    id: BufferId,
    fit: Fit,
) -> Place {
    let buffer = &problem.buffers()[id];
    let mut last = None;
    for &arena in &buffer.arenas {
        let offset = occupancy.find(id, arena, 0, fit);
        let place = Place { arena, offset };
        if may_hold(problem, arena, buffer.size(), offset) {
            return place;
        }
        last = Some(place);
    }
    last.expect("every buffer has an arena")
}

/// Whether `size` bytes at `offset` are within the arena's limits.
pub(super) fn may_hold(problem: &Problem, arena: ArenaId, size: u64, offset: u64) -> bool {
    let arena = &problem.arenas()[arena];
    let end = u128::from(offset) + u128::from(size);
    arena
        .capacity
        .is_none_or(|capacity| end <= u128::from(capacity))
        && arena.largest_object.is_none_or(|limit| size <= limit)
}

fn order(problem: &Problem, strategy: Strategy) -> (Vec<BufferId>, Fit) {
    let buffers = problem.buffers();
    // Of equal sizes, the more demanding alignment goes first.
    let size = |id: BufferId| (Reverse(buffers[id].size()), Reverse(buffers[id].alignment));
    let start = |id: BufferId| buffers[id].lifetime().start;
    let width = |id: BufferId| Reverse(buffers[id].lifetime().steps());
    let lives = buffers
        .values()
        .filter(|b| !b.extent.is_empty())
        .map(Buffer::lifetime);
    let whole = lives.reduce(Lifetime::hull).unwrap_or(Lifetime::new(0, 0));
    match strategy {
        Strategy::SizeFirstFit => (sorted(problem, |id| (size(id), start(id))), Fit::First),
        Strategy::SizeBestFit => (sorted(problem, |id| (size(id), start(id))), Fit::Best),
        Strategy::WholeLifeBestFit => {
            let partial = |id: BufferId| buffers[id].lifetime() != whole;
            (
                sorted(problem, |id| (partial(id), size(id), start(id))),
                Fit::Best,
            )
        }
        Strategy::SizeLifeFirstFit => (sorted(problem, |id| (size(id), width(id))), Fit::First),
        Strategy::LifeBestFit => (sorted(problem, |id| (width(id), size(id))), Fit::Best),
        Strategy::AreaFirstFit => {
            let area = |id: BufferId| Reverse(area(&buffers[id]));
            (sorted(problem, |id| (area(id), size(id).1)), Fit::First)
        }
        Strategy::StartBestFit => (sorted(problem, |id| (start(id), size(id))), Fit::Best),
        Strategy::StartFirstFit => (sorted(problem, |id| (start(id), size(id))), Fit::First),
        Strategy::BreadthBestFit => (by_breadth(problem), Fit::Best),
        Strategy::MinOffsetTaw | Strategy::MinOffsetTwa | Strategy::MinOffsetWat => {
            unreachable!("min-offset chooses its order as it goes")
        }
    }
}

/// All buffers by `key`, then by id.
fn sorted<K: Ord>(problem: &Problem, key: impl Fn(BufferId) -> K) -> Vec<BufferId> {
    let mut ids: Vec<BufferId> = problem.buffers().ids().collect();
    ids.sort_by_cached_key(|&id| (key(id), id));
    ids
}

/// Bytes × steps in use.
pub(super) fn area(buffer: &Buffer) -> u128 {
    let rects = buffer.extent.iter();
    rects
        .map(|r| u128::from(r.bytes()) * u128::from(r.steps.steps()))
        .sum()
}

/// Load over time of all buffers together.
pub(super) fn load(problem: &Problem) -> Profile {
    let rects = problem.buffers().values().flat_map(|b| &b.extent);
    Profile::new(rects.map(|r| (r.steps, r.bytes())))
}

/// Steps by load descending (ties: earlier first); at each, what lives there and is not yet in the
/// order, by size descending. Buffers without bytes come last.
fn by_breadth(problem: &Problem) -> Vec<BufferId> {
    // Every buffer lives at the step at which it starts; a point of the profile may be missing there
    // when as much ends as begins.
    let load = load(problem);
    let rects = problem.buffers().values().flat_map(|b| &b.extent);
    let mut steps: Vec<Step> = rects.map(|r| r.steps.start).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut steps: Vec<(Step, u64)> = steps
        .into_iter()
        .map(|step| (step, load.at(step)))
        .collect();
    steps.sort_by_key(|&(step, load)| (Reverse(load), step));
    let mut left = TimeIndex::new(problem, true);
    let mut order = Vec::with_capacity(problem.buffers().len());
    let mut group: Vec<BufferId> = Vec::new();
    for (step, _) in steps {
        group.clear();
        left.overlapping(
            Lifetime {
                start: step,
                end: Step(step.0.saturating_add(1)),
            },
            |e| group.push(e.buffer),
        );
        group.sort_by_key(|&id| {
            let buffer = &problem.buffers()[id];
            (Reverse(buffer.size()), Reverse(buffer.alignment), id)
        });
        group.dedup();
        for &id in &group {
            left.set_present(id, false);
        }
        order.append(&mut group);
    }
    let empty = problem
        .buffers()
        .iter()
        .filter(|(_, b)| b.extent.is_empty());
    order.extend(empty.map(|(id, _)| id));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_places_like_the_search_for_gaps() {
        let mut state = 3_u64;
        let mut draw = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let buffers = (0..500).map(|index| {
            let start = u32::try_from(draw(300)).unwrap();
            let end = start + 1 + u32::try_from(draw(40)).unwrap();
            let buffer = Buffer::new(format!("b{index}"), start..end, draw(90));
            buffer.aligned([1, 4, 6][usize::try_from(draw(3)).unwrap()])
        });
        let problem = Problem::single(buffers.collect()).unwrap();
        for strategy in [Strategy::StartFirstFit, Strategy::StartBestFit] {
            let (order, fit) = order(&problem, strategy);
            let swept = online::place(&problem, fit).unwrap();
            assert_eq!(
                Some(swept),
                one_by_one(&problem, order, fit, usize::MAX, &|_| false)
            );
        }
    }

    #[test]
    fn breadth_finds_buffers_that_begin_where_as_much_ends() {
        // The load is 10 throughout: `b` begins where `a` ends.
        let problem = Problem::single(vec![
            Buffer::new("a", 0..2, 10),
            Buffer::new("b", 2..3, 10),
            Buffer::new("empty", 0..3, 0),
        ]);
        let order = by_breadth(&problem.unwrap());
        assert_eq!(order.len(), 3);
    }
}
