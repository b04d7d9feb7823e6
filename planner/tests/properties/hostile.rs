//! Problems and options that nobody would choose. Nothing panics, no plan of ours is refused, and no two answers about a problem contradict each other.

use crate::odd::{self, MAX};
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::picture::{self, Details};
use bayplan_planner::spill::residency;
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::strategy::keep::{Earlier, Old};
use bayplan_planner::strategy::search::Rules;
use bayplan_planner::{
    Answer, ArenaId, Lifetime, Options, Planned, PlannerFault, Problem, Rect, Strategy, Verdict,
    conflict, plan, prove, table,
};
use std::cell::Cell;
use std::time::Duration;

fn rules(t: &mut Tape) -> Rules {
    if t.chance(60) {
        return Rules::ALL;
    }
    let mut on = || t.chance(60);
    Rules {
        pushed: on(),
        failed: on(),
        dominance: on(),
        sections: on(),
        alone: on(),
        twins: on(),
        pieces: on(),
        sunk: on(),
    }
}

fn options(t: &mut Tape) -> Options<'static> {
    let strategies = match t.below(4) {
        0 => Strategy::ALL.to_vec(),
        1 => vec![Strategy::StartFirstFit],
        _ => vec![t.pick(&Strategy::ALL), t.pick(&Strategy::ALL)],
    };
    let work = t.pick(&[0, 1 << 8, 1 << 13]);
    Options {
        strategies,
        stop_at_bound: !t.chance(20),
        node_limit: t.pick(&[None, None, Some(0), Some(1), Some(300), Some(MAX)]),
        work_limit: t.pick(&[
            Some(0),
            Some(1),
            Some(1 << 10),
            Some(1 << 15),
            Some(1 << 15),
        ]),
        improve: Effort {
            work,
            by_buffer: t.pick(&[1 << 9, MAX]),
            least: t.pick(&[0, 0, 5, usize::MAX]),
        },
        time_limit: t.pick(&[
            None,
            None,
            None,
            None,
            Some(Duration::ZERO),
            Some(Duration::MAX),
        ]),
        threads: t.pick(&[0, 0, 0, 0, 2]),
        seed: t.pick(&[0, 1, MAX, 77]),
        enough: t.pick(&[None, None, None, Some(0), Some(MAX), Some(1 << 30)]),
        rules: rules(t),
        cancel: t.chance(5).then_some(&|| true),
        ..Options::default()
    }
}

/// Places that some plan had, or that none could have.
fn earlier(t: &mut Tape, problem: &Problem, known: Option<&Planned>) -> Earlier {
    let mut earlier = known.map_or_else(Earlier::default, |known| {
        Earlier::of_plan(problem, known.checked.plan())
    });
    for old in &mut earlier.buffers {
        if t.chance(20) {
            old.offset = t.pick(&[0, MAX, MAX - 1, MAX - (1 << 20), 1 << 63, 1 << 31]);
        }
        if t.chance(5) {
            old.arena = t.index(5);
        }
    }
    for index in 0..t.index(4) {
        let offset = MAX - t.below(1 << 31);
        let extent = vec![Rect::new(Lifetime::new(0, 4), 0..t.pick(&[0, 1, MAX]))];
        let (name, arena) = (format!("b{index}"), t.index(3));
        earlier.buffers.push(Old {
            name,
            extent,
            arena,
            offset,
        });
    }
    earlier.slack = t.pick(&[0, 0, 1, 1 << 40, MAX]);
    earlier.budget = t.pick(&[None, None, Some(0), Some(1 << 30), Some(MAX)]);
    earlier
}

/// What is known of the first arena: no plan is lower than the one, some plan is as low as the other.
type Known = (u64, u64);

fn known(problem: &Problem, answer: Result<&Planned, &PlannerFault>) -> Option<Known> {
    match answer {
        Ok(planned) => {
            let made = planned.checked.plan();
            assert_eq!(violations(problem, made), []);
            for (arena, &height) in made.heights.iter() {
                assert!(height >= planned.bounds.arenas[arena].bytes);
            }
            let first = made.heights.ids().next()?;
            Some((planned.bounds.arenas[first].bytes, made.heights[first]))
        }
        Err(PlannerFault::DoesNotFit {
            height,
            capacity,
            bound,
            arena,
        }) => {
            assert!(height > capacity && bound.bytes <= *height);
            let first = problem.arenas().values().next()?.name == *arena;
            first.then_some((bound.bytes, *height))
        }
        Err(fault) => {
            let text = fault.to_string();
            assert!(!matches!(fault, PlannerFault::Defect(_)), "{text}");
            None
        }
    }
}

