//! Reductions.

use super::Operand;
use super::elements::Element;
use crate::run::KernelFault;
use bayplan_graph::DType;
use bayplan_graph::kernel::{ArgReduce, Reduce, Reduction};

/// Floats are added up in 32 bits, in row-major order; whole numbers in 64.
pub(super) fn run(
    reduce: &Reduce,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    let from = operands[0].apart();
    match reduce.dtype {
        DType::F32 => all::<4, f32, f32>(reduce, from, result, folded, |x| x),
        DType::I64 => all::<8, i64, i64>(reduce, from, result, whole, |x| x),
        DType::I32 => all::<4, i32, i64>(reduce, from, result, whole, |x| {
            i32::try_from(x).unwrap_or(i32::MAX)
        }),
        dtype => {
            let kernel = "reduce";
            return Err(KernelFault::Type { kernel, dtype });
        }
    }
    Ok(())
}

/// Takes the elements one after the other.
fn all<const N: usize, T: Element<N>, S: From<T>>(
    reduce: &Reduce,
    from: &[u8],
    result: &mut [u8],
    fold: impl Fn(Reduction, usize, &mut dyn Iterator<Item = S>) -> S,
    narrow: impl Fn(S) -> T,
) {
    let from = from.as_chunks::<N>().0;
    let result = result.as_chunks_mut::<N>().0;
    let count: usize = reduce.reduced.iter().map(|axis| axis.0).product();
    let kept: usize = reduce.kept.iter().map(|axis| axis.0).product();
    for (one, result) in result.iter_mut().enumerate().take(kept) {
        let base = offset(&reduce.kept, one);
        let mut elements =
            (0..count).map(|at| S::from(T::load(from[base + offset(&reduce.reduced, at)])));
        *result = narrow(fold(reduce.reduction, count, &mut elements)).store();
    }
}

/// The offset of a position in row-major order.
fn offset(axes: &[(usize, usize)], mut position: usize) -> usize {
    let mut offset = 0;
    for &(count, stride) in axes.iter().rev() {
        offset += position % count * stride;
        position /= count;
    }
    offset
}

fn folded(reduction: Reduction, count: usize, elements: &mut dyn Iterator<Item = f32>) -> f32 {
    let larger = |x: f32, y: f32| if x < y || y.is_nan() { y } else { x };
    let smaller = |x: f32, y: f32| if x > y || y.is_nan() { y } else { x };
    match reduction {
        Reduction::Mean => elements.fold(0.0, |sum, x| sum + x) / count as f32,
        Reduction::Max => elements.fold(f32::NEG_INFINITY, larger),
        Reduction::Min => elements.fold(f32::INFINITY, smaller),
        Reduction::Prod => elements.fold(1.0, |all, x| all * x),
        Reduction::SumSquare => elements.fold(0.0, |sum, x| sum + x * x),
        Reduction::L2 => libm::sqrtf(elements.fold(0.0, |sum, x| sum + x * x)),
        Reduction::L1 => elements.fold(0.0, |sum, x| sum + x.abs()),
        _ => elements.fold(0.0, |sum, x| sum + x),
    }
}

fn whole(reduction: Reduction, count: usize, elements: &mut dyn Iterator<Item = i64>) -> i64 {
    let add = |sum: i64, x: i64| sum.wrapping_add(x);
    match reduction {
        Reduction::Mean => {
            let count = i64::try_from(count).unwrap_or(i64::MAX).max(1);
            elements.fold(0, add) / count
        }
        Reduction::Max => elements.fold(i64::MIN, i64::max),
        Reduction::Min => elements.fold(i64::MAX, i64::min),
        Reduction::Prod => elements.fold(1, i64::wrapping_mul),
        Reduction::SumSquare => elements.fold(0, |sum, x| add(sum, x.wrapping_mul(x))),
        Reduction::L1 => elements.fold(0, |sum, x| add(sum, x.wrapping_abs())),
        _ => elements.fold(0, add),
    }
}

/// Positions of the largest or smallest.
pub(super) fn arg(
    arg: ArgReduce,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    let from = operands[0].apart();
    match arg.dtype {
        DType::F32 => positions::<4, f32>(arg, from, result),
        DType::I64 => positions::<8, i64>(arg, from, result),
        DType::I32 => positions::<4, i32>(arg, from, result),
        DType::I8 => positions::<1, i8>(arg, from, result),
        DType::U8 => positions::<1, u8>(arg, from, result),
        dtype => {
            let kernel = "arg-reduce";
            return Err(KernelFault::Type { kernel, dtype });
        }
    }
    Ok(())
}

fn positions<const N: usize, T: Element<N> + PartialOrd>(
    arg: ArgReduce,
    from: &[u8],
    result: &mut [u8],
) {
    let from = from.as_chunks::<N>().0;
    let wide = arg.index == DType::I64;
    for outer in 0..arg.outer {
        for inner in 0..arg.inner {
            let element = |at: usize| T::load(from[(outer * arg.axis + at) * arg.inner + inner]);
            let mut best = 0;
            for at in 1..arg.axis {
                let (x, y) = (element(best), element(at));
                let better = if arg.largest { y > x } else { y < x };
                if better || (arg.last && y == x) {
                    best = at;
                }
            }
            let index = i64::try_from(best).unwrap_or(i64::MAX).to_le_bytes();
            let size = if wide { 8 } else { 4 };
            let place = (outer * arg.inner + inner) * size;
            result[place..place + size].copy_from_slice(&index[..size]);
        }
    }
}
