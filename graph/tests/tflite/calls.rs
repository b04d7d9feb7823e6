//! Files with several subgraphs: calls inlined, branches apart, resource variables.

use crate::files::read;
use crate::writer::{Fields, Value, buffer, file, model, op, stored, subgraph, tensor, with};
use bayplan_graph::Role;
use bayplan_graph::format::tflite::{self, Bodies, ReadOptions, TfliteModel};

const CALL: i32 = 31;
const IF: i32 = 118;
const RELU: i32 = 19;
const CALL_ONCE: i32 = 129;
const VAR_HANDLE: i32 = 142;
const READ_VARIABLE: i32 = 143;
const ASSIGN_VARIABLE: i32 = 144;

fn options(fields: Fields, kind: u8, options: Fields) -> Fields {
    with(fields, &[(3, Value::U8(kind)), (4, Value::Table(options))])
}

fn handle(name: &'static str) -> Fields {
    with(tensor(name, &[]), &[(1, Value::U8(13))])
}

fn var_handle(output: i32) -> Fields {
    options(op(1, &[], &[output]), 111, vec![(1, Value::Text("ring"))])
}

fn nodes(model: &TfliteModel) -> Vec<&str> {
    model
        .graph
        .nodes()
        .values()
        .map(|n| n.name.as_str())
        .collect()
}

/// init: ring := constant; main: y := ring, ring := x.
fn ring() -> Fields {
    let kinds = [CALL_ONCE, VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE];
    let main = subgraph(
        &[tensor("x", &[4]), handle("h"), tensor("y", &[4])],
        &[0],
        &[2],
        &[
            options(op(0, &[], &[]), 103, vec![(0, Value::I32(1))]),
            var_handle(1),
            op(2, &[1], &[2]),
            op(3, &[1, 0], &[]),
        ],
    );
    let init = subgraph(
        &[handle("h"), stored("zero", &[4], 1)],
        &[],
        &[],
        &[var_handle(0), op(3, &[0, 1], &[])],
    );
    model(&kinds, &[main, init], &[buffer(16)])
}

#[test]
fn a_resource_variable_is_one_state_whatever_its_handles() {
    let read = read(&ring()).unwrap();
    let expected = [
        "CALL_ONCE#0/VAR_HANDLE#0",
        "CALL_ONCE#0/ASSIGN_VARIABLE#1",
        "VAR_HANDLE#1",
        "READ_VARIABLE#2",
        "ASSIGN_VARIABLE#3",
    ];
    assert_eq!(nodes(&read), expected);
    let (name, state) = &read.variables[0];
    let tensor = &read.graph.tensors()[*state];
    assert_eq!(
        (name.as_str(), tensor.role, tensor.bytes),
        ("ring", Role::State, 16)
    );
    assert_eq!(read.graph.writers(*state).len(), 2);
    assert_eq!(read.graph.readers(*state).len(), 1);
    let once = read.graph.nodes().values().next().unwrap();
    assert_eq!(once.scope.as_deref(), Some("CALL_ONCE#0"));
    assert!(read.tensors[1].iter().all(Option::is_some));
}

/// main: y := f(x); f: b := relu a, handing on tensor `output`.
fn call(target: i32, body: &[i32], output: i32) -> Fields {
    let call = options(op(0, &[0], &[1]), 16, vec![(0, Value::I32(target))]);
    let main = subgraph(&[tensor("x", &[4]), tensor("y", &[4])], &[0], &[1], &[call]);
    let tensors = [tensor("a", &[4]), tensor("b", body)];
    let inner = subgraph(&tensors, &[0], &[output], &[op(1, &[0], &[1])]);
    model(&[CALL, RELU], &[main, inner], &[])
}

