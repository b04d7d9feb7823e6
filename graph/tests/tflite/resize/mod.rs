//! Other shapes for inputs: single operators against the stock runtime here, then chains of shape
//! arithmetic, calls, and what is refused.

mod calls;
mod chains;

use crate::writer::{Fields, Value, file, model, op, subgraph, tensor, with};
use bayplan_graph::format::tflite::{self, ReadOptions, TfliteError, TfliteModel};
use calls::{body, caller};
use std::collections::BTreeMap;

const ADD: i32 = 0;
const CONCATENATION: i32 = 2;
const MUL: i32 = 18;
const RELU: i32 = 19;
const RESHAPE: i32 = 22;
const CALL: i32 = 31;
const CUSTOM: i32 = 32;
const GATHER: i32 = 36;
const STRIDED_SLICE: i32 = 45;
const CAST: i32 = 53;
const SLICE: i32 = 65;
const SHAPE: i32 = 77;
const REDUCE_PROD: i32 = 81;
const PACK: i32 = 83;
const FLOOR_DIV: i32 = 90;
const FILL: i32 = 94;
const RANGE: i32 = 96;
const RESIZE_NEAREST: i32 = 97;
const REVERSE: i32 = 105;
const IF: i32 = 118;
const WHILE: i32 = 119;

/// One line of the table.
struct Case {
    line: &'static str,
    code: i32,
    operands: Vec<Operand>,
    options: Vec<(u16, Value)>,
    types: &'static str,
    /// Nothing where the runtime fails.
    results: Option<Vec<Vec<i32>>>,
}

enum Operand {
    Absent,
    Input(char, Vec<i32>, Vec<i32>),
    Constant(char, Vec<i32>, Vec<i64>),
    State(Vec<i32>),
}

fn shape(text: &str) -> Vec<i32> {
    let dims = text.split('x').filter(|dim| !dim.is_empty());
    dims.map(|dim| dim.parse().unwrap()).collect()
}

fn operand(text: &str) -> Operand {
    if text == "-" {
        return Operand::Absent;
    }
    if let Some(text) = text.strip_prefix("state:") {
        return Operand::State(shape(text));
    }
    let (kind, rest) = (text.chars().next().unwrap(), &text[2..]);
    if let Some((declared, given)) = rest.split_once('>') {
        return Operand::Input(kind, shape(declared), shape(given));
    }
    let (dims, values) = rest.split_once(':').unwrap_or((rest, ""));
    let values = values.split(',').filter(|value| !value.is_empty());
    let values = values.map(|value| value.parse().unwrap()).collect();
    Operand::Constant(kind, shape(dims), values)
}

fn options(text: &str) -> Vec<(u16, Value)> {
    let mut parts = text.split(' ').filter(|part| !part.is_empty());
    let Some(kind) = parts.next() else {
        return Vec::new();
    };
    let field = |part: &str| {
        let (slot, value) = part.split_once('=').unwrap();
        let number = &value[1..];
        let value = match &value[..1] {
            "b" => Value::U8(number.parse().unwrap()),
            "i" => Value::I32(number.parse().unwrap()),
            _ => {
                let list = number.split(',').filter(|value| !value.is_empty());
                Value::Ints(list.map(|value| value.parse().unwrap()).collect())
            }
        };
        (slot.parse().unwrap(), value)
    };
    let table = parts.map(field).collect();
    let kind = Value::U8(kind.parse().unwrap());
    vec![(3, kind), (4, Value::Table(table))]
}

fn cases() -> Vec<Case> {
    let lines = include_str!("cases.txt").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    let case = |line: &'static str| {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [head, operands, table, types, results] = parts[..] else {
            panic!("{line}");
        };
        let results = (results != "refused").then(|| {
            let list = results
                .split(' ')
                .map(|result| shape(result.trim_matches(['[', ']'])));
            list.collect()
        });
        Case {
            line,
            code: head.split(' ').nth(1).unwrap().parse().unwrap(),
            operands: operands.split("; ").map(operand).collect(),
            options: options(table),
            types,
            results,
        }
    };
    lines.map(case).collect()
}

fn type_code(kind: char) -> (u8, usize) {
    match kind {
        'f' => (0, 4),
        'i' => (2, 4),
        'l' => (4, 8),
        'b' => (6, 1),
        '8' => (9, 1),
        'u' => (3, 1),
        'c' => (8, 8),
        other => panic!("no type {other}"),
    }
}

fn typed(kind: char, shape: &[i32]) -> Fields {
    with(tensor("", shape), &[(1, Value::U8(type_code(kind).0))])
}

/// Contents of a constant: values, or zeros.
fn contents(kind: char, shape: &[i32], values: &[i64]) -> Vec<u8> {
    let count: i32 = shape.iter().product();
    let width = type_code(kind).1;
    if values.is_empty() {
        return vec![0; usize::try_from(count).unwrap() * width];
    }
    let bytes = values.iter().map(|value| value.to_le_bytes());
    bytes.flat_map(|bytes| bytes[..width].to_vec()).collect()
}

