//! Whatever a strategy makes is a plan, over its bound; claims are proved; results repeat.

use crate::generate::{self, Kind, LARGE, SMALL, UNLIMITED};
use crate::oracle;
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::{Bounds, Claim, Options, PlannerFault, Problem, Strategy, Violation, plan};

fn problems(cases: u32, kind: Kind, property: impl Fn(&Problem, &mut Tape)) {
    let make = |t: &mut Tape| generate::problem(t, kind);
    check(cases, kind.buffers, make, property);
}

/// Every strategy's plan passes the checker, save for limits, and lies over every bound.
fn every_strategy_holds(problem: &Problem, painted: bool) {
    let bounds = Bounds::new(problem);
    let limits = problem
        .arenas()
        .values()
        .any(|a| a.capacity.is_some() || a.largest_object.is_some());
    for strategy in Strategy::ALL {
        let plan = strategy.run(problem);
        for violation in violations(problem, &plan) {
            let over = matches!(
                violation,
                Violation::OverCapacity { .. } | Violation::TooLarge { .. }
            );
            assert!(limits && over, "{}: {violation}", strategy.name());
        }
        for (arena, &height) in plan.heights.iter() {
            assert_eq!(height, oracle::height(problem, &plan, arena));
            let bound = bounds.arenas[arena];
            assert!(
                height >= bound.bytes,
                "{} {height} {bound:?}",
                strategy.name()
            );
        }
        if painted {
            for id in problem.buffers().ids() {
                assert!(!oracle::collides(problem, &plan, id), "{}", strategy.name());
            }
        }
    }
}

/// Random problems of many buffers are seldom solved to the end.
fn brief() -> Options<'static> {
    Options {
        work_limit: Some(1 << 15),
        improve: Effort {
            least: 0,
            ..Effort::of(1 << 14)
        },
        ..Options::default()
    }
}

#[test]
fn every_strategy_makes_plans() {
    problems(400, SMALL, |problem, _| every_strategy_holds(problem, true));
    problems(1500, SMALL, |problem, _| {
        every_strategy_holds(problem, false);
    });
}

#[test]
fn every_strategy_makes_large_plans() {
    problems(60, LARGE, |problem, _| every_strategy_holds(problem, false));
}

#[test]
fn bounds_are_what_their_witnesses_prove() {
    problems(1500, UNLIMITED, |problem, _| {
        let bounds = Bounds::new(problem);
        for (arena, bound) in bounds.arenas.iter() {
            let proved = oracle::proof(problem, arena, bound.witness);
            assert_eq!(proved, Some(bound.bytes), "{bound:?}");
            let (load, _) = bounds.max_loads[arena];
            assert_eq!(load, oracle::max_load(problem, arena));
        }
    });
}

#[test]
fn a_plan_is_the_best_of_its_strategies_and_claims_what_is_proved() {
    problems(1500, SMALL, |problem, _| {
        match plan(problem.clone(), &brief()) {
            Ok(planned) => {
                let made = planned.checked.plan();
                assert!(violations(problem, made).is_empty());
                for (arena, &height) in made.heights.iter() {
                    let bound = planned.bounds.arenas[arena];
                    match made.claims[arena] {
                        Claim::Optimal(witness) => {
                            assert_eq!((height, witness), (bound.bytes, bound.witness));
                        }
                        Claim::Within(claimed) => {
                            assert!(claimed == bound && height > bound.bytes);
                        }
                        Claim::Stopped => panic!("a plan of ours claims something"),
                    }
                }
                let total: u64 = made.heights.values().sum();
                let fits = |t: &&bayplan_planner::Tried| {
                    let arenas = problem.arenas().iter();
                    let mut limits = arenas.filter_map(|(id, a)| Some((id, a.capacity?)));
                    limits
                        .all(|(id, capacity)| t.heights.as_ref().is_some_and(|h| h[id] <= capacity))
                };
                let heights = planned
                    .tried
                    .iter()
                    .filter(fits)
                    .filter_map(|t| t.heights.as_ref())
                    .map(|heights| heights.values());
                let least: Option<u64> = heights.map(Iterator::sum).min();
                // What comes behind the strategies may do better.
                assert!(least.is_none_or(|least| total <= least));
                let mut names = planned.tried.iter().map(|t| t.strategy.name());
                if names.any(|name| name == made.strategy) {
                    assert_eq!(least, Some(total));
                }
            }
            Err(PlannerFault::DoesNotFit {
                height,
                capacity,
                bound,
                ..
            }) => assert!(height > capacity && bound.bytes <= height),
            Err(PlannerFault::NoRoom(short)) => assert!(short.needed > short.capacity),
            Err(PlannerFault::TooLarge(_)) => {
                let mut arenas = problem.arenas().values();
                let limited =
                    |a: &bayplan_planner::Arena| a.largest_object.or(a.capacity).is_some();
                assert!(arenas.any(limited));
            }
            Err(fault) => panic!("{fault}: {fault:?}"),
        }
    });
}

#[test]
fn plans_do_not_depend_on_the_run_or_the_number_of_threads() {
    let pool = |threads| {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().expect("a pool")
    };
    let pools = [pool(1), pool(2)];
    let same = |problem: &Problem| {
        let [one, two, again] = [&pools[0], &pools[1], &pools[1]].map(|pool| {
            let planned = pool.install(|| plan(problem.clone(), &brief()));
            planned.map(|p| (p.checked.into_parts(), p.bounds, p.tried))
        });
        if let (Ok(one), Ok(two), Ok(again)) = (&one, &two, &again) {
            assert!(one == two && two == again);
        } else {
            assert!(one.is_err() && two.is_err() && again.is_err());
        }
    };
    problems(400, SMALL, |problem, _| same(problem));
    problems(20, LARGE, |problem, _| same(problem));
}
