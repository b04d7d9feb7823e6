//! What is said not to fit does not: several arenas with limits, against trying every assignment and every offset.

use crate::generate::Kind;
use crate::tiny::{TINY, optimum, tiny};
use bayplan_planner::ids::Id;
use bayplan_planner::{
    Arena, ArenaId, BufferId, Options, Pair, PlannerFault, Problem, Strategy, plan,
};
use std::cell::Cell;

/// Some buffers as a problem of their own, in one endless arena.
fn alone(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> Problem {
    let only = Arena {
        capacity: None,
        largest_object: None,
        ..problem.arenas()[arena].clone()
    };
    let at = |id: BufferId| ids.iter().position(|&other| other == id);
    let pairs = problem.pairs().iter().filter_map(|pair| {
        Some(Pair {
            lower: BufferId::from_index(at(pair.lower)?),
            upper: BufferId::from_index(at(pair.upper)?),
            ..pair.clone()
        })
    });
    let buffer = |&id: &BufferId| {
        let buffer = problem.buffers()[id].clone();
        buffer.in_arenas(vec![ArenaId::from_index(0)])
    };
    let (buffers, pairs) = (ids.iter().map(buffer).collect(), pairs.collect());
    Problem::new(vec![only].into(), buffers, pairs).expect("a part of a problem")
}

/// Whether these buffers can be in an arena together, by trying every offset.
fn can_hold(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> bool {
    let limits = &problem.arenas()[arena];
    let small = |id: &BufferId| {
        let size = problem.buffers()[*id].size();
        limits.largest_object.is_none_or(|limit| size <= limit)
    };
    let alone = alone(problem, arena, ids);
    let upper = Strategy::StartFirstFit.run(&alone).heights[ArenaId::from_index(0)];
    let fits = |capacity| upper <= capacity || optimum(&alone, upper) <= capacity;
    ids.iter().all(small) && limits.capacity.is_none_or(fits)
}

/// Whether any assignment to arenas fits.
fn possible(problem: &Problem, given: &mut Vec<ArenaId>) -> bool {
    let Some((_, buffer)) = problem.buffers().iter().nth(given.len()) else {
        return problem.arenas().ids().all(|arena| {
            let here = problem.buffers().ids().zip(&*given);
            let here = here.filter(|(_, place)| **place == arena);
            can_hold(problem, arena, &here.map(|(id, _)| id).collect::<Vec<_>>())
        });
    };
    buffer.arenas.iter().any(|&arena| {
        given.push(arena);
        let possible = possible(problem, given);
        given.pop();
        possible
    })
}

#[test]
fn what_is_said_not_to_fit_does_not() {
    let kind = Kind {
        arenas: 3,
        limits: true,
        ..TINY
    };
    let [fits, proved, open] = [0; 3].map(Cell::new);
    tiny(2500, kind, |problem, _| {
        let mut answer = plan(problem.clone(), &Options::default());
        if let Err(PlannerFault::DoesNotFit {
            capacity, bound, ..
        }) = &answer
            && bound.bytes <= *capacity
        {
            open.set(open.get() + 1);
            return;
        }
        if let Err(PlannerFault::NoRoom(short)) = &answer
            && !short.proved
        {
            open.set(open.get() + 1);
            return;
        }
        let expected = possible(problem, &mut Vec::new());
        assert_eq!(answer.is_ok(), expected, "{:?}", answer.as_mut().err());
        let counter = if expected { &fits } else { &proved };
        counter.set(counter.get() + 1);
    });
    assert!(
        fits.get() > 1000 && proved.get() > 200 && 20 * open.get() < proved.get(),
        "{fits:?} {proved:?} {open:?}"
    );
}
