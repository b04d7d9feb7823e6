//! The checker refuses every damage, and only damage: what it says is compared with painted bytes.

use crate::generate::{self, UNLIMITED};
use crate::oracle;
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::{
    ArenaId, Bound, BufferId, Claim, Plan, Problem, Step, Strategy, Table, Violation, Witness,
};
use std::cell::Cell;

/// A good plan of each of `cases` problems, to be damaged.
fn good_plans(cases: u32, damage: impl Fn(&Problem, &Plan, &mut Tape)) {
    let make = |t: &mut Tape| generate::problem(t, UNLIMITED);
    check(cases, UNLIMITED.buffers, make, |problem, t| {
        let plan = t.pick(&Strategy::ALL).run(problem);
        assert!(violations(problem, &plan).is_empty());
        if !problem.buffers().is_empty() {
            damage(problem, &plan, t);
        }
    });
}

fn any_buffer(problem: &Problem, t: &mut Tape) -> BufferId {
    BufferId::from_index(t.index(problem.buffers().len()))
}

fn with_true_heights(problem: &Problem, mut plan: Plan) -> Plan {
    for arena in problem.arenas().ids() {
        plan.heights[arena] = oracle::height(problem, &plan, arena);
    }
    plan
}

#[test]
fn a_moved_buffer_is_refused_exactly_when_it_collides() {
    let (refused, accepted) = (Cell::new(0), Cell::new(0));
    good_plans(2500, |problem, plan, t| {
        for _ in 0..4 {
            let (id, other) = (any_buffer(problem, t), any_buffer(problem, t));
            let buffer = &problem.buffers()[id];
            let place = plan.places[id];
            if buffer.fixed_offset.is_some() || plan.places[other].arena != place.arena {
                continue;
            }
            // Anywhere from just under the other buffer to just above it.
            let reach = problem.buffers()[other].size() + buffer.size() + 2;
            let lowest = plan.places[other].offset.saturating_sub(buffer.size() + 1);
            let alignment = problem.alignment(id, place.arena);
            let mut moved = plan.clone();
            moved.places[id].offset = (lowest + t.below(reach)).next_multiple_of(alignment);
            let moved = with_true_heights(problem, moved);
            let found = violations(problem, &moved);
            let collides = oracle::collides(problem, &moved, id);
            assert_eq!(!found.is_empty(), collides, "{id} {found:?} {moved:?}");
            let overlap = |v: &Violation| {
                matches!(v, Violation::Overlap { first, second, .. }
                    if *first == buffer.name || *second == buffer.name)
            };
            assert!(found.iter().all(overlap));
            let count = if collides { &refused } else { &accepted };
            count.set(count.get() + 1);
        }
    });
    assert!(refused.get() > 1500, "{} {}", refused.get(), accepted.get());
    assert!(accepted.get() > 1500);
}

#[test]
fn a_wrong_height_is_refused() {
    good_plans(1500, |problem, plan, t| {
        let arena = ArenaId::from_index(t.index(problem.arenas().len()));
        let height = plan.heights[arena];
        let wrong = t.pick(&[height + 1, height.wrapping_sub(1), 0, 2 * height, u64::MAX]);
        if wrong != height {
            let mut damaged = plan.clone();
            damaged.heights[arena] = wrong;
            let found = violations(problem, &damaged);
            assert!(matches!(found[..], [Violation::Height { .. }]), "{found:?}");
        }
    });
}

#[test]
fn an_aligned_buffer_one_byte_off_is_refused() {
    let refused = Cell::new(0);
    good_plans(1500, |problem, plan, t| {
        let id = any_buffer(problem, t);
        let alignment = problem.alignment(id, plan.places[id].arena);
        let mut damaged = plan.clone();
        damaged.places[id].offset += 1;
        let found = violations(problem, &with_true_heights(problem, damaged));
        let fixed = problem.buffers()[id].fixed_offset.is_some();
        assert!(!fixed || !found.is_empty());
        if alignment > 1 {
            let misaligned =
                |v: &Violation| matches!(v, Violation::Misaligned { .. } | Violation::Moved { .. });
            assert!(!found.is_empty() && found.iter().all(misaligned));
            refused.set(refused.get() + 1);
        }
    });
    assert!(refused.get() > 500, "{}", refused.get());
}

