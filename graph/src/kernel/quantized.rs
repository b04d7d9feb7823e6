//! Kernels on 8-bit integers that stand for real numbers: `real = scale · (byte − zero)`.
//!
//! Every scale is resolved into integers here: a [`super::fixed::Scale`] for sums of products, tables of 256 numbers
//! where a function looks at one byte. Results are the same to the bit on every machine.

use super::index::Broadcast;
use super::{Conv, Needs, Pool, Pooling, bytes_of, product};
use crate::dtype::DType;

pub use super::level::{Factors, Level, Requantize};

/// Convolution. Operands: image, weight, and perhaps bias (i32). The geometry's `then` is nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedConv {
    /// Where elements are.
    pub geometry: Conv,
    /// Of the image.
    pub image: Level,
    /// Of the weight.
    pub weight: Level,
    /// Of the result, by channel.
    pub result: Requantize,
}

/// `a · bᵀ + bias`: a is `[m, k]`, b is `[n, k]`, bias (i32, perhaps) is `[n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedMatMul {
    /// Rows of a.
    pub m: usize,
    /// Rows of b.
    pub n: usize,
    /// Products in a sum.
    pub k: usize,
    /// Of a.
    pub a: Level,
    /// Of b.
    pub b: Level,
    /// Whether there is a third operand.
    pub bias: bool,
    /// Of the result, by row of b.
    pub result: Requantize,
}

/// Pooling of bytes whose scale does not change. Means are rounded, halves away from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedPool {
    /// Where elements are, and what is kept; its `then` is nothing.
    pub geometry: Pool,
    /// Whether bytes are signed.
    pub signed: bool,
    /// Not below.
    pub low: i32,
    /// Not above.
    pub high: i32,
}

/// Two operands joined element by element.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedJoin {
    /// How.
    pub join: Join,
    /// How they are stretched.
    pub broadcast: Broadcast,
    /// Of the result; one scale.
    pub result: Requantize,
}

/// How two bytes become a number to scale.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Join {
    /// The sum of what both tables say.
    Sum(Box<[[i32; 256]; 2]>),
    /// The product of both.
    Product([Level; 2]),
}

/// A function of one byte: the result is `table[byte]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// By byte of the operand, as unsigned.
    pub table: Box<[u8; 256]>,
    /// Elements.
    pub count: usize,
}

/// Softmax along the innermost axis.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedSoftmax {
    /// Rows.
    pub outer: usize,
    /// Elements of a row; at most 4,095, so that sums fit.
    pub axis: usize,
    /// Whether bytes are signed.
    pub signed: bool,
    /// `exps[d]`: the exponential of an element d below the largest of its row, as a fraction of 2^31.
    pub exps: Box<[i32; 256]>,
}

impl QuantizedSoftmax {
    /// Factor of an exponential (a fraction of 2^31) and the bits by which the product is shifted to
    /// the right, from the sum of a row's exponentials (each a fraction of 2^19).
    #[inline]
    pub fn share(sum: i32) -> (i32, u32) {
        let free = sum.leading_zeros();
        let beyond_one = sum.wrapping_shl(free).wrapping_sub(i32::MIN);
        (
            super::fixed::reciprocal_of_more(beyond_one),
            (12 + 23) - free,
        )
    }
}

/// Means of bytes, or sums of them.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantizedReduce {
    /// Count and stride of each axis that is left, outermost first.
    pub kept: Vec<(usize, usize)>,
    /// Count and stride of each axis that goes, outermost first.
    pub reduced: Vec<(usize, usize)>,
    /// Of the operand.
    pub operand: Level,
    /// Of the result; one scale.
    pub result: Requantize,
}

/// Real numbers (f32) to bytes: divided by the scale, rounded (halves away from 0), the zero added,
/// clamped to the kind of byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToBytes {
    /// The scale.
    pub scale: f32,
    /// Of the result.
    pub level: Level,
    /// Elements.
    pub count: usize,
}

impl ToBytes {
    /// The byte of a number.
    #[inline]
    pub fn byte(self, x: f32) -> u8 {
        let (low, high) = if self.level.signed {
            (-128, 127)
        } else {
            (0, 255)
        };
        #[expect(clippy::cast_possible_truncation, reason = "ends at the limits")]
        let number = (x / self.scale).round() as i32;
        number
            .saturating_add(self.level.zero)
            .clamp(low, high)
            .to_le_bytes()[0]
    }
}

/// Bytes to real numbers (f32). Scales and zeros change along one axis, or there is one of each.
#[derive(Clone, Debug, PartialEq)]
pub struct FromBytes {
    /// One, or as many as `zeros`: by position along the axis.
    pub scales: Vec<f32>,
    /// Likewise.
    pub zeros: Vec<i32>,
    /// Whether bytes are signed.
    pub signed: bool,
    /// Elements behind the axis.
    pub inner: usize,
    /// Elements.
    pub count: usize,
}

impl FromBytes {
    /// The number of a byte, for the element at this place.
    #[inline]
    pub fn number(&self, place: usize, byte: u8) -> f32 {
        let axis = if self.scales.len() == 1 {
            0
        } else {
            place / self.inner % self.scales.len()
        };
        let zero = self.zeros[axis];
        let signed = self.signed;
        #[expect(clippy::cast_precision_loss, reason = "a byte less a byte")]
        let number = Level { signed, zero }.of(byte) as f32;
        self.scales[axis] * number
    }
}

