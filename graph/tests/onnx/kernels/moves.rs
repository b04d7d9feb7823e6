//! Operators that only move elements: where each element of the results comes from.

use super::{Case, case};
use crate::make::{floats, list, number, text};
use bayplan_graph::format::onnx::proto::Tensor;
use bayplan_graph::kernel::{Index, Kernel, Part, Rearrange, Target};

/// Which operand and element each element of the results is; nothing where it is filled.
fn sources(case: &Case) -> Vec<Vec<Option<(usize, usize)>>> {
    let (model, compute) = case.read();
    let node = model.graph.nodes().values().next().unwrap();
    let elements = |id| {
        let tensor = &model.graph.tensors()[id];
        usize::try_from(tensor.shape.as_ref().unwrap().iter().product::<u64>()).unwrap()
    };
    let sizes = node.outputs.iter().map(|&id| elements(id));
    let mut results: Vec<_> = sizes.map(|size| vec![Some((99, 99)); size]).collect();
    for part in compute.nodes.values().next().unwrap().as_ref().unwrap() {
        let Target::Result(target) = part.write else {
            panic!("no state")
        };
        apply(part, &mut results[target]);
    }
    results
}

fn apply(part: &Part, result: &mut [Option<(usize, usize)>]) {
    let operand = part.reads[0];
    match &part.kernel {
        Kernel::Copy { bytes } => {
            for (at, to) in result.iter_mut().enumerate().take(bytes / 4) {
                *to = Some((operand, at));
            }
        }
        Kernel::Rearrange(moves) => {
            assert_eq!(moves.element, 4);
            follow(moves, 0, moves.to, Some(moves.from), &mut |to, from| {
                result[to] = from.map(|from| (operand, from));
            });
        }
        other => panic!("{other:?} does more than move"),
    }
}

fn follow(
    moves: &Rearrange,
    axis: usize,
    to: usize,
    from: Option<usize>,
    write: &mut dyn FnMut(usize, Option<usize>),
) {
    let Some(own) = moves.axes.get(axis) else {
        assert!(from.is_some() || moves.fill.is_some());
        return write(to, from);
    };
    for at in 0..own.count {
        let next = match &own.from {
            Index::Stride(stride) => {
                let far = stride * isize::try_from(at).unwrap();
                from.map(|from| from.checked_add_signed(far).unwrap())
            }
            Index::Table(table) => from.zip(table[at]).map(|(from, more)| from + more),
        };
        follow(moves, axis + 1, to + at * own.to, next, write);
    }
}

/// The elements of operand 0 that make the first result; 99 where it is filled.
fn moved(case: &Case) -> Vec<usize> {
    let first = sources(case).swap_remove(0).into_iter();
    first
        .map(|source| source.map_or(99, |(_, at)| at))
        .collect()
}

/// Float numbers as a constant.
fn numbers(values: &[f32]) -> Tensor {
    let mut tensor = floats("", &[i64::try_from(values.len()).unwrap()]);
    tensor.raw_data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    tensor
}

#[test]
fn elements_come_from_where_the_operator_says() {
    let slice = |starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]| {
        case("Slice", &[&[2, 4]])
            .list(starts)
            .list(ends)
            .list(axes)
            .list(steps)
    };
    for (case, elements) in [
        (case("Transpose", &[&[2, 3]]), &[0, 3, 1, 4, 2, 5][..]),
        (
            case("Transpose", &[&[2, 1, 3]]).with(list("perm", &[1, 0, 2])),
            &[0, 1, 2, 3, 4, 5],
        ),
        (slice(&[-1], &[-5], &[1], &[-2]), &[3, 1, 7, 5]),
        (slice(&[1, 1], &[9, 3], &[0, 1], &[1, 1]), &[5, 6]),
        (
            case("Slice", &[&[2, 3]])
                .at(9)
                .with(list("starts", &[1]))
                .with(list("ends", &[2]))
                .with(list("axes", &[1])),
            &[1, 4],
        ),
        (
            case("Expand", &[&[2, 1]]).list(&[2, 1, 2]),
            &[0, 0, 1, 1, 0, 0, 1, 1],
        ),
        (
            case("Tile", &[&[2, 2]]).list(&[1, 2]),
            &[0, 1, 0, 1, 2, 3, 2, 3],
        ),
        (
            case("Gather", &[&[2, 3]])
                .list(&[2, -3])
                .with(number("axis", 1)),
            &[2, 0, 5, 3],
        ),
        (
            case("DepthToSpace", &[&[1, 4, 1, 2]]).with(number("blocksize", 2)),
            &[0, 2, 1, 3, 4, 6, 5, 7],
        ),
        (
            case("DepthToSpace", &[&[1, 8, 1, 1]])
                .with(number("blocksize", 2))
                .with(text("mode", "CRD")),
            &[0, 1, 2, 3, 4, 5, 6, 7],
        ),
        (
            case("SpaceToDepth", &[&[1, 1, 2, 4]]).with(number("blocksize", 2)),
            &[0, 2, 1, 3, 4, 6, 5, 7],
        ),
        (
            case("Reshape", &[&[2, 3]]).list(&[3, 2]),
            &[0, 1, 2, 3, 4, 5],
        ),
    ] {
        assert_eq!(moved(&case), elements, "{}", case.op);
    }
}

