//! Convolution as matrix products: what the weights meet is laid out in panels, some positions at a time.
//!
//! Channels first: weights are the rows, positions the columns. Channels last: positions are the rows, weights the
//! columns. Weights are constants mostly, and their panels were made before the run.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::gemm::ended;
use super::kernel::{Panels, Sizes, Tile as Sums, pack, packed};
use super::packed::{Packed, Shape};
use super::{floats, floats_mut, functions};
use crate::reference::Operand;
use crate::vector::wide;
use bayplan_graph::kernel::{Conv, Layout};
use pulp::Arch;

/// Elements of panels that are laid out at a time, about.
const TILE: usize = 1 << 17;

/// One operand and one result in each group.
pub(super) fn is_depthwise(conv: &Conv) -> bool {
    conv.operands == 1 && conv.results == 1 && conv.groups > 1
}

fn depth(conv: &Conv) -> usize {
    conv.operands * conv.slides[0].kernel * conv.slides[1].kernel
}

fn positions(conv: &Conv) -> usize {
    conv.slides[0].output * conv.slides[1].output
}

/// Positions of a panel.
fn across(conv: &Conv, sizes: Sizes) -> usize {
    if conv.layout == Layout::ChannelsFirst {
        sizes.width
    } else {
        sizes.rows
    }
}

/// Positions that are laid out at a time: whole panels.
fn tile(conv: &Conv, sizes: Sizes) -> usize {
    let across = across(conv, sizes);
    let panels = TILE / (depth(conv) * across).max(1);
    panels.clamp(1, positions(conv).div_ceil(across).max(1)) * across
}

/// Elements that are needed beside operands and result: panels of positions, and those of weights that are no constant.
pub(super) fn workspace(conv: &Conv, sizes: Sizes) -> usize {
    if is_depthwise(conv) {
        return 0;
    }
    let weights = Shape::of_conv(conv, sizes).map_or(0, |shape| shape.panels());
    depth(conv)
        .saturating_mul(tile(conv, sizes))
        .saturating_add(weights)
}

