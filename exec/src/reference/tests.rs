//! Kernels against plain definitions, written again without tiles and shortcuts.

use super::*;
use bayplan_graph::DType;
use bayplan_graph::kernel::*;

/// Floats that differ, by a small generator.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32) / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn bytes(list: &[f32]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn floats(list: &[u8]) -> Vec<f32> {
    let chunks = list.as_chunks::<4>().0;
    chunks.iter().map(|&x| f32::from_le_bytes(x)).collect()
}

/// Runs a kernel in exactly the bytes that it says it needs.
fn outcome(kernel: &Kernel, operands: &[&[f32]]) -> Vec<f32> {
    let needs = kernel.needs().unwrap();
    let lists: Vec<Vec<u8>> = operands.iter().map(|list| bytes(list)).collect();
    for (list, need) in lists.iter().zip(&needs.reads) {
        assert_eq!(list.len() as u64, *need, "{}", kernel.name());
    }
    let operands: Vec<Operand<'_>> = lists.iter().map(|list| Operand::Apart(list)).collect();
    let mut result = vec![0xab; usize::try_from(needs.write).unwrap()];
    dispatch(kernel, &operands, &mut result).unwrap();
    floats(&result)
}

/// The definition: order of the sums as the kernel states it.
fn convolved(conv: &Conv, image: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
    let [h, w] = conv.slides;
    let (ins, outs) = (conv.groups * conv.operands, conv.groups * conv.results);
    let place = |layout, c: usize, all: usize, (y, x): (usize, usize), (hh, ww): (usize, usize)| {
        match layout {
            Layout::ChannelsFirst => (c * hh + y) * ww + x,
            Layout::ChannelsLast => (y * ww + x) * all + c,
        }
    };
    let mut result = vec![0.0; conv.batch * outs * h.output * w.output];
    for b in 0..conv.batch {
        for (o, bias) in bias.iter().enumerate().take(outs) {
            for (y, x) in (0..h.output).flat_map(|y| (0..w.output).map(move |x| (y, x))) {
                let mut sum = 0.0;
                let mut add = |i: usize, ky: usize, kx: usize| {
                    let (Some(iy), Some(ix)) = (h.at(y, ky), w.at(x, kx)) else {
                        return;
                    };
                    let c = o / conv.results * conv.operands + i;
                    let from = b * ins * h.input * w.input
                        + place(conv.layout, c, ins, (iy, ix), (h.input, w.input));
                    let at = match conv.weight {
                        WeightLayout::ResultsFirst => {
                            ((o * conv.operands + i) * h.kernel + ky) * w.kernel + kx
                        }
                        WeightLayout::OperandsLast => {
                            ((o * h.kernel + ky) * w.kernel + kx) * conv.operands + i
                        }
                        _ => (ky * w.kernel + kx) * outs + o,
                    };
                    sum += weight[at] * image[from];
                };
                if conv.weight == WeightLayout::ResultsFirst {
                    for i in 0..conv.operands {
                        for k in 0..h.kernel * w.kernel {
                            add(i, k / w.kernel, k % w.kernel);
                        }
                    }
                } else {
                    for k in 0..h.kernel * w.kernel {
                        for i in 0..conv.operands {
                            add(i, k / w.kernel, k % w.kernel);
                        }
                    }
                }
                let to = b * outs * h.output * w.output
                    + place(conv.layout, o, outs, (y, x), (h.output, w.output));
                result[to] = functions::unary(Unary::Relu, sum + bias);
            }
        }
    }
    result
}

fn slide(input: usize, kernel: usize, stride: usize, dilation: usize, pad: usize) -> Slide {
    let room = input + 2 * pad - (kernel - 1) * dilation - 1;
    Slide {
        input,
        output: room / stride + 1,
        kernel,
        stride,
        dilation,
        pad,
    }
}

