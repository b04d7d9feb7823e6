//! Blocks of each kernel, from shapes and element types.

use super::*;
use crate::GraphBuilder;
use crate::ir::Role;
use bayplan_planner::ids::Id;

type Operand<'a> = Option<(DType, &'a [u64])>;

const NONE: Operand = None;

/// The blocks of a node with these operands and this result.
fn of(op: &str, operands: &[Operand], result: (DType, &[u64]), custom: &[u8]) -> Option<Vec<u64>> {
    let mut graph = GraphBuilder::new("micro");
    let mut tensor = |(dtype, shape): (DType, &[u64]), name: String, role| {
        let bytes = dtype.bytes(shape).unwrap();
        let id = graph.tensor(name, bytes, role);
        let tensor = &mut graph.draft.tensors[id];
        (tensor.dtype, tensor.shape) = (Some(dtype), Some(shape.to_vec()));
        id
    };
    let mut inputs = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        inputs.push(operand.map(|operand| tensor(operand, format!("i{index}"), Role::Input)));
    }
    let output = tensor(result, "o".into(), Role::Output);
    graph.node("n", op, &[], &[output]);
    let id = crate::ir::NodeId::from_index(0);
    graph.draft.nodes[id].inputs = inputs;
    blocks(Site {
        draft: &graph.draft,
        node: &graph.draft.nodes[id],
        ends: operands.len() + 1,
        custom,
    })
}

const F: DType = DType::F32;
const B: DType = DType::I8;
const S: DType = DType::I16;
const I: DType = DType::I32;

/// Operator, operands, result, blocks.
type Case<'a> = (&'a str, &'a [Operand<'a>], (DType, &'a [u64]), &'a [u64]);

fn all(cases: &[Case]) {
    for &(op, operands, result, expected) in cases {
        let found = of(op, operands, result, &[]);
        assert_eq!(found.as_deref(), Some(expected), "{op} {operands:?}");
    }
}

#[test]
fn convolutions_unpack_weights_and_widen_sums() {
    let (x, y): (Operand, _) = (Some((B, &[1, 4, 4, 8])), (B, &[1, 4, 4, 8][..]));
    let packed: Operand = Some((DType::I4, &[8, 3, 3, 8]));
    let shape: Operand = Some((I, &[4]));
    let (float, small, wide): (Operand, Operand, Operand) = (
        Some((F, &[1, 2, 2, 3])),
        Some((B, &[1, 2, 2, 3])),
        Some((S, &[1, 2, 2, 3])),
    );
    let weights: Operand = Some((B, &[2, 2, 2, 3]));
    let made = |dtype| (dtype, &[1, 4, 4, 2][..]);
    all(&[
        ("CONV_2D", &[x, Some((B, &[8, 3, 3, 8]))], y, &[]),
        // Weights of 4 bits: a byte for each.
        ("CONV_2D", &[x, packed], y, &[576]),
        ("DEPTHWISE_CONV_2D", &[x, packed], y, &[576]),
        ("TRANSPOSE_CONV", &[shape, float, float], made(F), &[]),
        ("TRANSPOSE_CONV", &[shape, weights, small], made(B), &[128]),
        ("TRANSPOSE_CONV", &[shape, weights, wide], made(S), &[256]),
        (
            "TRANSPOSE_CONV",
            &[shape, weights, wide, Some((S, &[2]))],
            made(S),
            &[256, 16],
        ),
    ]);
}

