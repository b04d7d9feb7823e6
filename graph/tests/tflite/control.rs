//! Branches and loops, inlined: what they become, and that plans of them hold for what really runs.

use crate::files::read;
use crate::turns::holds;
use crate::writer::{Fields, Value, buffer, model, op, stored, subgraph, tensor, with};
use bayplan_graph::format::tflite::TfliteModel;
use bayplan_graph::{Graph, Role};

const KINDS: [i32; 10] = [118, 119, 0, 19, 22, 32, 31, 142, 143, 144];
const IF: i32 = 0;
const WHILE: i32 = 1;
const ADD: i32 = 2;
pub(crate) const RELU: i32 = 3;
const RESHAPE: i32 = 4;
pub(crate) const CUSTOM: i32 = 5;
const CALL: i32 = 6;
const VAR_HANDLE: i32 = 7;
const READ_VARIABLE: i32 = 8;
const ASSIGN_VARIABLE: i32 = 9;

fn runs(fields: Fields, kind: u8, targets: &[i32]) -> Fields {
    let slots = (0..).zip(targets.iter().map(|&target| Value::I32(target)));
    with(
        fields,
        &[(3, Value::U8(kind)), (4, Value::Table(slots.collect()))],
    )
}

pub(crate) fn branch(inputs: &[i32], outputs: &[i32], bodies: &[i32]) -> Fields {
    runs(op(IF, inputs, outputs), 92, bodies)
}

pub(crate) fn repeat(inputs: &[i32], outputs: &[i32], bodies: &[i32]) -> Fields {
    runs(op(WHILE, inputs, outputs), 93, bodies)
}

pub(crate) fn flag(name: &'static str) -> Fields {
    with(tensor(name, &[]), &[(1, Value::U8(6))])
}

pub(crate) fn variable(name: &'static str) -> Fields {
    with(tensor(name, &[4]), &[(5, Value::U8(1))])
}

fn handle(name: &'static str) -> Fields {
    with(tensor(name, &[]), &[(1, Value::U8(13))])
}

fn var_handle(output: i32, name: &'static str) -> Fields {
    let fields = vec![(1, Value::Text(name))];
    with(
        op(VAR_HANDLE, &[], &[output]),
        &[(3, Value::U8(111)), (4, Value::Table(fields))],
    )
}

pub(crate) fn all(subgraphs: &[Fields]) -> Fields {
    model(&KINDS, subgraphs, &[buffer(16)])
}

fn nodes(read: &TfliteModel) -> Vec<&str> {
    read.graph.nodes().values().map(|n| &*n.name).collect()
}

fn names(graph: &Graph, ids: impl Iterator<Item = bayplan_graph::TensorId>) -> Vec<&str> {
    ids.map(|id| &*graph.tensors()[id].name).collect()
}

/// x → relu → IF → relu → y, with these branches over (a).
fn choice(yes: Fields, no: Fields) -> Fields {
    let tensors = [
        flag("flag"),
        tensor("x", &[4]),
        tensor("h", &[4]),
        tensor("c", &[4]),
        tensor("y", &[4]),
    ];
    let ops = [
        op(RELU, &[1], &[2]),
        branch(&[0, 2], &[3], &[1, 2]),
        op(RELU, &[3], &[4]),
    ];
    all(&[subgraph(&tensors, &[0, 1], &[4], &ops), yes, no])
}

/// A branch or body with one operator.
pub(crate) fn one(kind: i32, from: &[i32], to: &[i32]) -> Fields {
    let tensors = [tensor("a", from), tensor("b", to)];
    subgraph(&tensors, &[0], &[1], &[op(kind, &[0], &[1])])
}

#[test]
fn both_branches_are_there_and_one_node_chooses() {
    let found = read(&choice(one(RELU, &[4], &[4]), one(CUSTOM, &[4], &[4]))).unwrap();
    let expected = [
        "RELU#0",
        "IF#1/then/RELU#0",
        "IF#1/else/CUSTOM:#0",
        "IF#1",
        "RELU#2",
    ];
    assert_eq!(nodes(&found), expected);
    let graph = found.graph;
    let node = graph.nodes().values().nth(3).unwrap();
    let reads = names(&graph, node.operands());
    assert_eq!(reads, ["flag", "IF#1/then/b", "IF#1/else/b"]);
    let offered = names(&graph, node.in_place.iter().map(|offer| offer.0));
    assert_eq!(offered, ["IF#1/then/b", "IF#1/else/b"]);
    let outputs = graph.tensors().values().filter(|t| t.is_output).count();
    assert_eq!(outputs, 1);
    holds(graph);
}

