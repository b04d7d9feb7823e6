//! Hand-made files: what each must become, or the message that refuses it.

use crate::writer::{Fields, Value, buffer, file, model, op, stored, subgraph, tensor, with};
use bayplan_graph::Role;
use bayplan_graph::format::tflite::{self, ReadOptions, TfliteModel};

const ADD: i32 = 0;
const FULLY_CONNECTED: i32 = 9;
const RELU: i32 = 19;
const RESHAPE: i32 = 22;
const SVDF: i32 = 27;
const CUSTOM: i32 = 32;
const DEQUANTIZE: i32 = 6;

pub(crate) fn read(model: &Fields) -> Result<TfliteModel, tflite::TfliteError> {
    tflite::read(&file(model), "test", &ReadOptions::default())
}

fn refusal(model: &Fields) -> String {
    read(model).unwrap_err().to_string()
}

fn roles(read: &TfliteModel) -> Vec<(&str, Role, u64)> {
    let tensors = read.graph.tensors().values();
    tensors
        .map(|t| (t.name.as_str(), t.role, t.bytes))
        .collect()
}

/// Case c22: x, W, y and a dense layer without bias.
fn dense(inputs: &[i32], outputs: &[i32], ends: (&[i32], &[i32]), at: i32) -> Fields {
    let tensors = [
        tensor("x", &[1, 64]),
        stored("W", &[64, 64], at),
        tensor("y", &[1, 64]),
    ];
    let ops = [op(0, inputs, outputs)];
    let main = subgraph(&tensors, ends.0, ends.1, &ops);
    model(&[FULLY_CONNECTED], &[main], &[buffer(64 * 64 * 4)])
}

#[test]
fn an_absent_operand_is_none_and_no_other_index_is() {
    let good = read(&dense(&[0, 1, -1], &[2], (&[0], &[2]), 1)).unwrap();
    let expected = [
        ("x", Role::Input, 256),
        ("W", Role::Weight, 16_384),
        ("y", Role::Output, 256),
    ];
    assert_eq!(roles(&good), expected);
    let node = &good.graph.nodes().values().next().unwrap();
    assert_eq!((node.inputs.len(), node.inputs[2]), (3, None));
    assert_eq!(node.name, "FULLY_CONNECTED#0");
    for (model, expected) in [
        (
            dense(&[0, 1, -2], &[2], (&[0], &[2]), 1),
            "operator 0 (FULLY_CONNECTED) has tensor -2 as operand 2",
        ),
        (
            dense(&[0, 1, 3], &[2], (&[0], &[2]), 1),
            "tensor 3 as operand 2; the subgraph has 3 tensors",
        ),
        (
            dense(&[0, 1, -1], &[7], (&[0], &[2]), 1),
            "tensor 7 as result 0",
        ),
        (
            dense(&[0, 1, -1], &[2], (&[9], &[2]), 1),
            "graph input 0 is tensor 9",
        ),
        (
            dense(&[0, 1, -1], &[2], (&[0], &[-1]), 1),
            "graph output 0 is tensor -1",
        ),
        (
            dense(&[0, 1, -1], &[2], (&[0], &[2]), 5),
            "tensor `W` is in buffer 5",
        ),
    ] {
        let message = refusal(&model);
        assert!(
            message.starts_with("byte ") && message.contains(expected),
            "{message}"
        );
    }
}

/// Case c14: x → t → y.
fn two_relus(shape: &[i32]) -> Fields {
    let tensors = [
        tensor("x", &[1, 256]),
        tensor("t", shape),
        tensor("y", &[1, 256]),
    ];
    let ops = [op(0, &[0], &[1]), op(0, &[1], &[2])];
    model(&[RELU], &[subgraph(&tensors, &[0], &[2], &ops)], &[])
}

#[test]
fn sizes_neither_wrap_nor_change_their_sign() {
    let big = read(&two_relus(&[65_536, 65_536])).unwrap();
    assert_eq!(roles(&big)[1], ("t", Role::Activation, 17_179_869_184));
    let negative = refusal(&two_relus(&[-65_536, 65_536]));
    assert!(
        negative.contains("dimension 0 of tensor `t` is -65536"),
        "{negative}"
    );
    let huge = refusal(&two_relus(&[i32::MAX, i32::MAX, 8]));
    assert!(huge.contains("tensor `t` of shape"), "{huge}");
    let scalar = read(&two_relus(&[])).unwrap();
    assert_eq!(roles(&scalar)[1].2, 4);
    let empty = read(&two_relus(&[3, 0, 7])).unwrap();
    assert_eq!(roles(&empty)[1].2, 0);
}

