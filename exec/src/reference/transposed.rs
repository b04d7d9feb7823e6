//! Transposed convolution, as a sum for each element of the result.

use super::Operand;
use super::conv::{Strides, pairs, weight_strides};
use super::elements::{floats_mut, get, operand, put};
use super::functions;
use bayplan_graph::kernel::{Conv, Slide, WeightLayout};

/// For each element of the result, products in order of operand channel, height, width (of the weight).
pub(super) fn run(conv: &Conv, operands: &[Operand<'_>], result: &mut [u8]) {
    let [h, w] = conv.slides;
    let (ins, outs) = (conv.groups * conv.operands, conv.groups * conv.results);
    let from = Strides::new(conv.layout, ins, h.output, w.output);
    let to = Strides::new(conv.layout, outs, h.input, w.input);
    let strides = weight_strides(conv);
    let (image, weight) = (operand(operands, 0), operand(operands, 1));
    let bias = conv.bias.then(|| operand(operands, 2));
    let result = floats_mut(result);
    for ((batch, group), channel) in pairs(conv.batch, conv.groups)
        .flat_map(|outer| (0..conv.results).map(move |channel| (outer, channel)))
    {
        let all = group * conv.results + channel;
        let base = batch * from.batch + group * conv.operands * from.channel;
        let first = start(conv, strides, group, channel);
        for (y, x) in pairs(h.input, w.input) {
            let mut sum = 0.0;
            for operand in 0..conv.operands {
                for ky in 0..h.kernel {
                    let Some(iy) = back(h, y, ky) else { continue };
                    for kx in 0..w.kernel {
                        let Some(ix) = back(w, x, kx) else { continue };
                        let at = base + operand * from.channel + iy * from.y + ix * from.x;
                        let [_, to_operand, to_y, to_x] = strides;
                        let weight_at = first + operand * to_operand + ky * to_y + kx * to_x;
                        sum += get(weight, weight_at) * get(image, at);
                    }
                }
            }
            let sum = bias.map_or(sum, |bias| sum + get(bias, all));
            let sum = conv.then.map_or(sum, |then| functions::unary(then, sum));
            put(
                result,
                batch * to.batch + all * to.channel + y * to.y + x * to.x,
                sum,
            );
        }
    }
}

/// The first weight of a channel of the result.
fn start(conv: &Conv, strides: [usize; 4], group: usize, channel: usize) -> usize {
    if conv.weight == WeightLayout::OperandsFirst {
        group * conv.operands * strides[1] + channel * strides[0]
    } else {
        (group * conv.results + channel) * strides[0]
    }
}

/// The position of the operand from which the window's element `k` falls on position `at` of the result.
fn back(slide: Slide, at: usize, k: usize) -> Option<usize> {
    let distance = (at + slide.pad).checked_sub(k * slide.dilation)?;
    let position = distance / slide.stride;
    (distance.is_multiple_of(slide.stride) && position < slide.output).then_some(position)
}
