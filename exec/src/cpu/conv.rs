//! Convolution as matrix products: what the weights meet is laid out as a matrix, some positions at a time, unless the
//! image is one already.

use super::gemm::{Matrix, ended, product};
use super::{floats, floats_mut};
use crate::reference::Operand;
use crate::vector::wide;
use bayplan_graph::kernel::{Conv, Layout, WeightLayout};

/// Elements of the matrix that are laid out at a time, about.
const TILE: usize = 1 << 18;
/// Positions at least.
const POSITIONS: usize = 64;

/// Whether the image is the matrix.
fn is_matrix(conv: &Conv) -> bool {
    let plain = |s: &bayplan_graph::kernel::Slide| {
        (s.kernel, s.stride, s.pad) == (1, 1, 0) && s.input == s.output
    };
    conv.slides.iter().all(plain)
}

fn depth(conv: &Conv) -> usize {
    conv.operands * conv.slides[0].kernel * conv.slides[1].kernel
}

fn positions(conv: &Conv) -> usize {
    conv.slides[0].output * conv.slides[1].output
}

/// Positions that are laid out at a time.
fn tile(conv: &Conv) -> usize {
    let fit = TILE / depth(conv).max(1);
    fit.max(POSITIONS).min(positions(conv))
}

/// One operand and one result in each group.
fn is_depthwise(conv: &Conv) -> bool {
    conv.operands == 1 && conv.results == 1 && conv.groups > 1
}

/// Elements that are needed beside operands and result.
pub(super) fn workspace(conv: &Conv) -> usize {
    if is_matrix(conv) || is_depthwise(conv) {
        return 0;
    }
    depth(conv).saturating_mul(tile(conv))
}

/// Nothing where the reference has to do it.
pub(super) fn run(
    conv: &Conv,
    operands: &[Operand<'_>],
    result: &mut [u8],
    workspace: &mut [f32],
) -> Option<()> {
    let (image, weight) = (floats(operands, 0)?, floats(operands, 1)?);
    let bias = if conv.bias {
        Some(floats(operands, 2)?)
    } else {
        None
    };
    let result = floats_mut(result)?;
    if is_depthwise(conv) {
        if conv.layout == Layout::ChannelsLast {
            return None;
        }
        let mut padded = true;
        wide(|| padded = depthwise(conv, image, weight, bias, result).is_some());
        return padded.then_some(());
    }
    if conv.weight == WeightLayout::Depthwise || depth(conv) == 0 {
        return None;
    }
    let all = positions(conv);
    for batch in 0..conv.batch {
        for group in 0..conv.groups {
            for first in (0..all).step_by(tile(conv).max(1)) {
                let count = tile(conv).min(all - first);
                let at = Tile {
                    batch,
                    group,
                    first,
                    count,
                };
                of_tile(conv, at, (image, weight, bias), result, workspace)?;
            }
        }
    }
    Some(())
}

/// Some positions of one group of one image.
#[derive(Clone, Copy)]
struct Tile {
    batch: usize,
    group: usize,
    first: usize,
    count: usize,
}

/// Image, weight, bias.
type Lists<'a> = (&'a [f32], &'a [f32], Option<&'a [f32]>);

fn of_tile(
    conv: &Conv,
    at: Tile,
    (image, weight, bias): Lists<'_>,
    result: &mut [f32],
    workspace: &mut [f32],
) -> Option<()> {
    let [h, w] = conv.slides;
    let (ins, outs) = (conv.groups * conv.operands, conv.groups * conv.results);
    let (depth, size) = (depth(conv), h.input * w.input);
    let first_channel = at.group * conv.results;
    let weights = Matrix {
        at: first_channel * depth,
        size: (conv.results, depth),
        strides: (depth, 1),
    };
    let matrix = is_matrix(conv);
    if !matrix {
        let workspace = &mut workspace[..depth * at.count];
        wide(|| lay_out(conv, at, image, workspace));
    }
    let list = if matrix { image } else { &*workspace };
    if conv.layout == Layout::ChannelsFirst {
        let strides = if matrix { (size, 1) } else { (at.count, 1) };
        let from = at.batch * ins * size + at.group * conv.operands * size + at.first;
        let met = Matrix {
            at: if matrix { from } else { 0 },
            size: (depth, at.count),
            strides,
        };
        let all = positions(conv);
        let to = (at.batch * outs + first_channel) * all + at.first;
        for row in 0..conv.results {
            let start = bias.map_or(0.0, |bias| bias[first_channel + row]);
            result[to + row * all..][..at.count].fill(start);
        }
        let here = Matrix {
            at: to,
            size: (conv.results, at.count),
            strides: (all, 1),
        };
        product(
            1.0,
            &weights.view(weight)?,
            &met.view(list)?,
            1.0,
            here.view_mut(result)?,
        );
        for row in 0..conv.results {
            let list = &mut result[to + row * all..][..at.count];
            wide(|| ended(conv.then, list))?;
        }
        return Some(());
    }
    let from = (at.batch * size + at.first) * ins + at.group * conv.operands;
    let strides = if matrix { (ins, 1) } else { (depth, 1) };
    let met = Matrix {
        at: if matrix { from } else { 0 },
        size: (at.count, depth),
        strides,
    };
    let to = (at.batch * positions(conv) + at.first) * outs + first_channel;
    for position in 0..at.count {
        let row = &mut result[to + position * outs..][..conv.results];
        match bias {
            Some(bias) => row.copy_from_slice(&bias[first_channel..][..conv.results]),
            None => row.fill(0.0),
        }
    }
    let here = Matrix {
        at: to,
        size: (at.count, conv.results),
        strides: (outs, 1),
    };
    product(
        1.0,
        &met.view(list)?,
        &weights.view(weight)?.reversed_axes(),
        1.0,
        here.view_mut(result)?,
    );
    for position in 0..at.count {
        let row = &mut result[to + position * outs..][..conv.results];
        wide(|| ended(conv.then, row))?;
    }
    Some(())
}