/// A kernel on bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Quantized {
    /// Convolution.
    Conv(QuantizedConv),
    /// Matrix product.
    MatMul(QuantizedMatMul),
    /// Pooling.
    Pool(QuantizedPool),
    /// Two operands, element by element.
    Join(QuantizedJoin),
    /// A function of one byte.
    Lookup(Lookup),
    /// Softmax.
    Softmax(QuantizedSoftmax),
    /// Mean or sum.
    Reduce(QuantizedReduce),
    /// From real numbers.
    ToBytes(ToBytes),
    /// To real numbers.
    FromBytes(FromBytes),
}

impl Quantized {
    pub(super) fn needs(&self) -> Option<Needs> {
        match self {
            Self::Conv(conv) => conv.needs(),
            Self::MatMul(product) => product.needs(),
            Self::Pool(pool) => pool.needs(),
            Self::Join(join) => join.needs(),
            Self::Lookup(lookup) => bytes(&[(Some(lookup.count), DType::I8)], Some(lookup.count)),
            Self::Softmax(softmax) => {
                let all = product(&[softmax.outer, softmax.axis]);
                let fits = softmax.axis <= 4095 && softmax.exps[0] == i32::MAX;
                let fits = fits && softmax.exps.iter().all(|&exp| exp >= 0);
                fits.then(|| bytes(&[(all, DType::I8)], all))?
            }
            Self::Reduce(reduce) => reduce.needs(),
            Self::ToBytes(to) => bytes(&[(Some(to.count), DType::F32)], Some(to.count)),
            Self::FromBytes(from) => from.needs(),
        }
    }

    pub(super) fn in_place(&self, operand: usize) -> bool {
        match self {
            Self::Join(join) => join.broadcast.is_whole(operand),
            Self::Lookup(_) | Self::Softmax(_) => operand == 0,
            _ => false,
        }
    }

    /// A word for listings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conv(_) => "conv-8bit",
            Self::MatMul(_) => "matmul-8bit",
            Self::Pool(_) => "pool-8bit",
            Self::Join(_) => "join-8bit",
            Self::Lookup(_) => "lookup-8bit",
            Self::Softmax(_) => "softmax-8bit",
            Self::Reduce(_) => "reduce-8bit",
            Self::ToBytes(_) => "quantize",
            Self::FromBytes(_) => "dequantize",
        }
    }
}

/// Needs of a kernel that writes bytes.
fn bytes(reads: &[(Option<usize>, DType)], write: Option<usize>) -> Option<Needs> {
    let reads = reads.iter().map(|&(count, dtype)| bytes_of(count, dtype));
    Some(Needs {
        reads: reads.collect::<Option<_>>()?,
        write: bytes_of(write, DType::I8)?,
    })
}

impl QuantizedConv {
    fn needs(&self) -> Option<Needs> {
        let counts = self.geometry.counts(false)?;
        if !self.result.is_sound(counts.channels?) || self.geometry.then.is_some() {
            return None;
        }
        let mut reads = vec![(counts.image, DType::I8), (counts.weight, DType::I8)];
        if self.geometry.bias {
            reads.push((counts.channels, DType::I32));
        }
        bytes(&reads, counts.result)
    }
}

impl QuantizedMatMul {
    fn needs(&self) -> Option<Needs> {
        if !self.result.is_sound(self.n) {
            return None;
        }
        let mut reads = vec![
            (product(&[self.m, self.k]), DType::I8),
            (product(&[self.n, self.k]), DType::I8),
        ];
        if self.bias {
            reads.push((Some(self.n), DType::I32));
        }
        bytes(&reads, product(&[self.m, self.n]))
    }
}

impl QuantizedPool {
    fn needs(&self) -> Option<Needs> {
        let [image, result] = self.geometry.counts()?;
        let meant = matches!(self.geometry.pooling, Pooling::Max | Pooling::Average);
        let within = self.low <= self.high && self.low >= -128 && self.high <= 255;
        let plain = meant && self.geometry.then.is_none();
        (plain && within).then(|| bytes(&[(image, DType::I8)], result))?
    }
}

impl QuantizedJoin {
    fn needs(&self) -> Option<Needs> {
        if self.broadcast.strides.len() != 2 || !self.result.is_sound(1) {
            return None;
        }
        let reads = [0, 1].map(|operand| (self.broadcast.reach(operand), DType::I8));
        bytes(&reads, product(&self.broadcast.shape))
    }
}

impl QuantizedReduce {
    fn needs(&self) -> Option<Needs> {
        let all: Vec<(usize, usize)> = self.kept.iter().chain(&self.reduced).copied().collect();
        let kept: Vec<usize> = self.kept.iter().map(|axis| axis.0).collect();
        let reads = [(super::algebra::reach(&all), DType::I8)];
        self.result
            .is_sound(1)
            .then(|| bytes(&reads, product(&kept)))?
    }
}

impl FromBytes {
    fn needs(&self) -> Option<Needs> {
        let fits = !self.scales.is_empty() && self.scales.len() == self.zeros.len();
        (fits && self.inner > 0).then(|| {
            Some(Needs {
                reads: vec![bytes_of(Some(self.count), DType::I8)?],
                write: bytes_of(Some(self.count), DType::F32)?,
            })
        })?
    }
}
