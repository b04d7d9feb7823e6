//! Subgraphs whose operands have other shapes.

use super::*;
/// Main: x → (an operator that runs the given subgraphs) → y → RELU → z. Every subgraph is a RELU.
pub(super) fn caller(code: i32, table: &str, operands: &[i32], bodies: &[Fields]) -> Vec<u8> {
    let flag = with(tensor("flag", &[]), &[(1, Value::U8(6))]);
    let tensors = [
        tensor("x", &[1, 4]),
        tensor("y", &[1, 4]),
        tensor("z", &[1, 4]),
        flag,
    ];
    let run = with(op(0, operands, &[1]), &options(table));
    let main = subgraph(&tensors, &[0, 3], &[2], &[run, op(1, &[1], &[2])]);
    let all = [&[main], bodies].concat();
    file(&model(&[code, RELU, CUSTOM], &all, &[]))
}

pub(super) fn body(kind: i32, result: &[i32]) -> Fields {
    let tensors = [tensor("a", &[1, 4]), tensor("b", result)];
    subgraph(&tensors, &[0], &[1], &[op(kind, &[0], &[1])])
}

#[test]
fn subgraphs_follow_their_callers() {
    let given = BTreeMap::from([("x".to_owned(), vec![3, 5])]);
    let relu = body(1, &[1, 4]);
    for (code, table, operands, bodies) in [
        (CALL, "16 0=i1", &[0][..], vec![relu.clone()]),
        (
            IF,
            "92 0=i1 1=i2",
            &[3, 0],
            vec![relu.clone(), relu.clone()],
        ),
    ] {
        let bytes = caller(code, table, operands, &bodies);
        let found = resized(&bytes, &given).unwrap();
        let named = |name: &str| {
            let tensors = found.graph.tensors().values();
            let mut tensors = tensors.filter(|tensor| tensor.name == name);
            tensors.next().unwrap().shape.clone().unwrap()
        };
        assert_eq!((named("y"), named("z")), (vec![3, 5], vec![3, 5]), "{code}");
    }
    let custom = body(2, &[1, 4]);
    let bytes = caller(CALL, "16 0=i1", &[0], &[custom]);
    let message = resized(&bytes, &given).unwrap_err().to_string();
    assert!(
        message.contains("`subgraph 1: CUSTOM:#0` cannot follow"),
        "{message}"
    );
    assert!(
        message.contains("its result `b` is declared as [1, 4]"),
        "{message}"
    );
}

#[test]
fn a_subgraph_has_one_set_of_shapes() {
    let tensors = [
        tensor("x", &[1, 4]),
        tensor("y", &[1, 4]),
        tensor("p", &[1, 4]),
        tensor("q", &[1, 4]),
    ];
    let run = |from, to| with(op(0, &[from], &[to]), &options("16 0=i1"));
    let main = subgraph(&tensors, &[0, 2], &[1, 3], &[run(0, 1), run(2, 3)]);
    let bytes = file(&model(&[CALL, RELU], &[main, body(1, &[1, 4])], &[]));
    let both = BTreeMap::from([("x".to_owned(), vec![3, 4]), ("p".to_owned(), vec![3, 4])]);
    assert!(
        shapes(&resized(&bytes, &both).unwrap())
            .iter()
            .all(|shape| shape == &[3, 4])
    );
    let one = BTreeMap::from([("x".to_owned(), vec![3, 4])]);
    let message = resized(&bytes, &one).unwrap_err().to_string();
    let expected =
        "it is called more than once, and the tensor would have shapes [3, 4] and [1, 4]";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn loops_keep_the_shapes_of_their_values() {
    let test = {
        let flag = with(tensor("go", &[]), &[(1, Value::U8(6))]);
        let tensors = [tensor("a", &[1, 4]), flag];
        subgraph(&tensors, &[0], &[1], &[op(2, &[0], &[1])])
    };
    let given = BTreeMap::from([("x".to_owned(), vec![3, 5])]);
    // The condition is a custom operator: it cannot follow.
    let bytes = caller(WHILE, "93 0=i1 1=i2", &[0], &[test, body(1, &[1, 4])]);
    let message = resized(&bytes, &given).unwrap_err().to_string();
    assert!(
        message.contains("`subgraph 1: CUSTOM:#0` cannot follow"),
        "{message}"
    );
    let bytes = caller(
        WHILE,
        "93 0=i1 1=i2",
        &[0],
        &[body(1, &[1, 4]), body(1, &[1, 4])],
    );
    let found = resized(&bytes, &given).unwrap();
    assert_eq!(shapes(&found)[..3], [[3, 5], [3, 5], [3, 5]]);
}

#[test]
fn a_subgraph_that_calls_itself_is_refused() {
    let run = with(op(0, &[0], &[1]), &options("16 0=i1"));
    let own = subgraph(
        &[tensor("a", &[1, 4]), tensor("b", &[1, 4])],
        &[0],
        &[1],
        &[run],
    );
    let bytes = caller(CALL, "16 0=i1", &[0], &[own]);
    let given = BTreeMap::from([("x".to_owned(), vec![3, 5])]);
    let message = resized(&bytes, &given).unwrap_err().to_string();
    assert!(message.contains("calls more than 16 deep"), "{message}");
}
