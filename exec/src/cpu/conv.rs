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
use super::layout::{lay_out, valid};
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

pub(super) fn depth(conv: &Conv) -> usize {
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
pub(super) fn workspace(conv: &Conv, sizes: Sizes, made: bool) -> usize {
    if is_depthwise(conv) {
        return 0;
    }
    let weights = Shape::of_conv(conv, sizes).filter(|_| !made);
    let weights = weights.map_or(0, |shape| shape.panels());
    let tile = tile(conv, sizes);
    let laid = depth(conv).saturating_add(1).saturating_mul(tile);
    laid.saturating_add(weights)
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
    if self::workspace(conv, sizes, constant.is_some()) > workspace.len() {
        return None;
    }
    let (laid, rest) = workspace.split_at_mut(depth(conv) * tile(conv, sizes));
    let (line, own) = rest.split_at_mut(tile(conv, sizes));
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
                wide(|| lay_out(conv, at, image, (laid, line), sizes));
                multiply(conv, at, (weights, laid, bias), result, sizes);
            }
        }
    }
    Some(())
}

/// Some positions of one group of one image.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) batch: usize,
    pub(super) group: usize,
    pub(super) first: usize,
    pub(super) count: usize,
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
