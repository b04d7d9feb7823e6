//! Convolutions and the way back.

use super::*;

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