#[test]
fn convolutions_equal_their_definition_to_the_bit() {
    let layouts = [
        (Layout::ChannelsFirst, WeightLayout::ResultsFirst, 3),
        (Layout::ChannelsLast, WeightLayout::OperandsLast, 3),
        (Layout::ChannelsLast, WeightLayout::Depthwise, 1),
        (Layout::ChannelsFirst, WeightLayout::ResultsFirst, 1),
    ];
    let slides = [
        [slide(19, 3, 1, 1, 1), slide(21, 3, 1, 1, 1)],
        [slide(9, 1, 1, 1, 0), slide(40, 5, 2, 2, 4)],
        [slide(7, 2, 3, 1, 0), slide(30, 1, 1, 1, 0)],
        [Slide::NONE, slide(17, 7, 1, 1, 6)],
    ];
    for (case, ((layout, weight, operands), slides)) in layouts
        .into_iter()
        .flat_map(|layout| slides.map(|slides| (layout, slides)))
        .enumerate()
    {
        let conv = Conv {
            layout,
            weight,
            batch: 2,
            groups: 2,
            operands,
            results: 5,
            slides,
            bias: true,
            then: Some(Unary::Relu),
        };
        let kernel = Kernel::Conv(conv.clone());
        let needs = kernel.needs().unwrap();
        let lists: Vec<Vec<f32>> = needs
            .reads
            .iter()
            .zip(1..)
            .map(|(&bytes, seed)| numbers(usize::try_from(bytes / 4).unwrap(), seed))
            .collect();
        let found = outcome(&kernel, &[&lists[0], &lists[1], &lists[2]]);
        let expected = convolved(&conv, &lists[0], &lists[1], &lists[2]);
        let bits = |list: &[f32]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&expected), "case {case}: {conv:?}");
    }
}

#[test]
fn a_transposed_convolution_is_the_way_back() {
    // <conv(x), y> = <x, transposed(y)>, for every x and y.
    for (layout, first, back) in [
        (
            Layout::ChannelsFirst,
            WeightLayout::ResultsFirst,
            WeightLayout::OperandsFirst,
        ),
        (
            Layout::ChannelsLast,
            WeightLayout::OperandsLast,
            WeightLayout::OperandsLast,
        ),
    ] {
        let groups = if layout == Layout::ChannelsFirst {
            2
        } else {
            1
        };
        let slides = [slide(9, 3, 2, 1, 1), slide(10, 2, 2, 2, 1)];
        let conv = Conv {
            layout,
            weight: first,
            batch: 2,
            groups,
            operands: 3,
            results: 4,
            slides,
            bias: false,
            then: None,
        };
        let transposed = Conv {
            operands: 4,
            results: 3,
            weight: back,
            ..conv.clone()
        };
        let (conv, transposed) = (Kernel::Conv(conv), Kernel::ConvTranspose(transposed));
        let needs = conv.needs().unwrap();
        let size = |bytes: u64| usize::try_from(bytes / 4).unwrap();
        let (x, weight) = (
            numbers(size(needs.reads[0]), 1),
            numbers(size(needs.reads[1]), 2),
        );
        let y = numbers(size(needs.write), 3);
        // [results, operands, …] of the one is [operands, results, …] of the other; with channels last the
        // axes have to be exchanged.
        let weight_back: Vec<f32> = if layout == Layout::ChannelsFirst {
            weight.clone()
        } else {
            let at = |o: usize, k: usize, i: usize| weight[(o * 6 + k) * 3 + i];
            (0..3)
                .flat_map(|i| (0..6).flat_map(move |k| (0..4).map(move |o| at(o, k, i))))
                .collect()
        };
        let dot = |a: &[f32], b: &[f32]| {
            a.iter()
                .zip(b)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum::<f64>()
        };
        let there = dot(&outcome(&conv, &[&x, &weight]), &y);
        let back = dot(&x, &outcome(&transposed, &[&y, &weight_back]));
        assert!(
            (there - back).abs() < 1e-3 * there.abs().max(1.0),
            "{there} {back}"
        );
    }
}

#[test]
fn products_equal_their_definition_to_the_bit() {
    for (m, n, k, transposed) in [
        (5, 17, 9, false),
        (4, 8, 1, true),
        (1, 1, 33, false),
        (3, 20, 6, true),
    ] {
        let b = if transposed { (1, k) } else { (n, 1) };
        let product = MatMul {
            batch: vec![
                Batch {
                    count: 2,
                    a: m * k,
                    b: 0,
                },
                Batch {
                    count: 1,
                    a: 0,
                    b: 0,
                },
            ],
            m,
            n,
            k,
            a: (k, 1),
            b,
            alpha: 0.5,
            beta: 2.0,
            bias: Some(Bias { row: 0, column: 1 }),
            then: None,
        };
        let (x, y, z) = (numbers(2 * m * k, 1), numbers(k * n, 2), numbers(n, 3));
        let found = outcome(&Kernel::MatMul(product), &[&x, &y, &z]);
        let element = |at: usize| {
            let (row, column) = (at / n, at % n);
            let sum = (0..k).fold(0.0, |sum, i| {
                sum + x[row * k + i] * y[i * b.0 + column * b.1]
            });
            0.5 * sum + 2.0 * z[column]
        };
        let expected: Vec<f32> = (0..2 * m * n).map(element).collect();
        assert_eq!(found, expected, "{m} {n} {k}");
    }
}

