//! The reference interpreter: every kernel in plain loops, in a fixed order, within the bytes that it is given.
//!
//! Goes in: a kernel, the bytes of its operands and of its result. The result is the same on every machine: sums
//! are taken in the order that the kernel states, products are rounded before they are added, and functions come
//! from `libm`. Elements are read as little-endian bytes, so that any offset will do. Nothing is allocated.

mod affine;
mod cast;
mod conv;
mod elements;
mod functions;
mod interpolate;
mod map;
mod matmul;
mod pool;
mod quantized;
mod rearrange;
mod reduce;
mod softmax;
mod take;
#[cfg(test)]
mod tests;
mod transposed;

use crate::run::{Device, KernelFault};
use crate::vector::wide;
use bayplan_graph::kernel::{Kernel, Map, Unary};

/// An operand of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Bytes apart from the result.
    Apart(&'a [u8]),
    /// The result's own bytes, which hold the operand before they are written.
    Result,
}

impl<'a> Operand<'a> {
    /// The bytes, where they are apart; what cannot run in place has no others ([`Kernel::in_place`]).
    pub fn apart(self) -> &'a [u8] {
        match self {
            Self::Apart(bytes) => bytes,
            Self::Result => &[],
        }
    }
}

/// The interpreter as a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl Device for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        operands: &[Operand<'_>],
        result: &mut [u8],
    ) -> Result<(), KernelFault> {
        dispatch(kernel, operands, result)
    }
}

/// A function of one float, as the reference computes it.
pub fn unary(function: Unary, x: f32) -> f32 {
    functions::unary(function, x)
}

/// Joins the 32-bit floats of a map's operands, and leaves its functions to the caller.
pub(crate) fn join(map: &Map, operands: &[Operand<'_>], result: &mut [u8]) {
    wide(|| map::join_floats(map, operands, result));
}

/// Runs one kernel. Operands and result have at least the bytes that [`Kernel::needs`] says.
pub fn dispatch(
    kernel: &Kernel,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    match kernel {
        Kernel::Copy { bytes } => {
            if let Operand::Apart(from) = operands[0] {
                result[..*bytes].copy_from_slice(&from[..*bytes]);
            }
        }
        Kernel::Rearrange(kernel) => rearrange::run(kernel, operands, result),
        Kernel::Map(kernel) => return map::run(kernel, operands, result),
        Kernel::Select(kernel) => map::select(kernel, operands, result),
        Kernel::Cast(kernel) => return cast::run(*kernel, operands, result),
        Kernel::Conv(kernel) => conv::run(kernel, operands, result),
        Kernel::ConvTranspose(kernel) => transposed::run(kernel, operands, result),
        Kernel::Pool(kernel) => pool::run(kernel, operands, result),
        Kernel::Lrn(kernel) => affine::lrn(kernel, operands, result),
        Kernel::Interpolate(kernel) => interpolate::run(kernel, operands, result),
        Kernel::MatMul(kernel) => matmul::run(kernel, operands, result),
        Kernel::Reduce(kernel) => return reduce::run(kernel, operands, result),
        Kernel::ArgReduce(kernel) => return reduce::arg(*kernel, operands, result),
        Kernel::Softmax(kernel) => softmax::run(*kernel, operands, result),
        Kernel::LayerNorm(kernel) => affine::layer_norm(*kernel, operands, result),
        Kernel::Affine(kernel) => affine::run(*kernel, operands, result),
        Kernel::Take(kernel) => return take::run(*kernel, operands, result),
        Kernel::Quantized(kernel) => return quantized::run(kernel, operands, result),
        other => {
            let (kernel, dtype) = (other.name(), bayplan_graph::DType::F32);
            return Err(KernelFault::Type { kernel, dtype });
        }
    }
    Ok(())
}
