//! What nodes compute, free of formats: descriptors in which every number is resolved.
//!
//! Readers of model files fill these from attributes, options and constant operands ([`Compute`]); the
//! executors run them. Nothing here runs, and no format is known here. Sizes count elements unless they
//! say bytes. A descriptor says how far it reaches ([`Kernel::needs`]): whoever runs it compares that
//! with the bytes that the tensors have, and need not trust the file that it came from.

mod algebra;
mod compute;
pub mod fixed;
mod image;
mod index;
mod level;
mod map;
pub mod quantized;

pub use algebra::{
    Affine, ArgReduce, Batch, Bias, LayerNorm, MatMul, Reduce, Reduction, Softmax, Take,
};
pub use compute::{Compute, Constant, ConstantId, Lowered, Source, Unsupported};
pub use image::{Conv, Interpolate, Layout, Lrn, Pool, Pooling, Slide, TapAxis, WeightLayout};
pub(crate) use index::row_strides;
pub use index::{Axis, Broadcast, Index, Rearrange};
pub use map::{Binary, Cast, Map, Select, Unary};
pub use quantized::Quantized;

use crate::dtype::DType;

/// Operands that one kernel may have.
pub const MAX_OPERANDS: usize = 16;

/// One computation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kernel {
    /// The result is the operand, byte for byte.
    Copy {
        /// How many.
        bytes: usize,
    },
    /// Elements moved without being looked at.
    Rearrange(Rearrange),
    /// Element by element.
    Map(Map),
    /// One of two, element by element.
    Select(Select),
    /// Another element type.
    Cast(Cast),
    /// Convolution. Operands: image, weight, and perhaps bias.
    Conv(Conv),
    /// Transposed convolution. Operands: image, weight, and perhaps bias. The slides are those of the
    /// convolution that leads back: `input` is the result's size.
    ConvTranspose(Conv),
    /// Pooling.
    Pool(Pool),
    /// Local response normalization across channels.
    Lrn(Lrn),
    /// Resampling with weights.
    Interpolate(Interpolate),
    /// Matrix product. Operands: a, b, and perhaps bias.
    MatMul(MatMul),
    /// Reduction.
    Reduce(Reduce),
    /// Where the largest or smallest is.
    ArgReduce(ArgReduce),
    /// Softmax.
    Softmax(Softmax),
    /// Layer normalization. Operands: x, and perhaps scale and bias.
    LayerNorm(LayerNorm),
    /// Batch normalization. Operands: x, scale, bias, mean, variance.
    Affine(Affine),
    /// Slices picked by indices that the run knows. Operands: data, indices.
    Take(Take),
    /// On 8-bit integers that stand for real numbers.
    Quantized(Quantized),
}

/// Bytes that a kernel touches at most, from the start of each tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// By operand.
    pub reads: Vec<u64>,
    /// Of the result.
    pub write: u64,
}

impl Kernel {
    /// How far it reaches; nothing when that is beyond 64 bits or the descriptor contradicts itself.
    pub fn needs(&self) -> Option<Needs> {
        match self {
            Self::Copy { bytes } => {
                let bytes = u64::try_from(*bytes).ok()?;
                Some(Needs {
                    reads: vec![bytes],
                    write: bytes,
                })
            }
            Self::Rearrange(kernel) => kernel.needs(),
            Self::Map(kernel) => kernel.needs(),
            Self::Select(kernel) => kernel.needs(),
            Self::Cast(kernel) => kernel.needs(),
            Self::Conv(kernel) => kernel.needs(false),
            Self::ConvTranspose(kernel) => kernel.needs(true),
            Self::Pool(kernel) => kernel.needs(),
            Self::Lrn(kernel) => kernel.needs(),
            Self::Interpolate(kernel) => kernel.needs(),
            Self::MatMul(kernel) => kernel.needs(),
            Self::Reduce(kernel) => kernel.needs(),
            Self::ArgReduce(kernel) => kernel.needs(),
            Self::Softmax(kernel) => kernel.needs(),
            Self::LayerNorm(kernel) => kernel.needs(),
            Self::Affine(kernel) => kernel.needs(),
            Self::Take(kernel) => kernel.needs(),
            Self::Quantized(kernel) => kernel.needs(),
        }
    }

    /// Whether the result may lie in exactly the bytes of this operand: every element of it is read
    /// before the element in its place is written.
    pub fn in_place(&self, operand: usize) -> bool {
        match self {
            Self::Map(map) => map.in_place(operand),
            Self::Select(select) => select.in_place(operand),
            Self::Cast(cast) => cast.from.bits() == cast.to.bits() && operand == 0,
            Self::Copy { .. } | Self::Softmax(_) | Self::LayerNorm(_) | Self::Affine(_) => {
                operand == 0
            }
            Self::Quantized(kernel) => kernel.in_place(operand),
            _ => false,
        }
    }

    /// Whether the result is the operand's bytes from this one on, in order: what a view of it would be.
    pub fn is_window(&self, offset: u64) -> bool {
        match self {
            Self::Copy { .. } => offset == 0,
            Self::Rearrange(moves) => moves.is_window(offset),
            _ => false,
        }
    }

    /// A word for listings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Copy { .. } => "copy",
            Self::Rearrange(_) => "rearrange",
            Self::Map(map) => map.name(),
            Self::Select(_) => "select",
            Self::Cast(_) => "cast",
            Self::Conv(_) => "conv",
            Self::ConvTranspose(_) => "conv-transpose",
            Self::Pool(_) => "pool",
            Self::Lrn(_) => "lrn",
            Self::Interpolate(_) => "interpolate",
            Self::MatMul(_) => "matmul",
            Self::Reduce(_) => "reduce",
            Self::ArgReduce(_) => "arg-reduce",
            Self::Softmax(_) => "softmax",
            Self::LayerNorm(_) => "layer-norm",
            Self::Affine(_) => "batch-norm",
            Self::Take(_) => "take",
            Self::Quantized(kernel) => kernel.name(),
        }
    }

    /// Floating-point operations of one run, a multiplication with its addition as two; 0 for what only
    /// moves bytes.
    pub fn flops(&self) -> u64 {
        match self {
            Self::Conv(conv) | Self::ConvTranspose(conv) => conv.flops(),
            Self::MatMul(product) => product.flops(),
            Self::Map(map) => map.broadcast.count() as u64,
            Self::Pool(pool) => pool.flops(),
            _ => 0,
        }
    }
}

/// One kernel of a node: which operands it reads and which result it writes, by position.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What is computed.
    pub kernel: Kernel,
    /// Positions in the node's operands.
    pub reads: Vec<usize>,
    /// What is written.
    pub write: Target,
}

/// What a part writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The result at this position.
    Result(usize),
    /// The state at this position among those that the node changes.
    State(usize),
}

impl Part {
    /// A part that makes the only result from the first operands, as many as `operands`.
    pub fn simple(kernel: Kernel, operands: usize) -> Self {
        Self {
            kernel,
            reads: (0..operands).collect(),
            write: Target::Result(0),
        }
    }
}

/// Bytes of so many elements.
fn bytes_of(elements: Option<usize>, dtype: DType) -> Option<u64> {
    let bits = u64::try_from(elements?).ok()?.checked_mul(dtype.bits())?;
    Some(bits.div_ceil(8))
}

/// A product that does not overflow.
fn product(numbers: &[usize]) -> Option<usize> {
    if numbers.contains(&0) {
        return Some(0);
    }
    numbers
        .iter()
        .try_fold(1_usize, |all, &n| all.checked_mul(n))
}

#[cfg(test)]
mod tests;
