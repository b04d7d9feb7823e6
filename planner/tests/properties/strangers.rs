//! Text and places that come from elsewhere: read, planned, drawn or refused, and never a panic.

use crate::files::with_another_number;
use crate::odd::{self, MAX};
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::file::csv::{Column, Parsed, read, write};
use bayplan_planner::ids::Id;
use bayplan_planner::memory::Memory;
use bayplan_planner::picture::{self, Details, Member};
use bayplan_planner::stock::{Span, arena_planner, micro_greedy};
use bayplan_planner::strategy::adopt;
use bayplan_planner::strategy::keep::Earlier;
use bayplan_planner::{
    Arena, ArenaId, Buffer, BufferId, Options, Place, Plan, Planned, PlannerFault, Problem, Rect,
    Table, plan,
};
use std::cell::Cell;

fn brief() -> Options<'static> {
    Options {
        work_limit: Some(1 << 12),
        ..Options::default()
    }
}

/// The buffers of an odd problem as CSV can say them.
fn plain(problem: &Problem) -> Option<Problem> {
    let names = problem.buffers().values().enumerate();
    let buffers = names.map(|(index, buffer)| Buffer {
        name: format!("b{index}"),
        arenas: vec![ArenaId::from_index(0)],
        ..buffer.clone()
    });
    Problem::new(
        vec![Arena::new("arena")].into(),
        buffers.collect(),
        Vec::new(),
    )
    .ok()
}

fn planned(problem: Problem) -> Option<Planned> {
    match plan(problem, &brief()) {
        Ok(planned) => Some(planned),
        Err(PlannerFault::Defect(refused)) => panic!("{refused}"),
        Err(_) => None,
    }
}

/// What the command does with a file: plans it, with the offsets given in it or as an earlier plan.
fn used(parsed: &Parsed) -> u32 {
    let free = planned(parsed.problem.clone()).expect("no limits");
    if !parsed.dialect.has(Column::Offset) {
        return 0;
    }
    let Ok(given) = parsed.with_fixed_offsets() else {
        return 0;
    };
    let earlier = Earlier::of_given(&given);
    let options = Options {
        keep: Some(&earlier),
        ..brief()
    };
    let again = plan(parsed.problem.clone(), &options).expect("no limits");
    assert!(again.height() >= free.bounds.arenas[ArenaId::from_index(0)].bytes);
    planned(given).expect("no limits");
    1
}

#[test]
fn a_csv_with_other_numbers_is_refused_or_planned() {
    let [read_ones, refused, given] = [0; 3].map(Cell::new);
    check(1200, 8, odd::problem, |problem, t| {
        let problem = problem.as_ref().and_then(plain);
        let Some(text) = problem.and_then(|problem| {
            let places = planned(problem.clone())?.checked.into_parts().1;
            write(&problem, t.chance(50).then_some(&places)).ok()
        }) else {
            return;
        };
        let text = if t.chance(30) {
            text.replace("upper", "end")
        } else {
            text
        };
        let mut changed = text.clone();
        for _ in 0..t.below(3) {
            changed = with_another_number(&changed, t);
        }
        match read(&changed) {
            Ok(parsed) => {
                read_ones.set(read_ones.get() + 1);
                given.set(given.get() + used(&parsed));
            }
            Err(errors) => {
                assert!(!errors.listed.is_empty());
                refused.set(refused.get() + 1);
            }
        }
    });
    let seen = [read_ones.get(), refused.get(), given.get()];
    assert!(seen[0] > 250 && seen[1] > 120 && seen[2] > 110, "{seen:?}");
}

/// Places from nowhere, too few or too many of them.
fn places(t: &mut Tape, problem: &Problem) -> Table<BufferId, Place> {
    let count = problem.buffers().len();
    let count = t.pick(&[count, count, count, count + 1, count.saturating_sub(1)]);
    let place = |_| Place {
        arena: ArenaId::from_index(t.index(4)),
        offset: t.pick(&[0, 0, 8, 1 << 20, 1 << 40, MAX - 1, MAX]),
    };
    (0..count).map(place).collect()
}

#[test]
fn places_from_elsewhere_are_checked_and_kept_only_where_they_can_be() {
    let (adopted, kept) = (Cell::new(0), Cell::new(0));
    check(1200, 6, odd::problem, |problem, t| {
        let Some(problem) = problem else { return };
        let places = places(t, problem);
        if let Ok(made) = adopt(problem.clone(), places.clone(), "elsewhere") {
            adopted.set(adopted.get() + 1);
            assert_eq!(violations(problem, made.checked.plan()), []);
        }
        let none = Table::new();
        let plan_of = Plan {
            strategy: String::new(),
            heights: Table::new(),
            claims: none,
            places,
        };
        let earlier = Earlier::of_plan(problem, &plan_of);
        let options = Options {
            keep: Some(&earlier),
            ..brief()
        };
        match plan(problem.clone(), &options) {
            Ok(made) => kept.set(kept.get() + made.kept.expect("it was asked for").counts()[0]),
            Err(PlannerFault::Defect(refused)) => panic!("{refused}"),
            Err(_) => {}
        }
    });
    assert!(
        adopted.get() > 20 && kept.get() > 250,
        "{adopted:?} {kept:?}"
    );
}

