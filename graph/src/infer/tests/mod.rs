//! Tables of small calls, one for each family of operators.

mod values;

use super::*;
use crate::DType;

fn f32s(shape: &[u64]) -> Fact {
    Fact::new(DType::F32, shape.to_vec()).unwrap()
}

fn ints(values: &[i64]) -> Fact {
    Fact::list(DType::I64, values.to_vec())
}

fn floats(values: &[f64]) -> Fact {
    let fact = Fact::new(DType::F32, vec![values.len() as u64]).unwrap();
    fact.with(Some(Value::Floats(values.to_vec())))
}

fn int(value: i64) -> Attr {
    Attr::Int(value)
}

fn list(values: &[i64]) -> Attr {
    Attr::Ints(values.to_vec())
}

fn run(
    op: &str,
    opset: i64,
    inputs: &[Fact],
    attrs: &[(&str, Attr)],
    outputs: usize,
) -> Result<Vec<Fact>, InferError> {
    let inputs: Vec<Option<&Fact>> = inputs.iter().map(Some).collect();
    let attrs = attrs
        .iter()
        .map(|(n, a)| ((*n).to_owned(), a.clone()))
        .collect();
    infer(&Call {
        op,
        opset,
        inputs: &inputs,
        attrs: &attrs,
        outputs,
        fold_limit: FOLD_LIMIT,
    })
}

/// Operator, operand shapes, attributes, shape of the result.
type Row<'a> = (&'a str, &'a [&'a [u64]], &'a [(&'a str, Attr)], &'a [u64]);

