//! Whatever stops planning, there is a plan, and it says what it is; limits that count are deterministic.

use crate::generate::{self, LARGE, SMALL, UNLIMITED};
use crate::oracle;
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::{ArenaId, Options, Planned, Problem, Stage, Status, Strategy, plan};
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn problems(cases: u32, property: impl Fn(&Problem, &mut Tape)) {
    let make = |t: &mut Tape| generate::problem(t, LARGE);
    check(cases, LARGE.buffers, make, property);
}

/// The plan when `cancel` says yes from the question with this number on.
fn cancelled_at(problem: &Problem, question: u64) -> (Planned, u64) {
    let asked = AtomicU64::new(0);
    let cancel = || asked.fetch_add(1, Ordering::Relaxed) >= question;
    let options = Options {
        work_limit: Some(1 << 18),
        cancel: Some(&cancel),
        ..Options::default()
    };
    let planned = plan(problem.clone(), &options).expect("no limits");
    (planned, asked.load(Ordering::Relaxed))
}

#[test]
fn however_early_it_is_stopped_there_is_a_plan() {
    let (quick, late) = (Cell::new(0), Cell::new(0));
    problems(120, |problem, t| {
        for question in [0, 1, 1 + t.below(8), t.below(200)] {
            let (planned, asked) = cancelled_at(problem, question);
            let made = planned.checked.plan();
            assert!(violations(problem, made).is_empty());
            for (arena, &height) in made.heights.iter() {
                assert!(height >= planned.bounds.arenas[arena].bytes);
            }
            let cut = asked > question && !planned.is_optimal();
            assert_eq!(planned.status == Status::Cancelled, cut);
            quick.set(quick.get() + u32::from(made.strategy == "quick"));
            late.set(late.get() + u32::from(cut && made.strategy != "quick"));
        }
    });
    assert!(quick.get() > 50 && late.get() > 30, "{quick:?} {late:?}");
}

#[test]
fn the_quick_plan_is_one_of_every_kind_of_problem() {
    let used = Cell::new(0);
    let make = |t: &mut Tape| generate::problem(t, UNLIMITED);
    check(1500, UNLIMITED.buffers, make, |problem, _| {
        let (planned, _) = cancelled_at(problem, 0);
        let made = planned.checked.plan();
        for id in problem.buffers().ids() {
            assert!(!oracle::collides(problem, made, id));
        }
        used.set(used.get() + u32::from(made.strategy == "quick"));
    });
    assert!(used.get() > 1000, "{used:?}");
}

#[test]
fn capacities_and_largest_objects_are_minded_by_a_cancelled_run_too() {
    let fits = Cell::new(0);
    let make = |t: &mut Tape| generate::problem(t, SMALL);
    check(1500, SMALL.buffers, make, |problem, _| {
        let cancel = || true;
        let options = Options {
            cancel: Some(&cancel),
            ..Options::default()
        };
        match plan(problem.clone(), &options) {
            Ok(planned) => {
                assert!(violations(problem, planned.checked.plan()).is_empty());
                fits.set(fits.get() + 1);
            }
            Err(fault) => assert!(!fault.to_string().contains("failed the check"), "{fault}"),
        }
    });
    assert!(fits.get() > 500, "{fits:?}");
}

/// The height of the first arena.
fn height(planned: &Planned) -> u64 {
    planned.checked.plan().heights[ArenaId::from_index(0)]
}

#[test]
fn a_limit_of_nodes_gives_the_same_plan_on_any_number_of_threads_and_more_is_never_worse() {
    let reached = Cell::new(0);
    problems(40, |problem, t| {
        let limited = |nodes: u64, threads: usize| {
            let options = Options {
                strategies: vec![Strategy::StartFirstFit],
                node_limit: Some(nodes),
                work_limit: Some(1 << 20),
                threads,
                ..Options::default()
            };
            plan(problem.clone(), &options).expect("no limits")
        };
        let nodes = 1 + t.below(3000);
        let [one, two] = [1, 2].map(|threads| limited(nodes, threads));
        assert_eq!(one.checked.plan(), two.checked.plan());
        assert_eq!((one.nodes, one.status), (two.nodes, two.status));
        assert_eq!(one.bounds, two.bounds);
        assert_eq!(limited(0, 0).nodes, 0);
        let more = limited(4 * nodes, 0);
        assert!(height(&more) <= height(&one));
        if one.nodes > nodes {
            assert!(matches!(one.status, Status::Limit | Status::Optimal));
            reached.set(reached.get() + 1);
        }
    });
    assert!(reached.get() > 5, "{reached:?}");
}

#[test]
fn no_time_at_all_is_time_for_a_plan() {
    let cut = Cell::new(0);
    problems(40, |problem, _| {
        let options = Options {
            time_limit: Some(Duration::ZERO),
            ..Options::default()
        };
        let planned = plan(problem.clone(), &options).expect("no limits");
        assert!(violations(problem, planned.checked.plan()).is_empty());
        assert!(planned.is_optimal() || planned.status == Status::TimeLimit);
        cut.set(cut.get() + u32::from(planned.status == Status::TimeLimit));
    });
    assert!(cut.get() > 20, "{cut:?}");
}

#[test]
fn a_height_that_is_enough_ends_planning() {
    let decided = Cell::new(0);
    problems(40, |problem, t| {
        let best = plan(problem.clone(), &Options::greedy()).expect("no limits");
        let bounds = best.bounds.arenas.values().map(|bound| bound.bytes);
        let highest = best.checked.plan().heights.values().max().copied();
        let highest = highest.unwrap_or(0) + t.below(100);
        let options = Options {
            enough: Some(highest),
            ..Options::default()
        };
        let planned = plan(problem.clone(), &options).expect("no limits");
        assert!(matches!(planned.status, Status::Decided | Status::Optimal));
        assert_eq!(planned.nodes, 0);
        decided.set(decided.get() + u32::from(planned.tried.len() < best.tried.len()));
        // No plan at all is as low as this.
        let low = bounds.min().unwrap_or(0).saturating_sub(1);
        let options = Options {
            enough: Some(low),
            ..Options::default()
        };
        let planned = plan(problem.clone(), &options).expect("no limits");
        assert_eq!(planned.nodes, 0);
    });
    assert!(decided.get() > 10, "{decided:?}");
}

#[test]
fn progress_comes_down_to_the_plan() {
    let searched = Cell::new(0);
    problems(40, |problem, _| {
        let seen = Mutex::new(Vec::new());
        let watch = |progress: &bayplan_planner::Progress| {
            seen.lock().expect("nobody panicked").push(*progress);
        };
        let options = Options {
            work_limit: Some(1 << 20),
            progress: Some(&watch),
            ..Options::default()
        };
        let planned = plan(problem.clone(), &options).expect("no limits");
        let seen = seen.into_inner().expect("nobody panicked");
        assert!(!seen.is_empty());
        let single = problem.arenas().len() == 1;
        for progress in &seen {
            match progress.stage {
                Stage::Strategies {
                    ended,
                    of,
                    placed,
                    buffers,
                } => assert!(ended <= of && placed <= buffers),
                Stage::Search { nodes } => {
                    assert!(nodes <= planned.nodes);
                    searched.set(searched.get() + u32::from(nodes > 0));
                }
                _ => panic!("no other stage"),
            }
            if single && let Some(best) = progress.height {
                assert!(best >= height(&planned));
                assert!(progress.bound <= planned.bounds.arenas[ArenaId::from_index(0)].bytes);
            }
        }
    });
    assert!(searched.get() > 10, "{searched:?}");
}
