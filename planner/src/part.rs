//! Some buffers of an arena as a problem of their own.

use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::problem::{Arena, Buffer, Pair, Problem};
use std::collections::BTreeMap;

/// The buffers that have bytes and can be in no other arena: those that a bound of it counts.
pub(crate) fn bound_to(problem: &Problem, arena: ArenaId) -> Vec<BufferId> {
    let buffers = problem.buffers().iter();
    let inside = buffers.filter(|(_, b)| b.arenas == [arena] && !b.extent.is_empty());
    inside.map(|(id, _)| id).collect()
}

/// `ids` alone, in the order given, in `arena` without its capacity and limits.
pub(crate) fn part(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> Problem {
    let only = ArenaId::from_index(0);
    let arenas = vec![Arena {
        capacity: None,
        largest_object: None,
        ..problem.arenas()[arena].clone()
    }];
    chosen(problem, ids, arenas.into(), |_| vec![only])
}

/// `ids` alone, in the order given, each in its `inside` of `arenas`, with the pairs among them.
pub(crate) fn chosen(
    problem: &Problem,
    ids: &[BufferId],
    arenas: Table<ArenaId, Arena>,
    inside: impl Fn(BufferId) -> Vec<ArenaId>,
) -> Problem {
    let narrow = |&id: &BufferId| problem.buffers()[id].clone().in_arenas(inside(id));
    let buffers: Table<BufferId, Buffer> = ids.iter().map(narrow).collect();
    let place = ids.iter().enumerate();
    let new: BTreeMap<BufferId, BufferId> = place
        .map(|(index, &id)| (id, BufferId::from_index(index)))
        .collect();
    let pair = |pair: &Pair| {
        let (lower, upper) = (*new.get(&pair.lower)?, *new.get(&pair.upper)?);
        Some(Pair {
            lower,
            upper,
            ..pair.clone()
        })
    };
    let pairs = problem.pairs().iter().filter_map(pair).collect();
    Problem::new(arenas, buffers, pairs).expect("a part of a problem is one")
}
