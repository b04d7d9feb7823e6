//! Sets of buffers that do not fit, and bounds that are proved again, against trying everything.

use crate::generate::Kind;
use crate::tape::Tape;
use crate::tiny::{TINY, optimum, tiny};
use bayplan_planner::conflict::Cause;
use bayplan_planner::ids::Id;
use bayplan_planner::prove::{Verdict, prove};
use bayplan_planner::{
    Answer, ArenaId, Buffer, BufferId, Conflict, Options, Pair, Problem, Strategy, conflict,
};
use std::cell::Cell;

const ARENA: fn() -> ArenaId = || ArenaId::from_index(0);

const PLAIN: Kind = Kind {
    buffers: 7,
    ragged: false,
    pairs: false,
    ..TINY
};

/// The least height of these buffers alone.
fn least(problem: &Problem, ids: &[BufferId]) -> u64 {
    let buffers: Vec<Buffer> = ids
        .iter()
        .map(|&id| problem.buffers()[id].clone())
        .collect();
    let at = |id: BufferId| ids.iter().position(|&other| other == id);
    let pair = |pair: &Pair| {
        Some(Pair {
            lower: BufferId::from_index(at(pair.lower)?),
            upper: BufferId::from_index(at(pair.upper)?),
            ..pair.clone()
        })
    };
    let pairs = problem.pairs().iter().filter_map(pair).collect();
    let alone = Problem::new(problem.arenas().clone(), buffers.into(), pairs);
    let alone = alone.expect("a part of a problem");
    optimum(&alone, Strategy::StartFirstFit.run(&alone).heights[ARENA()])
}

fn answer(problem: &Problem, capacity: u64) -> Answer {
    conflict(problem, ARENA(), capacity, &Options::default()).expect("no defects")
}

/// It does not fit; and without any one of its members it does, if it says so.
fn holds(problem: &Problem, conflict: &Conflict) {
    let members = &conflict.members;
    assert!(least(problem, members) > conflict.capacity, "{conflict:?}");
    assert!(members.is_sorted());
    if !conflict.minimal {
        return;
    }
    for &out in members {
        let rest: Vec<BufferId> = members.iter().copied().filter(|&id| id != out).collect();
        assert!(least(problem, &rest) <= conflict.capacity, "{conflict:?}");
    }
}

#[test]
fn a_conflict_does_not_fit_and_is_minimal() {
    let (loads, packings, smaller) = (Cell::new(0), Cell::new(0), Cell::new(0));
    tiny(2500, PLAIN, |problem, t: &mut Tape| {
        let all: Vec<BufferId> = problem.buffers().ids().collect();
        let optimum = least(problem, &all);
        for capacity in [optimum.saturating_sub(1), t.below(optimum + 1), optimum] {
            match answer(problem, capacity) {
                Answer::Fits(height) => {
                    assert!(capacity >= optimum && height >= optimum && height <= capacity);
                }
                Answer::Undecided(bound) => panic!("undecided from {bound} on"),
                Answer::Conflict(found) => {
                    assert!(capacity < optimum);
                    holds(problem, &found);
                    if let Cause::Packing { .. } = found.cause {
                        assert!(found.minimal);
                        packings.set(packings.get() + 1);
                        let less = found.members.len() < all.len();
                        smaller.set(smaller.get() + u32::from(less));
                    } else {
                        loads.set(loads.get() + 1);
                    }
                }
            }
        }
    });
    let counts = (loads.get(), packings.get(), smaller.get());
    assert!(
        counts.0 > 1000 && counts.1 > 200 && counts.2 > 50,
        "{counts:?}"
    );
}

#[test]
fn a_conflict_is_found_among_many_that_have_nothing_to_do_with_it() {
    let found = Cell::new(0);
    tiny(300, PLAIN, |problem, t: &mut Tape| {
        let all: Vec<BufferId> = problem.buffers().ids().collect();
        let Some(capacity) = least(problem, &all).checked_sub(1) else {
            return; // nothing fits everywhere
        };
        let mut buffers: Vec<Buffer> = problem.buffers().values().cloned().collect();
        for n in 0..40_u32 {
            // After the end of the others, and alone.
            let size = t.below(capacity + 1);
            buffers.push(Buffer::new(format!("by{n}"), 100 + n..101 + n, size));
        }
        let arenas = problem.arenas().clone();
        let crowd = Problem::new(arenas, buffers.into(), Vec::new()).expect("far apart");
        let Answer::Conflict(conflict) = answer(&crowd, capacity) else {
            panic!("the whole contains what does not fit");
        };
        assert!(conflict.members.iter().all(|id| id.index() < all.len()));
        holds(problem, &conflict);
        let packing = matches!(conflict.cause, Cause::Packing { .. });
        found.set(found.get() + u32::from(packing));
    });
    assert!(found.get() > 20, "{found:?}");
}

#[test]
fn shrinking_extents_and_pairs_are_never_misjudged() {
    let (found, undecided) = (Cell::new(0), Cell::new(0));
    tiny(1500, TINY, |problem, t: &mut Tape| {
        let all: Vec<BufferId> = problem.buffers().ids().collect();
        let optimum = least(problem, &all);
        for capacity in [optimum.saturating_sub(1), t.below(optimum + 2)] {
            match answer(problem, capacity) {
                Answer::Fits(height) => assert!(height >= optimum && height <= capacity),
                Answer::Undecided(bound) => {
                    assert!(bound <= optimum);
                    undecided.set(undecided.get() + 1);
                }
                Answer::Conflict(conflict) => {
                    holds(problem, &conflict);
                    found.set(found.get() + 1);
                }
            }
        }
    });
    assert!(
        found.get() > 1000 && undecided.get() < 500,
        "{found:?} {undecided:?}"
    );
}

#[test]
fn a_bound_is_proved_again_or_refuted() {
    let searched = Cell::new(0);
    tiny(1500, PLAIN, |problem, t: &mut Tape| {
        let all: Vec<BufferId> = problem.buffers().ids().collect();
        let optimum = least(problem, &all);
        let below = t.below(optimum + 1);
        for bytes in [optimum, below] {
            let verdict = prove(problem, ARENA(), bytes, &Options::default());
            let Ok(Verdict::Proved { nodes }) = verdict else {
                panic!("{verdict:?}");
            };
            searched.set(searched.get() + u32::from(nodes > 0));
        }
        let over = optimum + 1 + t.below(9);
        let verdict = prove(problem, ARENA(), over, &Options::default());
        assert!(
            matches!(verdict, Ok(Verdict::Refuted { height }) if height >= optimum && height < over),
            "{verdict:?}"
        );
    });
    assert!(searched.get() > 100, "{searched:?}");
}
