//! Problems and plans through JSON and RON; text with a changed number is refused or valid.

use crate::generate::{self, UNLIMITED};
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::{Bounds, Options, Plan, Problem, Strategy, plan};
use std::cell::Cell;
use std::ops::Range;

fn problems(cases: u32, property: impl Fn(&Problem, &mut Tape)) {
    let make = |t: &mut Tape| generate::problem(t, UNLIMITED);
    check(cases, UNLIMITED.buffers, make, property);
}

fn planned(problem: &Problem) -> Plan {
    let planned = plan(problem.clone(), &Options::default()).expect("no limits");
    planned.checked.into_parts().1
}

#[test]
fn problems_and_plans_come_back_equal() {
    problems(500, |problem, _| {
        let plan = planned(problem);
        let json = serde_json::to_string(&(problem, &plan)).expect("plain data");
        let back: (Problem, Plan) = serde_json::from_str(&json).expect("our own text");
        assert_eq!((&back.0, &back.1), (problem, &plan));
        let ron = ron::to_string(&(problem, &plan)).expect("plain data");
        let back: (Problem, Plan) = ron::from_str(&ron).expect("our own text");
        assert_eq!((&back.0, &back.1), (problem, &plan));
        let pretty = ron::ser::to_string_pretty(problem, ron::ser::PrettyConfig::new());
        let back: Problem = ron::from_str(&pretty.expect("plain data")).expect("our own text");
        assert_eq!(&back, problem);
    });
}

/// Where the numbers of a text are.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + c.len_utf8(),
            _ => found.push(at..at + c.len_utf8()),
        }
    }
    found
}

pub(crate) fn with_another_number(text: &str, t: &mut Tape) -> String {
    let all = numbers(text);
    let Some(at) = (!all.is_empty()).then(|| all[t.index(all.len())].clone()) else {
        return text.to_owned();
    };
    let number = match t.below(8) {
        0 => "0".into(),
        1 => "-1".into(),
        2 => u64::MAX.to_string(),
        3 => "18446744073709551616".into(),
        4 => u32::MAX.to_string(),
        5 => (u64::MAX - t.below(200)).to_string(),
        6 => "1.5".into(),
        _ => t.below(300).to_string(),
    };
    format!("{}{number}{}", &text[..at.start], &text[at.end..])
}

/// A problem that was read can be planned without surprise.
fn use_it(problem: &Problem) {
    let parts = (problem.arenas().clone(), problem.buffers().clone());
    let again = Problem::new(parts.0, parts.1, problem.pairs().to_vec());
    assert_eq!(again.as_ref(), Ok(problem));
    let bounds = Bounds::new(problem);
    for strategy in Strategy::ALL {
        let plan = strategy.run(problem);
        assert_eq!(violations(problem, &plan), []);
        for (arena, bound) in bounds.arenas.iter() {
            assert!(bound.bytes <= plan.heights[arena]);
        }
    }
}

#[test]
fn a_problem_with_another_number_is_refused_or_a_problem() {
    let (refused, accepted) = (Cell::new(0), Cell::new(0));
    problems(1000, |problem, t| {
        let json = serde_json::to_string(problem).expect("plain data");
        let ron = ron::to_string(problem).expect("plain data");
        let read = [
            serde_json::from_str::<Problem>(&with_another_number(&json, t)).ok(),
            ron::from_str::<Problem>(&with_another_number(&ron, t)).ok(),
        ];
        for read in read {
            let count = if read.is_some() { &accepted } else { &refused };
            count.set(count.get() + 1);
            read.iter().for_each(use_it);
        }
    });
    assert!(refused.get() > 300 && accepted.get() > 300);
}

#[test]
fn a_plan_with_another_number_is_never_a_panic() {
    let refused = Cell::new(0);
    problems(1000, |problem, t| {
        let plan = planned(problem);
        let json = serde_json::to_string(&plan).expect("plain data");
        let mut text = json.clone();
        for _ in 0..=t.below(2) {
            text = with_another_number(&text, t);
        }
        let Ok(read) = serde_json::from_str::<Plan>(&text) else {
            return;
        };
        if violations(problem, &read).is_empty() {
            return;
        }
        refused.set(refused.get() + 1);
        assert_ne!(read, plan);
    });
    assert!(refused.get() > 300, "{}", refused.get());
}
