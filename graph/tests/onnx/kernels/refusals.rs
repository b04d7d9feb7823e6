//! Operators without a kernel, or used in a way that has none, say what is missing.

use super::case;
use crate::make::{body, file, floats, ints, list, node, number, text, typed, value, with};
use bayplan_graph::format::onnx::proto::Graph;
use bayplan_graph::format::onnx::{Bodies, ReadOptions, read_with_kernels};

#[test]
fn what_is_missing_is_named() {
    let x: &[&[u64]] = &[&[1, 4, 6, 6]];
    let cube: &[&[u64]] = &[&[1, 1, 4, 4, 4], &[1, 1, 2, 2, 2]];
    let mut pool = case("MaxPool", x).with(list("kernel_shape", &[2, 2]));
    pool.results = 2;
    for (case, why) in [
        (
            case("LSTM", &[&[1, 1, 2], &[1, 4, 2], &[1, 4, 1]]),
            "LSTM: no kernel",
        ),
        (case("Conv", cube), "Conv: no kernel over 3 spatial axes"),
        (
            case("Relu", x).of(10),
            "Relu: no kernel for elements of type f16",
        ),
        (case("Not", x), "Not: no kernel for elements of type f32"),
        (pool, "MaxPool: result 1 has no kernel"),
        (
            case("AveragePool", x)
                .with(list("kernel_shape", &[3, 3]))
                .with(list("dilations", &[1, 2]))
                .with(text("auto_pad", "SAME_UPPER")),
            "AveragePool: `auto_pad` with dilations, of which runtimes think differently",
        ),
        (
            case("Softmax", x).with(number("novel", 1)),
            "Softmax: attribute `novel` is not known",
        ),
        (
            case("Conv", &[&[1, 1, 6], &[1, 1, 3]]).with(list("pads", &[-1, 0])),
            "Conv: a padding below 0",
        ),
        (
            case("Clip", &[&[4], &[]]),
            "Clip: only the run knows the value of operand 1",
        ),
        (
            case("Resize", &[&[1, 1, 2, 2]])
                .constant(floats("", &[0]))
                .constant(floats("", &[0]))
                .list(&[1, 1, 3, 3])
                .with(text("coordinate_transformation_mode", "tf_crop_and_resize")),
            "attribute `coordinate_transformation_mode` is `tf_crop_and_resize`",
        ),
        (
            case("BatchNormalization", &[&[1, 2], &[2], &[2], &[2], &[2]])
                .with(number("training_mode", 1)),
            "BatchNormalization: in training",
        ),
        (
            case("BatchNormalization", &[&[1, 2], &[2], &[2], &[2], &[2]])
                .at(8)
                .with(number("spatial", 0)),
            "attribute `spatial` is 0",
        ),
        (
            case("Pad", &[&[2]])
                .list(&[2, 0])
                .with(text("mode", "reflect")),
            "a padding longer than its operand",
        ),
    ] {
        let found = case.parts().unwrap_err();
        assert!(found.contains(why), "{found} instead of {why}");
    }
}

/// Both branches are planned, but nothing runs only one of them.
#[test]
fn branches_and_loops_that_the_run_decides_are_refused() {
    let branch = |op: &str| Graph {
        node: vec![node(op, &["x"], &["out"])],
        output: vec![value("out", &["8"])],
        ..Graph::default()
    };
    let choice = node("If", &["flag"], &["y"]);
    let choice = with(choice, body("then_branch", branch("Relu")));
    let choice = with(choice, body("else_branch", branch("Exp")));
    let bare = |name: &str| {
        let mut info = value(name, &[]);
        info.r#type = None;
        info
    };
    let turn = Graph {
        node: vec![node("Relu", &["a"], &["b"])],
        input: vec![bare("i"), bare("go"), bare("a")],
        output: vec![bare("go"), bare("b")],
        ..Graph::default()
    };
    let mut limit = ints("limit", &[3]);
    limit.head.dims.clear();
    let around = with(
        node("Loop", &["limit", "", "x"], &["y"]),
        body("body", turn),
    );
    for (node, initializer, bodies, missing) in [
        (choice.clone(), vec![], Bodies::Inline, &["If"][..]),
        (choice, vec![], Bodies::Apart, &["If (bodies apart)"]),
        (around, vec![limit], Bodies::Inline, &["Loop/enter", "Loop"]),
    ] {
        let model = file(Graph {
            node: vec![node],
            input: vec![value("x", &["8"]), typed("flag", 9, &[])],
            output: vec![value("y", &["8"])],
            initializer,
            ..Graph::default()
        });
        let options = ReadOptions {
            bodies,
            ..ReadOptions::default()
        };
        let (_, compute) = read_with_kernels(&model, "m", &options).unwrap();
        let refused = compute.nodes.values().filter_map(|n| n.as_ref().err());
        let refused: Vec<&str> = refused.map(|why| &*why.op).collect();
        assert_eq!(refused, missing);
    }
}
