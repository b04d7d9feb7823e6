//! Shapes and turns on small problems with known answers.

use super::dfs::{Outcome, Search};
use super::failed::Failed;
use super::keys::Order;
use super::state::State;
use super::*;
use crate::ids::Id;
use crate::problem::{Arena, Buffer, Pair, Problem, Proof};

fn shape(problem: &Problem) -> Shape {
    let ids = problem.buffers().ids().collect();
    Shape::new(problem, ArenaId::from_index(0), ids, 1000).unwrap()
}

/// The least capacity within which a search finds a plan.
fn least(problem: &Problem) -> u64 {
    let shape = shape(problem);
    let fits = |capacity: &u64| {
        let mut failed = Failed::new();
        let order = Order::of_turn(0, 1);
        let stop = |_: u64| false;
        let state = State::new(&shape, *capacity);
        let mut search = Search::new(state, order, Rules::ALL, &mut failed, 1 << 20, &stop);
        search.run() == Outcome::Found
    };
    (0..1000).find(fits).unwrap()
}

#[test]
fn units_are_what_divides_everything() {
    let buffers = vec![
        Buffer::new("a", 0..2, 192).aligned(64),
        Buffer::new("b", 1..3, 100).aligned(64),
        Buffer::new("c", 2..4, 40).aligned(64),
    ];
    let shape = shape(&Problem::single(buffers).unwrap());
    assert_eq!(
        (shape.unit, &*shape.size, shape.sections),
        (64, &[3, 2, 1][..], 2)
    );
    assert!(shape.exact);
    // With 64 more bytes the next plan can end at 128 + 40 or 64 + 100.
    assert_eq!(shape.next_capacity(128), 164);
}

#[test]
fn what_was_placed_in_a_piece_comes_back_as_it_was() {
    // `b2` at the bottom cuts the rest in two; the first piece is placed, the second fails, and the
    // plan that exists needs the first one where it was before.
    let mut arena = Arena::new("arena");
    arena.alignment = 2;
    let buffers = vec![
        Buffer::new("b0", 1..2, 7),
        Buffer::new("b1", 3..4, 3),
        Buffer::new("b2", 0..5, 7),
        Buffer::new("b3", 1..3, 1),
    ];
    let pair = Pair {
        lower: BufferId::from_index(0),
        upper: BufferId::from_index(2),
        distance: 5,
        proof: Proof::DiagonalOverlap { op: "conv".into() },
    };
    let problem = Problem::new(vec![arena].into(), buffers.into(), vec![pair]).unwrap();
    assert_eq!(least(&problem), 15);
}

#[test]
fn fixed_buffers_are_obstacles() {
    let buffers = vec![
        Buffer::new("fixed", 0..4, 8).fixed_at(12),
        Buffer::new("below", 0..2, 12),
        Buffer::new("above", 0..2, 13),
        Buffer::new("free", 3..4, 5),
    ];
    // 12 fit under the fixed one, 13 do not: they go above it.
    assert_eq!(least(&Problem::single(buffers).unwrap()), 33);
}

#[test]
fn any_height_between_bound_and_plan_may_be_enough() {
    let buffers = [
        (0, 2, 5),
        (1, 4, 4),
        (3, 6, 6),
        (5, 7, 3),
        (0, 4, 2),
        (3, 7, 1),
    ];
    let buffer = |(index, &(start, end, size)): (usize, &(u32, u32, u64))| {
        Buffer::new(format!("b{index}"), start..end, size)
    };
    let problem = Problem::single(buffers.iter().enumerate().map(buffer).collect()).unwrap();
    let (shape, optimum) = (shape(&problem), least(&problem));
    let bound = Bounds::new(&problem).arenas[ArenaId::from_index(0)].bytes;
    let stacked: u64 = problem.buffers().values().map(Buffer::size).sum();
    assert!(bound <= optimum && optimum + 4 < stacked);
    for (height, enough) in (optimum..=stacked).flat_map(|h| (0..=h + 1).map(move |e| (h, e))) {
        let limits = Limits {
            work: 1 << 20,
            nodes: u64::MAX,
            seed: 1,
            enough: Some(enough),
            rules: Rules::ALL,
            cancel: None,
            watcher: None,
        };
        let found = Turns::new((&shape, None), height, bound, &limits).run();
        assert!(found.height <= enough.max(optimum).min(height) || enough < bound);
        assert!(found.bound <= optimum && found.height >= optimum);
        let denied = found.bound > enough;
        assert_eq!(denied, enough < optimum, "{enough} of {height}");
    }
}