#[test]
fn element_types_have_their_sizes_and_strings_have_none() {
    for (code, bytes) in [(6, 5), (17, 3), (19, 2), (11, 80), (18, 10), (12, 40)] {
        let t = with(tensor("t", &[5]), &[(1, Value::U8(code))]);
        let tensors = [tensor("x", &[5]), t, tensor("y", &[5])];
        let ops = [op(0, &[0], &[1]), op(0, &[1], &[2])];
        let read = read(&model(
            &[RELU],
            &[subgraph(&tensors, &[0], &[2], &ops)],
            &[],
        ))
        .unwrap();
        assert_eq!(roles(&read)[1].2, bytes, "type {code}");
    }
    for (code, expected) in [
        (5, "`t` (made by RELU#0) holds strings"),
        (99, "element type 99"),
    ] {
        let t = with(tensor("t", &[5]), &[(1, Value::U8(code))]);
        let main = subgraph(&[tensor("x", &[5]), t], &[0], &[1], &[op(0, &[0], &[1])]);
        let message = refusal(&model(&[RELU], &[main], &[]));
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn names_are_made_unique() {
    let tensors = [tensor("", &[1]), tensor("a", &[1]), tensor("a", &[1])];
    let ops = [op(0, &[0], &[1]), op(0, &[1], &[2])];
    let read = read(&model(
        &[RELU],
        &[subgraph(&tensors, &[0], &[2], &ops)],
        &[],
    ))
    .unwrap();
    let names: Vec<&str> = roles(&read).iter().map(|t| t.0).collect();
    assert_eq!(names, ["#0", "a", "a#2"]);
}

#[test]
fn unpacked_weights_are_weights_and_their_operators_no_nodes() {
    let half = with(stored("w16", &[4], 1), &[(1, Value::U8(1))]);
    let tensors = [
        tensor("x", &[4]),
        half,
        tensor("w", &[4]),
        tensor("v", &[2, 2]),
        tensor("y", &[4]),
    ];
    let ops = [
        op(0, &[1], &[2]),
        op(1, &[2, -1], &[3]),
        op(2, &[0, 3], &[4]),
    ];
    let main = subgraph(&tensors, &[0], &[4], &ops);
    let read = read(&model(&[DEQUANTIZE, RESHAPE, ADD], &[main], &[buffer(8)])).unwrap();
    let weights = [("w", Role::Weight, 16), ("v", Role::Weight, 16)];
    assert_eq!(roles(&read)[2..4], weights);
    assert_eq!((read.folded.len(), read.graph.nodes().len()), (2, 1));
    let place = *read.operators.values().next().unwrap();
    assert_eq!((place.subgraph, place.operator), (0, 2));
    let stored: Vec<bool> = read.data.values().map(Option::is_some).collect();
    assert_eq!(stored, [false, true, false, false, false]);
}

#[test]
fn views_and_offers_need_equal_bytes() {
    let tensors = [
        tensor("x", &[4, 4]),
        tensor("v", &[16]),
        tensor("row", &[4]),
        tensor("s", &[16]),
        tensor("y", &[16]),
    ];
    let ops = [
        op(0, &[0, -1], &[1]),
        op(1, &[0], &[2]),
        op(2, &[1, 2], &[3]),
        op(2, &[3, 3], &[4]),
    ];
    let kinds = [RESHAPE, 40, ADD];
    let read = read(&model(&kinds, &[subgraph(&tensors, &[0], &[4], &ops)], &[])).unwrap();
    let id = |index: usize| read.tensors[0][index].unwrap();
    let nodes: Vec<_> = read.graph.nodes().values().collect();
    assert_eq!(
        (nodes[0].views[0].input, nodes[0].views[0].output),
        (id(0), id(1))
    );
    assert!(nodes[1].in_place.is_empty() && nodes[1].views.is_empty());
    assert_eq!(nodes[2].in_place, [(id(1), id(3))]); // `row` is broadcast
    assert_eq!(nodes[3].in_place, [(id(3), id(4))]); // the same operand twice: one offer
}

#[test]
fn variables_are_states_that_their_kernels_change() {
    let state = with(tensor("state", &[8]), &[(5, Value::U8(1))]);
    let build = |state: Fields| {
        let tensors = [
            tensor("x", &[4]),
            stored("w", &[4], 1),
            state,
            tensor("y", &[4]),
        ];
        let ops = [op(0, &[0, 1, 1, -1, 2], &[3])];
        model(
            &[SVDF],
            &[subgraph(&tensors, &[0], &[3], &ops)],
            &[buffer(16)],
        )
    };
    let good = read(&build(state)).unwrap();
    let node = good.graph.nodes().values().next().unwrap();
    assert_eq!(roles(&good)[2], ("state", Role::State, 32));
    assert_eq!(node.writes, [good.tensors[0][2].unwrap()]);
    let message = refusal(&build(tensor("state", &[8])));
    assert!(
        message.contains("`SVDF#0` changes its operand 4, `state`, which is no variable"),
        "{message}"
    );
}

#[test]
fn workspaces_of_custom_operators_are_scratch() {
    let tensors = [tensor("x", &[4]), tensor("work", &[100]), tensor("y", &[4])];
    let build = |kind| {
        let ops = [op(0, &[0, 1], &[2])];
        model(&[kind], &[subgraph(&tensors, &[0], &[2], &ops)], &[])
    };
    let good = read(&build(CUSTOM)).unwrap();
    let node = good.graph.nodes().values().next().unwrap();
    assert_eq!(
        (&*node.op, &node.scratch[..], node.inputs[1]),
        ("CUSTOM:", &[400][..], None)
    );
    let message = refusal(&build(ADD));
    assert!(
        message.contains("`ADD#0` reads `work`, which no node makes"),
        "{message}"
    );
}

#[test]
fn buffers_behind_the_flatbuffer_lie_in_the_file() {
    let build = |offset, size| {
        let outside = vec![(1, Value::U64(offset)), (2, Value::U64(size))];
        let tensors = [tensor("x", &[2]), stored("w", &[2], 1), tensor("y", &[2])];
        let main = subgraph(&tensors, &[0], &[2], &[op(0, &[0, 1], &[2])]);
        file(&model(&[ADD], &[main], &[outside]))
    };
    let end = build(1 << 40, 8).len() as u64;
    let parse = |mut bytes: Vec<u8>| {
        bytes.extend([7; 8]);
        tflite::read(&bytes, "test", &ReadOptions::default())
    };
    let read = parse(build(end, 8)).unwrap();
    let range = read.data.values().nth(1).unwrap().clone().unwrap();
    assert_eq!((range.start as u64, range.len()), (end, 8));
    for (offset, size, expected) in [
        (end + 1, 8, "beyond the end of the file"),
        (u64::MAX - 3, 8, "beyond the end of the file"),
        (end, 4, "needs 8 bytes, its buffer holds 4"),
    ] {
        let message = parse(build(offset, size)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_offline_plan_is_read_and_checked() {
    let build = |words: &[i32]| {
        let data: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let entry = vec![(0, Value::Text(tflite::OFFLINE_PLAN)), (1, Value::I32(1))];
        let tensors = [tensor("x", &[4]), tensor("y", &[4])];
        let main = subgraph(&tensors, &[0], &[1], &[op(0, &[0], &[1])]);
        let buffers = [vec![(0, Value::Bytes(data))]];
        with(
            model(&[RELU], &[main], &buffers),
            &[(6, Value::Tables(vec![entry]))],
        )
    };
    let good = read(&build(&[1, 1, 2, 64, -1])).unwrap();
    assert_eq!(
        good.offline.unwrap().unwrap().offsets,
        [vec![Some(64), None]]
    );
    assert_eq!((good.metadata.len(), good.metadata[0].range.len()), (1, 20));
    let bad = read(&build(&[1, 1, 3, 64, -1, 0])).unwrap();
    let message = bad.offline.unwrap().unwrap_err().to_string();
    assert!(
        message.contains("for 3 tensors, the file has 2"),
        "{message}"
    );
}

#[test]
fn other_files_are_refused_by_name() {
    let good = file(&two_relus(&[4]));
    for (bytes, expected) in [
        (b"".to_vec(), "no .tflite file"),
        (b"GGUF0000TFL3".to_vec(), "no .tflite file"),
        (good[..40].to_vec(), "byte "),
        (file(&vec![(0, Value::I32(2))]), "schema version 2"),
        (file(&vec![(0, Value::I32(3))]), "no subgraph"),
    ] {
        let message = tflite::read(&bytes, "x", &ReadOptions::default())
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{message}");
    }
}
