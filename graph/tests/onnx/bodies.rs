//! Branches that only the run decides, and loops: what they become, what is refused, and that plans
//! of them hold for what really runs.

use crate::make::{body, file, floats, ints, node, typed, value, with};
use crate::turns::holds;
use bayplan_graph::Graph as Planned;
use bayplan_graph::format::onnx::proto::{Attribute, Graph, Node, Tensor, ValueInfo};
use bayplan_graph::format::onnx::{ReadOptions, read};

fn named(mut node: Node, name: &str) -> Node {
    node.name = name.into();
    node
}

fn number(name: &str, value: i64) -> Tensor {
    let mut tensor = ints(name, &[value]);
    tensor.head.dims.clear();
    tensor
}

fn yes(name: &str) -> Tensor {
    let mut tensor = floats(name, &[]);
    tensor.head.data_type = 9;
    tensor.raw_data = vec![1];
    tensor
}

fn graph(nodes: Vec<Node>, outputs: &[&str]) -> Graph {
    Graph {
        node: nodes,
        output: outputs.iter().map(|name| value(name, &["?"])).collect(),
        initializer: vec![floats("k", &[8])],
        ..Graph::default()
    }
}

fn choice(outputs: &[&str], then: Graph, other: Graph) -> Node {
    let node = node("If", &["flag"], outputs);
    with(
        with(node, body("then_branch", then)),
        body("else_branch", other),
    )
}

/// A body over the number of the turn, the condition, a and b.
fn turn(nodes: Vec<Node>, outputs: &[&str]) -> Graph {
    let mut graph = graph(nodes, outputs);
    let info = |name: &str| ValueInfo {
        name: name.into(),
        r#type: None,
    };
    graph.input = ["i", "go", "a", "b"].map(info).to_vec();
    graph.output = outputs.iter().map(|name| info(name)).collect();
    graph
}

fn repeat(limit: &str, condition: &str, outputs: &[&str], inside: Graph) -> Node {
    let node = node("Loop", &[limit, condition, "p", "q"], outputs);
    with(node, body("body", inside))
}

/// x → p, q, r → these nodes → y.
fn model(nodes: Vec<Node>, from: &[&str]) -> Vec<u8> {
    let mut all = vec![
        node("Relu", &["x"], &["p"]),
        node("Exp", &["x"], &["q"]),
        node("Abs", &["x"], &["r"]),
    ];
    all.extend(nodes);
    all.push(node("Sum", from, &["y"]));
    file(Graph {
        node: all,
        input: vec![
            value("x", &["8"]),
            typed("flag", 9, &[]),
            typed("n", 7, &[]),
        ],
        output: vec![value("y", &["?", "8"])],
        initializer: vec![number("three", 3), yes("always"), floats("w", &[8])],
        ..Graph::default()
    })
}

fn options() -> ReadOptions<'static> {
    ReadOptions {
        ignore_declared: true,
        ..ReadOptions::default()
    }
}

fn planned(bytes: &[u8]) -> Planned {
    read(bytes, "m", &options()).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes, "m", &options()).unwrap_err().to_string()
}

fn last(graph: &Planned, op: &str) -> (Vec<String>, Vec<String>) {
    let node = graph.nodes().values().find(|node| node.op == op).unwrap();
    let name = |id| graph.tensors()[id].name.clone();
    (
        node.operands().map(name).collect(),
        node.in_place.iter().map(|offer| name(offer.0)).collect(),
    )
}

#[test]
fn an_undecided_if_is_both_branches_and_a_choice() {
    let then = graph(vec![node("Neg", &["p"], &["t"])], &["t"]);
    let other = graph(vec![node("Tanh", &["q"], &["t"])], &["t"]);
    let bytes = model(vec![choice(&["c"], then, other)], &["c", "r"]);
    let graph = planned(&bytes);
    let scopes: Vec<_> = graph
        .nodes()
        .values()
        .filter_map(|n| n.scope.as_deref())
        .collect();
    assert_eq!(scopes, ["the If/then", "the If/else"]);
    let (reads, offers) = last(&graph, "If");
    assert_eq!(reads, ["flag", "t", "the If/else/t"]);
    assert_eq!(offers, ["t", "the If/else/t"]);
    holds(graph);
}

