//! Files read for three kinds of kernels.

use crate::control::{branch, flag};
use crate::writer::{Fields, buffer, file, model, op, stored, subgraph, tensor};
use bayplan_graph::Role;
use bayplan_graph::format::tflite::{self, Bodies, Kernels, ReadOptions, TfliteModel};

const ADD: i32 = 0;
const DEQUANTIZE: i32 = 6;
const CUSTOM: i32 = 32;
const MEAN: i32 = 40;
const IF: i32 = 118;
const BATCH_MATMUL: i32 = 126;

/// c → w (constant); x + w → s; custom s → m; the mean of m over 2 axes → r; r × m → y.
fn mixed() -> Fields {
    let tensors = [
        tensor("x", &[4, 4]),
        stored("c", &[4, 4], 1),
        tensor("w", &[4, 4]),
        tensor("s", &[4, 4]),
        tensor("m", &[4, 4]),
        stored("axes", &[2], 2),
        tensor("r", &[1, 4]),
        tensor("y", &[1, 4]),
    ];
    let ops = [
        op(0, &[1], &[2]),
        op(1, &[0, 2], &[3]),
        op(2, &[3], &[4]),
        op(3, &[4, 5], &[6]),
        op(4, &[6, 4], &[7]),
    ];
    let main = subgraph(&tensors, &[0], &[7], &ops);
    let kinds = [DEQUANTIZE, ADD, CUSTOM, MEAN, BATCH_MATMUL];
    model(&kinds, &[main], &[buffer(64), buffer(8)])
}

fn read(kernels: Kernels) -> TfliteModel {
    let options = ReadOptions {
        kernels,
        ..ReadOptions::default()
    };
    tflite::read(&file(&mixed()), "test", &options).unwrap()
}

/// Nodes that have scratch.
fn scratch(model: &TfliteModel) -> Vec<(&str, &[u64])> {
    let nodes = model.graph.nodes().values();
    let with = nodes.filter(|node| !node.scratch.is_empty());
    with.map(|node| (&*node.name, &*node.scratch)).collect()
}

#[test]
fn scratch_and_folding_follow_the_kernels() {
    let plain = read(Kernels::Unknown);
    assert_eq!((plain.folded.len(), plain.graph.nodes().len()), (1, 4));
    assert!(scratch(&plain).is_empty() && plain.scratch_unknown.is_empty());
    let litert = read(Kernels::LiteRt);
    assert_eq!((litert.folded.len(), litert.graph.nodes().len()), (1, 4));
    assert_eq!(scratch(&litert), [("BATCH_MATMUL#4", &[16, 64][..])]);
    assert!(litert.scratch_unknown.is_empty());
    let micro = read(Kernels::Micro);
    assert_eq!((micro.folded.len(), micro.graph.nodes().len()), (0, 5));
    assert_eq!(scratch(&micro), [("MEAN#3", &[8, 8][..])]);
    let kinds = micro.scratch_unknown.iter();
    let kinds: Vec<&str> = kinds.map(|&n| &*micro.graph.nodes()[n].op).collect();
    assert_eq!(kinds, ["CUSTOM:"]);
    // What computes a constant makes an activation there.
    let role = |model: &TfliteModel| model.graph.tensors().values().nth(2).unwrap().role;
    let roles = [&plain, &litert, &micro].map(role);
    assert_eq!(roles, [Role::Weight, Role::Weight, Role::Activation]);
}

#[test]
fn kernels_in_bodies_have_their_scratch() {
    let tensors = [flag("c"), tensor("x", &[4, 4]), tensor("y", &[1, 4])];
    let main = subgraph(&tensors, &[0, 1], &[2], &[branch(&[0, 1], &[2], &[1, 1])]);
    let inner = [
        tensor("m", &[4, 4]),
        stored("axes", &[2], 1),
        tensor("r", &[1, 4]),
    ];
    let body = subgraph(&inner, &[0], &[2], &[op(1, &[0, 1], &[2])]);
    let bytes = file(&model(&[IF, MEAN], &[main, body], &[buffer(8)]));
    let read = |bodies| {
        let options = ReadOptions {
            bodies,
            kernels: Kernels::Micro,
            ..ReadOptions::default()
        };
        tflite::read(&bytes, "test", &options).unwrap()
    };
    let blocks = &[8, 8][..];
    let inline = read(Bodies::Inline);
    let bodies = ["IF#0/then/MEAN#0", "IF#0/else/MEAN#0"];
    assert_eq!(scratch(&inline), bodies.map(|name| (name, blocks)));
    let apart = read(Bodies::Apart);
    assert!(scratch(&apart).is_empty() && apart.scratch_unknown.is_empty());
}