#[test]
fn other_kernels_ask_for_these_blocks() {
    let (float, small): (Operand, Operand) = (Some((F, &[1, 4, 4, 8])), Some((B, &[1, 4, 4, 8])));
    let (axes, axis): (Operand, Operand) = (Some((I, &[2])), Some((I, &[])));
    let units = |dtype| (dtype, &[2, 3][..]);
    let (x, row): (Operand, Operand) = (Some((F, &[2, 10])), Some((F, &[3])));
    let (q, filters): (Operand, Operand) = (Some((B, &[2, 10])), Some((B, &[6, 10])));
    all(&[
        // 2 × 6 sums; in integers also 2 × 3 units.
        ("SVDF", &[x, filters], units(F), &[48]),
        ("SVDF", &[q, filters], units(B), &[48, 24]),
        ("MEAN", &[float, axes], (F, &[1, 8]), &[16, 8]),
        ("SUM", &[small, axes], (B, &[1, 8]), &[32, 16, 8]),
        ("REDUCE_MAX", &[small, axis], (B, &[1, 4, 4]), &[16, 4]),
        ("MIRROR_PAD", &[x, axes], (F, &[4, 12]), &[8, 8]),
        ("ADD_N", &[row, row, row], (F, &[3]), &[24]),
        ("CUSTOM:ethos-u", &[row, NONE], (B, &[3]), &[24, 24]),
        ("ADD", &[row, row], (F, &[3]), &[]),
    ]);
}

#[test]
fn an_lstm_keeps_four_states_of_its_cell_type() {
    let mut operands = [NONE; 24];
    operands[0] = Some((B, &[5, 2, 10]));
    operands[18] = Some((B, &[2, 7]));
    for (cell, bytes) in [(S, 28), (F, 56)] {
        operands[19] = Some((cell, &[2, 7]));
        let found = of(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            &operands,
            (B, &[5, 2, 7]),
            &[],
        );
        assert_eq!(found, Some(vec![bytes; 4]));
    }
}

/// A flexbuffer map of two numbers of a byte each; `keys` are sorted.
fn options(keys: [&str; 2], values: [u8; 2]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in keys {
        bytes.extend(key.as_bytes());
        bytes.push(0);
    }
    let first = bytes.len() + 1;
    let offsets =
        [first, first + 1 - keys[0].len() - 1].map(|offset| u8::try_from(offset).unwrap());
    bytes.push(2);
    bytes.extend(offsets);
    // The keys are 2 bytes before this offset; a byte each; two entries.
    bytes.extend([2, 1, 2]);
    bytes.extend(values);
    bytes.extend([4, 4, 4, 9 << 2, 1]);
    bytes
}

#[test]
fn custom_kernels_ask_by_their_options_or_are_not_known() {
    let rfft = options(["T", "fft_length"], [7, 100]);
    let x: (DType, &[u64]) = (S, &[1, 80]);
    let asked = of("CUSTOM:SignalRfft", &[Some(x)], (S, &[1, 102]), &rfft);
    assert_eq!(asked, Some(vec![200]));
    assert_eq!(
        of("CUSTOM:SignalRfft", &[Some(x)], (S, &[1, 102]), b"no map"),
        None
    );
    assert_eq!(of("CUSTOM:SignalWindow", &[Some(x)], x, &[]), Some(vec![]));
    assert_eq!(of("CUSTOM:Mine", &[Some(x)], x, &[]), None);
    let boxes: [Operand; 3] = [
        Some((B, &[1, 20, 4])),
        Some((B, &[1, 20, 3])),
        Some((B, &[20, 4])),
    ];
    let detect = options(["max_detections", "num_classes"], [5, 9]);
    let asked = of(
        "CUSTOM:TFLite_Detection_PostProcess",
        &boxes,
        (F, &[1, 5, 4]),
        &detect,
    );
    let expected = [20, 320, 240, 80, 80, 400, 400, 80, 400, 720, 400];
    assert_eq!(asked.as_deref(), Some(&expected[..]));
}

#[test]
fn sizes_beyond_64_bits_saturate() {
    let huge: (DType, &[u64]) = (B, &[1 << 62, 2]);
    let found = of("MEAN", &[Some(huge), Some((I, &[1]))], huge, &[]);
    assert_eq!(found, Some(vec![u64::MAX, 8, 4]));
    // A kernel without the operands that it needs.
    assert_eq!(of("SVDF", &[NONE], huge, &[]), None);
}
