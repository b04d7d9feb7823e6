//! What operators compute: options that are not handled are named, and constants that fold are known.

use crate::writer::{Fields, Value, file, model, op, stored, subgraph, tensor, with};
use bayplan_graph::format::tflite::{self, ReadOptions, TfliteError, TfliteModel};
use bayplan_graph::kernel::{Compute, Kernel, Source};

const FULLY_CONNECTED: i32 = 9;
const RESHAPE: i32 = 22;
const CUSTOM: i32 = 32;
const CAST: i32 = 53;
const PACK: i32 = 83;
const RELU: i32 = 19;

fn read(bytes: &[u8]) -> (TfliteModel, Compute) {
    let model = tflite::read(bytes, "test", &ReadOptions::default()).unwrap();
    let compute = tflite::compute(&model, bytes).unwrap();
    (model, compute)
}

/// A file of one operator on `x` and `w` (a constant), with one result.
fn one(code: i32, tensors: &[Fields; 3], options: &[(u16, Value)]) -> Vec<u8> {
    let operator = with(op(0, &[0, 1], &[2]), options);
    let main = subgraph(tensors, &[0], &[2], &[operator]);
    file(&model(&[code], &[main], &[contents(&[1; 60])]))
}

fn contents(bytes: &[u8]) -> Fields {
    vec![(0, Value::Bytes(bytes.to_vec()))]
}

fn options(kind: u8, fields: Fields) -> [(u16, Value); 2] {
    [(3, Value::U8(kind)), (4, Value::Table(fields))]
}

fn typed(fields: Fields, code: u8) -> Fields {
    with(fields, &[(1, Value::U8(code))])
}

#[test]
fn what_is_not_handled_is_named() {
    let floats = || {
        [
            tensor("x", &[2, 3]),
            stored("w", &[5, 3], 1),
            tensor("y", &[2, 5]),
        ]
    };
    let bytes = || {
        let [x, w, y] = floats();
        [x, typed(w, 9), y]
    };
    let small = || {
        [
            tensor("x", &[2, 3]),
            stored("w", &[5, 3], 1),
            tensor("y", &[2, 4]),
        ]
    };
    for (code, tensors, options, why) in [
        (FULLY_CONNECTED, floats(), options(8, vec![]), ""),
        (
            FULLY_CONNECTED,
            floats(),
            options(8, vec![(0, Value::U8(3))]),
            "",
        ),
        (
            FULLY_CONNECTED,
            floats(),
            options(8, vec![(0, Value::U8(4))]),
            "a fused TANH",
        ),
        (
            FULLY_CONNECTED,
            floats(),
            options(8, vec![(0, Value::U8(9))]),
            "fused activation 9",
        ),
        (
            FULLY_CONNECTED,
            floats(),
            options(8, vec![(1, Value::U8(1))]),
            "shuffled weights",
        ),
        (
            FULLY_CONNECTED,
            bytes(),
            options(8, vec![]),
            "operands of type i8 with such others",
        ),
        (
            FULLY_CONNECTED,
            small(),
            options(8, vec![]),
            "a result of another size",
        ),
        (CUSTOM, floats(), options(0, vec![]), "no kernel"),
    ] {
        let (_, compute) = read(&one(code, &tensors, &options));
        let lowered = compute.nodes.values().next().unwrap();
        match lowered {
            Ok(parts) => assert_eq!((parts.len(), why), (1, "")),
            Err(found) => assert_eq!(found.why, why),
        }
    }
}

#[test]
fn results_that_kernels_do_not_fill_are_refused() {
    const SOFTMAX: i32 = 25;
    for (shape, fits) in [([2, 3], true), ([2, 300], false), ([2, 2], false)] {
        let tensors = [tensor("x", &[2, 3]), tensor("y", &shape)];
        let operator = with(
            op(0, &[0], &[1]),
            &options(9, vec![(0, Value::I32(0x3f80_0000))]),
        );
        let main = subgraph(&tensors, &[0], &[1], &[operator]);
        let (_, compute) = read(&file(&model(&[SOFTMAX], &[main], &[])));
        let lowered = compute.nodes.values().next().unwrap();
        let found = lowered.as_ref().map_err(|why| &why.why[..]).map(Vec::len);
        let expected = if fits {
            Ok(1)
        } else {
            Err("its shapes do not fit its options")
        };
        assert_eq!(found, expected, "{shape:?}");
    }
}

#[test]
fn constants_that_fold_are_computed_in_order() {
    let tensors = [
        tensor("x", &[2, 3]),
        typed(stored("half", &[6], 1), 1),
        tensor("wide", &[6]),
        tensor("matrix", &[2, 3]),
        tensor("both", &[2, 2, 3]),
        tensor("y", &[2, 3]),
        tensor("shape", &[2]),
    ];
    let kinds = [CAST, RESHAPE, PACK, RELU];
    let pack = with(op(2, &[3, 3], &[4]), &options(59, vec![(0, Value::I32(2))]));
    let ops = [
        op(0, &[1], &[2]),
        op(1, &[2], &[3]),
        pack,
        op(3, &[0], &[5]),
    ];
    let main = subgraph(&tensors, &[0], &[5, 4], &ops);
    let bytes = file(&model(&kinds, &[main], &[contents(&[0; 12])]));
    let (model, compute) = read(&bytes);
    assert_eq!((model.folded.len(), compute.nodes.len()), (3, 1));
    let mut names = Vec::new();
    for (id, constant) in compute.constants.iter() {
        let Source::Computed { operands, parts } = &constant.source else {
            let Source::File { offset } = constant.source else {
                continue;
            };
            let start = usize::try_from(offset).unwrap();
            assert_eq!(bytes[start..start + 12], [0; 12]);
            continue;
        };
        assert!(
            operands.iter().all(|&operand| operand < id),
            "{}",
            constant.name
        );
        names.push((constant.name.as_str(), operands.len(), parts.len()));
        assert_eq!(
            constant.name == "matrix",
            matches!(parts[0].kernel, Kernel::Copy { bytes: 24 })
        );
    }
    assert_eq!(names, [("wide", 1, 1), ("matrix", 1, 1), ("both", 1, 2)]);
}

#[test]
fn another_file_is_refused() {
    let floats = [
        tensor("x", &[2, 3]),
        stored("w", &[5, 3], 1),
        tensor("y", &[2, 5]),
    ];
    let bytes = one(FULLY_CONNECTED, &floats, &[]);
    let model = tflite::read(&bytes, "test", &ReadOptions::default()).unwrap();
    let lone = subgraph(&[tensor("x", &[2])], &[0], &[0], &[]);
    let other = file(&crate::writer::model(&[], &[lone], &[]));
    let refused = tflite::compute(&model, &other).unwrap_err();
    assert!(
        matches!(refused, TfliteError::NotTflite { .. }),
        "{refused}"
    );
}
