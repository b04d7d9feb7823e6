//! Convolution: for each element of the result, products added up in the order of the weight's axes.
//!
//! Several elements of the result are computed side by side; each of them adds up alone, in order. Elements outside
//! the image count as 0, and products with them are added as well.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::Operand;
use super::elements::{Float, floats_mut, get, operand, put};
use super::functions;
use crate::vector::wide;
use bayplan_graph::kernel::{Conv, Layout, WeightLayout};

/// Channels of the result that are computed side by side.
const ROWS: usize = 4;
/// Positions of the result that are computed side by side.
const COLUMNS: usize = 16;
/// Weights that are met one after the other before others are.
const DEPTH: usize = 64;

/// Elements between neighbours.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) batch: usize,
    pub(super) channel: usize,
    pub(super) y: usize,
    pub(super) x: usize,
}

impl Strides {
    /// Of an image.
    pub(super) fn new(layout: Layout, channels: usize, height: usize, width: usize) -> Self {
        let batch = channels * height * width;
        match layout {
            Layout::ChannelsFirst => Self {
                batch,
                channel: height * width,
                y: width,
                x: 1,
            },
            Layout::ChannelsLast => Self {
                batch,
                channel: 1,
                y: width * channels,
                x: channels,
            },
        }
    }
}

/// The weight's strides: result, operand, height, width.
pub(super) fn weight_strides(conv: &Conv) -> [usize; 4] {
    let [h, w] = conv.slides.map(|slide| slide.kernel);
    match conv.weight {
        WeightLayout::ResultsFirst => [conv.operands * h * w, h * w, w, 1],
        WeightLayout::OperandsLast => [h * w * conv.operands, 1, w * conv.operands, conv.operands],
        WeightLayout::OperandsFirst => [h * w, conv.results * h * w, w, 1],
        WeightLayout::Depthwise => {
            let results = conv.groups * conv.results;
            [1, 0, w * results, results]
        }
    }
}

/// What all tiles share.
struct Job<'a> {
    conv: &'a Conv,
    image: &'a [Float],
    weight: &'a [Float],
    bias: Option<&'a [Float]>,
    from: Strides,
    to: Strides,
}

/// Where a tile is: an image, a group of channels, a row, and positions in it.
#[derive(Clone, Copy)]
struct At {
    image: usize,
    group: usize,
    y: usize,
    x: usize,
    columns: usize,
}

/// Elements of the operand under consecutive weights, at the positions of a tile.
type Patch = [[f32; COLUMNS]; DEPTH];

pub(super) fn run(conv: &Conv, operands: &[Operand<'_>], result: &mut [u8]) {
    let [h, w] = conv.slides;
    let (ins, outs) = (conv.groups * conv.operands, conv.groups * conv.results);
    let job = Job {
        conv,
        image: operand(operands, 0),
        weight: operand(operands, 1),
        bias: conv.bias.then(|| operand(operands, 2)),
        from: Strides::new(conv.layout, ins, h.input, w.input),
        to: Strides::new(conv.layout, outs, h.output, w.output),
    };
    let result = floats_mut(result);
    let apart = (conv.layout, conv.weight) == (Layout::ChannelsLast, WeightLayout::Depthwise);
    if apart {
        wide(|| job.depthwise(result));
    } else {
        wide(|| job.groups(result));
    }
}

/// All pairs, the second number faster.
#[inline(always)]
pub(super) fn pairs(first: usize, second: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..first).flat_map(move |a| (0..second).map(move |b| (a, b)))
}

