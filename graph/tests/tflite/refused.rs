//! Branches and loops that cannot be inlined soundly are refused by name.

use crate::control::{CUSTOM, RELU, all, branch, flag, one, repeat, variable};
use crate::files::read;
use crate::writer::{Fields, op, stored, subgraph, tensor};

/// A main graph of one operator over flag, x, y and the variable s.
fn main_of(op: Fields) -> Fields {
    let list = [
        flag("flag"),
        tensor("x", &[4]),
        tensor("y", &[4]),
        variable("s"),
    ];
    subgraph(&list, &[0, 1], &[2], &[op])
}

fn same() -> Fields {
    one(RELU, &[4], &[4])
}

/// A body with one tensor as two inputs.
fn two() -> Fields {
    let list = [tensor("a", &[4]), tensor("b", &[4])];
    subgraph(&list, &[0, 0], &[1], &[op(RELU, &[0], &[1])])
}

/// A body whose input has contents.
fn own() -> Fields {
    let list = [stored("a", &[4], 1), tensor("b", &[4])];
    subgraph(&list, &[0], &[1], &[op(RELU, &[0], &[1])])
}

fn refused(subgraphs: &[Fields], expected: &str) {
    let text = read(&all(subgraphs)).unwrap_err().to_string();
    assert!(text.contains(expected), "{expected}: {text}");
}

#[test]
fn branches_that_cannot_be_inlined_are_refused_by_name() {
    let choose = |inputs: &[i32], outputs: &[i32]| main_of(branch(inputs, outputs, &[1, 2]));
    let unmade = subgraph(&[tensor("a", &[4]), tensor("b", &[4])], &[0], &[1], &[]);
    let (narrow, wide) = (one(CUSTOM, &[5], &[4]), one(CUSTOM, &[4], &[5]));
    for (main, yes, no, expected) in [
        (
            choose(&[0, 1], &[2]),
            same(),
            wide,
            "`IF#0` cannot be bound to subgraph 2: `IF#0/else/b` there is 20 bytes, `y` here is 16",
        ),
        (
            choose(&[0, 1], &[2]),
            same(),
            narrow,
            "subgraph 2: `a` there is 20 bytes, here 16",
        ),
        (
            choose(&[0], &[2]),
            same(),
            same(),
            "subgraph 1: 0 operands, it has 1",
        ),
        (choose(&[], &[2]), same(), same(), "it has no condition"),
        (
            choose(&[0, -1], &[2]),
            same(),
            same(),
            "its operand 1 is absent",
        ),
        (
            choose(&[-1, 1], &[2]),
            same(),
            same(),
            "its operand 0 is absent",
        ),
        (choose(&[0, 1], &[]), same(), same(), "0 results, it has 1"),
        (
            choose(&[0, 1, 1], &[2]),
            two(),
            same(),
            "`a` there is more than one of its inputs",
        ),
        (
            choose(&[0, 1], &[2]),
            own(),
            same(),
            "`a` there has contents of its own",
        ),
        (
            choose(&[0, 3], &[2]),
            same(),
            same(),
            "`s` is a variable, the branch gets a copy",
        ),
        (
            choose(&[0, 1], &[3]),
            same(),
            same(),
            "its result `s` is a variable",
        ),
        (choose(&[0, 1], &[2]), unmade, same(), "reads `IF#0/then/b`"),
    ] {
        refused(&[main, yes, no], expected);
    }
    let itself = main_of(branch(&[0, 1], &[2], &[0, 0]));
    refused(&[itself], "subgraph 0: 1 operands, it has 2");
}

#[test]
fn loops_that_cannot_be_inlined_are_refused_by_name() {
    let test = |outputs: &[i32]| {
        let list = [tensor("a", &[4]), flag("again")];
        subgraph(&list, &[0], outputs, &[op(CUSTOM, &[0], &[1])])
    };
    let turn = |inputs: &[i32]| main_of(repeat(inputs, &[2], &[1, 2]));
    let narrow = main_of(repeat(&[1], &[0], &[1, 2]));
    let changes = one(CUSTOM, &[4], &[5]);
    for (main, condition, body, expected) in [
        (
            turn(&[1]),
            test(&[1]),
            changes,
            "`WHILE#0` cannot be bound to subgraph 2: `WHILE#0/body/b` there is 20 bytes, `WHILE#0/cond/a` here is 16",
        ),
        (
            narrow,
            test(&[1]),
            same(),
            "`WHILE#0/body/b` there is 16 bytes, `flag` here is 1",
        ),
        (
            turn(&[1]),
            test(&[1, 1]),
            same(),
            "it makes 2 results, not one",
        ),
        (turn(&[1]), test(&[]), same(), "it makes 0 results, not one"),
        (turn(&[-1]), test(&[1]), same(), "its operand 0 is absent"),
        (
            turn(&[1, 1]),
            test(&[1]),
            same(),
            "subgraph 1: 2 operands, it has 1",
        ),
        (
            turn(&[1]),
            test(&[1]),
            own(),
            "`a` there has contents of its own",
        ),
        (
            turn(&[1, 1]),
            two(),
            same(),
            "`a` there is more than one of its inputs",
        ),
    ] {
        refused(&[main, condition, body], expected);
    }
}

#[test]
fn branches_and_loops_that_run_themselves_are_refused() {
    let inside = |op: Fields| {
        let list = [flag("a"), flag("b")];
        subgraph(&list, &[0], &[1], &[op])
    };
    for op in [branch(&[0, 0], &[1], &[0, 0]), repeat(&[0], &[1], &[0, 0])] {
        let text = read(&all(&[inside(op)])).unwrap_err().to_string();
        assert!(text.contains("more than 16 deep"), "{text}");
    }
}
