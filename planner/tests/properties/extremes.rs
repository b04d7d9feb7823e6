//! Numbers near every limit, one case each: what once panicked, or was refused by our own check.

use crate::tiny::{TINY, optimum, tiny};
use bayplan_planner::ids::Id;
use bayplan_planner::strategy::improve::Effort;
use bayplan_planner::strategy::keep::{Earlier, Fate, Old, Why};
use bayplan_planner::{
    Arena, ArenaId, Buffer, BufferId, Options, Pair, Planned, Problem, Proof, Rect, Strategy, plan,
};
use std::cell::Cell;

/// The same problem in larger bytes, beside a single byte that keeps them from being divided out.
fn stretched(problem: &Problem, by: u64) -> Problem {
    let stretch = |buffer: &Buffer| {
        let extent = buffer.extent.iter();
        let extent = extent.map(|r| Rect::new(r.steps, r.lo * by..r.hi * by));
        Buffer {
            extent: extent.collect(),
            alignment: buffer.alignment * by,
            fixed_offset: buffer.fixed_offset.map(|offset| offset * by),
            ..buffer.clone()
        }
    };
    let mut buffers: Vec<Buffer> = problem.buffers().values().map(stretch).collect();
    buffers.push(Buffer::new("byte", 100..101, 1));
    let pairs = problem.pairs().iter().map(|pair| Pair {
        distance: pair.distance * by,
        ..pair.clone()
    });
    let pairs = pairs.collect();
    Problem::new(problem.arenas().clone(), buffers.into(), pairs).expect("small enough")
}

#[test]
fn however_large_the_numbers_the_optimum_is_found_and_proved() {
    let searched = Cell::new(0);
    tiny(1200, TINY, |problem, t| {
        let by = t.pick(&[
            1 << 20,
            1 << 24,
            1 << 25,
            1 << 27,
            1 << 30,
            1 << 42,
            1 << 54,
        ]);
        // The byte has to do without the arena's alignment.
        let alignment = problem.arenas()[ArenaId::from_index(0)].alignment;
        if alignment > 1 {
            return;
        }
        let greedy = Strategy::StartFirstFit.run(problem);
        let optimum = optimum(problem, greedy.heights[ArenaId::from_index(0)]);
        let options = Options {
            strategies: vec![Strategy::StartFirstFit],
            ..Options::default()
        };
        let planned = plan(stretched(problem, by), &options).expect("no limits");
        assert_eq!(planned.height(), (optimum * by).max(1), "by {by}");
        assert!(planned.is_optimal());
        searched.set(searched.get() + u32::from(planned.nodes > 0));
    });
    assert!(searched.get() > 100, "{searched:?}");
}

fn planned(buffers: Vec<Buffer>, pairs: Vec<Pair>, options: &Options<'_>) -> Planned {
    let problem = Problem::new(vec![Arena::new("arena")].into(), buffers.into(), pairs);
    plan(problem.expect("a problem"), options).expect("no limits and no defects")
}

fn pair(lower: usize, upper: usize, distance: u64) -> Pair {
    let [lower, upper] = [lower, upper].map(BufferId::from_index);
    let proof = Proof::DiagonalOverlap { op: "conv".into() };
    Pair {
        lower,
        upper,
        distance,
        proof,
    }
}

/// Both ends of each of these 40 buffers fit into the holes of the others: together they span 40 times the
/// arena, more than the search can count.
#[test]
fn buffers_may_lie_in_the_holes_of_many_others() {
    let buffers = (0..40_u32).map(|n| {
        let (low, high) = (u64::from(1 + n % 3), u64::from(1 + n % 5));
        let ends = vec![
            Rect::new(0..2 + n % 3, 0..low),
            Rect::new(0..2 + n % 2, (1 << 26)..(1 << 26) + high),
        ];
        Buffer::with_extent(format!("b{n}"), ends)
    });
    let made = planned(buffers.collect(), Vec::new(), &Options::default());
    assert!(made.height() < (1 << 26) + 200);
}

/// What 276 pairs could share is more than the search can count, and more than there is.
#[test]
fn many_pairs_may_share_more_than_there_is() {
    let buffers = (0..24_u32).map(|n| {
        let size = (1 << 24) + 1 + 2 * u64::from(n);
        Buffer::new(format!("b{n}"), 0..2 + n % 3, size)
    });
    let pairs = (0..24).flat_map(|upper| (0..upper).map(move |lower| pair(lower, upper, 1000)));
    let made = planned(buffers.collect(), pairs.collect(), &Options::default());
    assert!(made.height() >= 23_000 + (1 << 24));
}