fn check(rows: &[Row<'_>]) {
    for (op, operands, attrs, shape) in rows {
        let inputs: Vec<Fact> = operands.iter().map(|shape| f32s(shape)).collect();
        let found =
            run(op, 17, &inputs, attrs, 1).unwrap_or_else(|e| panic!("{op} {operands:?}: {e}"));
        assert_eq!(found[0].shape, *shape, "{op} {operands:?}");
    }
}

#[test]
fn windows() {
    let text = |t: &str| Attr::Text(t.into());
    check(&[
        (
            "Conv",
            &[&[1, 3, 224, 224], &[64, 3, 7, 7]],
            &[("strides", list(&[2, 2])), ("pads", list(&[3, 3, 3, 3]))],
            &[1, 64, 112, 112],
        ),
        (
            "Conv",
            &[&[1, 4, 10], &[8, 1, 3]],
            &[("group", int(4)), ("dilations", list(&[2]))],
            &[1, 8, 6],
        ),
        (
            "Conv",
            &[&[1, 3, 7, 7], &[2, 3, 3, 3]],
            &[("auto_pad", text("SAME_UPPER")), ("strides", list(&[2, 2]))],
            &[1, 2, 4, 4],
        ),
        (
            "Conv",
            &[&[0, 3, 7, 7], &[2, 3, 3, 3]],
            &[("auto_pad", text("VALID"))],
            &[0, 2, 5, 5],
        ),
        (
            "MaxPool",
            &[&[1, 2, 6, 6]],
            &[("kernel_shape", list(&[3, 3])), ("strides", list(&[2, 2]))],
            &[1, 2, 2, 2],
        ),
        (
            "MaxPool",
            &[&[1, 2, 6, 6]],
            &[
                ("kernel_shape", list(&[3, 3])),
                ("strides", list(&[2, 2])),
                ("ceil_mode", int(1)),
            ],
            &[1, 2, 3, 3],
        ),
        // The window that would begin in the padding is dropped.
        (
            "AveragePool",
            &[&[1, 1, 4]],
            &[
                ("kernel_shape", list(&[1])),
                ("strides", list(&[4])),
                ("pads", list(&[0, 1])),
                ("ceil_mode", int(1)),
            ],
            &[1, 1, 2],
        ),
        ("GlobalAveragePool", &[&[2, 5, 7, 7]], &[], &[2, 5, 1, 1]),
        (
            "ConvTranspose",
            &[&[1, 8, 5, 5], &[8, 3, 4, 4]],
            &[("strides", list(&[2, 2])), ("pads", list(&[1, 1, 1, 1]))],
            &[1, 3, 10, 10],
        ),
        (
            "ConvTranspose",
            &[&[1, 8, 5], &[8, 3, 3]],
            &[("strides", list(&[2])), ("output_padding", list(&[1]))],
            &[1, 3, 12],
        ),
    ]);
    for (operands, attrs) in [
        ([&[1_u64, 3, 4, 4][..], &[2, 5, 3, 3]], vec![]),
        ([&[1, 3, 2, 2], &[2, 3, 3, 3]], vec![]),
        (
            [&[1, 3, 4, 4], &[2, 3, 3, 3]],
            vec![("strides", list(&[0, 1]))],
        ),
        (
            [&[1, 3, 4, 4], &[2, 3, 3, 3]],
            vec![("pads", list(&[i64::MAX, 0, 0, 0]))],
        ),
        ([&[1, 3], &[2, 3, 3, 3]], vec![]),
    ] {
        let operands = operands.map(f32s);
        assert!(
            run("Conv", 17, &operands, &attrs, 1).is_err(),
            "{operands:?} {attrs:?}"
        );
    }
}

#[test]
fn elementwise() {
    check(&[
        ("Add", &[&[4, 1, 3], &[5, 1]], &[], &[4, 5, 3]),
        ("Sum", &[&[2], &[3, 1], &[1, 1]], &[], &[3, 2]),
        ("PRelu", &[&[1, 8, 4, 4], &[8, 1, 1]], &[], &[1, 8, 4, 4]),
        ("Greater", &[&[3], &[]], &[], &[3]),
        ("Where", &[&[3, 1], &[4], &[1]], &[], &[3, 4]),
        ("Sigmoid", &[&[0, 4]], &[], &[0, 4]),
        ("Softmax", &[&[2, 4]], &[], &[2, 4]),
    ]);
    assert!(run("Add", 17, &[f32s(&[2]), f32s(&[3])], &[], 1).is_err());
    // Version 6 fits the second operand to the first.
    assert_eq!(
        run("Add", 6, &[f32s(&[1, 3, 4]), f32s(&[3])], &[], 1).unwrap()[0].shape,
        [1, 3, 4]
    );
    assert_eq!(
        run("Greater", 17, &[f32s(&[2]), f32s(&[2])], &[], 1).unwrap()[0].dtype,
        DType::Bool
    );
    assert_eq!(
        run("Cast", 17, &[f32s(&[2])], &[("to", int(10))], 1).unwrap()[0].bytes(),
        4
    );
    assert!(run("Cast", 17, &[f32s(&[2])], &[("to", int(8))], 1).is_err());
}

#[test]
fn products_and_layers() {
    check(&[
        ("MatMul", &[&[2, 1, 3, 4], &[5, 4, 6]], &[], &[2, 5, 3, 6]),
        ("MatMul", &[&[4], &[4, 6]], &[], &[6]),
        ("MatMul", &[&[3, 4], &[4]], &[], &[3]),
        ("MatMul", &[&[4], &[4]], &[], &[]),
        (
            "Gemm",
            &[&[4, 2], &[3, 4]],
            &[("transA", int(1)), ("transB", int(1))],
            &[2, 3],
        ),
        (
            "Einsum",
            &[&[2, 3, 4], &[2, 4, 5]],
            &[("equation", Attr::Text("bij, bjk -> bik".into()))],
            &[2, 3, 5],
        ),
        (
            "LSTM",
            &[&[7, 2, 16], &[1, 32, 16], &[1, 32, 8]],
            &[("hidden_size", int(8))],
            &[7, 1, 2, 8],
        ),
        (
            "LSTM",
            &[&[2, 7, 16], &[1, 32, 16], &[1, 32, 8]],
            &[("layout", int(1))],
            &[2, 7, 1, 8],
        ),
        (
            "ReduceMean",
            &[&[2, 3, 4]],
            &[("axes", list(&[-1, 0]))],
            &[1, 3, 1],
        ),
        ("ReduceMean", &[&[2, 3, 4]], &[("keepdims", int(0))], &[]),
        (
            "ArgMax",
            &[&[2, 3]],
            &[("axis", int(1)), ("keepdims", int(0))],
            &[2],
        ),
        ("TopK", &[&[2, 30]], &[("k", int(5))], &[2, 5]),
        (
            "DepthToSpace",
            &[&[1, 8, 2, 3]],
            &[("blocksize", int(2))],
            &[1, 2, 4, 6],
        ),
        ("Flatten", &[&[2, 3, 4]], &[("axis", int(0))], &[1, 24]),
        (
            "Transpose",
            &[&[2, 3, 4]],
            &[("perm", list(&[2, 0, 1]))],
            &[4, 2, 3],
        ),
    ]);
    let x = f32s(&[2, 4]);
    assert_eq!(
        run("Dropout", 9, std::slice::from_ref(&x), &[], 2).unwrap()[1].bytes(),
        32
    );
    assert_eq!(run("Dropout", 10, &[x], &[], 2).unwrap()[1].bytes(), 8);
    assert!(run("MatMul", 17, &[f32s(&[2, 3]), f32s(&[4, 2])], &[], 1).is_err());
    assert!(
        run(
            "Transpose",
            17,
            &[f32s(&[2, 3])],
            &[("perm", list(&[0, 0]))],
            1
        )
        .is_err()
    );
}

#[test]
fn nothing_large_is_computed_and_nothing_overflows() {
    let big = run("ConstantOfShape", 18, &[ints(&[1 << 40])], &[], 1).unwrap();
    assert_eq!((big[0].bytes(), &big[0].value), (1 << 42, &None));
    let huge = ints(&[1 << 31, 1 << 31, 8]);
    assert!(matches!(
        run("ConstantOfShape", 18, &[huge], &[], 1),
        Err(InferError::TooLarge { .. })
    ));
    assert!(run("ConstantOfShape", 18, &[ints(&[-1])], &[], 1).is_err());
    assert!(run("Tile", 18, &[f32s(&[1 << 40]), ints(&[1 << 40])], &[], 1).is_err());
    let far = [("strides", list(&[i64::MAX])), ("kernel_shape", list(&[2]))];
    assert!(run("MaxPool", 18, &[f32s(&[1, 1, u64::MAX / 8])], &far, 1).is_err());
}

#[test]
fn what_has_no_rule_says_so() {
    for (op, what) in [
        ("SequenceAt", "sequences"),
        ("OptionalGetElement", "optional"),
        ("StringConcat", "strings"),
        ("Fancy", "not known"),
    ] {
        let error = run(op, 18, &[f32s(&[1])], &[], 1).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        assert!(!knows(op));
    }
}
