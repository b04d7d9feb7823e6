//! Branches, captures, absent operands, unused results, order.

use crate::make::{body, file, floats, node, typed, value, with};
use bayplan_graph::format::onnx::proto::{Graph, Node, Tensor};
use bayplan_graph::format::onnx::{Bodies, ReadOptions, read, read_with_weights};
use bayplan_graph::{Lifetimes, Schedule};

fn branch(op: &str, reads: &str) -> Graph {
    Graph {
        node: vec![
            node("Neg", &[reads], &["inner"]),
            node(op, &["inner"], &["out"]),
        ],
        output: vec![value("out", &["8"])],
        ..Graph::default()
    }
}

fn choice(condition: &str, yes: Graph, no: Graph) -> Node {
    let node = node("If", &[condition], &["chosen"]);
    with(
        with(node, body("then_branch", yes)),
        body("else_branch", no),
    )
}

fn model(condition: &str, initializer: Vec<Tensor>) -> Vec<u8> {
    file(Graph {
        node: vec![
            node("Relu", &["x"], &["early"]),
            node("Exp", &["x"], &["inner"]),
            choice(condition, branch("Abs", "early"), branch("Tanh", "inner")),
            node("Add", &["chosen", "chosen"], &["y"]),
        ],
        input: vec![value("x", &["8"]), typed("flag", 9, &[])],
        output: vec![value("y", &["8"])],
        initializer,
        ..Graph::default()
    })
}

fn truth(value: u8) -> Tensor {
    let mut tensor = floats("flag", &[]);
    tensor.head.data_type = 9;
    tensor.raw_data = vec![value];
    tensor
}

fn ops(bytes: &[u8], options: &ReadOptions<'_>) -> Vec<String> {
    let graph = read(bytes, "m", options).unwrap();
    graph.nodes().values().map(|node| node.op.clone()).collect()
}

#[test]
fn a_decided_branch_takes_the_place_of_its_if() {
    let options = ReadOptions::default();
    let taken = model("flag", vec![truth(1)]);
    assert_eq!(ops(&taken, &options), ["Relu", "Exp", "Neg", "Abs", "Add"]);
    assert_eq!(
        ops(&model("flag", vec![truth(0)]), &options),
        ["Relu", "Exp", "Neg", "Tanh", "Add"]
    );
    let graph = read(&taken, "m", &options).unwrap();
    let names: Vec<&str> = graph.tensors().values().map(|t| &*t.name).collect();
    assert_eq!(
        names,
        ["x", "flag", "early", "inner", "the If/inner", "chosen", "y"]
    );
    let scopes: Vec<_> = graph
        .nodes()
        .values()
        .filter_map(|n| n.scope.as_deref())
        .collect();
    assert_eq!(scopes, ["the If", "the If"]);
    let apart = ReadOptions {
        bodies: Bodies::Apart,
        ..ReadOptions::default()
    };
    assert_eq!(
        ops(&taken, &apart),
        ["Relu", "Exp", "If (bodies apart)", "Add"]
    );
}

#[test]
fn an_undecided_branch_apart_keeps_what_it_reads_alive() {
    let apart = ReadOptions {
        bodies: Bodies::Apart,
        ..ReadOptions::default()
    };
    let model = read_with_weights(&model("flag", vec![]), "m", &apart).unwrap();
    let opaque = &model.opaque[0];
    let name = &model.graph.nodes()[opaque.node].name;
    assert_eq!((&**name, opaque.bytes), ("the If", 4 * 32));
    let graph = model.graph;
    let lives = Lifetimes::new(&graph, &Schedule::file_order(&graph), true);
    let end = |name: &str| {
        let (id, _) = graph
            .tensors()
            .iter()
            .find(|(_, t)| t.name == name)
            .unwrap();
        lives.get(id).unwrap().end.0
    };
    assert_eq!(["early", "inner", "flag"].map(end), [3, 3, 3]);
}

#[test]
fn branches_of_different_sizes_are_refused() {
    let wide = Graph {
        node: vec![node("Concat", &["x", "x"], &["out"])],
        output: vec![value("out", &["16"])],
        ..Graph::default()
    };
    let zero = bayplan_graph::format::onnx::proto::Attribute {
        name: "axis".into(),
        kind: 2,
        ..Default::default()
    };
    let wide = Graph {
        node: wide
            .node
            .into_iter()
            .map(|n| with(n, zero.clone()))
            .collect(),
        ..wide
    };
    let bytes = file(Graph {
        node: vec![choice("flag", branch("Abs", "x"), wide)],
        input: vec![value("x", &["8"]), typed("flag", 9, &[])],
        output: vec![value("chosen", &["?"])],
        ..Graph::default()
    });
    let text = read(&bytes, "m", &ReadOptions::default())
        .unwrap_err()
        .to_string();
    for part in ["`chosen` is f32 [8] or f32 [16]", "`the If`"] {
        assert!(text.contains(part), "{text}");
    }
}

fn straight(nodes: Vec<Node>) -> Vec<u8> {
    file(Graph {
        node: nodes,
        input: vec![value("x", &["8"])],
        output: vec![value("y", &["8"])],
        ..Graph::default()
    })
}

#[test]
fn absent_operands_and_unused_results() {
    let bytes = straight(vec![
        node("Dropout", &["x"], &["d", ""]),
        node("Clip", &["d", "", ""], &["c"]),
        node("Add", &["c", "c"], &["y"]),
    ]);
    let graph = read(&bytes, "m", &ReadOptions::default()).unwrap();
    let shapes: Vec<(usize, usize)> = graph
        .nodes()
        .values()
        .map(|n| (n.inputs.len(), n.outputs.len()))
        .collect();
    assert_eq!(shapes, [(1, 1), (3, 1), (2, 1)]);
}

#[test]
fn order_and_names_are_checked() {
    for (nodes, parts) in [
        (
            vec![node("Exp", &["a"], &["y"]), node("Relu", &["x"], &["a"])],
            ["`the Exp` reads `a`", "`the Relu` makes later"],
        ),
        (
            vec![node("Exp", &["ghost"], &["y"])],
            ["`the Exp` reads `ghost`", "nothing"],
        ),
        (
            vec![node("Exp", &["y"], &["y"])],
            ["`the Exp` reads `y`", "later"],
        ),
        (
            vec![node("Exp", &["x"], &["y"]), node("Abs", &["x"], &["y"])],
            ["`y`", "twice"],
        ),
        (
            vec![node("Exp", &["x"], &["z"])],
            ["`y`", "the model's outputs"],
        ),
    ] {
        let text = read(&straight(nodes), "m", &ReadOptions::default())
            .unwrap_err()
            .to_string();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn an_input_may_be_an_output() {
    let bytes = file(Graph {
        input: vec![value("x", &["8"])],
        output: vec![value("x", &["8"])],
        ..Graph::default()
    });
    let graph = read(&bytes, "m", &ReadOptions::default()).unwrap();
    assert!(
        graph
            .tensors()
            .values()
            .all(|t| t.is_output && t.bytes == 32)
    );
}
