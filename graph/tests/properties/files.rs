//! Graphs and plans through text; text that is not a graph is refused, never a panic.

use crate::plans::{graphs, planned};
use crate::tape::Tape;
use bayplan_graph::format::own::{self, Syntax};
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::{PlanOptions, Policy, plan};
use bayplan_planner::{Options, Strategy};
use proptest::prelude::*;
use std::cell::Cell;

const BOTH: [Syntax; 2] = [Syntax::Json, Syntax::Ron];

#[test]
fn graphs_come_back_equal() {
    graphs(300, true, |graph, _| {
        let file = own::file(graph);
        for syntax in BOTH {
            let text = own::text(&file, syntax);
            let read = own::parse(&text, syntax).expect("our own text");
            assert_eq!(read, file);
            let again = own::graph(read, "other").expect("our own graph");
            assert_eq!(own::file(&again), file);
            assert_eq!(own::hash(&again), own::hash(graph));
        }
    });
}

#[test]
fn plans_come_back_equal_and_certify_and_are_the_same_every_time() {
    graphs(150, true, |graph, _| {
        let Some(first) = planned(graph, Policy::default()) else {
            return;
        };
        let part = GraphPart::new(&first);
        let json = serde_json::to_string(&part).expect("plain data");
        let again = planned(graph, Policy::default()).expect("it was planned before");
        let same = serde_json::to_string(&GraphPart::new(&again)).expect("plain data");
        assert_eq!(json, same);
        let plans = [&first, &again].map(|p| p.certified.checked().plan().clone());
        assert_eq!(plans[0], plans[1]);
        let read: GraphPart = serde_json::from_str(&json).expect("our own text");
        assert_eq!(read, part);
        let text = ron::to_string(&part).expect("plain data");
        let read: GraphPart = ron::from_str(&text).expect("our own text");
        assert_eq!(read, part);
        let inside = read.graph().expect("our own graph");
        let certified = read.certify(inside, first.certified.checked().clone());
        assert!(certified.is_ok(), "{certified:?}");
    });
}

/// One byte, number, or stretch of the text changed; still text.
fn changed(text: &str, t: &mut Tape) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=t.below(2) {
        let at = t.index(chars.len());
        match t.below(6) {
            0 => drop(chars.remove(at)),
            1 => chars[at] = t.pick(&['0', '9', '"', '[', '}', ',', '-', 'x', ' ', '\u{e9}']),
            2 => chars.truncate(at),
            3 => {
                let to = (at + t.index(40)).min(chars.len());
                let copy: Vec<char> = chars[at..to].to_vec();
                chars.splice(at..at, copy);
            }
            _ => {
                let digits: Vec<usize> = (0..chars.len())
                    .filter(|&i| chars[i].is_ascii_digit())
                    .collect();
                if !digits.is_empty() {
                    let at = t.pick(&digits);
                    let number = [
                        "0",
                        "1",
                        "64",
                        "18446744073709551615",
                        "99999999999999999999",
                    ];
                    chars.splice(at..=at, t.pick(&number).chars());
                }
            }
        }
        if chars.is_empty() {
            break;
        }
    }
    chars.into_iter().collect()
}

#[test]
fn changed_text_is_refused_or_a_graph_that_can_be_planned() {
    let (refused, accepted) = (Cell::new(0), Cell::new(0));
    let quick = PlanOptions {
        packing: Options {
            strategies: vec![Strategy::SizeFirstFit],
            work_limit: Some(0),
            ..Options::default()
        },
        ..PlanOptions::default()
    };
    graphs(600, true, |graph, t| {
        let file = own::file(graph);
        for syntax in BOTH {
            let text = changed(&own::text(&file, syntax), t);
            let read = own::parse(&text, syntax).and_then(|file| own::graph(file, "changed"));
            let Ok(read) = read else {
                refused.set(refused.get() + 1);
                continue;
            };
            accepted.set(accepted.get() + 1);
            if let Err(error) = plan(read.into(), &quick) {
                let stated = matches!(error, bayplan_graph::GraphPlanError::Problem(_));
                assert!(stated, "{error}\n{error:?}");
            }
        }
    });
    assert!(
        refused.get() > 300 && accepted.get() > 100,
        "{} {}",
        refused.get(),
        accepted.get()
    );
}

#[test]
fn a_changed_plan_part_is_never_a_panic() {
    let (refused, accepted) = (Cell::new(0), Cell::new(0));
    graphs(400, false, |graph, t| {
        let first = planned(graph, Policy::default()).expect("nothing is fixed");
        let part = GraphPart::new(&first);
        let json = serde_json::to_string(&part).expect("plain data");
        // Mostly numbers of places and order, which come after the graph.
        let middle = json.find("\"schedule\"").expect("it has one");
        let text = format!("{}{}", &json[..middle], changed(&json[middle..], t));
        let certified = serde_json::from_str::<GraphPart>(&text)
            .ok()
            .and_then(|read| {
                let inside = read.graph().ok()?;
                let checked = first.certified.checked().clone();
                read.certify(inside, checked).ok()
            });
        let count = if certified.is_some() {
            &accepted
        } else {
            &refused
        };
        count.set(count.get() + 1);
    });
    assert!(refused.get() > 200, "{} {}", refused.get(), accepted.get());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn any_text_is_never_a_panic(text in "\\PC*", soup in "[\\[\\]{}():,\"a-z0-9. -]{0,200}") {
        for syntax in BOTH {
            for text in [&text, &soup] {
                if let Ok(file) = own::parse(text, syntax) {
                    let _ = own::graph(file, "any");
                }
            }
        }
    }
}