/// Nothing where the reference has to do it.
pub(super) fn run(
    conv: &Conv,
    operands: &[Operand<'_>],
    result: &mut [u8],
    (made, workspace, sizes): (&Packed, &mut [f32], Sizes),
) -> Option<()> {
    let image = floats(operands, 0)?;
    let bias = if conv.bias {
        Some(floats(operands, 2)?)
    } else {
        None
    };
    if functions::is_missing(conv.then) {
        return None;
    }
    if is_depthwise(conv) {
        if conv.layout == Layout::ChannelsLast {
            return None;
        }
        let (weight, result) = (floats(operands, 1)?, floats_mut(result)?);
        wide(|| depthwise(conv, image, weight, bias, result));
        return Some(());
    }
    let shape = Shape::of_conv(conv, sizes)?;
    let result = floats_mut(result)?;
    let constant = made.get(&shape, operands[1]);
    let (laid, own) = workspace.split_at_mut(depth(conv) * tile(conv, sizes));
    for group in 0..conv.groups {
        let weights = if let Some(panels) = constant {
            &panels[group * shape.panels()..][..shape.panels()]
        } else {
            let weight = &floats(operands, 1)?[group * shape.from_group..];
            let own = &mut own[..shape.panels()];
            let (outer, inner) = shape.strides;
            wide(|| {
                pack((shape.count, shape.depth, shape.size), own, |one, k| {
                    weight[one * outer + k * inner]
                });
            });
            &*own
        };
        for batch in 0..conv.batch {
            let all = positions(conv);
            for first in (0..all).step_by(tile(conv, sizes)) {
                let count = tile(conv, sizes).min(all - first);
                let at = At {
                    batch,
                    group,
                    first,
                    count,
                };
                let laid = &mut laid[..packed(count, depth(conv), across(conv, sizes))];
                wide(|| lay_out(conv, at, image, laid, sizes));
                multiply(conv, at, (weights, laid, bias), result, sizes);
            }
        }
    }
    Some(())
}

/// Some positions of one group of one image.
#[derive(Clone, Copy)]
struct At {
    batch: usize,
    group: usize,
    first: usize,
    count: usize,
}

/// Products of the panels, with bias and activation.
fn multiply(
    conv: &Conv,
    at: At,
    (weights, laid, bias): (&[f32], &[f32], Option<&[f32]>),
    result: &mut [f32],
    sizes: Sizes,
) {
    let outs = conv.groups * conv.results;
    let (all, channel) = (positions(conv), at.group * conv.results);
    if conv.layout == Layout::ChannelsFirst {
        let place = (at.batch * outs + channel) * all + at.first;
        Arch::new().dispatch(Panels {
            depth: depth(conv),
            sizes,
            rows: weights,
            columns: laid,
            rows_first: true,
            end: |row: usize, column: usize, tile: &Sums| {
                let left = column * sizes.width;
                let columns = sizes.width.min(at.count - left);
                for (r, sums) in tile
                    .iter()
                    .enumerate()
                    .take((conv.results - row * sizes.rows).min(sizes.rows))
                {
                    let r = row * sizes.rows + r;
                    let start = bias.map_or(0.0, |bias| bias[channel + r]);
                    let to = &mut result[place + r * all + left..][..columns];
                    for (to, sum) in to.iter_mut().zip(sums) {
                        *to = sum + start;
                    }
                    ended(conv.then, to);
                }
            },
        });
        return;
    }
    let place = (at.batch * all + at.first) * outs + channel;
    Arch::new().dispatch(Panels {
        depth: depth(conv),
        sizes,
        rows: laid,
        columns: weights,
        rows_first: false,
        end: |row: usize, column: usize, tile: &Sums| {
            let left = column * sizes.width;
            let columns = sizes.width.min(conv.results - left);
            for (r, sums) in tile
                .iter()
                .enumerate()
                .take((at.count - row * sizes.rows).min(sizes.rows))
            {
                let to = &mut result[place + (row * sizes.rows + r) * outs + left..][..columns];
                to.copy_from_slice(&sums[..columns]);
                if let Some(bias) = bias {
                    for (to, bias) in to.iter_mut().zip(&bias[channel + left..]) {
                        *to += bias;
                    }
                }
                ended(conv.then, to);
            }
        },
    });
}

/// What the weights of each position meet, in order of the weight's axes: panels of positions.
#[inline(always)]
fn lay_out(conv: &Conv, at: At, image: &[f32], laid: &mut [f32], sizes: Sizes) {
    let [h, w] = conv.slides;
    let (ins, size) = (conv.groups * conv.operands, h.input * w.input);
    let window = h.kernel * w.kernel;
    let Sizes { rows, width } = sizes;
    if conv.layout == Layout::ChannelsFirst {
        let base = (at.batch * ins + at.group * conv.operands) * size;
        for (panel, to) in laid.chunks_exact_mut(depth(conv) * width).enumerate() {
            let first = at.first + panel * width;
            let count = sizes.width.min(at.first + at.count - first);
            for (k, row) in to.chunks_exact_mut(width).enumerate() {
                let (operand, ky, kx) = (k / window, k / w.kernel % h.kernel, k % w.kernel);
                let plane = &image[base + operand * size..][..size];
                laid_row(conv, first, (ky, kx), plane, &mut row[..count]);
                row[count..].fill(0.0);
            }
        }
        return;
    }
    let base = at.batch * size * ins + at.group * conv.operands;
    for (panel, to) in laid.chunks_exact_mut(depth(conv) * rows).enumerate() {
        for row in 0..rows {
            let position = panel * rows + row;
            let (y, x) = (
                (at.first + position) / w.output,
                (at.first + position) % w.output,
            );
            for (k, part) in to.chunks_exact_mut(conv.operands * rows).enumerate() {
                let inside = h.at(y, k / w.kernel).zip(w.at(x, k % w.kernel));
                let inside = inside.filter(|_| position < at.count);
                let part = part.iter_mut().skip(row).step_by(rows);
                match inside {
                    Some((y, x)) => {
                        let from = &image[base + (y * w.input + x) * ins..][..conv.operands];
                        part.zip(from).for_each(|(to, from)| *to = *from);
                    }
                    None => part.for_each(|to| *to = 0.0),
                }
            }
        }
    }
}

/// What one weight meets, at consecutive positions.
#[inline(always)]
fn laid_row(conv: &Conv, first: usize, (ky, kx): (usize, usize), plane: &[f32], row: &mut [f32]) {
    let [h, w] = conv.slides;
    let (low, high) = valid(conv, kx);
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
#[inline(always)]
fn valid(conv: &Conv, kx: usize) -> (usize, usize) {
    let w = conv.slides[1];
    let offset = kx * w.dilation;
    let low = w.pad.saturating_sub(offset).div_ceil(w.stride);
    let room = (w.input + w.pad).saturating_sub(offset);
    (low, room.div_ceil(w.stride).min(w.output))
}

/// One plane for each channel, row by row.
#[inline(always)]
fn depthwise(conv: &Conv, image: &[f32], weight: &[f32], bias: Option<&[f32]>, result: &mut [f32]) {
    let [h, w] = conv.slides;
    let (size, window) = (h.input * w.input, h.kernel * w.kernel);
    for plane in 0..conv.batch * conv.groups {
        let channel = plane % conv.groups;
        let from = &image[plane * size..][..size];
        let weights = &weight[channel * window..][..window];
        let to = &mut result[plane * positions(conv)..][..positions(conv)];
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
                    let row = row[low..high].iter_mut();
                    if w.stride == 1 {
                        row.zip(line).for_each(|(sum, x)| *sum += weight * x);
                    } else {
                        let line = line.iter().step_by(w.stride);
                        row.zip(line).for_each(|(sum, x)| *sum += weight * x);
                    }
                }
            }
        }
        ended(conv.then, to);
    }
}
