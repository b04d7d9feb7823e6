//! Normalizations.

use super::Operand;
use super::elements::{Float, floats, floats_mut, get, operand, put};
use super::functions;
use bayplan_graph::kernel::{Affine, LayerNorm, Lrn};

/// The operand's elements where the result will be.
fn copied<'a>(operands: &[Operand<'_>], result: &'a mut [u8], count: usize) -> &'a mut [Float] {
    let result = &mut floats_mut(result)[..count];
    if let Operand::Apart(from) = operands[0] {
        result.copy_from_slice(&floats(from)[..count]);
    }
    result
}

/// Batch normalization.
pub(super) fn run(affine: Affine, operands: &[Operand<'_>], result: &mut [u8]) {
    let count = affine.outer * affine.channels * affine.inner;
    let result = copied(operands, result, count);
    let numbers = [1, 2, 3, 4].map(|position| operand(operands, position));
    for (row, elements) in result.chunks_mut(affine.inner.max(1)).enumerate() {
        let channel = row % affine.channels;
        let [scale, bias, mean, variance] = numbers.map(|list| get(list, channel));
        let deviation = libm::sqrtf(variance + affine.epsilon);
        for element in elements {
            let x = f32::from_le_bytes(*element);
            let y = (x - mean) / deviation * scale + bias;
            let y = affine.then.map_or(y, |then| functions::unary(then, y));
            *element = y.to_le_bytes();
        }
    }
}

/// Layer normalization.
pub(super) fn layer_norm(norm: LayerNorm, operands: &[Operand<'_>], result: &mut [u8]) {
    let result = copied(operands, result, norm.outer * norm.size);
    let scale = norm.scale.then(|| operand(operands, 1));
    let bias = norm
        .bias
        .then(|| operand(operands, 1 + usize::from(norm.scale)));
    for elements in result.chunks_mut(norm.size.max(1)) {
        let mean = sum(elements, |x| x) / norm.size as f32;
        let variance = sum(elements, |x| (x - mean) * (x - mean)) / norm.size as f32;
        let deviation = libm::sqrtf(variance + norm.epsilon);
        for (at, element) in elements.iter_mut().enumerate() {
            let x = (f32::from_le_bytes(*element) - mean) / deviation;
            let x = scale.map_or(x, |scale| x * get(scale, at));
            let x = bias.map_or(x, |bias| x + get(bias, at));
            *element = x.to_le_bytes();
        }
    }
}

fn sum(elements: &[Float], of: impl Fn(f32) -> f32) -> f32 {
    let each = elements.iter().map(|&x| of(f32::from_le_bytes(x)));
    each.fold(0.0, |sum, x| sum + x)
}

/// Local response normalization.
pub(super) fn lrn(lrn: &Lrn, operands: &[Operand<'_>], result: &mut [u8]) {
    let from = operand(operands, 0);
    let result = floats_mut(result);
    let (before, behind) = ((lrn.size - 1) / 2, lrn.size / 2);
    for outer in 0..lrn.outer {
        for channel in 0..lrn.channels {
            let first = channel.saturating_sub(before);
            let last = channel.saturating_add(behind).min(lrn.channels - 1);
            for inner in 0..lrn.inner {
                let place = |channel: usize| (outer * lrn.channels + channel) * lrn.inner + inner;
                let squares = (first..=last).map(|channel| get(from, place(channel)));
                let sum = squares.fold(0.0, |sum, x| sum + x * x);
                let base = lrn.bias + lrn.alpha / lrn.size as f32 * sum;
                let value = get(from, place(channel)) / libm::powf(base, lrn.beta);
                put(result, place(channel), value);
            }
        }
    }
}