/// Whoever reports a plan can do so.
fn reported(planned: &Planned) {
    let plan = &planned.checked;
    for (arena, summary) in table::summaries(plan).iter() {
        table::free_ranges(plan, arena, summary.peak_step);
    }
    assert_eq!(table::rows(plan).len(), plan.problem().buffers().len());
    let residency = residency(plan);
    assert!(residency.resident <= residency.bound && residency.bound <= residency.traffic);
    let details = Details {
        budget: Some(MAX),
        ..Details::default()
    };
    for text in [picture::svg(plan, &details), picture::html(plan, &details)] {
        assert!(text.contains("</svg>"));
    }
}

/// What conflicts and proofs say of the only arena.
fn decided(problem: &Problem, all: &mut Vec<Known>, t: &mut Tape) {
    let arena = ArenaId::from_index(0);
    let (bound, height) = all[t.index(all.len())];
    let capacity = t.pick(&[
        bound.saturating_sub(1),
        bound,
        height,
        bound / 2 + height / 2,
        0,
    ]);
    let brief = Options {
        work_limit: Some(1 << 14),
        ..Options::default()
    };
    let unbound = problem.buffers().values().all(|b| b.arenas == [arena]);
    match conflict(problem, arena, capacity, &brief).expect("no defects") {
        Answer::Fits(height) if unbound => {
            assert!(height <= capacity);
            all.push((0, height));
        }
        Answer::Conflict(conflict) if unbound => {
            assert!(!conflict.members.is_empty());
            all.push((capacity + 1, MAX));
        }
        Answer::Undecided(bound) => all.push((bound, MAX)),
        _ => {}
    }
    match prove(problem, arena, t.pick(&[bound, height, MAX, 0]), &brief) {
        Ok(Verdict::Refuted { height }) => all.push((0, height)),
        Ok(Verdict::Undecided { bound, .. }) => all.push((bound, MAX)),
        Ok(Verdict::Proved { .. }) => {}
        Err(fault) => panic!("{fault}"),
    }
}

/// Asks for plans of a problem in several ways, and what else can be asked about it. Numbers of plans and of
/// searches.
fn asked(problem: &Problem, t: &mut Tape) -> [u32; 2] {
    let (mut planned_ones, mut searched) = (0, 0);
    let mut all: Vec<Known> = Vec::new();
    let mut last: Option<Planned> = None;
    for _ in 0..3 {
        let earlier = t.chance(30).then(|| earlier(t, problem, last.as_ref()));
        let options = Options {
            keep: earlier.as_ref(),
            ..options(t)
        };
        let answer = plan(problem.clone(), &options);
        all.extend(known(problem, answer.as_ref()));
        if let Ok(planned) = answer {
            searched += u32::from(planned.nodes > 0);
            planned_ones += 1;
            last = Some(planned);
        }
    }
    if let Some(planned) = &last {
        reported(planned);
    }
    if problem.arenas().len() == 1 && !all.is_empty() {
        decided(problem, &mut all, t);
        let bound = all.iter().map(|known| known.0).max();
        let height = all.iter().map(|known| known.1).min();
        assert!(bound <= height, "{all:?}");
    }
    [planned_ones, searched]
}

/// Plans and searches of `cases` problems of up to so many buffers.
fn hostile(cases: u32, buffers: usize) -> [u32; 2] {
    let sum = Cell::new([0, 0]);
    check(cases, buffers, odd::problem, |problem, t| {
        if let Some(problem) = problem {
            let ([plans, searches], [p, s]) = (asked(problem, t), sum.get());
            sum.set([p + plans, s + searches]);
        }
    });
    sum.get()
}

#[test]
fn whatever_is_asked_nothing_panics_and_no_answer_contradicts_another() {
    let [plans, searches] = hostile(1000, 9);
    assert!(plans > 2000 && searches > 120, "{plans} {searches}");
}

#[test]
fn nor_do_many_at_once() {
    let [plans, searches] = hostile(150, 45);
    assert!(plans > 200 && searches > 25, "{plans} {searches}");
    let [plans, _] = hostile(16, 600);
    assert!(plans > 3, "{plans}");
}
