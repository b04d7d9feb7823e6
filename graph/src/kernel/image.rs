//! Kernels that slide windows over images.

use super::{Needs, Unary, bytes_of, product};
use crate::dtype::DType;

/// Order of an image's axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[batch, channels, height, width]`.
    ChannelsFirst,
    /// `[batch, height, width, channels]`.
    ChannelsLast,
}

/// Order of a weight's axes. Groups are consecutive in the results' axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightLayout {
    /// `[groups · results, operands, height, width]`.
    ResultsFirst,
    /// `[groups · results, height, width, operands]`.
    OperandsLast,
    /// `[operands, groups · results, …]` with operands of all groups: `[groups · operands, results, height, width]`, of
    /// transposed convolutions.
    OperandsFirst,
    /// `[height, width, groups · results]`, one operand a group.
    Depthwise,
}

/// A window along one spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slide {
    /// Positions of the image.
    pub input: usize,
    /// Positions of the window.
    pub output: usize,
    /// Size of the window.
    pub kernel: usize,
    /// Step of the window.
    pub stride: usize,
    /// Distance of its elements.
    pub dilation: usize,
    /// Padding before the image.
    pub pad: usize,
}

impl Slide {
    /// An axis that is not there.
    pub const NONE: Self = Self {
        input: 1,
        output: 1,
        kernel: 1,
        stride: 1,
        dilation: 1,
        pad: 0,
    };

    /// Where the window's element `k` is at position `at`, if it is within the image.
    #[inline]
    pub fn at(&self, at: usize, k: usize) -> Option<usize> {
        let position = (at * self.stride + k * self.dilation).checked_sub(self.pad)?;
        (position < self.input).then_some(position)
    }

    /// The window's elements that are within the image at position `at`.
    pub fn inside(&self, at: usize) -> std::ops::Range<usize> {
        let start = at * self.stride;
        let first = self.pad.saturating_sub(start).div_ceil(self.dilation);
        let room = (self.input + self.pad).saturating_sub(start);
        let end = room.div_ceil(self.dilation).min(self.kernel);
        first.min(end)..end
    }

    /// Whether all its positions can be counted.
    fn is_sound(&self) -> bool {
        let far = |count: usize, step: usize| count.checked_mul(step);
        let end = far(self.output, self.stride)
            .zip(far(self.kernel, self.dilation))
            .and_then(|(a, b)| a.checked_add(b));
        let size = self.input.checked_add(self.pad);
        self.kernel > 0 && self.stride > 0 && self.dilation > 0 && end.is_some() && size.is_some()
    }
}

/// A convolution over two spatial axes. For each element of the result products are added up from 0, in
/// the order of the weight's axes (operands, height, width; or height, width, operands); then bias, then
/// activation. Elements outside the image count as 0; with [`WeightLayout::Depthwise`] they are
/// left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// Of operand and result.
    pub layout: Layout,
    /// Of the weight.
    pub weight: WeightLayout,
    /// Images.
    pub batch: usize,
    /// Groups of channels.
    pub groups: usize,
    /// Channels of the operand in a group.
    pub operands: usize,
    /// Channels of the result in a group.
    pub results: usize,
    /// Height, width.
    pub slides: [Slide; 2],
    /// Whether there is a third operand: one number for each channel of the result.
    pub bias: bool,
    /// Done with each element at last.
    pub then: Option<Unary>,
}

/// Elements that a convolution touches.
pub(super) struct ConvCounts {
    pub(super) image: Option<usize>,
    pub(super) weight: Option<usize>,
    /// Of the result.
    pub(super) channels: Option<usize>,
    pub(super) result: Option<usize>,
}

impl Conv {
    /// Elements of everything; nothing where the descriptor contradicts itself.
    pub(super) fn counts(&self, transposed: bool) -> Option<ConvCounts> {
        if !self.slides.iter().all(Slide::is_sound) {
            return None;
        }
        let [h, w] = self.slides;
        let (results, operands) = (
            product(&[self.groups, self.results]),
            product(&[self.groups, self.operands]),
        );
        let (ins, outs) = ([h.input, w.input], [h.output, w.output]);
        let (from, to) = if transposed { (outs, ins) } else { (ins, outs) };
        let fits = match self.weight {
            WeightLayout::Depthwise => {
                !transposed && self.operands == 1 && self.layout == Layout::ChannelsLast
            }
            WeightLayout::OperandsFirst => transposed,
            WeightLayout::ResultsFirst | WeightLayout::OperandsLast => true,
        };
        if !fits {
            return None;
        }
        Some(ConvCounts {
            image: product(&[self.batch, operands?, from[0], from[1]]),
            weight: product(&[results?, self.operands, h.kernel, w.kernel]),
            channels: results,
            result: product(&[self.batch, results?, to[0], to[1]]),
        })
    }

