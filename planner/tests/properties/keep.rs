//! Planning again: what did not change stays, and what moves had to.

use crate::generate::{self, Kind, SMALL};
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::strategy::keep::{Earlier, Fate, Old, Why};
use bayplan_planner::{
    Arena, ArenaId, Buffer, BufferId, Options, Planned, Problem, Rect, Status, plan,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

fn brief(keep: Option<&Earlier>) -> Options<'_> {
    Options {
        work_limit: Some(1 << 14),
        keep,
        ..Options::default()
    }
}

const KIND: Kind = Kind {
    limits: false,
    ..SMALL
};

fn first(problem: &Problem) -> (Planned, Earlier) {
    let planned = plan(problem.clone(), &brief(None)).expect("no limits");
    let earlier = Earlier::of_plan(problem, planned.checked.plan());
    (planned, earlier)
}

#[test]
fn an_unchanged_problem_keeps_every_offset() {
    let make = |t: &mut Tape| generate::problem(t, KIND);
    check(600, KIND.buffers, make, |problem, _| {
        let (before, earlier) = first(problem);
        let again = plan(problem.clone(), &brief(Some(&earlier))).expect("no limits");
        assert_eq!(again.checked.plan().places, before.checked.plan().places);
        let kept = again.kept.expect("there was an earlier plan");
        assert!(kept.fates.values().all(|fate| *fate == Fate::Stays) && kept.gone.is_empty());
    });
}

/// The same problem with one buffer larger, shorter, gone or new.
fn changed(problem: &Problem, t: &mut Tape) -> Problem {
    let mut buffers: Vec<Buffer> = problem.buffers().values().cloned().collect();
    let mut pairs = problem.pairs().to_vec();
    let index = t.index(buffers.len());
    let fixed = buffers[index].fixed_offset.is_some();
    match t.below(4) {
        0 if !fixed => {
            let more = 1 + t.below(40);
            let size = buffers[index].size() + more;
            buffers[index].extent = vec![Rect::new(0..3, 0..size)];
        }
        1 => buffers[index].extent.truncate(1),
        2 => {
            pairs.retain(|p| p.lower.index() != index && p.upper.index() != index);
            let renamed =
                |id: BufferId| BufferId::from_index(id.index() - usize::from(id.index() > index));
            for pair in &mut pairs {
                (pair.lower, pair.upper) = (renamed(pair.lower), renamed(pair.upper));
            }
            buffers.remove(index);
        }
        _ => buffers.push(Buffer::new("new", 0..4, 1 + t.below(60))),
    }
    Problem::new(problem.arenas().clone(), buffers.into(), pairs).expect("still a problem")
}

#[test]
fn after_one_change_only_what_is_forced_moves() {
    let (moved_ones, kept_ones) = (Cell::new(0), Cell::new(0));
    let make = |t: &mut Tape| generate::problem(t, KIND);
    check(800, KIND.buffers, make, |problem, t| {
        if problem.buffers().is_empty() {
            return;
        }
        let (_, earlier) = first(problem);
        let changed = changed(problem, t);
        let fresh = plan(changed.clone(), &brief(None)).expect("no limits");
        let again = plan(changed.clone(), &brief(Some(&earlier))).expect("no limits");
        let made = again.checked.plan();
        assert!(violations(&changed, made).is_empty());
        for (arena, &height) in made.heights.iter() {
            let before = earlier.arenas[arena.index()].1;
            assert!(height <= before.max(fresh.checked.plan().heights[arena]));
        }
        let kept = again.kept.expect("there was an earlier plan");
        let [stay, new, moved, gone] = kept.counts();
        assert_eq!(stay + new + moved, changed.buffers().len());
        assert_eq!(stay + moved + gone, problem.buffers().len());
        for (id, fate) in kept.fates.iter() {
            let place = made.places[id];
            match fate {
                Fate::Stays => {
                    let name = &changed.buffers()[id].name;
                    let old = earlier.buffers.iter().find(|old| old.name == *name);
                    let old = old.expect("it was there");
                    assert_eq!((place.arena.index(), place.offset), (old.arena, old.offset));
                }
                Fate::Moved { from, .. } => {
                    assert_ne!(
                        (place.arena.index(), place.offset),
                        (from.arena, from.offset)
                    );
                }
                Fate::New => {}
            }
        }
        moved_ones.set(moved_ones.get() + moved);
        kept_ones.set(kept_ones.get() + stay);
    });
    assert!(
        moved_ones.get() * 4 < kept_ones.get(),
        "{moved_ones:?} {kept_ones:?}"
    );
}