#[test]
fn memories_of_any_size_hold_it_or_not() {
    let (spread, made) = (Cell::new(0), Cell::new(0));
    check(1200, 8, odd::problem, |problem, t| {
        let Some(problem) = problem else { return };
        let limits = [
            None,
            Some(0),
            Some(1),
            Some(1 << 26),
            Some(1 << 40),
            Some(MAX),
        ];
        let arena = |index: usize, t: &mut Tape| Arena {
            capacity: t.pick(&limits),
            largest_object: t.chance(20).then(|| t.pick(&[0, 1 << 25, MAX])),
            alignment: t.pick(&[1, 1, 3, 1 << 20, 1 << 63]),
            ..Arena::new(["sram", "persistent", "ram"][index])
        };
        let memory = Memory {
            arenas: (0..t.index(4)).map(|index| arena(index, t)).collect(),
            pins: (0..t.below(3))
                .map(|_| {
                    (
                        format!("b{}", t.below(30)),
                        u32::try_from(t.below(4)).expect("small"),
                    )
                })
                .collect(),
        };
        if let Ok(problem) = memory.spread_plain(problem) {
            spread.set(spread.get() + 1);
            made.set(made.get() + u32::from(planned(problem).is_some()));
        }
    });
    assert!(
        spread.get() > 300 && made.get() > 100,
        "{spread:?} {made:?}"
    );
}

#[test]
fn stock_planners_place_any_spans_or_say_nothing() {
    let make = |t: &mut Tape| {
        let mut spans = Vec::new();
        while t.next_row() {
            let first = t.pick(&[0, 0, 1, 2, 5, u32::MAX]);
            spans.push(Span {
                size: t.pick(&[0, 1, 7, 64, 1 << 40, MAX / 2, MAX]),
                first,
                last: t.pick(&[None, Some(0), Some(first), Some(3), Some(u32::MAX)]),
                given: t.pick(&[None, None, None, Some(0), Some(64), Some(MAX)]),
            });
        }
        (spans, t.pick(&[0, 1, 3, 64, 1 << 63, MAX]))
    };
    let answered = Cell::new(0);
    check(2000, 8, make, |(spans, alignment), _| {
        for offsets in [arena_planner(spans, *alignment), micro_greedy(spans)] {
            answered.set(answered.get() + u32::from(offsets.is_some()));
            assert!(offsets.is_none_or(|offsets| offsets.len() == spans.len()));
        }
    });
    assert!(answered.get() > 1000, "{answered:?}");
}

#[test]
fn pictures_are_drawn_of_whatever_is_told_beside_a_plan() {
    let drawn = Cell::new(0);
    check(400, 6, odd::problem, |problem, t| {
        let Some(made) = problem
            .as_ref()
            .and_then(|problem| planned(problem.clone()))
        else {
            return;
        };
        let id = |t: &mut Tape| BufferId::from_index(t.index(9));
        let member = |t: &mut Tape| Member {
            buffer: id(t),
            label: "<&\u{202e}".into(),
            rect: Rect::from(t.pick(&[
                (0, 1, 0, 1),
                (3, 2, 9, 2),
                (0, u32::MAX, 0, MAX),
                (0, 1, MAX, MAX),
            ])),
        };
        let details = Details {
            title: "]]>".into(),
            step_names: vec!["<step>".into(); t.index(5)],
            notes: vec![vec![("role".to_owned(), "scratch".to_owned())]; t.index(9)].into(),
            members: (0..t.index(4)).map(|_| member(t)).collect(),
            budget: t.pick(&[None, Some(0), Some(MAX)]),
            conflict: vec![id(t)],
            capacities: (0..t.index(3))
                .map(|_| t.pick(&[None, Some(0), Some(MAX)]))
                .collect(),
        };
        for text in [
            picture::svg(&made.checked, &details),
            picture::html(&made.checked, &details),
        ] {
            assert!(!text.contains("<step>") && !text.contains("NaN") && !text.contains("inf "));
        }
        drawn.set(drawn.get() + 1);
    });
    assert!(drawn.get() > 100, "{drawn:?}");
}
