//! The kinds of shared cases c14 (shapes that overflow), c16 (external data), c23 (named dimensions)
//! and c28 (weights are not arena).

use crate::make::{external, file, floats, ints, node, typed, value};
use bayplan_graph::format::onnx::proto::Graph;
use bayplan_graph::format::onnx::{OnnxError, Place, ReadOptions, read, read_with_weights};
use bayplan_graph::{PlanOptions, Policy, Role, plan};
use std::path::Path;

fn with_dim(name: &str, value: u64) -> ReadOptions<'static> {
    ReadOptions {
        dims: [(name.to_owned(), value)].into(),
        ..ReadOptions::default()
    }
}

fn arena(bytes: &[u8], options: &ReadOptions<'_>, in_place: bool) -> u64 {
    let graph = read(bytes, "case", options).unwrap();
    let policy = Policy {
        in_place,
        reuse_inputs: true,
        ..Policy::default()
    };
    let options = PlanOptions {
        policy,
        alignment: Some(1),
        ..PlanOptions::default()
    };
    plan(graph.into(), &options)
        .unwrap()
        .certified
        .arena_bytes()
}

fn refusal(bytes: &[u8], options: &ReadOptions<'_>) -> String {
    read(bytes, "case", options).unwrap_err().to_string()
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} not in: {text}");
    }
}

#[test]
fn c14_large_shapes_are_counted_or_refused() {
    let model = |dims: &[&str]| {
        file(Graph {
            node: vec![node("Relu", &["x"], &["t"]), node("Relu", &["t"], &["y"])],
            input: vec![value("x", dims)],
            output: vec![value("y", dims)],
            ..Graph::default()
        })
    };
    let options = ReadOptions::default();
    assert_eq!(
        arena(&model(&["65536", "65536"]), &options, true),
        17_179_869_184
    );
    let negative = refusal(&model(&["-65536", "65536"]), &options);
    has(&negative, &["dimension 0 of `x` is -65536"]);
    let huge = refusal(&model(&["2147483647", "2147483647", "8"]), &options);
    has(&huge, &["`x`", "64 bits"]);
}

fn chain(input: &[&str], middle: &[&str], output: &[&str]) -> Vec<u8> {
    file(Graph {
        node: vec![
            node("Relu", &["x"], &["a"]),
            node("Exp", &["a"], &["b"]),
            node("Add", &["a", "b"], &["y"]),
        ],
        input: vec![value("x", input)],
        value_info: vec![value("a", middle), value("b", middle)],
        output: vec![value("y", output)],
        ..Graph::default()
    })
}

#[test]
fn c23_named_dimensions() {
    let n = &["N", "64"];
    let dynamic = chain(n, n, n);
    for (count, plain, in_place) in [(1, 768, 512), (32, 24_576, 16_384), (1, 768, 512)] {
        assert_eq!(arena(&dynamic, &with_dim("N", count), false), plain);
        assert_eq!(arena(&dynamic, &with_dim("N", count), true), in_place);
    }
    assert_eq!(arena(&dynamic, &with_dim("N", 0), true), 0);
    let shape = ReadOptions {
        inputs: [("x".to_owned(), vec![32, 64])].into(),
        ..ReadOptions::default()
    };
    assert_eq!(arena(&dynamic, &shape, false), 24_576);
    let unbound = refusal(&dynamic, &ReadOptions::default());
    has(
        &unbound,
        &["`N` has no value", "`x`, `a`, `b`, `y`", "--dim N=NUMBER"],
    );
    let anonymous = &["?", "64"];
    let unnamed = refusal(
        &chain(anonymous, anonymous, anonymous),
        &ReadOptions::default(),
    );
    has(&unnamed, &["dimension 0 of `x`", "--input"]);
    let clash = refusal(&chain(n, n, &["N", "128"]), &with_dim("N", 2));
    has(
        &clash,
        &[
            "`y` is declared as f32 [N, 128]",
            "`the Add` (Add) makes f32 [2, 64]",
        ],
    );
}