#[test]
fn branches_may_hand_on_operands_constants_and_variables() {
    let operand = subgraph(&[tensor("a", &[4])], &[0], &[0], &[]);
    let constant = subgraph(&[tensor("a", &[4]), stored("k", &[4], 1)], &[0], &[1], &[]);
    let state = subgraph(
        &[tensor("a", &[4]), variable("s")],
        &[0],
        &[1],
        &[op(CUSTOM, &[0, 1], &[])],
    );
    let bodies = [operand, constant, state];
    for yes in &bodies {
        for no in &bodies {
            holds(read(&choice(yes.clone(), no.clone())).unwrap().graph);
        }
    }
}

/// Both branches hand on both operands; one crosses them.
#[test]
fn what_is_chosen_at_two_places_is_not_overwritten() {
    let tensors = || [tensor("a", &[4]), tensor("b", &[4])];
    let straight = subgraph(&tensors(), &[0, 1], &[0, 1], &[]);
    let crossed = subgraph(&tensors(), &[0, 1], &[1, 0], &[]);
    let mut list = vec![flag("flag")];
    list.extend(["x", "p", "q", "c", "d", "y"].map(|name| tensor(name, &[4])));
    let ops = [
        op(RELU, &[1], &[2]),
        op(CUSTOM, &[1], &[3]),
        branch(&[0, 2, 3], &[4, 5], &[1, 2]),
        op(ADD, &[4, 5], &[6]),
    ];
    let main = subgraph(&list, &[0, 1], &[6], &ops);
    let graph = read(&all(&[main, straight, crossed])).unwrap().graph;
    assert!(graph.nodes().values().nth(2).unwrap().in_place.is_empty());
    holds(graph);
}

#[test]
fn a_subgraph_of_two_callers_has_its_own_tensors_but_one_variable() {
    let body = subgraph(
        &[
            tensor("a", &[4]),
            variable("s"),
            stored("k", &[4], 1),
            tensor("b", &[4]),
        ],
        &[0],
        &[3],
        &[op(CUSTOM, &[0, 1, 2], &[3])],
    );
    let tensors = [
        flag("flag"),
        tensor("x", &[4]),
        tensor("h", &[4]),
        tensor("y", &[4]),
    ];
    let ops = [
        runs(op(CALL, &[1], &[2]), 16, &[1]),
        branch(&[0, 2], &[3], &[1, 1]),
    ];
    let main = subgraph(&tensors, &[0, 1], &[3], &ops);
    let graph = read(&all(&[main, body])).unwrap().graph;
    let of = |role| graph.tensors().values().filter(|t| t.role == role).count();
    assert_eq!((of(Role::State), of(Role::Weight)), (1, 1));
    let (state, _) = graph
        .tensors()
        .iter()
        .find(|t| t.1.role == Role::State)
        .unwrap();
    assert_eq!(graph.writers(state).len(), 3);
    holds(graph);
}

/// x → relu → WHILE over (h, h, x) → y. The condition reads its first value.
fn turns(body: Fields) -> Fields {
    let tensors = ["x", "h", "y0", "y1", "y2"].map(|name| tensor(name, &[4]));
    let ops = [
        op(RELU, &[0], &[1]),
        repeat(&[1, 1, 0], &[2, 3, 4], &[1, 2]),
    ];
    let main = subgraph(&tensors, &[0], &[2, 3, 4], &ops);
    let mut inside = ["p", "q", "r"].map(|name| tensor(name, &[4])).to_vec();
    inside.push(flag("again"));
    let condition = subgraph(&inside, &[0, 1, 2], &[3], &[op(CUSTOM, &[0], &[3])]);
    all(&[main, condition, body])
}

/// A body over (a, b, c) that makes d, e, f.
fn body(outputs: &[i32], ops: &[Fields]) -> Fields {
    let tensors = ["a", "b", "c", "d", "e", "f"].map(|name| tensor(name, &[4]));
    let mut tensors = tensors.to_vec();
    tensors.extend([variable("s"), stored("k", &[4], 1)]);
    subgraph(&tensors, &[0, 1, 2], outputs, ops)
}

