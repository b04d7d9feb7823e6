//! A model of 1 GiB, with its weights inside and beside it, is planned in little memory, and so is one of
//! many small weights that was just written: then systems map far more of it than is looked at. In a
//! program of its own, because the process's peak is what is measured.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

use bayplan_graph::bytes::Mapped;
use bayplan_graph::format::onnx::proto::{
    Dimension, Entry, Graph, Model, Node, OperatorSet, Shape, TensorHead, TensorType, Type,
    ValueInfo,
};
use bayplan_graph::format::onnx::{ReadOptions, read_with_weights};
use bayplan_graph::{PlanOptions, plan};
use prost::Message;
use prost::encoding::encode_varint;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Dense layers, from `narrow` to `wide` numbers and back.
#[derive(Clone, Copy)]
struct Net {
    layers: usize,
    narrow: u32,
    wide: u32,
    /// Whether weights are bytes on the disk, not holes in a sparse file.
    written: bool,
}

const LARGE: Net = Net {
    layers: 8,
    narrow: 4096,
    wide: 8192,
    written: false,
};
const MANY: Net = Net {
    layers: 1536,
    narrow: 128,
    wide: 256,
    written: true,
};

impl Net {
    /// Bytes of one weight.
    fn weight(self) -> u64 {
        u64::from(self.narrow) * u64::from(self.wide) * 4
    }
}

fn head(net: Net, layer: usize) -> TensorHead {
    let (narrow, wide) = (i64::from(net.narrow), i64::from(net.wide));
    let dims = if layer.is_multiple_of(2) {
        vec![narrow, wide]
    } else {
        vec![wide, narrow]
    };
    TensorHead {
        name: format!("W{layer}"),
        data_type: 1,
        dims,
        ..TensorHead::default()
    }
}

fn graph(net: Net) -> Graph {
    let node = |layer: usize| Node {
        op_type: "MatMul".into(),
        input: vec![format!("t{layer}"), format!("W{layer}")],
        output: vec![format!("t{}", layer + 1)],
        ..Node::default()
    };
    let dim = |value| Dimension {
        value: Some(value),
        param: None,
    };
    let value = |name: String| ValueInfo {
        name,
        r#type: Some(Type {
            tensor_type: Some(TensorType {
                elem_type: 1,
                shape: Some(Shape {
                    dim: vec![dim(1), dim(i64::from(net.narrow))],
                }),
            }),
            ..Type::default()
        }),
    };
    Graph {
        node: (0..net.layers).map(node).collect(),
        input: vec![value("t0".into())],
        output: vec![value(format!("t{}", net.layers))],
        ..Graph::default()
    }
}

/// Tag, length and the beginning of an initializer; `elements` bytes follow it as `raw_data`.
fn initializer(head: &TensorHead, elements: u64) -> Vec<u8> {
    let mut body = head.encode_to_vec();
    if elements > 0 {
        body.push(9 << 3 | 2);
        encode_varint(elements, &mut body);
    }
    let mut field = vec![5 << 3 | 2];
    encode_varint(body.len() as u64 + elements, &mut field);
    field.extend(body);
    field
}

/// Writes a model.
fn write(net: Net, path: &Path, external: bool) {
    let elements = if external { 0 } else { net.weight() };
    let weight = |layer: usize| {
        let mut head = head(net, layer);
        if external {
            let entry = |key: &str, value: String| Entry {
                key: key.into(),
                value,
            };
            head.data_location = 1;
            head.external_data = vec![
                entry("location", "weights.bin".into()),
                entry("offset", (layer as u64 * net.weight()).to_string()),
                entry("length", net.weight().to_string()),
            ];
        }
        initializer(&head, elements)
    };
    let weights: Vec<Vec<u8>> = (0..net.layers).map(weight).collect();
    let rest = graph(net).encode_to_vec();
    let length: u64 = weights.iter().map(|w| w.len() as u64 + elements).sum();
    let opset = OperatorSet {
        domain: String::new(),
        version: 17,
    };
    let mut start = Model {
        opset_import: vec![opset],
        ..Model::default()
    }
    .encode_to_vec();
    start.push(7 << 3 | 2);
    encode_varint(length + rest.len() as u64, &mut start);
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&start).unwrap();
    for weight in weights {
        file.write_all(&weight).unwrap();
        if net.written {
            let elements = vec![1; usize::try_from(elements).unwrap()];
            file.write_all(&elements).unwrap();
        } else {
            file.seek(SeekFrom::Current(i64::try_from(elements).unwrap()))
                .unwrap();
        }
    }
    file.write_all(&rest).unwrap();
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn weights_are_never_looked_at() {
    let folder = std::env::temp_dir().join(format!("bayplan-onnx-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let side = std::fs::File::create(folder.join("weights.bin")).unwrap();
    side.set_len(LARGE.layers as u64 * LARGE.weight()).unwrap();
    for (net, external) in [(LARGE, false), (LARGE, true), (MANY, false)] {
        let path = folder.join("model.onnx");
        write(net, &path, external);
        let bytes = Mapped::open(&path, 0).unwrap();
        let inside = bytes.len() as u64 > net.layers as u64 * net.weight();
        assert_eq!(inside, !external);
        let options = ReadOptions {
            folder: Some(&folder),
            mapped: Some(&bytes),
            ..ReadOptions::default()
        };
        let model = read_with_weights(&bytes, "large", &options).unwrap();
        assert_eq!(model.weights.len(), net.layers);
        plan(model.graph.into(), &PlanOptions::default()).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let peak = peak_kib();
    assert!(peak < 100 * 1024, "peak of {peak} KiB");
    println!("peak of {peak} KiB");
}