#[test]
fn flags_that_fit_nothing_are_refused() {
    let n = &["N", "64"];
    let model = chain(n, n, n);
    has(&refusal(&model, &with_dim("M", 1)), &["`M`", "`N`"]);
    let input = |name: &str, shape: &[u64]| ReadOptions {
        inputs: [(name.to_owned(), shape.to_vec())].into(),
        ..ReadOptions::default()
    };
    has(
        &refusal(&model, &input("z", &[1])),
        &["no input is called `z`", "`x`"],
    );
    has(
        &refusal(&model, &input("x", &[2, 65])),
        &["`x`", "[2, 65]", "[N, 64]"],
    );
    let both = ReadOptions {
        dims: [("N".to_owned(), 3)].into(),
        ..input("x", &[2, 64])
    };
    has(&refusal(&model, &both), &["`N` would be 3", "`x`, 2"]);
}

fn product(weight: bayplan_graph::format::onnx::proto::Tensor) -> Vec<u8> {
    file(Graph {
        node: vec![node("MatMul", &["x", "W"], &["y"])],
        input: vec![value("x", &["1", "4"])],
        output: vec![value("y", &["1", "4"])],
        initializer: vec![weight],
        ..Graph::default()
    })
}

/// A folder that removes itself.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bayplan-onnx-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("sub")).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn c16_external_data() {
    let folder = Folder::new("c16");
    let sub = folder.0.join("sub");
    std::fs::write(folder.0.join("outside.bin"), [7; 64]).unwrap();
    std::fs::write(sub.join("w.bin"), [1; 60]).unwrap();
    std::fs::write(sub.join("full.bin"), [1; 128]).unwrap();
    let options = ReadOptions {
        folder: Some(&sub),
        ..ReadOptions::default()
    };
    let model = |location: &str, offset: &str, length: &str| {
        let entries = [
            ("location", location),
            ("offset", offset),
            ("length", length),
        ];
        product(external("W", &[4, 4], &entries))
    };
    let good = read_with_weights(&model("full.bin", "64", "64"), "good", &options).unwrap();
    let places: Vec<&Place> = good.weights.values().collect();
    let path = sub.canonicalize().unwrap().join("full.bin");
    assert_eq!(
        places,
        [&Place::External {
            path,
            offset: 64,
            bytes: 64
        }]
    );
    assert_eq!(arena(&model("full.bin", "64", "64"), &options, true), 32);
    let outside = folder.0.join("outside.bin");
    for (location, offset, length, parts) in [
        (
            "full.bin",
            "18446744073709551612",
            "64",
            &["64 bytes", "128"][..],
        ),
        ("w.bin", "0", "64", &["64 bytes at offset 0", "has 60"]),
        ("full.bin", "0", "128", &["128 bytes", "the tensor has 64"]),
        ("full.bin", "-64", "64", &["`offset` is `-64`"]),
        ("gone.bin", "0", "64", &["gone.bin"]),
        ("../outside.bin", "0", "64", &["leaves the folder"]),
        ("..\\outside.bin", "0", "64", &["leaves the folder"]),
        (outside.to_str().unwrap(), "0", "64", &["leaves the folder"]),
        ("", "0", "64", &["no location"]),
        (".", "0", "64", &["no file"]),
    ] {
        let text = refusal(&model(location, offset, length), &options);
        has(&text, &["`W`", location]);
        has(&text, parts);
    }
    has(
        &refusal(&model("full.bin", "0", "64"), &ReadOptions::default()),
        &["folder of the model"],
    );
    links_are_followed_only_inside(&sub, &folder.0, &model("link.bin", "0", "64"));
}

#[cfg(unix)]
fn links_are_followed_only_inside(sub: &Path, root: &Path, model: &[u8]) {
    std::os::unix::fs::symlink(root.join("outside.bin"), sub.join("link.bin")).unwrap();
    let options = ReadOptions {
        folder: Some(sub),
        ..ReadOptions::default()
    };
    has(&refusal(model, &options), &["`W`", "leaves the folder"]);
}

#[cfg(not(unix))]
fn links_are_followed_only_inside(_: &Path, _: &Path, _: &[u8]) {}

