//! Files cut short and bytes changed: an answer or an error, never a panic.

use crate::make::{body, file, floats, ints, node, typed, value, with};
use bayplan_graph::format::onnx::fuzz;
use bayplan_graph::format::onnx::proto::{Attribute, Graph};
use proptest::prelude::*;

/// A model with something of everything.
fn rich() -> Vec<u8> {
    let list = |name: &str, values: &[i64]| Attribute {
        name: name.into(),
        ints: values.to_vec(),
        kind: 7,
        ..Attribute::default()
    };
    let inner = |op: &str| Graph {
        node: vec![node(op, &["c"], &["o"])],
        output: vec![value("o", &["N", "4", "6", "6"])],
        ..Graph::default()
    };
    let constant = Attribute {
        name: "value".into(),
        t: Some(Box::new(ints("", &[1, 2]))),
        kind: 4,
        ..Attribute::default()
    };
    let choose = with(
        node("If", &["yes"], &["f"]),
        body("then_branch", inner("Relu")),
    );
    let arm = |op: &str| Graph {
        node: vec![node(op, &["w"], &["o"])],
        output: vec![value("o", &["?", "?", "?"])],
        ..Graph::default()
    };
    let undecided = with(
        node("If", &["flag"], &["g"]),
        body("then_branch", arm("Exp")),
    );
    let undecided = with(undecided, body("else_branch", arm("Identity")));
    let turns = Graph {
        node: vec![node("Add", &["a", "w"], &["b"])],
        input: ["i", "go", "a"].map(|name| value(name, &["?"])).to_vec(),
        output: ["go", "b", "b"]
            .map(|name| value(name, &["?", "?", "?"]))
            .to_vec(),
        ..Graph::default()
    };
    file(Graph {
        node: vec![
            with(node("Conv", &["x", "W"], &["c"]), list("strides", &[1, 1])),
            with(node("Constant", &[], &["two"]), constant),
            node("Equal", &["two", "two"], &["same"]),
            node("ReduceMin", &["two"], &["least"]),
            with(
                node("Cast", &["least"], &["yes"]),
                Attribute {
                    name: "to".into(),
                    i: 9,
                    kind: 2,
                    ..Attribute::default()
                },
            ),
            with(choose, body("else_branch", inner("Neg"))),
            node("Shape", &["f"], &["s"]),
            node("Slice", &["s", "zero", "two1"], &["t"]),
            with(
                node("Concat", &["t", "rest"], &["u"]),
                Attribute {
                    name: "axis".into(),
                    kind: 2,
                    ..Attribute::default()
                },
            ),
            node("Reshape", &["f", "u"], &["r"]),
            node("Tile", &["r", "tiles"], &["w"]),
            undecided,
            with(
                node("Loop", &["three", "", "g"], &["l", "all"]),
                body("body", turns),
            ),
            node("Add", &["l", "w"], &["y"]),
        ],
        input: vec![value("x", &["N", "3", "8", "8"]), typed("flag", 9, &[])],
        output: vec![value("y", &["?", "?", "?"])],
        value_info: vec![value("c", &["N", "4", "6", "6"])],
        initializer: vec![
            floats("W", &[4, 3, 3, 3]),
            ints("zero", &[0]),
            ints("two1", &[2]),
            ints("rest", &[-1]),
            ints("tiles", &[1, 2, 1]),
            ints("three", &[3]),
        ],
        ..Graph::default()
    })
}

#[test]
fn the_rich_model_is_read() {
    use bayplan_graph::format::onnx::{ReadOptions, read};
    let options = ReadOptions {
        dims: [("N".to_owned(), 2)].into(),
        ..ReadOptions::default()
    };
    let graph = read(&rich(), "rich", &options).unwrap();
    let ops: Vec<&str> = graph.nodes().values().map(|n| &*n.op).collect();
    let straight = ["Conv", "Relu", "Reshape", "Tile"];
    let bodies = ["Exp", "Identity", "If", "Loop/enter", "Add", "Loop", "Add"];
    assert_eq!(ops, [&straight[..], &bodies].concat());
}

#[test]
fn every_cut_is_survived() {
    let whole = rich();
    for end in 0..whole.len() {
        fuzz(&whole[..end]);
    }
}

/// 20,000, or as many as `BAYPLAN_FUZZ_CASES` says.
fn cases() -> u32 {
    let stated = std::env::var("BAYPLAN_FUZZ_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    stated.unwrap_or(20_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_change_is_survived(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = rich();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            let start = cut.index(bytes.len());
            let end = (start + 3).min(bytes.len());
            bytes.drain(start..end);
        }
        fuzz(&bytes);
    }
}
