//! What is no problem, and what is said of it.

use super::*;
use crate::ids::Id;

fn refused(buffers: Vec<Buffer>) -> Vec<ProblemError> {
    Problem::single(buffers).unwrap_err().0
}

#[test]
fn every_fault_is_reported() {
    let errors = refused(vec![
        Buffer::new("a", 3..3, 8),
        Buffer::new("b", 0..2, 8).aligned(0),
        Buffer::with_extent("c", vec![Rect::new(0..3, 0..8), Rect::new(2..4, 4..12)]),
    ]);
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn a_live_sum_beyond_64_bits_names_step_and_buffers() {
    let big = i64::MAX as u64;
    let errors = refused(vec![
        Buffer::new("a", 0..3, big),
        Buffer::new("b", 1..3, big),
        Buffer::new("c", 2..3, 4),
    ]);
    let ProblemError::LoadOverflow { load, step, names } = &errors[0] else {
        panic!("{errors:?}")
    };
    assert_eq!(
        (*load, *step, &**names),
        ((1 << 64) + 2, Step(2), "a, b, c")
    );
}

#[test]
fn fixed_offsets_must_fit_each_other_and_the_alignment() {
    let errors = refused(vec![
        Buffer::new("a", 0..2, 2048).fixed_at(0),
        Buffer::new("d", 1..3, 2048).fixed_at(1024),
    ]);
    assert!(
        matches!(&errors[0], ProblemError::FixedClash { first, second, step, lo: 1024, hi: 2048 }
            if first == "a" && second == "d" && *step == Step(1)),
        "{errors:?}"
    );
    let errors = refused(vec![Buffer::new("a", 0..2, 8).aligned(16).fixed_at(24)]);
    assert!(matches!(errors[0], ProblemError::FixedMisaligned { .. }));
}

#[test]
fn a_buffer_of_no_bytes_has_no_extent() {
    let problem = Problem::single(vec![Buffer::new("empty", 0..2, 0)]).unwrap();
    let buffer = &problem.buffers()[BufferId::from_index(0)];
    assert!(buffer.extent.is_empty() && buffer.size() == 0);
}