#[test]
fn calls_are_inlined_and_must_fit() {
    let good = read(&call(1, &[4], 1)).unwrap();
    assert_eq!(nodes(&good), ["CALL#0/RELU#0"]);
    assert_eq!(good.tensors[0], good.tensors[1]);
    for (model, expected) in [
        (call(1, &[5], 1), "`b` there is 20 bytes, here 16"),
        (
            call(1, &[4], 0),
            "it hands `a` on without an operator between",
        ),
        (call(0, &[4], 1), "calls more than 16 deep"),
        (call(7, &[4], 1), "`CALL#0` runs subgraph 7; the file has 2"),
        (call(-1, &[4], 1), "`CALL#0` runs subgraph -1"),
    ] {
        let message = read(&model).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_graph_that_calls_itself_is_refused() {
    let call = || options(op(0, &[], &[]), 103, vec![(0, Value::I32(0))]);
    let main = subgraph(&[], &[], &[], &[call(), call()]);
    let message = read(&model(&[CALL_ONCE], &[main], &[]))
        .unwrap_err()
        .to_string();
    assert!(message.contains("calls more than 16 deep"), "{message}");
}

#[test]
fn calls_that_unfold_without_end_are_refused() {
    let level = |next: i32| {
        let call = options(op(0, &[], &[]), 103, vec![(0, Value::I32(next))]);
        subgraph(&[], &[], &[], &vec![call; 100])
    };
    let mut levels: Vec<Fields> = (1..8).map(level).collect();
    levels.push(subgraph(&[], &[], &[], &[]));
    let message = read(&model(&[CALL_ONCE], &levels, &[]))
        .unwrap_err()
        .to_string();
    assert!(message.contains("again and again"), "{message}");
}

#[test]
fn branches_may_stay_apart() {
    let branch = options(
        op(0, &[0, 1], &[2]),
        92,
        vec![(0, Value::I32(1)), (1, Value::I32(1))],
    );
    let flag = with(tensor("flag", &[]), &[(1, Value::U8(6))]);
    let tensors = [flag, tensor("x", &[4]), tensor("y", &[4])];
    let main = subgraph(&tensors, &[0, 1], &[2], &[branch]);
    let inner = subgraph(
        &[tensor("a", &[4]), tensor("b", &[4])],
        &[0],
        &[1],
        &[op(1, &[0], &[1])],
    );
    let both = model(
        &[IF, RELU],
        &[main, with(inner, &[(4, Value::Text("then"))])],
        &[],
    );
    let options = ReadOptions {
        bodies: Bodies::Apart,
        ..ReadOptions::default()
    };
    let read = tflite::read(&file(&both), "test", &options).unwrap();
    assert_eq!(nodes(&read), ["IF#0"]);
    let node = &read.graph.nodes()[read.opaque[0].node];
    assert_eq!((&*node.op, read.opaque[0].bytes), ("IF (bodies apart)", 16));
    assert!(read.tensors[1].iter().all(Option::is_none));
}

#[test]
fn a_handle_from_nowhere_is_refused() {
    let main = subgraph(
        &[handle("h"), tensor("y", &[4])],
        &[0],
        &[1],
        &[op(0, &[0], &[1])],
    );
    let message = read(&model(&[READ_VARIABLE], &[main], &[]))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("uses resource `h`, which no VAR_HANDLE makes"),
        "{message}"
    );
}

#[test]
fn hash_tables_keep_the_order_of_what_touches_them() {
    let tensors = [handle("table"), tensor("keys", &[4]), tensor("found", &[4])];
    let ops = [
        op(0, &[], &[0]),
        op(1, &[0, 1, 1], &[]),
        op(2, &[0, 1], &[2]),
    ];
    let main = subgraph(&tensors, &[1], &[2], &ops);
    let read = read(&model(&[136, 138, 137], &[main], &[])).unwrap();
    let state = read
        .graph
        .tensors()
        .iter()
        .find(|t| t.1.role == Role::State);
    let (id, state) = state.unwrap();
    assert_eq!((state.bytes, read.graph.writers(id).len()), (0, 2));
    bayplan_graph::plan(read.graph.into(), &bayplan_graph::PlanOptions::default()).unwrap();
}

#[test]
fn branches_into_unknown_subgraphs_are_always_refused() {
    let main = subgraph(
        &[tensor("x", &[4]), tensor("y", &[4])],
        &[0],
        &[1],
        &[op(0, &[0], &[1])],
    );
    let options = ReadOptions {
        bodies: Bodies::Apart,
        ..ReadOptions::default()
    };
    let read = tflite::read(&file(&model(&[206], &[main], &[])), "test", &options);
    let message = read.unwrap_err().to_string();
    assert!(
        message.contains("`STABLEHLO_COMPOSITE#0` runs another subgraph"),
        "{message}"
    );
}
