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
