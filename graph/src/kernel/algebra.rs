//! Matrix products, reductions, normalizations, and what picks by index.

use super::{Needs, Unary, bytes_of, product};
use crate::dtype::DType;

/// One axis of a batch of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Products along it.
    pub count: usize,
    /// Elements from one a to the next.
    pub a: usize,
    /// Elements from one b to the next.
    pub b: usize,
}

/// How a bias is stretched over a product: strides of rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bias {
    /// Elements from one row to the next; 0 where it is repeated.
    pub row: usize,
    /// Elements from one column to the next; 0 where it is repeated.
    pub column: usize,
}

/// Products of matrices in f32: `then(alpha · Σₖ a[m,k]·b[k,n] + beta · bias[m,n])`, k ascending, from 0. The
/// results are dense and follow each other in order of the batch.
#[derive(Clone, Debug, PartialEq)]
pub struct MatMul {
    /// Outermost first; may be empty.
    pub batch: Vec<Batch>,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    /// Products in a sum.
    pub k: usize,
    /// Strides of a along m and k.
    pub a: (usize, usize),
    /// Strides of b along k and n.
    pub b: (usize, usize),
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of the bias.
    pub beta: f32,
    /// The third operand, if there is one.
    pub bias: Option<Bias>,
    /// Done with each element at last.
    pub then: Option<Unary>,
}

/// Elements up to the last one that is reached with these counts and strides.
pub(super) fn reach(axes: &[(usize, usize)]) -> Option<usize> {
    if axes.iter().any(|axis| axis.0 == 0) {
        return Some(0);
    }
    axes.iter().try_fold(1_usize, |all, &(count, stride)| {
        all.checked_add((count - 1).checked_mul(stride)?)
    })
}

impl MatMul {
    /// Products in the batch.
    pub fn count(&self) -> Option<usize> {
        product(&self.batch.iter().map(|axis| axis.count).collect::<Vec<_>>())
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        let with = |stride: fn(&Batch) -> usize, inner: [(usize, usize); 2]| {
            let batch = self.batch.iter().map(|axis| (axis.count, stride(axis)));
            let axes: Vec<(usize, usize)> = batch.chain(inner).collect();
            bytes_of(reach(&axes), DType::F32)
        };
        let a = with(|axis| axis.a, [(self.m, self.a.0), (self.k, self.a.1)])?;
        let b = with(|axis| axis.b, [(self.k, self.b.0), (self.n, self.b.1)])?;
        let mut reads = vec![a, b];
        if let Some(bias) = self.bias {
            let axes = [(self.m, bias.row), (self.n, bias.column)];
            reads.push(bytes_of(reach(&axes), DType::F32)?);
        }
        let write = product(&[self.count()?, self.m, self.n]);
        Some(Needs {
            reads,
            write: bytes_of(write, DType::F32)?,
        })
    }

    pub(super) fn flops(&self) -> u64 {
        let numbers = [self.count().unwrap_or(0), self.m, self.n, self.k];
        numbers
            .iter()
            .fold(2, |all, &n| all.saturating_mul(n as u64))
    }
}

/// What a reduction keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The product.
    Prod,
    /// The sum of squares.
    SumSquare,
    /// The root of the sum of squares.
    L2,
    /// The sum of absolute values.
    L1,
}

/// A reduction. The result is dense over the kept axes; elements are taken in row-major order of the
/// reduced ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// What is kept.
    pub reduction: Reduction,
    /// Of operand and result.
    pub dtype: DType,
    /// Count and stride of each axis that is left, outermost first.
    pub kept: Vec<(usize, usize)>,
    /// Count and stride of each axis that goes, outermost first.
    pub reduced: Vec<(usize, usize)>,
}

impl Reduce {
    /// Over the axes of a dense operand for which `gone` holds.
    pub fn new(
        reduction: Reduction,
        dtype: DType,
        shape: &[usize],
        gone: impl Fn(usize) -> bool,
    ) -> Self {
        let strides = super::index::row_strides(shape);
        let axes = shape.iter().copied().zip(strides).enumerate();
        let (reduced, kept): (Vec<_>, Vec<_>) = axes.partition(|(axis, _)| gone(*axis));
        let plain =
            |list: Vec<(usize, (usize, usize))>| list.into_iter().map(|(_, axis)| axis).collect();
        Self {
            reduction,
            dtype,
            kept: plain(kept),
            reduced: plain(reduced),
        }
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        let all: Vec<(usize, usize)> = self.kept.iter().chain(&self.reduced).copied().collect();
        let kept: Vec<usize> = self.kept.iter().map(|axis| axis.0).collect();
        Some(Needs {
            reads: vec![bytes_of(reach(&all), self.dtype)?],
            write: bytes_of(product(&kept), self.dtype)?,
        })
    }
}