/// The file of a case. `settled`: inputs and results are declared as they come out.
fn build(case: &Case, settled: bool) -> (Vec<u8>, BTreeMap<String, Vec<u64>>) {
    let (mut tensors, mut buffers, mut operands) = (Vec::new(), Vec::new(), Vec::new());
    let (mut inputs, mut given) = (Vec::new(), BTreeMap::new());
    for operand in &case.operands {
        let index = i32::try_from(tensors.len()).unwrap();
        operands.push(if matches!(operand, Operand::Absent) {
            -1
        } else {
            index
        });
        tensors.push(match operand {
            Operand::Absent => continue,
            Operand::Input(kind, declared, new) => {
                let sizes = new.iter().map(|&dim| u64::try_from(dim).unwrap());
                given.insert(format!("#{index}"), sizes.collect());
                inputs.push(index);
                typed(*kind, if settled { new } else { declared })
            }
            Operand::Constant(kind, dims, values) => {
                buffers.push(vec![(0, Value::Bytes(contents(*kind, dims, values)))]);
                let buffer = i32::try_from(buffers.len()).unwrap();
                with(typed(*kind, dims), &[(2, Value::I32(buffer))])
            }
            Operand::State(dims) => with(typed('f', dims), &[(5, Value::U8(1))]),
        });
    }
    let mut outputs = Vec::new();
    for (place, kind) in case.types.chars().enumerate() {
        let declared = case.results.as_ref().filter(|_| settled);
        outputs.push(i32::try_from(tensors.len()).unwrap());
        tensors.push(typed(
            kind,
            declared.map_or(&[], |results| &results[place][..]),
        ));
    }
    let operator = with(op(0, &operands, &outputs), &case.options);
    let main = subgraph(&tensors, &inputs, &outputs, &[operator]);
    (file(&model(&[case.code], &[main], &buffers)), given)
}

fn resized(bytes: &[u8], given: &BTreeMap<String, Vec<u64>>) -> Result<TfliteModel, TfliteError> {
    tflite::read_resized(bytes, "test", &ReadOptions::default(), given)
}

/// Shapes of the graph's tensors, in their order.
fn shapes(model: &TfliteModel) -> Vec<Vec<u64>> {
    let tensors = model.graph.tensors().values();
    tensors
        .map(|tensor| tensor.shape.clone().unwrap_or_default())
        .collect()
}

fn wide(shape: &[i32]) -> Vec<u64> {
    shape
        .iter()
        .map(|&dim| u64::try_from(dim).unwrap())
        .collect()
}

#[test]
fn single_operators_give_the_shapes_of_the_stock_runtime() {
    let cases = cases();
    assert!(cases.len() > 200);
    for case in cases {
        let (bytes, given) = build(&case, false);
        let found = resized(&bytes, &given);
        let Some(results) = &case.results else {
            let error = found.map(|model| shapes(&model)).unwrap_err();
            assert!(
                matches!(error, TfliteError::Resize { .. }),
                "{}: {error}",
                case.line
            );
            continue;
        };
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", case.line));
        let all = shapes(&found);
        let expected: Vec<Vec<u64>> = results.iter().map(|shape| wide(shape)).collect();
        assert_eq!(all[all.len() - expected.len()..], expected, "{}", case.line);
    }
}

#[test]
fn what_is_declared_consistently_stays_as_it_is() {
    for case in cases().iter().filter(|case| case.results.is_some()) {
        let (bytes, given) = build(case, true);
        let declared = resized(&bytes, &BTreeMap::new()).unwrap();
        let found = resized(&bytes, &given).unwrap_or_else(|e| panic!("{}: {e}", case.line));
        assert_eq!(
            format!("{:?}", found.graph),
            format!("{:?}", declared.graph),
            "{}",
            case.line
        );
    }
}

#[test]
fn a_given_shape_must_be_allowed() {
    let signed = |signature: &[i32]| {
        let x = with(
            tensor("x", &[1, 8]),
            &[(7, Value::Ints(signature.to_vec()))],
        );
        let main = subgraph(&[x, tensor("y", &[1, 8])], &[0], &[1], &[op(0, &[0], &[1])]);
        file(&model(&[RELU], &[main], &[]))
    };
    let given = |name: &str, shape: &[u64]| BTreeMap::from([(name.to_owned(), shape.to_vec())]);
    let open = signed(&[-1, 8]);
    assert_eq!(
        shapes(&resized(&open, &given("x", &[5, 8])).unwrap()),
        [[5, 8], [5, 8]]
    );
    assert_eq!(
        shapes(&resized(&signed(&[]), &given("x", &[5, 9])).unwrap()),
        [[5, 9], [5, 9]]
    );
    for (name, shape, expected) in [
        (
            "y",
            &[1, 8][..],
            "no input is called `y`; the model's inputs are `x`",
        ),
        (
            "x",
            &[8],
            "given as [8], but the model declares [-1, 8]: 1 dimensions instead of 2",
        ),
        ("x", &[2, 9], "dimension 1 is fixed to 8, not 9"),
        ("x", &[0, 8], "dimension 0 is 0; it can be 1 to 2147483647"),
        (
            "x",
            &[1 << 31, 8],
            "dimension 0 is 2147483648; it can be 1 to 2147483647",
        ),
        ("x", &[u64::MAX, 8], "dimension 0 is 18446744073709551615"),
    ] {
        let message = resized(&open, &given(name, shape)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// Files whose shapes can follow: every operator of the table, and a chain of shape arithmetic.
pub(crate) fn samples() -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = cases().iter().map(|case| build(case, true).0).collect();
    files.push(chains::sample());
    let bodies = [body(1, &[1, 4]), body(1, &[1, 4])];
    files.push(caller(IF, "92 0=i1 1=i2", &[3, 0], &bodies));
    files.push(caller(WHILE, "93 0=i1 1=i2", &[0], &bodies));
    files.push(caller(CALL, "16 0=i1", &[0], &bodies));
    files
}