#[test]
fn however_early_it_is_stopped_the_plan_says_what_it_kept() {
    let (cut, stays) = (Cell::new(0), Cell::new(0));
    let make = |t: &mut Tape| generate::problem(t, KIND);
    check(200, KIND.buffers, make, |problem, t| {
        if problem.buffers().is_empty() {
            return;
        }
        let (_, earlier) = first(problem);
        let changed = changed(problem, t);
        for question in [0, 1 + t.below(8), 1 + t.below(60)] {
            let asked = AtomicU64::new(0);
            let cancel = || asked.fetch_add(1, Ordering::Relaxed) >= question;
            let options = Options {
                cancel: Some(&cancel),
                ..brief(Some(&earlier))
            };
            let planned = plan(changed.clone(), &options).expect("no limits");
            let made = planned.checked.plan();
            assert!(violations(&changed, made).is_empty());
            let kept = planned.kept.expect("there was an earlier plan");
            for (id, fate) in kept.fates.iter() {
                let old = |from: &Old| (from.arena, from.offset);
                let now = (made.places[id].arena.index(), made.places[id].offset);
                assert!(!matches!(fate, Fate::Moved { from, .. } if old(from) == now));
            }
            stays.set(stays.get() + kept.counts()[0]);
            cut.set(cut.get() + u32::from(planned.status == Status::Cancelled));
        }
    });
    assert!(cut.get() > 50 && stays.get() > 500, "{cut:?} {stays:?}");
}

fn three(sizes: [u64; 3]) -> Problem {
    Problem::single(vec![
        Buffer::new("a", 0..2, sizes[0]),
        Buffer::new("b", 1..3, sizes[1]),
        Buffer::new("c", 2..4, sizes[2]),
    ])
    .expect("three buffers are a problem")
}

/// `a` at 0, `b` above it, `c` at 0 once `a` is dead.
fn earlier() -> Earlier {
    let mut problem = three([10, 8, 6]).buffers().clone();
    for (buffer, offset) in problem.values_mut().zip([0, 10, 0]) {
        buffer.fixed_offset = Some(offset);
    }
    let given = Problem::new(vec![Arena::new("arena")].into(), problem, Vec::new());
    let given = given.expect("the places do not clash");
    Earlier::of_given(&given)
}

#[test]
fn who_grows_into_others_moves_and_the_others_stay() {
    let earlier = earlier();
    let planned = plan(three([12, 8, 6]), &brief(Some(&earlier))).unwrap();
    let kept = planned.kept.as_ref().unwrap();
    let fates: Vec<&Fate> = kept.fates.values().collect();
    // `a` meets `b`; below and above there is room for 12 only from 18 on, which is 10 too high: so
    // `b` makes room.
    assert_eq!(planned.height(), 20);
    assert!(matches!(fates[2], Fate::Stays), "{fates:?}");
    let moved =
        |fate: &Fate, why: &Why| matches!(fate, Fate::Moved { why: told, .. } if told == why);
    let with = "b".to_owned();
    let pushed = moved(fates[0], &Why::Collides { with }) && moved(fates[1], &Why::MadeRoom);
    let settled = *fates[0] == Fate::Stays && moved(fates[1], &Why::MadeRoom);
    assert!(pushed || settled, "{fates:?}");
}

#[test]
fn with_slack_nobody_makes_room() {
    let mut earlier = earlier();
    earlier.slack = 12;
    let planned = plan(three([12, 8, 6]), &brief(Some(&earlier))).unwrap();
    let kept = planned.kept.as_ref().unwrap();
    assert_eq!(kept.counts(), [2, 0, 1, 0]);
    assert_eq!(planned.height(), 30);
    let with = "b".to_owned();
    let first = &kept.fates[BufferId::from_index(0)];
    assert!(
        matches!(first, Fate::Moved { why, .. } if *why == Why::Collides { with: with.clone() })
    );
}

#[test]
fn names_decide_and_what_is_gone_is_told() {
    let earlier = earlier();
    let buffers = vec![Buffer::new("c", 2..4, 6), Buffer::new("x", 2..4, 1)];
    let planned = plan(Problem::single(buffers).unwrap(), &brief(Some(&earlier))).unwrap();
    let kept = planned.kept.as_ref().unwrap();
    assert_eq!(kept.counts(), [1, 1, 0, 2]);
    let gone: Vec<&str> = kept.gone.iter().map(|old| old.name.as_str()).collect();
    assert_eq!(gone, ["a", "b"]);
    assert_eq!(
        planned.checked.plan().places[BufferId::from_index(0)].offset,
        0
    );
}

#[test]
fn a_budget_is_kept_even_where_the_earlier_plan_was_higher() {
    let mut buffers = three([10, 8, 6]).buffers().clone();
    for (buffer, offset) in buffers.values_mut().zip([40, 10, 0]) {
        buffer.fixed_offset = Some(offset);
    }
    let given = Problem::new(vec![Arena::new("arena")].into(), buffers, Vec::new()).unwrap();
    let mut earlier = Earlier::of_given(&given);
    earlier.budget = Some(20);
    let planned = plan(three([10, 8, 6]), &brief(Some(&earlier))).unwrap();
    assert_eq!(planned.height(), 18);
    assert_eq!(planned.kept.unwrap().counts()[2], 1);
    assert_eq!(planned.checked.plan().heights[ArenaId::from_index(0)], 18);
}