impl Job<'_> {
    #[inline(always)]
    fn groups(&self, result: &mut [Float]) {
        let [h, w] = self.conv.slides;
        let mut patch = [[0.0; COLUMNS]; DEPTH];
        for (image, group) in pairs(self.conv.batch, self.conv.groups) {
            for y in 0..h.output {
                for x in (0..w.output).step_by(COLUMNS) {
                    let columns = COLUMNS.min(w.output - x);
                    let at = At {
                        image,
                        group,
                        y,
                        x,
                        columns,
                    };
                    self.tile(at, &mut patch, result);
                }
            }
        }
    }

    /// All channels of a group, at the positions of a tile. Sums stand in the result while they grow.
    #[inline(always)]
    fn tile(&self, at: At, patch: &mut Patch, result: &mut [Float]) {
        let [h, w] = self.conv.slides;
        let channel = at.group * self.conv.results;
        let place = at.image * self.to.batch + channel * self.to.channel;
        let place = place + at.y * self.to.y + at.x * self.to.x;
        let depth = self.conv.operands * h.kernel * w.kernel;
        for first in (0..depth).step_by(DEPTH) {
            let count = DEPTH.min(depth - first);
            self.fill(at, first, &mut patch[..count]);
            for row in (0..self.conv.results).step_by(ROWS) {
                let rows = ROWS.min(self.conv.results - row);
                let to = place + row * self.to.channel;
                let mut sums = [[0.0; COLUMNS]; ROWS];
                if first > 0 {
                    self.each(to, (rows, at.columns), |r, c, to| {
                        sums[r][c] = get(result, to);
                    });
                }
                let weights: [&[Float]; ROWS] = std::array::from_fn(|r| {
                    let row = channel + row + r.min(rows - 1);
                    &self.weight[row * depth + first..][..count]
                });
                let sums = added(sums, &weights, &patch[..count]);
                self.each(to, (rows, at.columns), |r, c, to| {
                    put(result, to, sums[r][c]);
                });
            }
        }
        let all = (self.conv.results, at.columns);
        self.each(place, all, |r, _, to| {
            let sum = if depth == 0 { 0.0 } else { get(result, to) };
            put(result, to, self.ended(sum, channel + r));
        });
    }

    /// Rows, columns and places of elements of the result.
    #[inline(always)]
    fn each(
        &self,
        from: usize,
        (rows, columns): (usize, usize),
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        for row in 0..rows {
            for column in 0..columns {
                visit(
                    row,
                    column,
                    from + row * self.to.channel + column * self.to.x,
                );
            }
        }
    }

    /// What the weights from `first` on meet; outside the image there is 0.
    #[inline(always)]
    fn fill(&self, at: At, first: usize, patch: &mut [[f32; COLUMNS]]) {
        let [h, w] = self.conv.slides;
        let base = at.image * self.from.batch;
        let base = base + at.group * self.conv.operands * self.from.channel;
        for (k, values) in patch.iter_mut().enumerate() {
            let [operand, ky, kx] = self.axes(first + k);
            *values = [0.0; COLUMNS];
            let Some(y) = h.at(at.y, ky) else { continue };
            let row = base + operand * self.from.channel + y * self.from.y;
            for (column, value) in values.iter_mut().enumerate().take(at.columns) {
                if let Some(x) = w.at(at.x + column, kx) {
                    *value = get(self.image, row + x * self.from.x);
                }
            }
        }
    }

    /// Operand, height and width of a weight by its position.
    #[inline(always)]
    fn axes(&self, position: usize) -> [usize; 3] {
        let [h, w] = self.conv.slides.map(|slide| slide.kernel);
        if self.conv.weight == WeightLayout::ResultsFirst {
            [position / (h * w), position / w % h, position % w]
        } else {
            let (operands, window) = (self.conv.operands, position / self.conv.operands);
            [position % operands, window / w, window % w]
        }
    }

    /// Bias and activation.
    #[inline(always)]
    fn ended(&self, sum: f32, channel: usize) -> f32 {
        let sum = self.bias.map_or(sum, |bias| sum + get(bias, channel));
        self.conv
            .then
            .map_or(sum, |then| functions::unary(then, sum))
    }

    /// One channel of the operand for each of the result, side by side.
    #[inline(always)]
    fn depthwise(&self, result: &mut [Float]) {
        let [h, w] = self.conv.slides;
        let (channels, each) = (self.conv.groups * self.conv.results, self.conv.results);
        for (image, y) in pairs(self.conv.batch, h.output) {
            for x in 0..w.output {
                let place = image * self.to.batch + y * self.to.y + x * self.to.x;
                for first in (0..channels).step_by(COLUMNS) {
                    let count = COLUMNS.min(channels - first);
                    let mut sums = [0.0; COLUMNS];
                    for ky in h.inside(y) {
                        let row = (y * h.stride + ky * h.dilation - h.pad) * self.from.y;
                        for kx in w.inside(x) {
                            let at = (x * w.stride + kx * w.dilation - w.pad) * self.from.x;
                            let from = image * self.from.batch + row + at;
                            let weight = (ky * w.kernel + kx) * channels + first;
                            let weights = &self.weight[weight..weight + count];
                            if each > 1 {
                                for (c, (sum, weight)) in sums.iter_mut().zip(weights).enumerate() {
                                    let value = get(self.image, from + (first + c) / each);
                                    *sum += f32::from_le_bytes(*weight) * value;
                                }
                                continue;
                            }
                            let values = &self.image[from + first..][..count];
                            for ((sum, value), weight) in sums.iter_mut().zip(values).zip(weights) {
                                *sum += f32::from_le_bytes(*weight) * f32::from_le_bytes(*value);
                            }
                        }
                    }
                    for (c, &sum) in sums.iter().enumerate().take(count) {
                        put(result, place + first + c, self.ended(sum, first + c));
                    }
                }
            }
        }
    }
}

/// Products added one after the other, for each element of a tile.
#[inline(always)]
fn added(
    mut sums: [[f32; COLUMNS]; ROWS],
    weights: &[&[Float]; ROWS],
    patch: &[[f32; COLUMNS]],
) -> [[f32; COLUMNS]; ROWS] {
    for (k, values) in patch.iter().enumerate() {
        for (sums, weights) in sums.iter_mut().zip(weights) {
            let weight = get(weights, k);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
    }
    sums
}
