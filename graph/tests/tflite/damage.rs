//! Damaged files are read or refused, never a panic.
//!
//! `PROPTEST_CASES=200000` tries more of them.

use crate::resize::samples;
use crate::writer::{Value, buffer, file, model, op, stored, subgraph, tensor, with};
use bayplan_graph::format::tflite::{self, fuzz::read_any};
use proptest::prelude::*;
use std::sync::LazyLock;

/// A bit of everything: constants inside and behind, a variable, a call, a branch, a loop, a resource,
/// metadata.
fn sample() -> Vec<u8> {
    let kinds = [0, 22, 27, 32, 129, 142, 144, 118, 119];
    let handle = with(tensor("h", &[]), &[(1, Value::U8(13))]);
    let tensors = [
        tensor("x", &[4]),
        stored("w", &[4], 1),
        tensor("s", &[4]),
        tensor("v", &[2, 2]),
        with(
            tensor("state", &[4]),
            &[(5, Value::U8(1)), (7, Value::Ints(vec![-1]))],
        ),
        tensor("y", &[4]),
        handle.clone(),
        stored("far", &[1], 2),
        with(tensor("flag", &[]), &[(1, Value::U8(6))]),
        tensor("chosen", &[4]),
        tensor("turned", &[4]),
        handle.clone(),
    ];
    let run = |kind: u8, fields| [(3, Value::U8(kind)), (4, Value::Table(fields))];
    let bodies = |first, second| vec![(0, Value::I32(first)), (1, Value::I32(second))];
    let var = run(111, vec![(1, Value::Text("ring"))]);
    let ops = [
        with(op(4, &[], &[]), &run(103, vec![(0, Value::I32(1))])),
        op(0, &[0, 1], &[2]),
        op(1, &[2, -1], &[3]),
        op(2, &[3, 1, 1, -1, 4], &[5]),
        with(op(5, &[], &[6]), &var),
        op(6, &[6, 7], &[]),
        op(3, &[5], &[8]),
        with(op(7, &[8, 5], &[9]), &run(92, bodies(2, 3))),
        with(op(8, &[9, 6], &[10, 11]), &run(93, bodies(4, 5))),
        op(6, &[11, 10], &[]),
    ];
    let init = subgraph(
        &[handle.clone(), stored("zero", &[4], 1)],
        &[],
        &[],
        &[with(op(5, &[], &[0]), &var), op(6, &[0, 1], &[])],
    );
    let entry = vec![
        (0, Value::Text("OfflineMemoryAllocation")),
        (1, Value::I32(1)),
    ];
    let far = vec![(1, Value::U64(8)), (2, Value::U64(4))];
    let main = subgraph(&tensors, &[0], &[5], &ops);
    let [a, b, c] = ["a", "b", "c"].map(|name| tensor(name, &[4]));
    let flag = with(tensor("again", &[]), &[(1, Value::U8(6))]);
    let state = with(tensor("kept", &[4]), &[(5, Value::U8(1))]);
    let list = [a.clone(), b.clone(), state];
    let yes = subgraph(&list, &[0], &[1], &[op(0, &[0, 2], &[1])]);
    let no = subgraph(&list[..1], &[0], &[0], &[]);
    let list = [a.clone(), handle.clone(), flag];
    let test = subgraph(&list, &[0, 1], &[2], &[op(3, &[0], &[2])]);
    let list = [a, handle, b, c];
    let turn = [op(0, &[0, 0], &[2]), op(1, &[2], &[3])];
    let turn = subgraph(&list, &[0, 1], &[3, 1], &turn);
    let subgraphs = [main, init, yes, no, test, turn];
    let all = model(&kinds, &subgraphs, &[buffer(16), far]);
    file(&with(all, &[(6, Value::Tables(vec![entry]))]))
}

#[test]
fn the_sample_is_a_model_and_no_beginning_of_it_panics() {
    let bytes = sample();
    assert!(tflite::read(&bytes, "sample", &tflite::ReadOptions::default()).is_ok());
    assert!(read_any(&bytes));
    for end in 0..bytes.len() {
        read_any(&bytes[..end]);
    }
}

#[test]
fn no_single_byte_panics() {
    let good = sample();
    for at in 0..good.len() {
        for value in [0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF] {
            let mut bytes = good.clone();
            bytes[at] = value;
            read_any(&bytes);
        }
    }
}

static FOLLOWING: LazyLock<Vec<Vec<u8>>> = LazyLock::new(samples);

fn damage(bytes: &mut [u8], changes: Vec<(prop::sample::Index, u32, bool)>) {
    for (at, value, wide) in changes {
        let at = at.index(bytes.len());
        let raw = value.to_le_bytes();
        let width = if wide { 4.min(bytes.len() - at) } else { 1 };
        bytes[at..at + width].copy_from_slice(&raw[..width]);
    }
}

proptest! {
    // PROPTEST_CASES asks for more.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(20_000)))]

    #[test]
    fn no_mutation_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>().prop_map(u32::from),
            any::<u32>(),
            (0_u32..64),
            (0_u32..64).prop_map(u32::wrapping_neg),
        ], any::<bool>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = sample();
        damage(&mut bytes, changes);
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_any(&bytes);
    }

    #[test]
    fn no_mutation_panics_when_shapes_follow(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>().prop_map(u32::from),
            any::<u32>(),
            (0_u32..64),
            (0_u32..64).prop_map(u32::wrapping_neg),
        ], any::<bool>()), 0..6),
        file in any::<prop::sample::Index>(),
    ) {
        let mut bytes = file.get(&FOLLOWING).clone();
        damage(&mut bytes, changes);
        read_any(&bytes);
    }
}
