//! Operators that compute: the numbers in their kernels.

use super::{Case, case};
use crate::make::{floats, ints, list, number, real, text};
use bayplan_graph::DType;
use bayplan_graph::kernel::{
    Batch, Bias, Binary, Kernel, MatMul, Pooling, Reduction, Slide, Unary, WeightLayout,
};

fn unary(case: &Case) -> Unary {
    match case.kernel() {
        Kernel::Map(map) if map.join.is_none() => map.then[0],
        other => panic!("{other:?}"),
    }
}

#[test]
fn functions_of_one_element() {
    let x: &[&[u64]] = &[&[2, 3]];
    let bound = |value: f32| {
        let mut tensor = floats("", &[]);
        tensor.raw_data = value.to_le_bytes().to_vec();
        tensor
    };
    let mut two = ints("", &[2]);
    two.head.dims.clear();
    for (case, function) in [
        (case("Relu", x), Unary::Relu),
        (case("LeakyRelu", x), Unary::LeakyRelu { alpha: 0.01 }),
        (
            case("Elu", x).with(real("alpha", 0.5)),
            Unary::Elu { alpha: 0.5 },
        ),
        (
            case("HardSigmoid", x),
            Unary::HardSigmoid {
                alpha: 0.2,
                beta: 0.5,
            },
        ),
        (
            case("Clip", x).at(6).with(real("max", 6.0)),
            Unary::Clip {
                low: f32::NEG_INFINITY,
                high: 6.0,
            },
        ),
        (
            case("Clip", x).constant(bound(-1.0)).constant(bound(1.0)),
            Unary::Clip {
                low: -1.0,
                high: 1.0,
            },
        ),
        (
            case("Gelu", x).at(20).with(text("approximate", "tanh")),
            Unary::Gelu { tanh: true },
        ),
        (case("Not", x).of(9), Unary::Not),
        (case("Neg", x).of(7), Unary::Neg),
        (case("Pow", x).constant(two), Unary::Square),
    ] {
        assert_eq!(unary(&case), function, "{}", case.op);
    }
}

#[test]
fn operands_are_stretched_as_their_version_says() {
    let join = |case: Case| match case.kernel() {
        Kernel::Map(map) => (map.join.unwrap(), map.dtype, map.broadcast),
        other => panic!("{other:?}"),
    };
    let (function, dtype, broadcast) = join(case("Less", &[&[2, 3], &[3]]).of(6));
    assert_eq!((function, dtype), (Binary::Less, DType::I32));
    assert_eq!(broadcast.strides, [[3, 1], [0, 1]]);
    let old = case("Add", &[&[2, 3, 4], &[3]]).at(6);
    let old = old.with(number("broadcast", 1)).with(number("axis", 1));
    assert_eq!(join(old).2.strides, [[12, 4, 1], [0, 1, 0]]);
    let slope = case("PRelu", &[&[2, 3, 4], &[3]]).at(6);
    assert_eq!(join(slope).2.strides, [[12, 4, 1], [0, 1, 0]]);
    let sum = case("Sum", &[&[6], &[6], &[1]]);
    assert_eq!(join(sum).2.strides, [[1], [1], [0]]);
    match case("Mean", &[&[4], &[4]]).kernel() {
        Kernel::Map(map) => assert_eq!(map.then, [Unary::Scale { by: 0.5 }]),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        case("Max", &[&[4]]).kernel(),
        Kernel::Copy { bytes: 16 }
    ));
}