#[test]
fn a_loop_keeps_what_it_carries_to_its_last_node() {
    let ops = [op(ADD, &[0, 1], &[3]), op(RELU, &[3], &[4])];
    let found = read(&turns(body(&[4, 3, 2], &ops))).unwrap();
    let expected = [
        "RELU#0",
        "WHILE#1/enter",
        "WHILE#1/cond/CUSTOM:#0",
        "WHILE#1/turn",
        "WHILE#1/body/ADD#0",
        "WHILE#1/body/RELU#1",
        "WHILE#1",
    ];
    assert_eq!(nodes(&found), expected);
    let graph = found.graph;
    let last = graph.nodes().values().nth(6).unwrap();
    let carried = ["WHILE#1/cond/p", "WHILE#1/cond/q", "WHILE#1/cond/r"];
    let made = ["WHILE#1/body/e", "WHILE#1/body/d"];
    assert_eq!(
        names(&graph, last.operands()),
        [&carried[..], &made].concat()
    );
    assert_eq!(last.inputs.len(), 6);
    let turn = graph.nodes().values().nth(3).unwrap();
    assert_eq!((turn.views.len(), turn.in_place.len()), (3, 0));
    holds(graph);
}

#[test]
fn loops_of_every_kind_hold() {
    let relu = |from, to| op(RELU, &[from], &[to]);
    let reshape = |from, to| op(RESHAPE, &[from], &[to]);
    for (outputs, ops, copies) in [
        (&[0, 1, 2][..], vec![], false), // nothing changes
        (&[1, 2, 0], vec![], true),      // values change places
        (&[1, 0, 2], vec![], true),      // two do
        (&[0, 0, 0], vec![], true),      // one for all
        (&[3, 4, 2], vec![reshape(1, 3), reshape(0, 4)], true), // behind other shapes
        (&[3, 1, 2], vec![reshape(0, 3)], false), // another shape at its own place
        (
            &[4, 3, 5],
            vec![reshape(0, 3), relu(3, 4), relu(1, 5)],
            true,
        ),
        (&[3, 3, 3], vec![relu(0, 3)], false),
        (&[7, 6, 7], vec![op(CUSTOM, &[0, 6], &[])], false), // constants, a variable
        (
            &[3, 4, 5],
            vec![reshape(6, 3), op(CUSTOM, &[0, 6], &[4]), relu(3, 5)],
            false,
        ),
        (&[3, 6, 2], vec![op(CUSTOM, &[2, 6], &[3])], false),
    ] {
        let graph = read(&turns(body(outputs, &ops))).unwrap().graph;
        let next = graph.nodes().values().any(|node| node.op == "WHILE/next");
        assert_eq!(next, copies, "{outputs:?}");
        holds(graph);
    }
}

#[test]
fn handles_go_through_branches_and_loops() {
    let tensors = |second| {
        let list = [flag("flag"), handle("h"), tensor("v", &[4]), handle("g")];
        let ops = [
            var_handle(1, "one"),
            repeat(&[1], &[3], &[1, 2]),
            op(READ_VARIABLE, &[3], &[2]),
        ];
        let main = subgraph(&list, &[0], &[2], &ops);
        let test = [handle("p"), flag("again"), tensor("w", &[4])];
        let ops = [op(READ_VARIABLE, &[0], &[2]), op(CUSTOM, &[2], &[1])];
        let condition = subgraph(&test, &[0], &[1], &ops);
        let inside = [
            handle("p"),
            tensor("w", &[4]),
            tensor("u", &[4]),
            handle("o"),
        ];
        let ops = [
            op(READ_VARIABLE, &[0], &[1]),
            op(RELU, &[1], &[2]),
            op(ASSIGN_VARIABLE, &[0, 2], &[]),
            var_handle(3, second),
        ];
        let body = subgraph(&inside, &[0], &[3], &ops);
        all(&[main, condition, body])
    };
    let graph = read(&tensors("one")).unwrap().graph;
    let state = graph.tensors().iter().find(|t| t.1.role == Role::State);
    let (state, tensor) = state.unwrap();
    assert_eq!((tensor.bytes, graph.readers(state).len()), (16, 3));
    holds(graph);
    let text = read(&tensors("other")).unwrap_err().to_string();
    assert!(
        text.contains("`g` is a handle of different resources"),
        "{text}"
    );
}