#[test]
fn branches_hand_on_what_is_around_them() {
    let bodies = [
        graph(vec![], &["p", "q"]),
        graph(vec![], &["q", "p"]),
        graph(vec![], &["p", "p"]),
        graph(vec![], &["k", "w"]),
        graph(
            vec![
                node("Identity", &["p"], &["s"]),
                node("Neg", &["q"], &["t"]),
            ],
            &["s", "t"],
        ),
        graph(vec![node("Add", &["q", "k"], &["t"])], &["t", "q"]),
    ];
    for then in &bodies {
        for other in &bodies {
            let choice = choice(&["c", "d"], then.clone(), other.clone());
            holds(planned(&model(vec![choice.clone()], &["c", "d"])));
            holds(planned(&model(vec![choice], &["c", "d", "p", "q"])));
        }
    }
}

#[test]
fn an_undecided_if_within_another() {
    let inner = |name| {
        let yes = graph(vec![node("Neg", &["p"], &["t"])], &["t"]);
        let no = graph(vec![node("Exp", &["u"], &["t"])], &["t"]);
        named(choice(&["inner"], yes, no), name)
    };
    let then = graph(
        vec![node("Abs", &["q"], &["u"]), inner("first")],
        &["inner"],
    );
    let other = graph(
        vec![node("Tanh", &["r"], &["u"]), inner("second")],
        &["inner"],
    );
    let graph = planned(&model(vec![choice(&["c"], then, other)], &["c", "q"]));
    let scopes: Vec<_> = graph
        .nodes()
        .values()
        .filter_map(|n| n.scope.as_deref())
        .collect();
    assert_eq!(scopes[1], "the If/then/first/then");
    holds(graph);
}

#[test]
fn a_loop_keeps_what_it_carries_and_captures() {
    let inside = turn(
        vec![
            node("Add", &["a", "r"], &["c"]),
            node("Neg", &["c"], &["d"]),
        ],
        &["go", "d", "b", "c"],
    );
    let bytes = model(
        vec![repeat("three", "always", &["s", "t", "u"], inside)],
        &["s", "t", "u"],
    );
    let graph = planned(&bytes);
    let ops: Vec<&str> = graph.nodes().values().map(|n| &*n.op).collect();
    let expected = [
        "Relu",
        "Exp",
        "Abs",
        "Loop/enter",
        "Add",
        "Neg",
        "Loop",
        "Sum",
    ];
    assert_eq!(ops, expected);
    let (reads, offers) = last(&graph, "Loop");
    assert_eq!(reads, ["i", "a", "b", "the Loop/u", "d", "c", "r"]);
    assert_eq!(offers, ["a", "d", "b", "the Loop/u"]);
    let collected = graph.tensors().values().find(|t| t.name == "u").unwrap();
    assert_eq!(collected.shape.as_deref(), Some(&[3, 8][..]));
    holds(graph);
}

#[test]
fn loops_of_every_kind_hold() {
    let one = |op: &str, from: &str, to: &str| node(op, &[from], &[to]);
    let zero = Attribute {
        name: "to".into(),
        i: 1,
        kind: 2,
        ..Attribute::default()
    };
    let count = |to: &str| {
        vec![
            with(one("Cast", "i", "f"), zero.clone()),
            node("Add", &["f", "a"], &[to]),
        ]
    };
    for (nodes, outputs, copies) in [
        (vec![], ["go", "a", "b", "a"], false),
        (vec![], ["go", "b", "a", "b"], true),
        (vec![], ["go", "b", "b", "a"], true),
        (vec![], ["go", "r", "k", "w"], false),
        (vec![], ["flag", "r", "p", "q"], false),
        (
            vec![one("Identity", "a", "c")],
            ["go", "c", "b", "c"],
            false,
        ),
        (
            vec![one("Identity", "a", "c"), one("Identity", "c", "d")],
            ["go", "b", "d", "d"],
            true,
        ),
        (
            vec![one("Neg", "a", "c"), one("Identity", "c", "d")],
            ["go", "b", "d", "c"],
            true,
        ),
        (
            vec![one("Neg", "a", "c"), one("Exp", "c", "d")],
            ["go", "c", "d", "d"],
            false,
        ),
        (
            vec![one("Neg", "r", "c"), one("Exp", "c", "d")],
            ["go", "c", "d", "r"],
            false,
        ),
        (count("c"), ["go", "c", "b", "a"], false),
    ] {
        let plain = turn(nodes.clone(), &outputs[..3]);
        let collects = turn(nodes.clone(), &outputs);
        let unknown = repeat("n", "flag", &["s", "t"], plain);
        let mut graphs = vec![planned(&model(vec![unknown], &["s", "t", "q"]))];
        if outputs[0] == "go" {
            let known = repeat("three", "always", &["s", "t", "u"], collects);
            graphs.push(planned(&model(vec![known], &["s", "t", "u"])));
        }
        for graph in graphs {
            let next = graph.nodes().values().any(|node| node.op == "Loop/next");
            assert_eq!(next, copies, "{outputs:?}");
            holds(graph);
        }
    }
}