/// Where the largest or smallest along an axis is, f32. The result is dense, of `index` type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgReduce {
    /// The largest; otherwise the smallest.
    pub largest: bool,
    /// The last of equal ones; otherwise the first.
    pub last: bool,
    /// Elements before the axis.
    pub outer: usize,
    /// Elements of the axis.
    pub axis: usize,
    /// Elements behind the axis.
    pub inner: usize,
    /// Type of the operand.
    pub dtype: DType,
    /// Type of the result: I64 or I32.
    pub index: DType,
}

impl ArgReduce {
    pub(super) fn needs(&self) -> Option<Needs> {
        if self.axis == 0 {
            return None;
        }
        let all = product(&[self.outer, self.axis, self.inner]);
        Some(Needs {
            reads: vec![bytes_of(all, self.dtype)?],
            write: bytes_of(product(&[self.outer, self.inner]), self.index)?,
        })
    }
}

/// Softmax along an axis, f32: the largest is taken off first; exponentials are added in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    /// Elements before the axis.
    pub outer: usize,
    /// Elements of the axis.
    pub axis: usize,
    /// Elements behind the axis.
    pub inner: usize,
    /// Factor before the exponential.
    pub beta: f32,
    /// The logarithm of it.
    pub log: bool,
}

impl Softmax {
    pub(super) fn needs(&self) -> Option<Needs> {
        let all = bytes_of(product(&[self.outer, self.axis, self.inner]), DType::F32)?;
        Some(Needs {
            reads: vec![all],
            write: all,
        })
    }
}

/// Layer normalization over the innermost `size` elements, f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    /// Rows.
    pub outer: usize,
    /// Elements of a row.
    pub size: usize,
    /// Added to the variance.
    pub epsilon: f32,
    /// Whether there is a second operand, a factor for each element of a row.
    pub scale: bool,
    /// Whether there is a further operand, a summand for each element of a row.
    pub bias: bool,
}

impl LayerNorm {
    pub(super) fn needs(&self) -> Option<Needs> {
        let all = bytes_of(product(&[self.outer, self.size]), DType::F32)?;
        let row = bytes_of(Some(self.size), DType::F32)?;
        let mut reads = vec![all];
        reads.extend(
            [self.scale, self.bias]
                .iter()
                .filter(|&&has| has)
                .map(|_| row),
        );
        Some(Needs { reads, write: all })
    }
}

/// Batch normalization: `then((x − mean) / √(variance + epsilon) · scale + bias)` by channel, f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// Elements before the channels.
    pub outer: usize,
    /// Channels.
    pub channels: usize,
    /// Elements of a channel.
    pub inner: usize,
    /// Added to the variance.
    pub epsilon: f32,
    /// Done with each element at last.
    pub then: Option<Unary>,
}

impl Affine {
    pub(super) fn needs(&self) -> Option<Needs> {
        let all = bytes_of(
            product(&[self.outer, self.channels, self.inner]),
            DType::F32,
        )?;
        let each = bytes_of(Some(self.channels), DType::F32)?;
        Some(Needs {
            reads: vec![all, each, each, each, each],
            write: all,
        })
    }
}

/// Slices along an axis, picked by indices that the run knows: below 0 they count from the end. One that is outside
/// ends the run with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    /// Bytes of an element.
    pub element: usize,
    /// Elements before the axis.
    pub outer: usize,
    /// Elements of the axis.
    pub axis: usize,
    /// Elements behind the axis.
    pub inner: usize,
    /// Indices.
    pub count: usize,
    /// Their type: I64 or I32.
    pub index: DType,
}

impl Take {
    pub(super) fn needs(&self) -> Option<Needs> {
        let bytes = |elements: Option<usize>| {
            let bytes = elements?.checked_mul(self.element)?;
            u64::try_from(bytes).ok()
        };
        Some(Needs {
            reads: vec![
                bytes(product(&[self.outer, self.axis, self.inner]))?,
                bytes_of(Some(self.count), self.index)?,
            ],
            write: bytes(product(&[self.outer, self.count, self.inner]))?,
        })
    }
}
