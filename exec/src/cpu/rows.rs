//! Softmax and normalizations.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::functions::{self, exp, sum};
use super::gemm::ended;
use super::{copied, floats, floats_mut};
use crate::reference::Operand;
use crate::vector::wide;
use bayplan_graph::DType;
use bayplan_graph::kernel::{Affine, LayerNorm, Reduce, Reduction, Softmax};

/// Nothing where the reference has to do it.
pub(super) fn softmax(softmax: Softmax, operands: &[Operand<'_>], result: &mut [u8]) -> Option<()> {
    if softmax.inner != 1 || softmax.log || softmax.axis == 0 {
        return None;
    }
    let list = copied(operands, result, softmax.outer * softmax.axis)?;
    wide(|| {
        for row in list.chunks_exact_mut(softmax.axis) {
            softened(softmax.beta, row);
        }
    });
    Some(())
}

#[inline(always)]
fn softened(beta: f32, row: &mut [f32]) {
    let largest = row
        .iter()
        .fold(f32::NEG_INFINITY, |m, &x| if x > m { x } else { m });
    for x in &mut *row {
        *x = exp((*x - largest) * beta);
    }
    let factor = 1.0 / sum(row, |x| x);
    for x in row {
        *x *= factor;
    }
}

pub(super) fn layer_norm(
    norm: LayerNorm,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Option<()> {
    if norm.size == 0 {
        return None;
    }
    let scale = if norm.scale {
        Some(floats(operands, 1)?)
    } else {
        None
    };
    let bias = if norm.bias {
        Some(floats(operands, 1 + usize::from(norm.scale))?)
    } else {
        None
    };
    let list = copied(operands, result, norm.outer * norm.size)?;
    wide(|| {
        for row in list.chunks_exact_mut(norm.size) {
            let mean = sum(row, |x| x) / norm.size as f32;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / norm.size as f32;
            let factor = 1.0 / (variance + norm.epsilon).sqrt();
            for x in &mut *row {
                *x = (*x - mean) * factor;
            }
            if let Some(scale) = scale {
                row.iter_mut().zip(scale).for_each(|(x, scale)| *x *= scale);
            }
            if let Some(bias) = bias {
                row.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
            }
        }
    });
    Some(())
}

pub(super) fn affine(affine: Affine, operands: &[Operand<'_>], result: &mut [u8]) -> Option<()> {
    if functions::is_missing(affine.then) {
        return None;
    }
    let mut numbers = [&[][..]; 4];
    for (position, list) in numbers.iter_mut().enumerate() {
        *list = floats(operands, position + 1)?;
    }
    let [scale, bias, mean, variance] = numbers;
    let list = copied(
        operands,
        result,
        affine.outer * affine.channels * affine.inner,
    )?;
    wide(|| {
        if affine.inner == 1 {
            for row in list.chunks_exact_mut(affine.channels.max(1)) {
                for (channel, x) in row.iter_mut().enumerate() {
                    let factor = scale[channel] / (variance[channel] + affine.epsilon).sqrt();
                    *x = (*x - mean[channel]) * factor + bias[channel];
                }
            }
        } else {
            for (plane, elements) in list.chunks_exact_mut(affine.inner.max(1)).enumerate() {
                let channel = plane % affine.channels;
                let factor = scale[channel] / (variance[channel] + affine.epsilon).sqrt();
                let (mean, bias) = (mean[channel], bias[channel]);
                for x in elements {
                    *x = (*x - mean) * factor + bias;
                }
            }
        }
        ended(affine.then, list);
    });
    Some(())
}

/// Means and sums over the innermost axes, which lie in one piece.
pub(super) fn mean(reduce: &Reduce, operands: &[Operand<'_>], result: &mut [u8]) -> Option<()> {
    let count: usize = reduce.reduced.iter().map(|axis| axis.0).product();
    let kept: usize = reduce.kept.iter().map(|axis| axis.0).product();
    let dense = |axes: &[(usize, usize)], mut stride: usize| {
        axes.iter().rev().all(|&(count, own)| {
            let fits = count == 1 || own == stride;
            stride *= count;
            fits
        })
    };
    let factor = match reduce.reduction {
        Reduction::Mean => 1.0 / count.max(1) as f32,
        Reduction::Sum => 1.0,
        _ => return None,
    };
    let in_pieces = dense(&reduce.reduced, 1) && dense(&reduce.kept, count);
    if reduce.dtype != DType::F32 || !in_pieces || count == 0 {
        return None;
    }
    let (from, to) = (floats(operands, 0)?, floats_mut(result)?);
    wide(|| {
        for (piece, to) in from.chunks_exact(count).zip(to).take(kept) {
            *to = sum(piece, |x| x) * factor;
        }
    });
    Some(())
}
