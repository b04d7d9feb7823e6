//! Improvement keeps plans valid and lowers them; folding gives back what was cut.

use crate::generate::{self, Kind, LARGE, UNLIMITED};
use crate::tape::{Tape, check};
use crate::tiny::{TINY, optimum, tiny};
use bayplan_planner::ids::Id;
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::strategy::{Progress, Stage, Status};
use bayplan_planner::{ArenaId, Buffer, Options, Planned, Problem, Strategy, plan};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The worst greedy, so that there is something to do; then improvement.
fn improved(problem: &Problem, work: u64) -> Planned {
    let options = Options {
        strategies: vec![Strategy::StartFirstFit],
        improve: Effort {
            work,
            by_buffer: u64::MAX,
            least: 0,
        },
        work_limit: Some(0),
        ..Options::default()
    };
    // The planner checks what it made.
    plan(problem.clone(), &options).expect("no limits")
}

#[test]
fn tiny_plans_come_nearer_to_the_optimum() {
    let (met, open) = (Cell::new(0), Cell::new(0));
    tiny(2500, TINY, |problem, _: &mut Tape| {
        let arena = ArenaId::from_index(0);
        let greedy = Strategy::StartFirstFit.run(problem).heights[arena];
        let (optimum, height) = (
            optimum(problem, greedy),
            improved(problem, 1 << 14).height(),
        );
        assert!(optimum <= height && height <= greedy);
        if optimum < greedy {
            open.set(open.get() + 1);
            met.set(met.get() + u32::from(height == optimum));
        }
    });
    let (met, open) = (met.get(), open.get());
    assert!(open > 350 && 4 * met > 3 * open, "{met} of {open}");
}

/// Every arena is as low or lower; on the whole much is gained.
fn lowers(cases: u32, kind: Kind, least: u32) {
    let gained = Cell::new(0);
    let make = |t: &mut Tape| generate::problem(t, kind);
    check(cases, kind.buffers, make, |problem, _| {
        let greedy = Strategy::StartFirstFit.run(problem);
        let planned = improved(problem, 1 << 20);
        let heights = &planned.checked.plan().heights;
        let mut pairs = heights.values().zip(greedy.heights.values());
        assert!(pairs.all(|(ours, greedy)| ours <= greedy));
        gained.set(gained.get() + u32::from(*heights != greedy.heights));
    });
    assert!(gained.get() >= least, "{gained:?}");
}

#[test]
fn whatever_a_problem_has_is_kept() {
    lowers(600, UNLIMITED, 210);
    lowers(40, LARGE, 27);
}

#[test]
fn the_same_options_give_the_same_plan() {
    let make = |t: &mut Tape| generate::problem(t, LARGE);
    check(20, LARGE.buffers, make, |problem, _| {
        let plans = [(); 2].map(|()| improved(problem, 1 << 20));
        assert_eq!(plans[0].checked.plan(), plans[1].checked.plan());
    });
}

/// All strategies, then feedback and improvement, however few buffers there are.
fn corrected(problem: &Problem, threads: usize) -> Planned {
    let options = Options {
        improve: Effort {
            work: 1 << 16,
            by_buffer: u64::MAX,
            least: 0,
        },
        threads,
        work_limit: Some(0),
        ..Options::default()
    };
    plan(problem.clone(), &options).expect("no limits")
}

/// Every arena is as low as by the strategies, or lower; in so many cases the plan is one of feedback.
fn feeds_back(cases: u32, kind: Kind, least: u32) {
    let ours = Cell::new(0);
    let make = |t: &mut Tape| generate::problem(t, kind);
    check(cases, kind.buffers, make, |problem, _| {
        let strategies = plan(problem.clone(), &Options::greedy()).expect("no limits");
        let planned = corrected(problem, 1);
        let sum = |planned: &Planned| planned.checked.plan().heights.values().sum::<u64>();
        assert!(sum(&planned) <= sum(&strategies));
        assert_eq!(planned.checked, corrected(problem, 2).checked);
        let name = &planned.checked.plan().strategy;
        ours.set(ours.get() + u32::from(name.ends_with("feedback")));
    });
    assert!(ours.get() >= least, "{ours:?}");
}

#[test]
fn feedback_lowers_what_the_strategies_left() {
    feeds_back(200, UNLIMITED, 20);
    feeds_back(16, LARGE, 7);
}

/// A rectangle of 40,000 steps and 2^24 bytes in so many pieces, the largest one cut next.
pub(crate) fn cut(pieces: usize) -> Problem {
    let mut state = 7_u64;
    let mut draw = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit
    };
    let mut left = vec![(0_u32, 40_000_u32, 1_u64 << 24)];
    while left.len() < pieces {
        left.sort_by_key(|&(start, end, bytes)| u64::from(end - start) * bytes);
        let (start, end, bytes) = left.pop().expect("one at least");
        if draw(2) == 0 {
            let steps = u64::from(end - start);
            let middle = start + u32::try_from(steps / 4 + draw(steps / 2)).expect("in between");
            left.extend([(start, middle, bytes), (middle, end, bytes)]);
        } else {
            let below = bytes / 4 + draw(bytes / 2);
            left.extend([(start, end, below), (start, end, bytes - below)]);
        }
    }
    left.sort_by_key(|piece| piece.2);
    let buffers = left.into_iter().enumerate();
    let buffers =
        buffers.map(|(i, (start, end, bytes))| Buffer::new(format!("p{i}"), start..end, bytes));
    Problem::single(buffers.collect()).expect("valid")
}

#[test]
fn folding_gives_back_what_was_cut() {
    let planned = plan(cut(500), &Options::default()).expect("no limits");
    assert_eq!(planned.height(), 1 << 24);
    assert!(planned.is_optimal());
    assert!(planned.checked.plan().strategy.starts_with("fold"));
}

#[test]
fn what_does_not_fold_is_improved() {
    let problem = cut(500);
    let greedy = Strategy::StartFirstFit.run(&problem);
    let height = improved(&problem, 1 << 22).height();
    let least = greedy.heights[ArenaId::from_index(0)];
    assert!(6 * height < 5 * least, "{height} of {least}");
}

#[test]
fn a_cancelled_improvement_keeps_the_plan() {
    let problem = cut(500);
    let improving = AtomicBool::new(false);
    let watch = |at: &Progress| {
        improving.fetch_or(at.stage == Stage::Improvement, Ordering::Relaxed);
    };
    let options = Options {
        strategies: vec![Strategy::StartFirstFit],
        improve: Effort {
            work: u64::MAX,
            by_buffer: u64::MAX,
            ..Effort::default()
        },
        work_limit: Some(0),
        progress: Some(&watch),
        cancel: Some(&|| improving.load(Ordering::Relaxed)),
        ..Options::default()
    };
    let planned = plan(problem.clone(), &options).expect("no limits");
    let greedy = Strategy::StartFirstFit.run(&problem);
    assert_eq!(planned.status, Status::Cancelled);
    assert!(planned.height() <= greedy.heights[ArenaId::from_index(0)]);
}