#[test]
fn maps_stretch_join_and_run_in_place() {
    let (x, y) = (numbers(24, 1), numbers(4, 2));
    let broadcast = Broadcast::new(&[2, 3, 4], &[&[2, 3, 4], &[4]]).unwrap();
    let map = |join, broadcast| {
        Kernel::Map(Map {
            join: Some(join),
            then: vec![Unary::Abs],
            dtype: DType::F32,
            broadcast,
        })
    };
    for join in [
        Binary::Add,
        Binary::Sub,
        Binary::Div,
        Binary::Max,
        Binary::PRelu,
    ] {
        let kernel = map(join, broadcast.clone());
        let found = outcome(&kernel, &[&x, &y]);
        let expected: Vec<f32> = (0..24)
            .map(|at| functions::binary(join, x[at], y[at % 4]).abs())
            .collect();
        assert_eq!(found, expected, "{join:?}");
        assert!(kernel.in_place(0) && !kernel.in_place(1));
        let mut result = bytes(&x);
        dispatch(
            &kernel,
            &[Operand::Result, Operand::Apart(&bytes(&y))],
            &mut result,
        )
        .unwrap();
        assert_eq!(floats(&result), expected, "{join:?} in place");
    }
    // Three operands, the last of them in place: it is read before it is written.
    let three = Broadcast::new(&[24], &[&[24], &[1], &[24]]).unwrap();
    let kernel = map(Binary::Add, three);
    let mut result = bytes(&x);
    let (z, one) = (bytes(&numbers(24, 9)), bytes(&[1.0]));
    dispatch(
        &kernel,
        &[Operand::Apart(&z), Operand::Apart(&one), Operand::Result],
        &mut result,
    )
    .unwrap();
    let expected: Vec<f32> = numbers(24, 9)
        .iter()
        .zip(&x)
        .map(|(z, x)| (z + 1.0 + x).abs())
        .collect();
    assert_eq!(floats(&result), expected);
}

#[test]
fn whole_numbers_wrap_and_are_divided_without_a_fault() {
    let lists = [[i64::MAX, 7, -7, i64::MIN], [1, 0, 2, -1]];
    let packed = lists.map(|list| {
        list.iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>()
    });
    let operands = [Operand::Apart(&packed[0]), Operand::Apart(&packed[1])];
    for (join, expected) in [
        (Binary::Add, [i64::MIN, 7, -5, i64::MAX]),
        (Binary::Div, [i64::MAX, 0, -3, i64::MIN]),
        (Binary::Max, [i64::MAX, 7, 2, -1]),
        (Binary::Pow, [i64::MAX, 1, 49, 0]),
    ] {
        let broadcast = Broadcast::new(&[4], &[&[4], &[4]]).unwrap();
        let map = Map {
            join: Some(join),
            then: vec![],
            dtype: DType::I64,
            broadcast,
        };
        let mut result = [0; 32];
        dispatch(&Kernel::Map(map), &operands, &mut result).unwrap();
        let found: Vec<i64> = result
            .as_chunks::<8>()
            .0
            .iter()
            .map(|&x| i64::from_le_bytes(x))
            .collect();
        assert_eq!(found, expected, "{join:?}");
    }
}

