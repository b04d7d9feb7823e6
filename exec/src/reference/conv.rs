//! Convolution: for each element of the result, products added up in the order of the weight's axes.
//!
//! Several elements of the result are computed side by side; each of them adds up alone, in order.

use super::Operand;
use super::elements::{Float, floats_mut, get, operand, put};
use super::functions;
use bayplan_graph::kernel::{Conv, Layout, Slide, WeightLayout};

/// Channels of the result that are computed side by side.
const ROWS: usize = 4;
/// Positions of the result that are computed side by side.
const COLUMNS: usize = 8;

/// Sums of a tile.
type Tile = [[f32; COLUMNS]; ROWS];

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
    from: Strides,
    weights: [usize; 4],
}

/// Where a tile is.
#[derive(Clone, Copy)]
struct At {
    /// First element of the group's channels in the image.
    image: usize,
    /// First weight of the tile's first channel of the result.
    weight: usize,
    /// Channels of the tile.
    rows: usize,
    y: usize,
    x: usize,
    /// Positions of the tile.
    columns: usize,
}

pub(super) fn run(conv: &Conv, operands: &[Operand<'_>], result: &mut [u8]) {
    let [h, w] = conv.slides;
    let (ins, outs) = (conv.groups * conv.operands, conv.groups * conv.results);
    let job = Job {
        conv,
        image: operand(operands, 0),
        weight: operand(operands, 1),
        from: Strides::new(conv.layout, ins, h.input, w.input),
        weights: weight_strides(conv),
    };
    let to = Strides::new(conv.layout, outs, h.output, w.output);
    let bias = conv.bias.then(|| operand(operands, 2));
    let result = floats_mut(result);
    for (image, group) in pairs(conv.batch, conv.groups) {
        for first in (0..conv.results).step_by(ROWS) {
            let channel = group * conv.results + first;
            for (y, x) in pairs(h.output, w.output.div_ceil(COLUMNS)) {
                let x = x * COLUMNS;
                let at = At {
                    image: image * job.from.batch + group * conv.operands * job.from.channel,
                    weight: start(conv, job.weights, group, first),
                    rows: ROWS.min(conv.results - first),
                    y,
                    x,
                    columns: COLUMNS.min(w.output - x),
                };
                let tile = job.tile(at);
                let place = image * to.batch + channel * to.channel + y * to.y + x * to.x;
                for (row, sums) in tile.iter().enumerate().take(at.rows) {
                    for (column, &sum) in sums.iter().enumerate().take(at.columns) {
                        let sum = bias.map_or(sum, |bias| sum + get(bias, channel + row));
                        let sum = conv.then.map_or(sum, |then| functions::unary(then, sum));
                        put(result, place + row * to.channel + column * to.x, sum);
                    }
                }
            }
        }
    }
}

/// All pairs, the second number faster.
pub(super) fn pairs(first: usize, second: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..first).flat_map(move |a| (0..second).map(move |b| (a, b)))
}

/// The first weight of a channel of the result.
fn start(conv: &Conv, weights: [usize; 4], group: usize, result: usize) -> usize {
    (group * conv.results + result) * weights[0]
}

impl Job<'_> {
    fn tile(&self, at: At) -> Tile {
        let mut tile = [[0.0; COLUMNS]; ROWS];
        let [h, w] = self.conv.slides;
        let inside = h.inside(at.y);
        let whole = (at.x..at.x + COLUMNS).all(|x| w.inside(x) == (0..w.kernel));
        if self.conv.weight == WeightLayout::ResultsFirst {
            for operand in 0..self.conv.operands {
                for ky in inside.clone() {
                    for kx in 0..w.kernel {
                        self.add(&mut tile, at, (operand, ky, kx), whole, (h, w));
                    }
                }
            }
            return tile;
        }
        for ky in inside {
            for kx in 0..w.kernel {
                for operand in 0..self.conv.operands {
                    self.add(&mut tile, at, (operand, ky, kx), whole, (h, w));
                }
            }
        }
        tile
    }

    /// One product for each element of the tile. `whole`: all of the window is within the image, at all
    /// positions.
    #[inline]
    fn add(
        &self,
        tile: &mut Tile,
        at: At,
        (operand, ky, kx): (usize, usize, usize),
        whole: bool,
        (h, w): (Slide, Slide),
    ) {
        let y = at.y * h.stride + ky * h.dilation - h.pad;
        let row = at.image + operand * self.from.channel + y * self.from.y;
        let [to_result, to_operand, to_y, to_x] = self.weights;
        let first = at.weight + operand * to_operand + ky * to_y + kx * to_x;
        let weights: [f32; ROWS] = std::array::from_fn(|row| {
            let row = row.min(at.rows - 1);
            get(self.weight, first + row * to_result)
        });
        if whole && at.columns == COLUMNS {
            let begin = row + (at.x * w.stride + kx * w.dilation - w.pad) * self.from.x;
            let step = w.stride * self.from.x;
            let values = gathered(self.image, begin, step);
            for (sums, weight) in tile.iter_mut().zip(weights) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += weight * value;
                }
            }
            return;
        }
        for column in 0..at.columns {
            if let Some(x) = w.at(at.x + column, kx) {
                let value = get(self.image, row + x * self.from.x);
                for (sums, weight) in tile.iter_mut().zip(weights) {
                    sums[column] += weight * value;
                }
            }
        }
    }
}

/// So many elements, `step` apart.
#[inline]
fn gathered(list: &[Float], begin: usize, step: usize) -> [f32; COLUMNS] {
    if step == 1 {
        let list = &list[begin..begin + COLUMNS];
        std::array::from_fn(|column| f32::from_le_bytes(list[column]))
    } else {
        std::array::from_fn(|column| get(list, begin + column * step))
    }
}