#[test]
fn loops_and_branches_within_each_other_hold() {
    let inner = turn(
        vec![
            node("Add", &["a", "c"], &["e"]),
            node("Mul", &["e", "r"], &["g"]),
        ],
        &["go", "g", "e"],
    );
    let inner = with(
        named(node("Loop", &["n", "", "c", "b"], &["h", "j"]), "inner"),
        body("body", inner),
    );
    let then = graph(vec![node("Neg", &["h"], &["t"])], &["t"]);
    let other = graph(vec![node("Exp", &["q"], &["t"])], &["t"]);
    let choose = named(choice(&["m"], then, other), "choose");
    let outer = turn(
        vec![node("Abs", &["a"], &["c"]), inner, choose],
        &["go", "m", "j", "h"],
    );
    let known = repeat("three", "", &["s", "t", "u"], outer);
    let graph = planned(&model(vec![known], &["s", "t", "u"]));
    let (reads, _) = last(&graph, "Loop");
    assert!(
        reads.contains(&"r".to_owned()) && reads.contains(&"c".to_owned()),
        "{reads:?}"
    );
    holds(graph);
}

#[test]
fn what_cannot_be_inlined_is_refused_by_name() {
    let zero = Attribute {
        name: "axis".into(),
        kind: 2,
        ..Attribute::default()
    };
    let wide = || with(node("Concat", &["a", "a"], &["c"]), zero.clone());
    let plain = || turn(vec![], &["go", "a", "b", "a"]);
    let all = ["s", "t", "u"];
    for (node, parts) in [
        (
            repeat("n", "always", &all, plain()),
            [
                "`the Loop` (Loop)",
                "only the run knows the number of its turns",
            ],
        ),
        (
            repeat("three", "flag", &all, plain()),
            [
                "`the Loop` (Loop)",
                "only the run knows the number of its turns",
            ],
        ),
        (
            repeat(
                "three",
                "always",
                &all,
                turn(vec![], &["flag", "a", "b", "a"]),
            ),
            [
                "`the Loop` (Loop)",
                "only the run knows the number of its turns",
            ],
        ),
        (
            repeat(
                "three",
                "always",
                &["s", "t"],
                turn(vec![wide()], &["go", "c", "b"]),
            ),
            [
                "`a` is f32 [8] before a turn of `the Loop`",
                "f32 [16] after it",
            ],
        ),
        (
            repeat("three", "always", &["s", "t"], turn(vec![], &["go", "a"])),
            ["`the Loop` (Loop)", "not those of its body"],
        ),
        (
            repeat("three", "always", &["s", "t", "u", "v"], plain()),
            ["`the Loop` (Loop)", "not those of its body"],
        ),
        (
            with(
                crate::make::node("Loop", &["three", "", "p", ""], &["s"]),
                body("body", plain()),
            ),
            ["`the Loop` (Loop)", "an initial value is absent"],
        ),
        (
            crate::make::node("Loop", &["three", "", "p", "q"], &["s"]),
            ["`the Loop` (Loop)", "its body is missing"],
        ),
        (
            repeat(
                "three",
                "always",
                &["s", "t"],
                turn(vec![], &["go", "a", "ghost"]),
            ),
            ["`the Loop`", "`ghost`"],
        ),
        (
            with(
                crate::make::node("Scan", &["p", "q"], &["s"]),
                body("body", plain()),
            ),
            ["`the Scan` (Scan)", "a scan over a body"],
        ),
    ] {
        let text = refusal(&model(vec![node], &["r"]));
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
