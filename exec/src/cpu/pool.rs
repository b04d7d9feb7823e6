//! Pooling, row by row.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::functions::sum;
use super::gemm::ended;
use super::{floats, floats_mut, functions};
use crate::reference::Operand;
use crate::vector::wide;
use bayplan_graph::kernel::{Layout, Pool, Pooling, Slide};

/// Elements that are needed beside operand and result: a row.
pub(super) fn workspace(pool: &Pool) -> usize {
    pool.slides[1].input
}

/// Nothing where the reference has to do it. What is no number is passed over by the largest.
pub(super) fn run(
    pool: &Pool,
    operands: &[Operand<'_>],
    result: &mut [u8],
    workspace: &mut [f32],
) -> Option<()> {
    let (image, result) = (floats(operands, 0)?, floats_mut(result)?);
    if functions::is_missing(pool.then) {
        return None;
    }
    let workspace = workspace.get_mut(..self::workspace(pool))?;
    let average = match pool.pooling {
        Pooling::Max => false,
        Pooling::Average => true,
        Pooling::AveragePadded { .. } => return None,
    };
    match pool.layout {
        Layout::ChannelsFirst => wide(|| planes(pool, average, image, result, workspace)),
        Layout::ChannelsLast => wide(|| pixels(pool, average, image, result)),
    }
    let [h, w] = pool.slides;
    let count = pool.batch * pool.channels * h.output * w.output;
    wide(|| ended(pool.then, &mut result[..count]));
    Some(())
}

/// One plane after the other; of each row of the result, the window's rows first, then its columns.
#[inline(always)]
fn planes(pool: &Pool, average: bool, image: &[f32], result: &mut [f32], workspace: &mut [f32]) {
    let [h, w] = pool.slides;
    let (size, all) = (h.input * w.input, h.output * w.output);
    let start = if average { 0.0 } else { f32::NEG_INFINITY };
    let joined = workspace;
    for plane in 0..pool.batch * pool.channels {
        let from = &image[plane * size..][..size];
        let to = &mut result[plane * all..][..all];
        let whole = all == 1 && h.inside(0).len() == h.input && w.inside(0).len() == w.input;
        if whole && average && (h.dilation, w.dilation) == (1, 1) {
            to[0] = sum(from, |x| x) / size as f32;
            continue;
        }
        for (y, row) in to.chunks_exact_mut(w.output.max(1)).enumerate() {
            joined.fill(start);
            for ky in h.inside(y) {
                let line = &from[(y * h.stride + ky * h.dilation - h.pad) * w.input..][..w.input];
                join(average, joined.iter_mut(), line.iter());
            }
            row.fill(start);
            for kx in 0..w.kernel {
                window(w, kx, average, joined, row);
            }
            if average {
                let lines = h.inside(y).len();
                for (x, sum) in row.iter_mut().enumerate() {
                    *sum /= (lines * w.inside(x).len()).max(1) as f32;
                }
            }
        }
    }
}

/// The sum, or the larger, of each pair.
#[inline(always)]
fn join<'a, 'b>(
    average: bool,
    kept: impl Iterator<Item = &'a mut f32>,
    more: impl Iterator<Item = &'b f32>,
) {
    if average {
        kept.zip(more).for_each(|(kept, x)| *kept += x);
    } else {
        kept.zip(more)
            .for_each(|(kept, &x)| *kept = if x > *kept { x } else { *kept });
    }
}

/// The window's elements `kx`, at all positions of a row.
#[inline(always)]
fn window(w: Slide, kx: usize, average: bool, line: &[f32], row: &mut [f32]) {
    let offset = kx * w.dilation;
    let low = w.pad.saturating_sub(offset).div_ceil(w.stride);
    let room = (w.input + w.pad).saturating_sub(offset);
    let high = room.div_ceil(w.stride).min(w.output);
    if low >= high {
        return;
    }
    let line = &line[low * w.stride + offset - w.pad..];
    let row = row[low..high].iter_mut();
    match w.stride {
        1 => join(average, row, line.iter()),
        2 => join(average, row, line.iter().step_by(2)),
        stride => join(average, row, line.iter().step_by(stride)),
    }
}

/// One position after the other, all of its channels side by side.
#[inline(always)]
fn pixels(pool: &Pool, average: bool, image: &[f32], result: &mut [f32]) {
    let [h, w] = pool.slides;
    let channels = pool.channels;
    for batch in 0..pool.batch {
        for y in 0..h.output {
            for x in 0..w.output {
                let to = ((batch * h.output + y) * w.output + x) * channels;
                let kept = &mut result[to..to + channels];
                kept.fill(if average { 0.0 } else { f32::NEG_INFINITY });
                for ky in h.inside(y) {
                    for kx in w.inside(x) {
                        let iy = y * h.stride + ky * h.dilation - h.pad;
                        let ix = x * w.stride + kx * w.dilation - w.pad;
                        let from = ((batch * h.input + iy) * w.input + ix) * channels;
                        let values = &image[from..from + channels];
                        if average {
                            for (kept, x) in kept.iter_mut().zip(values) {
                                *kept += x;
                            }
                        } else {
                            for (kept, &x) in kept.iter_mut().zip(values) {
                                *kept = if x > *kept { x } else { *kept };
                            }
                        }
                    }
                }
                if average {
                    let count = (h.inside(y).len() * w.inside(x).len()).max(1) as f32;
                    for sum in kept {
                        *sum /= count;
                    }
                }
            }
        }
    }
}
