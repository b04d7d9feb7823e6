//! Where constants come from: the file, a value, or kernels at load.

use crate::make::{file, floats, ints, list, node, number, value, with};
use bayplan_graph::DType;
use bayplan_graph::format::onnx::proto::{Graph, Node, Tensor};
use bayplan_graph::format::onnx::{OnnxModel, ReadOptions, read, read_with_kernels};
use bayplan_graph::kernel::{Compute, Constant, Kernel, Source};

/// A model that adds to `x` what the nodes make of the constants: `w`.
fn model(nodes: Vec<Node>, initializer: Vec<Tensor>, shape: &[&str]) -> (OnnxModel, Compute) {
    let mut nodes = nodes;
    nodes.push(node("Add", &["x", "w"], &["y"]));
    let bytes = file(Graph {
        node: nodes,
        input: vec![value("x", shape)],
        output: vec![value("y", shape)],
        initializer,
        ..Graph::default()
    });
    let options = ReadOptions::default();
    let read_with = read_with_kernels(&bytes, "m", &options).unwrap();
    let plain = read(&bytes, "m", &options).unwrap();
    let tensors =
        |graph: &bayplan_graph::Graph| format!("{:?}{:?}", graph.tensors(), graph.nodes());
    assert_eq!(tensors(&plain), tensors(&read_with.0.graph));
    read_with
}

/// The constants that `w` is made from, from the last one back.
fn chain(model: &OnnxModel, compute: &Compute) -> Vec<Constant> {
    let tensors = model.graph.tensors().iter();
    let (id, _) = tensors.into_iter().find(|(_, t)| t.name == "w").unwrap();
    let mut chain = Vec::new();
    let mut next = Some(compute.weights[&id]);
    while let Some(id) = next {
        let constant = compute.constants[id].clone();
        next = match &constant.source {
            Source::Computed { operands, .. } => {
                assert!(operands.iter().all(|&operand| operand < id));
                operands.first().copied()
            }
            _ => None,
        };
        chain.push(constant);
    }
    chain
}

fn kernels(chain: &[Constant]) -> Vec<&'static str> {
    let kernel = |constant: &Constant| match &constant.source {
        Source::Computed { parts, .. } => parts[0].kernel.name(),
        Source::File { .. } => "file",
        Source::Bytes(_) => "bytes",
        Source::External { .. } => "external",
        Source::Unknown(_) => "unknown",
    };
    chain.iter().map(kernel).collect()
}

#[test]
fn large_constants_are_computed_at_load() {
    // 400 × 300 elements are too many to be kept as a value.
    let shape = &["300", "400"];
    let (read, compute) = model(
        vec![
            node("ConstantOfShape", &["s"], &["c"]),
            with(node("Transpose", &["c"], &["t"]), list("perm", &[1, 0])),
            node("Exp", &["t"], &["w"]),
        ],
        vec![ints("s", &[400, 300])],
        shape,
    );
    let made = chain(&read, &compute);
    assert_eq!(kernels(&made), ["unary", "rearrange", "rearrange", "bytes"]);
    assert_eq!(made[3].bytes, 4);
    let weights = read.graph.tensors().iter();
    let weights = weights.filter(|(_, t)| matches!(&*t.name, "c" | "t"));
    assert_eq!(
        weights.count(),
        0,
        "what w is made from is not in the graph"
    );

    let mut halves = floats("h", &[300, 400]);
    halves.head.data_type = 10;
    halves.raw_data.truncate(240_000);
    let cast = with(node("Cast", &["h"], &["w"]), number("to", 1));
    let (read, compute) = model(vec![cast], vec![halves], shape);
    let made = chain(&read, &compute);
    assert_eq!(kernels(&made), ["cast", "file"]);
    let Source::Computed { parts, .. } = &made[0].source else {
        panic!("it is computed");
    };
    let Kernel::Cast(cast) = &parts[0].kernel else {
        panic!("a cast");
    };
    assert_eq!((cast.from, cast.to), (DType::F16, DType::F32));

    let unknown = node("Hardmax", &["h"], &["w"]);
    let (read, compute) = model(vec![unknown], vec![floats("h", &[300, 400])], shape);
    let made = chain(&read, &compute);
    assert_eq!(kernels(&made), ["unknown"]);
}

#[test]
fn one_result_of_several_is_made_by_its_own_parts() {
    let split = with(node("Split", &["h"], &["v", "w"]), number("axis", 1));
    let (read, compute) = model(vec![split], vec![floats("h", &[300, 800])], &["300", "400"]);
    let made = chain(&read, &compute);
    assert_eq!(kernels(&made), ["rearrange", "file"]);
    let Source::Computed { parts, .. } = &made[0].source else {
        panic!("it is computed");
    };
    let Kernel::Rearrange(moves) = &parts[0].kernel else {
        panic!("it moves");
    };
    assert_eq!((parts.len(), moves.from), (1, 400));
}

#[test]
fn small_constants_are_their_bytes() {
    let negated = node("Neg", &["h"], &["w"]);
    let mut one = floats("h", &[1]);
    one.raw_data = 1.5_f32.to_le_bytes().to_vec();
    let (read, compute) = model(vec![negated], vec![one], &["4"]);
    let made = chain(&read, &compute);
    let bytes = (-1.5_f32).to_le_bytes();
    assert_eq!(made[0].source, Source::Bytes(bytes.to_vec().into()));
    assert_eq!(made.len(), 1);
}