#[test]
fn windows_slide_as_their_attributes_say() {
    let slide = |input, output, kernel, stride, pad| Slide {
        input,
        output,
        kernel,
        stride,
        dilation: 1,
        pad,
    };
    let slides = |case: Case| match case.kernel() {
        Kernel::Conv(conv) | Kernel::ConvTranspose(conv) => conv.slides,
        Kernel::Pool(pool) => pool.slides,
        other => panic!("{other:?}"),
    };
    let conv = || case("Conv", &[&[1, 4, 8], &[6, 2, 4]]).with(number("group", 2));
    let same = |mode| conv().with(text("auto_pad", mode));
    assert_eq!(
        slides(same("SAME_UPPER")),
        [Slide::NONE, slide(8, 8, 4, 1, 1)]
    );
    assert_eq!(
        slides(same("SAME_LOWER")),
        [Slide::NONE, slide(8, 8, 4, 1, 2)]
    );
    let Kernel::Conv(conv) = conv().kernel() else {
        panic!("a convolution");
    };
    assert_eq!((conv.groups, conv.operands, conv.results), (2, 2, 3));
    let back = case("ConvTranspose", &[&[1, 4, 3, 3], &[4, 5, 2, 2]])
        .with(list("strides", &[2, 2]))
        .with(list("output_padding", &[1, 0]));
    assert_eq!(slides(back), [slide(7, 3, 2, 2, 0), slide(6, 3, 2, 2, 0)]);
    let Kernel::ConvTranspose(back) = case("ConvTranspose", &[&[1, 4, 3], &[4, 5, 2]]).kernel()
    else {
        panic!("a transposed convolution");
    };
    assert_eq!(
        (back.weight, back.operands, back.results),
        (WeightLayout::OperandsFirst, 4, 5)
    );
    let pool = case("AveragePool", &[&[1, 2, 4, 4]])
        .with(list("kernel_shape", &[3, 3]))
        .with(list("pads", &[0, 1, 2, 0]))
        .with(number("count_include_pad", 1));
    match pool.kernel() {
        Kernel::Pool(pool) => {
            assert_eq!(pool.pooling, Pooling::AveragePadded { end: [2, 0] });
            assert_eq!(pool.slides, [slide(4, 4, 3, 1, 0), slide(4, 3, 3, 1, 1)]);
        }
        other => panic!("{other:?}"),
    }
}

fn product(case: &Case) -> MatMul {
    match case.kernel() {
        Kernel::MatMul(product) => product,
        other => panic!("{other:?}"),
    }
}

#[test]
fn matrices_meet_as_they_are_stretched() {
    for (a, b, size, batch) in [
        (&[2, 3][..], &[3, 4][..], (2, 4, 3), &[][..]),
        (&[3], &[3, 4], (1, 4, 3), &[]),
        (&[2, 3], &[3], (2, 1, 3), &[]),
        // One matrix for all: rows lie behind each other.
        (&[5, 6, 2, 3], &[3, 4], (60, 4, 3), &[]),
        (&[5, 2, 3], &[5, 3, 4], (2, 4, 3), &[(5, 6, 12)]),
        (
            &[7, 1, 2, 3],
            &[5, 3, 4],
            (2, 4, 3),
            &[(7, 6, 0), (5, 0, 12)],
        ),
        (&[2, 3], &[5, 3, 4], (2, 4, 3), &[(5, 0, 12)]),
    ] {
        let found = product(&case("MatMul", &[a, b]));
        let batch = batch.iter().map(|&(count, a, b)| Batch { count, a, b });
        assert_eq!((found.m, found.n, found.k), size, "{a:?} {b:?}");
        assert_eq!(found.batch, batch.collect::<Vec<_>>(), "{a:?} {b:?}");
    }
    let gemm = case("Gemm", &[&[3, 2], &[4, 3], &[2, 1]])
        .with(number("transA", 1))
        .with(number("transB", 1))
        .with(real("beta", 0.5));
    let found = product(&gemm);
    assert_eq!(((found.m, found.n, found.k), found.beta), ((2, 4, 3), 0.5));
    assert_eq!((found.a, found.b), ((1, 2), (1, 3)));
    assert_eq!(found.bias, Some(Bias { row: 1, column: 0 }));
}

#[test]
fn axes_are_an_attribute_or_an_operand() {
    let axes = |case: Case| match case.kernel() {
        Kernel::Reduce(reduce) => (reduce.reduction, reduce.kept, reduce.reduced),
        other => panic!("{other:?}"),
    };
    let image: &[&[u64]] = &[&[2, 3, 4, 5]];
    let pooled = (Reduction::Mean, vec![(6, 20)], vec![(20, 1)]);
    let old = case("ReduceMean", image).with(list("axes", &[2, -1]));
    assert_eq!(axes(old), pooled);
    assert_eq!(axes(case("ReduceMean", image).at(18).list(&[2, 3])), pooled);
    assert_eq!(axes(case("GlobalAveragePool", image)), pooled);
    let sum = case("ReduceSum", image).at(11).with(list("axes", &[1]));
    assert_eq!(axes(sum).1, [(2, 60), (20, 1)]);
}

#[test]
fn softmax_flattened_before_version_13() {
    let sizes = |case: Case| match case.kernel() {
        Kernel::Softmax(softmax) => [softmax.outer, softmax.axis, softmax.inner],
        other => panic!("{other:?}"),
    };
    let image: &[&[u64]] = &[&[2, 3, 4]];
    assert_eq!(sizes(case("Softmax", image).at(12)), [2, 12, 1]);
    assert_eq!(sizes(case("Softmax", image)), [6, 4, 1]);
    let along = case("Softmax", image).with(number("axis", 1));
    assert_eq!(sizes(along), [2, 3, 4]);
}
