//! Which buffer was which, and which of the old places still hold.

use super::{Earlier, Old, Why};
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::occupancy::Occupancy;
use crate::plan::Place;
use crate::problem::Problem;
use crate::shelf::Fit;
use std::collections::BTreeMap;

/// An old buffer, its place in terms of today's arenas, and why that does not hold any more.
pub(super) type Row<'a> = (&'a Old, Option<Place>, Option<Why>);

pub(super) struct Matched<'a> {
    /// By buffer of today.
    pub(super) of: Table<BufferId, Option<Row<'a>>>,
    /// Old buffers that there are no longer.
    pub(super) gone: Vec<&'a Old>,
    /// Today's arena by old one.
    pub(super) arenas: Vec<Option<ArenaId>>,
}

/// Matches by name, then lets those places hold that are allowed and free.
pub(super) fn matched<'a>(problem: &Problem, earlier: &'a Earlier) -> Matched<'a> {
    let arenas = arenas(problem, earlier);
    let mut by_name: BTreeMap<&str, Vec<&Old>> = BTreeMap::new();
    for old in earlier.buffers.iter().rev() {
        by_name.entry(&old.name).or_default().push(old);
    }
    let mut of: Table<BufferId, Option<Row<'a>>> = Table::new();
    for buffer in problem.buffers().values() {
        let old = by_name.get_mut(&*buffer.name).and_then(Vec::pop);
        let place = |old: &Old| {
            let arena = *arenas.get(old.arena)?;
            let arena = arena?;
            Some(Place {
                arena,
                offset: old.offset,
            })
        };
        of.push(old.map(|old| (old, place(old), None)));
    }
    let mut gone: Vec<&Old> = by_name.into_values().flatten().collect();
    gone.sort_by_key(|old| (old.arena, old.offset, &*old.name));
    hold(problem, &mut of);
    Matched { of, gone, arenas }
}

/// Arenas are matched by name; the only one of the earlier plan, by any name, is the first.
fn arenas(problem: &Problem, earlier: &Earlier) -> Vec<Option<ArenaId>> {
    let named = |name: &str| {
        let mut same = problem
            .arenas()
            .iter()
            .filter(|(_, arena)| arena.name == name);
        same.next().map(|(id, _)| id)
    };
    let only = earlier.arenas.len() == 1 && !problem.arenas().is_empty();
    let first = only.then(|| ArenaId::from_index(0));
    let arena = |(name, _): &(String, u64)| named(name).or(first);
    earlier.arenas.iter().map(arena).collect()
}

/// Decides which old places hold: of unchanged buffers first, then of changed ones, by id.
fn hold(problem: &Problem, of: &mut Table<BufferId, Option<Row<'_>>>) {
    let mut occupancy = Occupancy::with_fixed(problem);
    let mut holders: Vec<(BufferId, Place)> = Vec::new();
    for (id, buffer) in problem.buffers().iter() {
        if let Some(offset) = buffer.fixed_offset {
            let arena = buffer.arenas[0];
            holders.push((id, Place { arena, offset }));
        }
    }
    let changed = |id: BufferId, old: &Old| problem.buffers()[id].extent != old.extent;
    let mut order: Vec<(bool, BufferId)> = of
        .iter()
        .filter_map(|(id, row)| Some((changed(id, row.as_ref()?.0), id)))
        .collect();
    order.sort_unstable();
    for (_, id) in order {
        let Some((_, place, why)) = &mut of[id] else {
            continue;
        };
        *why = refused(problem, id, *place);
        if problem.buffers()[id].fixed_offset.is_some() {
            continue; // it is there already
        }
        let (None, Some(place)) = (&why, *place) else {
            continue;
        };
        if occupancy.find(id, place.arena, place.offset, Fit::First) == place.offset {
            occupancy.put(id, place);
            holders.push((id, place));
        } else {
            let with = holders
                .iter()
                .find(|holder| meet(problem, (id, place), **holder));
            let name = with.map(|(other, _)| problem.buffers()[*other].name.clone());
            *why = Some(Why::Collides {
                with: name.unwrap_or_default(),
            });
        }
    }
}

/// Why a place is not allowed, whoever else is there.
fn refused(problem: &Problem, id: BufferId, place: Option<Place>) -> Option<Why> {
    let buffer = &problem.buffers()[id];
    let Some(Place { arena, offset }) = place.filter(|p| buffer.arenas.contains(&p.arena)) else {
        return Some(Why::Arena);
    };
    if let Some(fixed) = buffer.fixed_offset {
        return (fixed != offset).then_some(Why::Given);
    }
    let limits = &problem.arenas()[arena];
    let end = u128::from(offset) + u128::from(buffer.size());
    let over = |limit: Option<u64>, bytes: u128| limit.is_some_and(|l| bytes > u128::from(l));
    if over(limits.largest_object, u128::from(buffer.size())) {
        Some(Why::Arena)
    } else if over(limits.capacity.or(Some(u64::MAX)), end) {
        Some(Why::Capacity)
    } else if !offset.is_multiple_of(problem.alignment(id, arena)) {
        Some(Why::Misaligned)
    } else {
        None
    }
}

/// Whether two buffers at their places share a byte at a step.
fn meet(problem: &Problem, a: (BufferId, Place), b: (BufferId, Place)) -> bool {
    let (first, second) = (&problem.buffers()[a.0], &problem.buffers()[b.0]);
    let pairs = first
        .extent
        .iter()
        .flat_map(|x| second.extent.iter().map(move |y| (x, y)));
    a.1.arena == b.1.arena
        && pairs.into_iter().any(|(x, y)| {
            let apart =
                a.1.offset + x.hi <= b.1.offset + y.lo || b.1.offset + y.hi <= a.1.offset + x.lo;
            x.steps.overlaps(y.steps) && !apart
        })
}
