//! Damage, and what the checker says of it.

use super::*;
use crate::ids::{BufferId, Id, Table};
use crate::lifetime::Step;
use crate::plan::Claim;
use crate::problem::Buffer;
use crate::witness::{Bound, Witness};

fn problem() -> Problem {
    Problem::single(vec![
        Buffer::new("a", 0..2, 2048),
        Buffer::new("b", 0..3, 4096),
        Buffer::new("c", 1..3, 1024),
    ])
    .unwrap()
}

fn plan(offsets: [u64; 3], height: u64, claim: Claim) -> Plan {
    let arena = ArenaId::from_index(0);
    Plan {
        strategy: "test".into(),
        heights: vec![height].into(),
        claims: vec![claim].into(),
        places: offsets
            .into_iter()
            .map(|offset| Place { arena, offset })
            .collect::<Table<_, _>>(),
    }
}

const LOAD: Witness = Witness::Load {
    step: Step(1),
    alignment: 1,
};

#[test]
fn a_good_plan_is_accepted_with_its_claim() {
    let good = plan([0, 2048, 6144], 7168, Claim::Optimal(LOAD));
    assert!(check(problem(), good).is_ok());
}

#[test]
fn every_overlap_is_reported_with_place_and_time() {
    let found = violations(&problem(), &plan([0, 2560, 1536], 6656, Claim::Stopped));
    let expected = Violation::Overlap {
        first: "a".into(),
        second: "c".into(),
        steps: (Step(1), Step(2)),
        lo: 1536,
        hi: 2048,
    };
    assert_eq!(found, [expected]);
    let found = violations(&problem(), &plan([0, 0, 0], 4096, Claim::Stopped));
    assert_eq!(found.len(), 3);
}

#[test]
fn heights_and_claims_must_be_true() {
    let found = violations(&problem(), &plan([0, 2048, 6144], 7167, Claim::Stopped));
    assert!(matches!(
        found[..],
        [Violation::Height {
            claimed: 7167,
            actual: 7168,
            ..
        }]
    ));
    for (claim, what) in [
        (
            Claim::Optimal(Witness::Load {
                step: Step(0),
                alignment: 1,
            }),
            "another step",
        ),
        (
            Claim::Optimal(Witness::Load {
                step: Step(1),
                alignment: 0,
            }),
            "alignment 0",
        ),
        (
            Claim::Optimal(Witness::Load {
                step: Step(1),
                alignment: 2,
            }),
            "alignment of nobody",
        ),
        (Claim::Optimal(Witness::Nothing), "nothing"),
        (
            Claim::Optimal(Witness::Placed {
                buffer: BufferId::from_index(9),
            }),
            "no such buffer",
        ),
        (
            Claim::Within(Bound {
                bytes: 7169,
                witness: LOAD,
            }),
            "a bound above the height",
        ),
        (
            Claim::Within(Bound {
                bytes: 7000,
                witness: LOAD,
            }),
            "not what the witness gives",
        ),
    ] {
        let found = violations(&problem(), &plan([0, 2048, 6144], 7168, claim));
        assert!(
            matches!(found[..], [Violation::Claim { .. }]),
            "{what}: {found:?}"
        );
    }
}

#[test]
fn a_plan_of_another_problem_is_refused() {
    let mut short = plan([0, 2048, 6144], 7168, Claim::Stopped);
    short.places = vec![short.places[BufferId::from_index(0)]].into();
    assert!(matches!(
        violations(&problem(), &short)[..],
        [Violation::Count { what: "places", .. }]
    ));
}

#[test]
fn alignment_fixed_offsets_and_the_end_of_numbers() {
    let buffers = vec![
        Buffer::new("a", 0..1, 8).aligned(16),
        Buffer::new("b", 2..3, 8).fixed_at(32),
    ];
    let problem = Problem::single(buffers).unwrap();
    let arena = ArenaId::from_index(0);
    let at = |a, b| Plan {
        places: vec![Place { arena, offset: a }, Place { arena, offset: b }].into(),
        ..plan([0; 3], 0, Claim::Stopped)
    };
    assert!(matches!(
        violations(&problem, &at(8, 32))[..],
        [Violation::Misaligned { .. }]
    ));
    assert!(matches!(
        violations(&problem, &at(0, 16))[..],
        [Violation::Moved { .. }]
    ));
    assert!(matches!(
        violations(&problem, &at(u64::MAX - 15, 32))[..],
        [Violation::Height { .. }]
    ));
    let problem =
        Problem::single(vec![Buffer::new("a", 0..1, 8), Buffer::new("b", 2..3, 8)]).unwrap();
    assert!(matches!(
        violations(&problem, &at(u64::MAX - 3, 0))[..],
        [Violation::Beyond { .. }]
    ));
}
