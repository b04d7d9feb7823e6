//! The exact search against trying everything, and each of its prunings against doing without.

use crate::generate::Kind;
use crate::improve::cut;
use crate::tape::Tape;
use crate::tiny::{TINY, optimum, tiny};
use bayplan_planner::ids::Id;
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::strategy::search::Rules;
use bayplan_planner::{ArenaId, Options, Planned, Problem, Strategy, plan};
use std::cell::Cell;

/// The worst greedy, so that the search has work to do; then the search.
fn searched(problem: &Problem, rules: Rules) -> Planned {
    let options = Options {
        strategies: vec![Strategy::StartFirstFit],
        rules,
        ..Options::default()
    };
    plan(problem.clone(), &options).expect("no limits")
}

/// All prunings, none, and each one switched off.
fn variants() -> Vec<Rules> {
    let all = Rules::ALL;
    let none = Rules {
        pushed: false,
        failed: false,
        dominance: false,
        sections: false,
        alone: false,
        twins: false,
        pieces: false,
        sunk: false,
    };
    vec![
        all,
        none,
        Rules {
            pushed: false,
            ..all
        },
        Rules {
            failed: false,
            ..all
        },
        Rules {
            dominance: false,
            ..all
        },
        Rules {
            sections: false,
            ..all
        },
        Rules {
            alone: false,
            ..all
        },
        Rules {
            twins: false,
            ..all
        },
        Rules {
            pieces: false,
            ..all
        },
        Rules { sunk: false, ..all },
    ]
}

const PLAIN: Kind = Kind {
    ragged: false,
    pairs: false,
    ..TINY
};

#[test]
fn every_pruning_keeps_the_optimum_and_proves_it() {
    let (worked, raised) = (Cell::new(0), Cell::new(0));
    tiny(2500, PLAIN, |problem, _: &mut Tape| {
        let greedy = Strategy::StartFirstFit.run(problem);
        let arena = ArenaId::from_index(0);
        let optimum = optimum(problem, greedy.heights[arena]);
        for rules in variants() {
            let planned = searched(problem, rules);
            assert_eq!(planned.height(), optimum, "{rules:?}");
            assert!(planned.is_optimal(), "{rules:?}");
            worked.set(worked.get() + u32::from(planned.nodes > 0));
            let claim = planned.checked.plan().claims[arena];
            raised.set(raised.get() + u32::from(format!("{claim:?}").contains("Search")));
        }
    });
    assert!(
        worked.get() > 1000 && raised.get() > 100,
        "{worked:?} {raised:?}"
    );
}

#[test]
fn whatever_extents_and_pairs_there_are_the_optimum_is_found_and_proved() {
    let raised = Cell::new(0);
    tiny(2500, TINY, |problem, _: &mut Tape| {
        let arena = ArenaId::from_index(0);
        let greedy = Strategy::StartFirstFit.run(problem);
        let optimum = optimum(problem, greedy.heights[arena]);
        for rules in variants() {
            let planned = searched(problem, rules);
            assert_eq!(planned.height(), optimum, "{rules:?}");
            assert!(planned.is_optimal(), "{rules:?}");
            let claim = planned.checked.plan().claims[arena];
            raised.set(raised.get() + u32::from(format!("{claim:?}").contains("Search")));
        }
    });
    assert!(raised.get() > 3000, "{raised:?}");
}

#[test]
fn the_same_options_give_the_same_plan() {
    tiny(300, PLAIN, |problem, _: &mut Tape| {
        let plans = [(); 2].map(|()| searched(problem, Rules::ALL));
        assert_eq!(plans[0].checked.plan(), plans[1].checked.plan());
        assert_eq!(plans[0].nodes, plans[1].nodes);
    });
}

#[test]
fn what_was_cut_is_mostly_put_together_again() {
    let sizes = [20, 30, 50, 80, 100, 150, 200, 300];
    let optimal = sizes.into_iter().filter(|&pieces| {
        let options = Options {
            work_limit: Some(1 << 24),
            improve: Effort::of(0),
            ..Options::default()
        };
        let planned = plan(cut(pieces), &options).expect("no limits");
        planned.is_optimal()
    });
    let optimal: Vec<usize> = optimal.collect();
    assert!(optimal.len() >= 7, "{optimal:?}");
}