#[test]
fn missing_and_surplus_entries_are_refused() {
    good_plans(1000, |problem, plan, t| {
        let mut damaged = plan.clone();
        let mut places: Vec<_> = plan.places.values().copied().collect();
        match t.below(4) {
            0 => drop(places.pop()),
            1 => places.push(places[0]),
            2 => damaged.heights = Table::new(),
            _ => drop(damaged.claims.push(Claim::Stopped)),
        }
        damaged.places = places.into();
        let found = violations(problem, &damaged);
        assert!(matches!(found[..], [Violation::Count { .. }]), "{found:?}");
    });
}

#[test]
fn a_buffer_in_an_arena_that_may_not_hold_it_is_refused() {
    let refused = Cell::new(0);
    good_plans(1500, |problem, plan, t| {
        let id = any_buffer(problem, t);
        let arena = ArenaId::from_index(t.index(problem.arenas().len() + 1));
        if !problem.buffers()[id].arenas.contains(&arena) {
            let mut damaged = plan.clone();
            damaged.places[id].arena = arena;
            let found = violations(problem, &damaged);
            assert!(
                found
                    .iter()
                    .any(|v| matches!(v, Violation::WrongArena { .. }))
            );
            refused.set(refused.get() + 1);
        }
    });
    assert!(refused.get() > 300, "{}", refused.get());
}

/// A witness that may or may not prove something.
fn any_witness(t: &mut Tape) -> Witness {
    let step = Step(u32::try_from(t.below(13)).expect("small"));
    let alignment = t.pick(&[1, 1, 1, 0, 2, 3, 4, 8, 16, 24, 48, 64]);
    let buffer = BufferId::from_index(t.index(14));
    t.pick(&[
        Witness::Load { step, alignment },
        Witness::Load { step, alignment },
        Witness::Placed { buffer },
        Witness::Nothing,
    ])
}

#[test]
fn a_claim_is_accepted_only_if_its_witness_proves_it() {
    let (refused, accepted) = (Cell::new(0), Cell::new(0));
    good_plans(2500, |problem, plan, t| {
        for _ in 0..4 {
            let arena = ArenaId::from_index(t.index(problem.arenas().len()));
            let (height, witness) = (plan.heights[arena], any_witness(t));
            let proof = oracle::proof(problem, arena, witness);
            let least = proof.unwrap_or(0);
            let bytes = t.pick(&[least, least, least + 1, least.saturating_sub(1), height]);
            let bound = Bound { bytes, witness };
            let claim = t.pick(&[Claim::Optimal(witness), Claim::Within(bound)]);
            let claimed = match claim {
                Claim::Within(bound) => bound.bytes,
                _ => height,
            };
            let mut forged = plan.clone();
            forged.claims[arena] = claim;
            let found = violations(problem, &forged);
            // A claim of nothing (0 bytes) needs no proof.
            let proved = claimed <= least;
            assert!(!found.is_empty() || proved, "{claim:?}: {proof:?} is true");
            assert!(found.iter().all(|v| matches!(v, Violation::Claim { .. })));
            let exact = proof == Some(claimed) && claimed <= height;
            if problem.pairs().is_empty() {
                assert_eq!(found.is_empty(), exact || claimed == 0 && least == 0);
            }
            let count = if found.is_empty() {
                &accepted
            } else {
                &refused
            };
            count.set(count.get() + 1);
        }
    });
    assert!(refused.get() > 3000, "{} {}", refused.get(), accepted.get());
    assert!(accepted.get() > 1000);
}
