//! Why several memories do not suffice, and what every plan needs in them, against trying everything.

use crate::arenas::{TINY, least_spilled, memories};
use crate::generate::SMALL;
use crate::tape::{Tape, check};
use bayplan_planner::conflict::{Cause, shortfalls};
use bayplan_planner::ids::Id;
use bayplan_planner::spill::floor;
use bayplan_planner::strategy::assign::spilled;
use bayplan_planner::{
    ArenaId, Bounds, Buffer, BufferId, Conflict, Options, Problem, Status, Strategy, plan,
};
use std::cell::Cell;

/// These buffers alone in the same memories.
fn alone(problem: &Problem, ids: &[BufferId]) -> Problem {
    let buffers = ids.iter().map(|&id| problem.buffers()[id].clone());
    let buffers: Vec<Buffer> = buffers.collect();
    let alone = Problem::new(problem.arenas().clone(), buffers.into(), Vec::new());
    alone.expect("a part of a problem")
}

fn fits(problem: &Problem, ids: &[BufferId]) -> bool {
    least_spilled(&alone(problem, ids)).is_some()
}

/// It does not fit, in the memories that it names alone; without any one of its members it does, if it says so.
fn holds(problem: &Problem, conflict: &Conflict) {
    let members = &conflict.members;
    assert!(members.is_sorted() && !members.is_empty());
    assert!(!fits(problem, members), "{conflict:?}");
    let named = |arena: &ArenaId| *arena == conflict.arena || conflict.beside.contains(arena);
    if matches!(conflict.cause, Cause::Load { .. }) {
        let capacities = problem.arenas().iter().filter(|(arena, _)| named(arena));
        let sum: u64 = capacities.filter_map(|(_, arena)| arena.capacity).sum();
        assert_eq!(sum, conflict.capacity);
    }
    for &out in members.iter().filter(|_| conflict.minimal) {
        let rest: Vec<BufferId> = members.iter().copied().filter(|&id| id != out).collect();
        assert!(fits(problem, &rest), "{conflict:?} without {out}");
    }
}

#[test]
fn what_does_not_fit_is_told_and_what_fits_is_not_refused() {
    let [fitting, objects, loads, packings, several] = [0; 5].map(Cell::new);
    let make = |t: &mut Tape| memories(t, TINY, 2);
    check(1800, TINY.buffers, make, |problem, _| {
        let found = shortfalls(problem, &Options::default()).expect("no defects");
        if least_spilled(problem).is_some() {
            fitting.set(fitting.get() + 1);
            assert!(found.is_empty(), "{found:?}");
            return;
        }
        assert!(!found.is_empty(), "so few buffers are never undecided");
        for conflict in &found {
            holds(problem, conflict);
            let counter = match conflict.cause {
                Cause::Object { .. } => &objects,
                Cause::Load { .. } => &loads,
                Cause::Packing { .. } => &packings,
            };
            counter.set(counter.get() + 1);
            let beside = u32::from(!conflict.beside.is_empty());
            several.set(several.get() + beside);
        }
    });
    let counts = [&fitting, &objects, &loads, &packings, &several].map(Cell::get);
    assert!(counts.iter().all(|&count| count > 5), "{counts:?}");
}

#[test]
fn what_is_said_to_be_spilled_least_is() {
    let (proved, open) = (Cell::new(0), Cell::new(0));
    let make = |t: &mut Tape| memories(t, TINY, 3);
    check(500, TINY.buffers, make, |problem, _| {
        for options in [Options::default(), Options::greedy()] {
            let Ok(made) = plan(problem.clone(), &options) else {
                continue;
            };
            if !made.spills_least {
                open.set(open.get() + 1);
                continue;
            }
            proved.set(proved.get() + 1);
            let places = &made.checked.plan().places;
            let found = spilled(problem, |id| places[id].arena);
            assert_eq!(Some(found), least_spilled(problem));
        }
    });
    assert!(proved.get() > 300, "{proved:?} {open:?}");
}

/// No plan is under the floor, whoever is where.
#[test]
fn no_plan_takes_less_than_the_floor() {
    let (plans, met) = (Cell::new(0), Cell::new(0));
    let make = |t: &mut Tape| memories(t, SMALL, 4);
    check(400, SMALL.buffers, make, |problem, t| {
        let all: Vec<ArenaId> = problem.arenas().ids().collect();
        let floor = floor(problem, &Bounds::new(problem), &all);
        let strategy = t.pick(&Strategy::ALL);
        let alone = Options {
            strategies: vec![strategy],
            ..Options::greedy()
        };
        for options in [alone, Options::default()] {
            let Ok(made) = plan(problem.clone(), &options) else {
                continue;
            };
            plans.set(plans.get() + 1);
            let heights = &made.checked.plan().heights;
            let total: u64 = heights.values().sum();
            assert!(total >= floor.bytes, "{floor:?} {heights:?}");
            for (index, &least) in floor.arenas.iter().enumerate() {
                assert!(
                    heights[ArenaId::from_index(index)] >= least,
                    "{floor:?} {heights:?}"
                );
            }
            if total == floor.bytes {
                met.set(met.get() + 1);
            } else if problem.buffers().values().any(|b| b.arenas.len() > 1) {
                let claims = made.status == Status::Optimal && !made.is_optimal();
                assert!(!claims, "more than the floor, and said to be optimal");
            }
        }
    });
    assert!(plans.get() > 300 && met.get() > 100, "{plans:?} {met:?}");
}