#[test]
fn c28_weights_are_not_arena() {
    let bytes = file(Graph {
        node: vec![
            node("MatMul", &["x", "W"], &["h"]),
            node("MatMul", &["h", "W"], &["y"]),
        ],
        input: vec![value("x", &["1", "64"]), value("W", &["64", "64"])],
        output: vec![value("y", &["1", "64"])],
        initializer: vec![floats("W", &[64, 64]), floats("unused", &[1000])],
        ..Graph::default()
    });
    assert_eq!(arena(&bytes, &ReadOptions::default(), true), 512);
    let model = read_with_weights(&bytes, "m", &ReadOptions::default()).unwrap();
    let weights = model
        .graph
        .tensors()
        .iter()
        .filter(|(_, t)| t.role == Role::Weight);
    let named: Vec<(&str, u64)> = weights.map(|(_, t)| (&*t.name, t.bytes)).collect();
    assert_eq!(named, [("W", 16_384), ("unused", 4000)]);
    for (id, place) in &model.weights {
        let Place::Here {
            offset,
            bytes: length,
        } = *place
        else {
            panic!("{place:?}")
        };
        assert_eq!(length, model.graph.tensors()[*id].bytes);
        let range = usize::try_from(offset).unwrap()..usize::try_from(offset + length).unwrap();
        assert!(bytes[range].iter().all(|&byte| byte == 0));
    }
    let mut short = floats("W", &[4, 4]);
    short.raw_data.truncate(60);
    has(
        &refusal(&product(short), &ReadOptions::default()),
        &["`W` needs 64 bytes", "60"],
    );
}

#[test]
fn shape_arithmetic_folds_away() {
    let bytes = file(Graph {
        node: vec![
            node("Shape", &["x"], &["s"]),
            node("Gather", &["s", "zero"], &["batch"]),
            node("Concat", &["batch", "rest"], &["to"]),
            node("Reshape", &["x", "to"], &["flat"]),
            node("Relu", &["flat"], &["y"]),
        ]
        .into_iter()
        .map(|n| {
            if n.op_type == "Concat" {
                crate::make::with(n, axis(0))
            } else {
                n
            }
        })
        .collect(),
        input: vec![value("x", &["N", "3", "4"])],
        output: vec![value("y", &["N", "12"])],
        initializer: vec![ints("zero", &[0]), ints("rest", &[-1])],
        ..Graph::default()
    });
    let graph = read(&bytes, "m", &with_dim("N", 5)).unwrap();
    let ops: Vec<&str> = graph.nodes().values().map(|n| &*n.op).collect();
    assert_eq!(ops, ["Reshape", "Relu"]);
    assert_eq!(arena(&bytes, &with_dim("N", 5), true), 240); // a view, then in place
}

fn axis(value: i64) -> bayplan_graph::format::onnx::proto::Attribute {
    bayplan_graph::format::onnx::proto::Attribute {
        name: "axis".into(),
        i: value,
        kind: 2,
        ..Default::default()
    }
}

#[test]
fn what_cannot_be_sized_says_what_would_help() {
    let model = |output: &[&str], op: &str| {
        file(Graph {
            node: vec![node(op, &["x"], &["y"])],
            input: vec![value("x", &["1", "4"])],
            output: vec![typed("y", 7, output)],
            ..Graph::default()
        })
    };
    let text = refusal(&model(&["2", "hits"], "NonZero"), &ReadOptions::default());
    has(
        &text,
        &[
            "`y`",
            "`the NonZero` (NonZero)",
            "only the run knows",
            "--dim hits=NUMBER",
        ],
    );
    assert!(read(&model(&["2", "hits"], "NonZero"), "m", &with_dim("hits", 4)).is_ok());
    let text = refusal(&model(&["2", "3"], "Loop"), &ReadOptions::default());
    has(&text, &["`the Loop` (Loop)", "its body is missing"]);
    let text = refusal(&model(&["?"], "SequenceAt"), &ReadOptions::default());
    has(&text, &["`y`", "SequenceAt", "sequences"]);
    assert!(read(&model(&["2", "3"], "Fancy"), "m", &ReadOptions::default()).is_ok());
    assert!(matches!(
        read(b"", "m", &ReadOptions::default()),
        Err(OnnxError::NoGraph)
    ));
}