/// What the weights of each position meet, in order of the weight's axes. Channels first: a row for each weight; channels last: a
/// row for each position.
#[expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]
#[inline(always)]
fn lay_out(conv: &Conv, at: Tile, image: &[f32], workspace: &mut [f32]) {
    let [h, w] = conv.slides;
    let (ins, size) = (conv.groups * conv.operands, h.input * w.input);
    let window = h.kernel * w.kernel;
    if conv.layout == Layout::ChannelsFirst {
        let base = (at.batch * ins + at.group * conv.operands) * size;
        for (k, row) in workspace.chunks_exact_mut(at.count).enumerate() {
            let (operand, ky, kx) = (k / window, k / w.kernel % h.kernel, k % w.kernel);
            let plane = &image[base + operand * size..][..size];
            laid_row(conv, at.first, (ky, kx), plane, row);
        }
        return;
    }
    let base = at.batch * size * ins + at.group * conv.operands;
    for (position, row) in workspace
        .chunks_exact_mut(window * conv.operands)
        .enumerate()
    {
        let (y, x) = (
            (at.first + position) / w.output,
            (at.first + position) % w.output,
        );
        for (k, part) in row.chunks_exact_mut(conv.operands).enumerate() {
            match (h.at(y, k / w.kernel), w.at(x, k % w.kernel)) {
                (Some(y), Some(x)) => {
                    let from = base + (y * w.input + x) * ins;
                    part.copy_from_slice(&image[from..from + conv.operands]);
                }
                _ => part.fill(0.0),
            }
        }
    }
}

/// What one weight meets, at consecutive positions.
#[expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]
#[inline(always)]
fn laid_row(conv: &Conv, first: usize, (ky, kx): (usize, usize), plane: &[f32], row: &mut [f32]) {
    let [h, w] = conv.slides;
    let mut done = 0;
    while done < row.len() {
        let (y, x) = ((first + done) / w.output, (first + done) % w.output);
        let count = (w.output - x).min(row.len() - done);
        let part = &mut row[done..done + count];
        done += count;
        let Some(y) = h.at(y, ky) else {
            part.fill(0.0);
            continue;
        };
        let line = &plane[y * w.input..][..w.input];
        let (low, high) = valid(conv, kx);
        let (low, high) = (low.clamp(x, x + count), high.clamp(x, x + count));
        part[..low - x].fill(0.0);
        part[high.max(low) - x..].fill(0.0);
        if low < high {
            let begin = low * w.stride + kx * w.dilation - w.pad;
            let part = &mut part[low - x..high - x];
            if w.stride == 1 {
                part.copy_from_slice(&line[begin..begin + part.len()]);
            } else {
                for (to, from) in part.iter_mut().zip(line[begin..].iter().step_by(w.stride)) {
                    *to = *from;
                }
            }
        }
    }
}

/// The positions of a row at which the window's element `kx` is within the image.
fn valid(conv: &Conv, kx: usize) -> (usize, usize) {
    let w = conv.slides[1];
    let offset = kx * w.dilation;
    let low = w.pad.saturating_sub(offset).div_ceil(w.stride);
    let room = (w.input + w.pad).saturating_sub(offset);
    (low, room.div_ceil(w.stride).min(w.output))
}

/// One plane for each channel, row by row.
#[expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]
#[inline(always)]
fn depthwise(
    conv: &Conv,
    image: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    result: &mut [f32],
) -> Option<()> {
    let [h, w] = conv.slides;
    let (size, window) = (h.input * w.input, h.kernel * w.kernel);
    for plane in 0..conv.batch * conv.groups {
        let channel = plane % conv.groups;
        let from = &image[plane * size..][..size];
        let weights = &weight[channel * window..][..window];
        let to = &mut result[plane * h.output * w.output..][..h.output * w.output];
        for (y, row) in to.chunks_exact_mut(w.output.max(1)).enumerate() {
            row.fill(bias.map_or(0.0, |bias| bias[channel]));
            for ky in h.inside(y) {
                let line = &from[(y * h.stride + ky * h.dilation - h.pad) * w.input..][..w.input];
                for kx in 0..w.kernel {
                    let (low, high) = valid(conv, kx);
                    if low >= high {
                        continue;
                    }
                    let weight = weights[ky * w.kernel + kx];
                    let line = &line[low * w.stride + kx * w.dilation - w.pad..];
                    if w.stride == 1 {
                        for (sum, x) in row[low..high].iter_mut().zip(line) {
                            *sum += weight * x;
                        }
                    } else {
                        for (sum, x) in row[low..high].iter_mut().zip(line.iter().step_by(w.stride))
                        {
                            *sum += weight * x;
                        }
                    }
                }
            }
        }
        ended(conv.then, to)?;
    }
    Some(())
}