#[test]
fn what_stands_outside_is_filled_repeated_or_mirrored() {
    let pad =
        |mode: &str, pads: &[i64]| case("Pad", &[&[1, 3]]).list(pads).with(text("mode", mode));
    for (case, elements) in [
        (pad("constant", &[0, 1, 0, 2]), &[99, 0, 1, 2, 99, 99][..]),
        (pad("constant", &[1, 0, 0, -1]), &[99, 99, 0, 1]),
        (pad("edge", &[0, 2, 0, 1]), &[0, 0, 0, 1, 2, 2]),
        (pad("reflect", &[0, 2, 0, 2]), &[2, 1, 0, 1, 2, 1, 0]),
        (
            case("Pad", &[&[2]]).at(2).with(list("pads", &[1, 0])),
            &[99, 0, 1],
        ),
    ] {
        assert_eq!(moved(&case), elements);
    }
    let filled = pad("constant", &[0, 1, 0, 0]).constant(numbers(&[2.0]));
    let Kernel::Rearrange(moves) = filled.kernel() else {
        panic!("it moves");
    };
    assert_eq!(moves.fill.unwrap()[..4], 2_f32.to_le_bytes());
}

#[test]
fn nearest_elements_are_moved() {
    let nothing = || numbers(&[]);
    let resize = |scales: &[f32]| {
        case("Resize", &[&[1, 3]])
            .constant(nothing())
            .constant(numbers(scales))
    };
    let asymmetric = || text("coordinate_transformation_mode", "asymmetric");
    for (case, elements) in [
        (resize(&[1.0, 2.0]), &[0, 0, 1, 1, 2, 2][..]),
        (
            resize(&[1.0, 0.7])
                .with(asymmetric())
                .with(text("nearest_mode", "floor")),
            &[0, 1],
        ),
        (
            case("Resize", &[&[1, 3]])
                .at(10)
                .constant(numbers(&[1.0, 2.0])),
            &[0, 0, 1, 1, 2, 2],
        ),
        (
            case("Upsample", &[&[1, 2]])
                .at(9)
                .constant(numbers(&[2.0, 2.0])),
            &[0, 0, 1, 1, 0, 0, 1, 1],
        ),
        (
            case("Resize", &[&[1, 2]])
                .constant(nothing())
                .constant(nothing())
                .list(&[1, 4]),
            &[0, 0, 1, 1],
        ),
    ] {
        assert_eq!(moved(&case), elements, "{} at {}", case.op, case.opset);
    }
}

#[test]
fn parts_are_joined_and_cut() {
    let joined = case("Concat", &[&[2, 1], &[2, 2]]).with(number("axis", 1));
    let of = |operand, at| Some((operand, at));
    assert_eq!(
        sources(&joined),
        [[of(0, 0), of(1, 0), of(1, 1), of(0, 1), of(1, 2), of(1, 3)]]
    );
    let mut cut = case("Split", &[&[2, 3]])
        .list(&[1, 2])
        .with(number("axis", 1));
    cut.results = 2;
    assert_eq!(
        sources(&cut),
        [
            vec![of(0, 0), of(0, 3)],
            vec![of(0, 1), of(0, 2), of(0, 4), of(0, 5)]
        ]
    );
}
