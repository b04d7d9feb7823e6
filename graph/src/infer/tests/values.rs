//! Shapes that hang on values, and values that fold.

use super::*;

/// Operator, operands, attributes, what is expected.
type Case<T> = (&'static str, Vec<Fact>, Vec<(&'static str, Attr)>, T);

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn shapes_from_values() {
    let x = || f32s(&[2, 3, 4]);
    let rows: Vec<Case<&[u64]>> = vec![
        ("Reshape", vec![x(), ints(&[0, -1])], vec![], &[2, 12]),
        (
            "Squeeze",
            vec![f32s(&[1, 3, 1]), ints(&[-1])],
            vec![],
            &[1, 3],
        ),
        (
            "Unsqueeze",
            vec![x(), ints(&[0, -1])],
            vec![],
            &[1, 2, 3, 4, 1],
        ),
        (
            "Expand",
            vec![f32s(&[3, 1]), ints(&[2, 1, 6])],
            vec![],
            &[2, 3, 6],
        ),
        ("Tile", vec![x(), ints(&[1, 2, 0])], vec![], &[2, 6, 0]),
        (
            "Slice",
            vec![x(), ints(&[1]), ints(&[i64::MAX]), ints(&[1])],
            vec![],
            &[2, 2, 4],
        ),
        (
            "Slice",
            vec![x(), ints(&[-1]), ints(&[i64::MIN]), ints(&[2]), ints(&[-2])],
            vec![],
            &[2, 3, 2],
        ),
        (
            "Pad",
            vec![x(), ints(&[0, 1, 0, 0, 1, -2])],
            vec![],
            &[2, 5, 2],
        ),
        (
            "ConstantOfShape",
            vec![ints(&[1 << 20, 1 << 20])],
            vec![],
            &[1 << 20, 1 << 20],
        ),
        (
            "Range",
            vec![
                Fact::scalar(DType::I64, 3),
                Fact::scalar(DType::I64, 10),
                Fact::scalar(DType::I64, 2),
            ],
            vec![],
            &[4],
        ),
        (
            "OneHot",
            vec![x(), Fact::scalar(DType::I64, 9), f32s(&[2])],
            vec![("axis", int(1))],
            &[2, 9, 3, 4],
        ),
        (
            "Resize",
            vec![
                f32s(&[1, 3, 4, 5]),
                f32s(&[0]),
                floats(&[1.0, 1.0, 2.0, 1.5]),
            ],
            vec![],
            &[1, 3, 8, 7],
        ),
        (
            "Gather",
            vec![x(), ints(&[0, -1])],
            vec![("axis", int(2))],
            &[2, 3, 2],
        ),
        ("GatherND", vec![x(), f32s(&[5, 2])], vec![], &[5, 4]),
        (
            "Split",
            vec![x(), ints(&[1, 2])],
            vec![("axis", int(1))],
            &[2, 1, 4],
        ),
        (
            "Concat",
            vec![x(), f32s(&[2, 5, 4])],
            vec![("axis", int(-2))],
            &[2, 8, 4],
        ),
    ];
    for (op, inputs, attrs, shape) in rows {
        let found = run(op, 13, &inputs, &attrs, 2).unwrap_or_else(|e| panic!("{op}: {e}"));
        assert_eq!(found[0].shape, shape, "{op}");
    }
    // Older versions state the same as attributes.
    let cut = [("starts", list(&[1])), ("ends", list(&[2]))];
    assert_eq!(
        run("Slice", 9, &[x()], &cut, 1).unwrap()[0].shape,
        [1, 3, 4]
    );
    assert_eq!(
        run("Split", 11, &[x()], &[("axis", int(2))], 2).unwrap()[1].shape,
        [2, 3, 2]
    );
    let unknown = Fact::new(DType::I64, vec![2]).unwrap();
    let refused = run("Reshape", 13, &[x(), unknown], &[], 1);
    assert_eq!(refused, Err(InferError::NeedsValue { operand: 1 }));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn values_fold() {
    let grid = Fact::new(DType::I64, vec![2, 2])
        .unwrap()
        .with(Some(Value::Ints(vec![1, 0, 3, 4])));
    let rows: Vec<Case<Vec<i64>>> = vec![
        (
            "Shape",
            vec![f32s(&[7, 8, 9])],
            vec![("start", int(-2))],
            vec![8, 9],
        ),
        ("Size", vec![f32s(&[7, 8])], vec![], vec![56]),
        (
            "Gather",
            vec![ints(&[5, 6, 7]), ints(&[-1, 0])],
            vec![],
            vec![7, 5],
        ),
        (
            "Concat",
            vec![ints(&[1]), ints(&[2, 3])],
            vec![("axis", int(0))],
            vec![1, 2, 3],
        ),
        (
            "Slice",
            vec![
                ints(&[1, 2, 3, 4]),
                ints(&[3]),
                ints(&[0]),
                ints(&[0]),
                ints(&[-1]),
            ],
            vec![],
            vec![4, 3, 2],
        ),
        ("Div", vec![ints(&[-7]), ints(&[2])], vec![], vec![-3]),
        ("Mod", vec![ints(&[-7]), ints(&[4])], vec![], vec![1]),
        (
            "Where",
            vec![ints(&[1, 0]), ints(&[5, 6]), ints(&[7])],
            vec![],
            vec![5, 7],
        ),
        ("Equal", vec![ints(&[1, 2]), ints(&[1])], vec![], vec![1, 0]),
        ("Transpose", vec![grid.clone()], vec![], vec![1, 3, 0, 4]),
        (
            "NonZero",
            vec![grid.clone()],
            vec![],
            vec![0, 1, 1, 0, 0, 1],
        ),
        (
            "ReduceProd",
            vec![grid.clone(), ints(&[1])],
            vec![],
            vec![0, 12],
        ),
        ("ReduceMax", vec![grid.clone()], vec![], vec![4]),
        (
            "Expand",
            vec![ints(&[4]), ints(&[3])],
            vec![],
            vec![4, 4, 4],
        ),
        (
            "Tile",
            vec![ints(&[1, 2]), ints(&[2])],
            vec![],
            vec![1, 2, 1, 2],
        ),
        (
            "Split",
            vec![ints(&[1, 2, 3]), ints(&[2, 1])],
            vec![],
            vec![1, 2],
        ),
        (
            "Cast",
            vec![floats(&[2.9, -1.5])],
            vec![("to", int(7))],
            vec![2, -1],
        ),
        (
            "Range",
            vec![
                Fact::scalar(DType::I64, 5),
                Fact::scalar(DType::I64, 0),
                Fact::scalar(DType::I64, -2),
            ],
            vec![],
            vec![5, 3, 1],
        ),
        (
            "ConstantOfShape",
            vec![ints(&[2])],
            vec![("value", Attr::Tensor(ints(&[9])))],
            vec![9, 9],
        ),
        ("Max", vec![ints(&[1, 5]), ints(&[3])], vec![], vec![3, 5]),
        (
            "Unsqueeze",
            vec![Fact::scalar(DType::I64, 6), ints(&[0])],
            vec![],
            vec![6],
        ),
        (
            "Clip",
            vec![
                ints(&[-3, 9]),
                Fact::scalar(DType::I64, 0),
                Fact::scalar(DType::I64, 5),
            ],
            vec![],
            vec![0, 5],
        ),
    ];
    for (op, inputs, attrs, value) in rows {
        let found = run(op, 18, &inputs, &attrs, 2).unwrap_or_else(|e| panic!("{op}: {e}"));
        assert_eq!(found[0].value.as_deref(), Some(&Value::Ints(value)), "{op}");
    }
    let halves = run("Floor", 18, &[floats(&[2.5, -0.5])], &[], 1).unwrap();
    assert_eq!(
        halves[0].value.as_deref(),
        Some(&Value::Floats(vec![2.0, -1.0]))
    );
    // What would overflow, or be divided by zero, has no value.
    for (op, a, b) in [
        ("Mul", i64::MAX, 2),
        ("Div", 1, 0),
        ("Add", i64::MAX, 1),
        ("Mod", i64::MIN, -1),
    ] {
        assert_eq!(
            run(op, 18, &[ints(&[a]), ints(&[b])], &[], 1).unwrap()[0].value,
            None,
            "{op}"
        );
    }
}
