//! The fast device against the reference, kernel by kernel.

use super::*;
use bayplan_graph::DType;
use bayplan_graph::kernel::*;

fn numbers(bytes: u64, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..bytes / 4).flat_map(|_| next().to_le_bytes()).collect()
}

/// The kernel on both devices; the fast one must not hand it on.
fn same(kernel: &Kernel) {
    let needs = kernel.needs().unwrap();
    let mut lists: Vec<Vec<u8>> = needs
        .reads
        .iter()
        .zip(1..)
        .map(|(&bytes, seed)| numbers(bytes, seed))
        .collect();
    if let Kernel::Affine(_) = kernel {
        for x in lists[4].as_chunks_mut::<4>().0 {
            *x = f32::from_le_bytes(*x).abs().to_le_bytes();
        }
    }
    let operands: Vec<Operand<'_>> = lists.iter().map(|list| Operand::Apart(list)).collect();
    let size = usize::try_from(needs.write).unwrap();
    let (mut here, mut there) = (vec![0xee; size], vec![0; size]);
    Cpu::of_kernels(std::iter::once(kernel))
        .dispatch(kernel, &operands, &mut here)
        .unwrap();
    reference::dispatch(kernel, &operands, &mut there).unwrap();
    let floats = |list: &[u8]| -> Vec<f32> {
        list.as_chunks::<4>()
            .0
            .iter()
            .map(|&x| f32::from_le_bytes(x))
            .collect()
    };
    let (here, there) = (floats(&here), floats(&there));
    let largest = there.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    for (at, (a, b)) in here.iter().zip(&there).enumerate() {
        assert!(
            (a - b).abs() <= 1e-5 * largest,
            "{at}: {a} {b} of {kernel:?}"
        );
    }
}

fn slide(input: usize, kernel: usize, stride: usize, dilation: usize, pad: usize) -> Slide {
    let output = (input + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
    Slide {
        input,
        output,
        kernel,
        stride,
        dilation,
        pad,
    }
}

#[test]
fn convolutions() {
    let slides = [
        [slide(19, 3, 1, 1, 1), slide(21, 3, 1, 1, 1)],
        [slide(9, 1, 1, 1, 0), slide(40, 1, 1, 1, 0)],
        [slide(9, 2, 1, 1, 0), slide(40, 5, 2, 2, 4)],
        [slide(7, 2, 3, 1, 0), slide(30, 1, 1, 1, 0)],
        [slide(3, 7, 1, 1, 6), slide(2, 7, 1, 1, 6)],
        [Slide::NONE, slide(17, 7, 1, 1, 6)],
    ];
    let layouts = [
        (Layout::ChannelsFirst, WeightLayout::ResultsFirst, (2, 3, 5)),
        (Layout::ChannelsLast, WeightLayout::OperandsLast, (2, 3, 5)),
        (Layout::ChannelsFirst, WeightLayout::ResultsFirst, (4, 1, 1)),
        (
            Layout::ChannelsFirst,
            WeightLayout::ResultsFirst,
            (1, 300, 2),
        ),
    ];
    for ((layout, weight, (groups, operands, results)), slides) in
        layouts.into_iter().flat_map(|l| slides.map(|s| (l, s)))
    {
        for then in [None, Some(Unary::Relu)] {
            let bias = then.is_some();
            same(&Kernel::Conv(Conv {
                layout,
                weight,
                batch: 2,
                groups,
                operands,
                results,
                slides,
                bias,
                then,
            }));
        }
    }
}

#[test]
fn products_and_pools() {
    for (m, n, k, b) in [
        (5, 17, 9, (17, 1)),
        (1, 33, 70, (1, 70)),
        (1, 8, 3, (8, 1)),
        (64, 40, 33, (1, 33)),
    ] {
        let batch = vec![Batch {
            count: 2,
            a: m * k,
            b: 0,
        }];
        let bias = Some(Bias { row: 0, column: 1 });
        same(&Kernel::MatMul(MatMul {
            batch,
            m,
            n,
            k,
            a: (k, 1),
            b,
            alpha: 0.5,
            beta: 2.0,
            bias,
            then: Some(Unary::Relu),
        }));
    }
    for layout in [Layout::ChannelsFirst, Layout::ChannelsLast] {
        for pooling in [Pooling::Max, Pooling::Average] {
            for slides in [
                [slide(13, 3, 2, 1, 1), slide(14, 3, 2, 1, 0)],
                [slide(6, 6, 1, 1, 0); 2],
            ] {
                same(&Kernel::Pool(Pool {
                    pooling,
                    layout,
                    batch: 2,
                    channels: 5,
                    slides,
                    then: None,
                }));
            }
        }
    }
}

#[test]
fn functions_and_rows() {
    for function in [
        Unary::Erf,
        Unary::Sigmoid,
        Unary::Tanh,
        Unary::Exp,
        Unary::Gelu { tanh: false },
        Unary::HardSwish,
        Unary::Sin,
    ] {
        same(&Kernel::Map(Map::unary(function, DType::F32, 1000)));
    }
    same(&Kernel::Softmax(Softmax {
        outer: 7,
        axis: 33,
        inner: 1,
        beta: 3.0,
        log: false,
    }));
    same(&Kernel::LayerNorm(LayerNorm {
        outer: 5,
        size: 40,
        epsilon: 1e-5,
        scale: true,
        bias: true,
    }));
    for inner in [1, 9] {
        same(&Kernel::Affine(Affine {
            outer: 2,
            channels: 6,
            inner,
            epsilon: 1e-2,
            then: Some(Unary::Relu),
        }));
    }
}

#[test]
fn polynomials_hold_over_the_whole_range() {
    for step in -4000..4000_i16 {
        let x = f32::from(step) / 40.0;
        let exact = f64::from(x).exp();
        if (1e-34..1e30).contains(&exact) {
            let found = f64::from(functions::exp(x));
            assert!((found / exact - 1.0).abs() < 2e-6, "exp {x}");
        }
        let mut list = [x];
        functions::each(Unary::Erf, &mut list);
        assert!((list[0] - libm::erff(x)).abs() < 5e-7, "erf {x}");
        list = [x];
        functions::each(Unary::Tanh, &mut list);
        assert!((list[0] - libm::tanhf(x)).abs() < 1e-6, "tanh {x}");
    }
}

#[test]
fn unaligned_bytes_are_left_to_the_reference() {
    let product = MatMul {
        batch: vec![],
        m: 2,
        n: 2,
        k: 2,
        a: (2, 1),
        b: (2, 1),
        alpha: 1.0,
        beta: 1.0,
        bias: None,
        then: None,
    };
    let kernel = Kernel::MatMul(product);
    let bytes = numbers(17 * 4, 3);
    let operands = [
        Operand::Apart(&bytes[1..17]),
        Operand::Apart(&bytes[20..36]),
    ];
    let mut room = [0; 17];
    Cpu::of_kernels(std::iter::once(&kernel))
        .dispatch(&kernel, &operands, &mut room[1..])
        .unwrap();
    let mut exact = [0; 16];
    reference::dispatch(&kernel, &operands, &mut exact).unwrap();
    assert_eq!(room[1..], exact);
}