    pub(super) fn needs(&self, transposed: bool) -> Option<Needs> {
        let counts = self.counts(transposed)?;
        let mut reads = vec![
            bytes_of(counts.image, DType::F32)?,
            bytes_of(counts.weight, DType::F32)?,
        ];
        if self.bias {
            reads.push(bytes_of(counts.channels, DType::F32)?);
        }
        Some(Needs {
            reads,
            write: bytes_of(counts.result, DType::F32)?,
        })
    }

    pub(super) fn flops(&self) -> u64 {
        let positions = |s: &Slide| s.output.saturating_mul(s.kernel);
        let numbers = [self.batch, self.groups, self.results, self.operands];
        let numbers = numbers.into_iter().chain(self.slides.iter().map(positions));
        numbers.fold(2_u64, |all, n| all.saturating_mul(n as u64))
    }
}

/// What a pool keeps of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The largest element.
    Max,
    /// The mean of the elements within the image.
    Average,
    /// The mean over the window as far as image and padding reach; `end` is the padding behind the image.
    AveragePadded {
        /// Height, width.
        end: [usize; 2],
    },
}

/// Pooling over two spatial axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// What is kept.
    pub pooling: Pooling,
    /// Of operand and result.
    pub layout: Layout,
    /// Images.
    pub batch: usize,
    /// Channels.
    pub channels: usize,
    /// Height, width.
    pub slides: [Slide; 2],
    /// Done with each element at last.
    pub then: Option<Unary>,
}

impl Pool {
    /// Elements of image and result.
    pub(super) fn counts(&self) -> Option<[Option<usize>; 2]> {
        let [h, w] = self.slides;
        let image = product(&[self.batch, self.channels, h.input, w.input]);
        let result = product(&[self.batch, self.channels, h.output, w.output]);
        let sound = self.slides.iter().all(Slide::is_sound);
        sound.then_some([image, result])
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        let [image, result] = self.counts()?;
        Some(Needs {
            reads: vec![bytes_of(image, DType::F32)?],
            write: bytes_of(result, DType::F32)?,
        })
    }

    pub(super) fn flops(&self) -> u64 {
        let positions = |s: &Slide| s.output.saturating_mul(s.kernel) as u64;
        let each = self.slides.iter().map(positions);
        let each = each.fold(1, u64::saturating_mul);
        each.saturating_mul(self.batch.saturating_mul(self.channels) as u64)
    }
}

/// Local response normalization: x / (bias + alpha / size · Σ x²)^beta over neighbouring channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Lrn {
    /// Images.
    pub outer: usize,
    /// Channels.
    pub channels: usize,
    /// Elements of a channel; with channels last, 1.
    pub inner: usize,
    /// Channels in the sum.
    pub size: usize,
    /// Factor.
    pub alpha: f32,
    /// Exponent.
    pub beta: f32,
    /// Summand.
    pub bias: f32,
}

impl Lrn {
    pub(super) fn needs(&self) -> Option<Needs> {
        let bytes = bytes_of(
            product(&[self.outer, self.channels, self.inner]),
            DType::F32,
        )?;
        (self.size > 0).then(|| Needs {
            reads: vec![bytes],
            write: bytes,
        })
    }
}

/// An axis along which elements are mixed.
#[derive(Clone, Debug, PartialEq)]
pub struct TapAxis {
    /// Positions of the result.
    pub count: usize,
    /// Elements that are mixed at each position.
    pub taps: usize,
    /// `count · taps` times: offset in elements of the operand, and weight.
    pub table: Vec<(usize, f32)>,
}

/// Resampling: every element of the (dense) result is the sum over the taps of all axes of the products
/// of their weights with the element at the sum of their offsets. f32.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolate {
    /// Outermost first.
    pub axes: Vec<TapAxis>,
}

impl Interpolate {
    pub(super) fn needs(&self) -> Option<Needs> {
        let counts: Vec<usize> = self.axes.iter().map(|axis| axis.count).collect();
        let mut reach = 0_usize;
        for axis in &self.axes {
            if axis.taps == 0 || axis.count.checked_mul(axis.taps)? != axis.table.len() {
                return None;
            }
            let most = axis.table.iter().map(|tap| tap.0).max().unwrap_or(0);
            reach = reach.checked_add(most)?;
        }
        let all = product(&counts)?;
        let reads = if all == 0 { 0 } else { reach.checked_add(1)? };
        Some(Needs {
            reads: vec![bytes_of(Some(reads), DType::F32)?],
            write: bytes_of(Some(all), DType::F32)?,
        })
    }
}