/// Sizes are small, offsets are not: `x` and `z`, or `y` and `w`, are at 2^40.
#[test]
fn alignments_may_be_larger_than_what_the_search_counts() {
    let far = 1 << 40;
    let buffers = vec![
        Buffer::new("x", 0..2, 7).aligned(far),
        Buffer::new("y", 1..4, 5).aligned(far),
        Buffer::new("z", 3..6, 5).aligned(far),
        Buffer::new("w", 5..7, 7).aligned(far),
        Buffer::new("byte", 8..9, 1),
    ];
    let made = planned(buffers, Vec::new(), &Options::default());
    assert_eq!(made.height(), far + 7);
    assert!(made.is_optimal());
}

/// A distance that no offset can have: the two are apart: `y` is at 11.
#[test]
fn a_distance_beyond_all_offsets_is_none() {
    let buffers = vec![
        Buffer::new("given", 0..2, 7).fixed_at(4),
        Buffer::new("y", 1..4, 5),
    ];
    let made = planned(buffers, vec![pair(0, 1, u64::MAX)], &Options::default());
    assert_eq!(made.height(), 16);
    assert!(made.is_optimal());
}

/// `first`, `second` at 8 and `third` on top of them end at the last byte that there can be.
#[test]
fn plans_may_reach_the_last_byte_of_all() {
    let buffers = || {
        vec![
            Buffer::new("first", 0..5, 1),
            Buffer::new("second", 1..5, 1).aligned(8),
            Buffer::new("third", 2..5, u64::MAX - 9),
        ]
    };
    let first_fit = |least, work| Options {
        strategies: vec![Strategy::StartFirstFit],
        improve: Effort {
            least,
            ..Effort::default()
        },
        work_limit: Some(work),
        ..Options::default()
    };
    let greedy = planned(buffers(), Vec::new(), &first_fit(usize::MAX, 0));
    assert_eq!(greedy.height(), u64::MAX);
    for options in [first_fit(0, 0), first_fit(usize::MAX, 1 << 16)] {
        let made = planned(buffers(), Vec::new(), &options);
        assert_eq!(made.height(), u64::MAX - 7);
        assert!(made.is_optimal());
    }
}

/// An earlier plan that has both of these at the same offset of arena number `arena`.
fn both_at(offset: u64, arena: usize) -> Planned {
    let old = |name: &str| Old {
        name: name.into(),
        extent: vec![Rect::new(0..1, 0..1)],
        arena,
        offset,
    };
    let earlier = Earlier {
        arenas: vec![("arena".into(), 1)],
        buffers: vec![old("a"), old("b")],
        ..Earlier::default()
    };
    let buffers = vec![
        Buffer::new("a", 0..2, (1 << 20) - 10),
        Buffer::new("b", 0..2, 1 << 19).aligned(1 << 20),
    ];
    let options = Options {
        keep: Some(&earlier),
        ..Options::default()
    };
    planned(buffers, Vec::new(), &options)
}

/// Above `a` there is no multiple of `b`'s alignment any more.
#[test]
fn earlier_offsets_may_be_the_last_ones_of_all() {
    let made = both_at(u64::MAX - (1 << 20) + 1, 0);
    assert_eq!(made.height(), (1 << 20) + (1 << 19) - 10);
}

#[test]
fn an_earlier_arena_may_be_unknown() {
    let made = both_at(0, 7);
    let fates = made.kept.expect("there was an earlier plan").fates;
    let unknown = |fate: &Fate| {
        matches!(
            fate,
            Fate::Moved {
                why: Why::Arena,
                ..
            }
        )
    };
    assert!(fates.values().all(unknown));
}

/// Folding leaves two stacks and `nothing`, which stays where it was given.
#[test]
fn a_given_offset_of_nothing_is_kept_by_whatever_is_found() {
    let buffers = [(4, 1), (0, 3), (4, 2), (0, 6), (0, 3)];
    let buffers = buffers
        .iter()
        .map(|&(start, size)| Buffer::new("b", start..start + 1, size));
    let nothing = Buffer::new("nothing", 1..2, 0).fixed_at(4);
    let buffers = buffers.chain([nothing]).map(|buffer| buffer.aligned(4));
    for strategy in Strategy::ALL {
        let options = Options {
            strategies: vec![strategy],
            ..Options::default()
        };
        let made = planned(buffers.clone().collect(), Vec::new(), &options);
        assert_eq!(made.height(), 14);
        assert_eq!(
            made.checked.plan().places[BufferId::from_index(5)].offset,
            4
        );
    }
}

#[test]
fn without_arenas_nothing_is_high() {
    let problem = Problem::new(Vec::new().into(), Vec::new().into(), Vec::new());
    let made = plan(problem.expect("nothing is a problem"), &Options::default());
    assert_eq!(made.expect("no limits").height(), 0);
}