#[test]
fn elements_are_moved_by_strides_and_tables() {
    let x: Vec<f32> = (0..6_u8).map(f32::from).collect();
    let transposed = Rearrange::strided(4, &[3, 2], &[1, 3], 0);
    assert_eq!(
        outcome(&Kernel::Rearrange(transposed), &[&x]),
        [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    );
    let backwards = Rearrange::strided(4, &[2, 3], &[3, -1], 2);
    assert_eq!(
        outcome(&Kernel::Rearrange(backwards), &[&x]),
        [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]
    );
    let mut fill = [0; 8];
    fill[..4].copy_from_slice(&9.0_f32.to_le_bytes());
    let padded = Rearrange {
        element: 4,
        axes: vec![
            Axis {
                count: 3,
                to: 4,
                from: Index::Table(vec![None, Some(0), Some(3)]),
            },
            Axis {
                count: 4,
                to: 1,
                from: Index::Table(vec![Some(1), Some(0), Some(1), None]),
            },
        ],
        to: 0,
        from: 0,
        fill: Some(fill),
    };
    let reads = Kernel::Rearrange(padded.clone()).needs().unwrap().reads[0] / 4;
    let found = outcome(
        &Kernel::Rearrange(padded),
        &[&x[..usize::try_from(reads).unwrap()]],
    );
    assert_eq!(
        found,
        [9.0, 9.0, 9.0, 9.0, 1.0, 0.0, 1.0, 9.0, 4.0, 3.0, 4.0, 9.0]
    );
}

#[test]
fn pools_reductions_and_normalizations() {
    let x: Vec<f32> = (0..16_u8).map(f32::from).collect();
    let side = Slide {
        input: 4,
        output: 2,
        kernel: 3,
        stride: 2,
        dilation: 1,
        pad: 1,
    };
    let pool = |pooling| {
        Kernel::Pool(Pool {
            pooling,
            layout: Layout::ChannelsFirst,
            batch: 1,
            channels: 1,
            slides: [side; 2],
            then: None,
        })
    };
    assert_eq!(outcome(&pool(Pooling::Max), &[&x]), [5.0, 7.0, 13.0, 15.0]);
    assert_eq!(
        outcome(&pool(Pooling::Average), &[&x]),
        [2.5, 4.0, 8.5, 10.0]
    );
    let padded = outcome(&pool(Pooling::AveragePadded { end: [0, 0] }), &[&x]);
    assert_eq!(padded[0].to_bits(), (10.0_f32 / 9.0).to_bits());
    let mean = Reduce::new(Reduction::Mean, DType::F32, &[2, 4, 2], |axis| axis == 1);
    assert_eq!(
        outcome(&Kernel::Reduce(mean), &[&x]),
        [3.0, 4.0, 11.0, 12.0]
    );
    let soft = outcome(
        &Kernel::Softmax(Softmax {
            outer: 2,
            axis: 4,
            inner: 2,
            beta: 1.0,
            log: false,
        }),
        &[&x],
    );
    for (outer, inner) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let sum: f32 = (0..4).map(|at| soft[(outer * 4 + at) * 2 + inner]).sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
    let norm = LayerNorm {
        outer: 4,
        size: 4,
        epsilon: 0.0,
        scale: true,
        bias: false,
    };
    let found = outcome(&Kernel::LayerNorm(norm), &[&x, &[1.0, 1.0, 2.0, 1.0]]);
    let unit = 1.25_f32.sqrt();
    assert_eq!(
        found[..4],
        [-1.5 / unit, -0.5 / unit, 0.5 / unit * 2.0, 1.5 / unit]
    );
}

#[test]
fn indices_count_from_the_end_and_are_refused_outside() {
    let data = bytes(&[1.0, 2.0, 3.0]);
    let take = Take {
        element: 4,
        outer: 1,
        axis: 3,
        inner: 1,
        count: 2,
        index: DType::I64,
    };
    let run = |indices: [i64; 2]| {
        let packed: Vec<u8> = indices.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut result = [0; 8];
        let operands = [Operand::Apart(&data), Operand::Apart(&packed)];
        dispatch(&Kernel::Take(take), &operands, &mut result).map(|()| floats(&result))
    };
    assert_eq!(run([-1, 0]), Ok(vec![3.0, 1.0]));
    let fault = KernelFault::Index {
        position: 1,
        index: 3,
        size: 3,
    };
    assert_eq!(run([0, 3]), Err(fault));
    assert!(run([-4, 0]).is_err() && run([i64::MIN, 0]).is_err());
}

#[test]
fn resampling_mixes_by_weights() {
    let half = TapAxis {
        count: 3,
        taps: 2,
        table: vec![(0, 1.0), (1, 0.0), (0, 0.5), (1, 0.5), (0, 0.0), (1, 1.0)],
    };
    let whole = TapAxis {
        count: 2,
        taps: 1,
        table: vec![(0, 1.0), (2, 1.0)],
    };
    let kernel = Kernel::Interpolate(Interpolate {
        axes: vec![whole, half],
    });
    assert_eq!(
        outcome(&kernel, &[&[0.0, 2.0, 10.0, 20.0]]),
        [0.0, 1.0, 2.0, 10.0, 15.0, 20.0]
    );
}
