//! The fast CPU device: matrix products and convolutions through `matrixmultiply` (by way of `ndarray`), functions by
//! polynomials, everything else as in the reference.
//!
//! Goes in: the same program, arenas and weights as in the reference. Comes out: the same within [`TOLERANCE`]; sums
//! are taken in another order. All that it needs beside the arenas is taken when it is made.

mod conv;
mod functions;
mod gemm;
mod map;
mod pool;
mod rows;
#[cfg(test)]
mod tests;

use crate::program::Program;
use crate::reference::{self, Operand};
use crate::run::{Device, KernelFault};
use bayplan_graph::kernel::Kernel;

/// Largest difference to the reference, as a share of the largest value of an output, on networks of ordinary
/// depth (float networks of the tests: a few millionths).
pub const TOLERANCE: f64 = 1e-3;

/// The device.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// What a convolution's weights meet, laid out as a matrix.
    workspace: Vec<f32>,
}

impl Cpu {
    /// For this program.
    pub fn new(program: &Program) -> Self {
        let needs = program
            .dispatches()
            .map(|dispatch| Self::needs(&dispatch.kernel));
        Self::with(needs.max().unwrap_or(0))
    }

    /// For this kernel alone.
    pub fn of_kernel(kernel: &Kernel) -> Self {
        Self::with(Self::needs(kernel))
    }

    fn with(elements: usize) -> Self {
        Self {
            workspace: vec![0.0; elements],
        }
    }

    /// Bytes that it took beside the arenas.
    pub fn workspace_bytes(&self) -> u64 {
        self.workspace.len() as u64 * 4
    }

    fn needs(kernel: &Kernel) -> usize {
        match kernel {
            Kernel::Conv(conv) => conv::workspace(conv),
            _ => 0,
        }
    }
}

impl Device for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        operands: &[Operand<'_>],
        result: &mut [u8],
    ) -> Result<(), KernelFault> {
        let done = match kernel {
            Kernel::Conv(kernel) => conv::run(kernel, operands, result, &mut self.workspace),
            Kernel::MatMul(kernel) => gemm::run(kernel, operands, result),
            Kernel::Pool(kernel) => pool::run(kernel, operands, result),
            Kernel::Map(kernel) => map::run(kernel, operands, result),
            Kernel::Softmax(kernel) => rows::softmax(*kernel, operands, result),
            Kernel::LayerNorm(kernel) => rows::layer_norm(*kernel, operands, result),
            Kernel::Affine(kernel) => rows::affine(*kernel, operands, result),
            _ => None,
        };
        match done {
            Some(()) => Ok(()),
            None => reference::dispatch(kernel, operands, result),
        }
    }
}

/// The floats of an operand, where they are aligned and apart from the result.
fn floats<'a>(operands: &[Operand<'a>], position: usize) -> Option<&'a [f32]> {
    match operands[position] {
        Operand::Apart(bytes) => bytemuck::try_cast_slice(&bytes[..bytes.len() / 4 * 4]).ok(),
        Operand::Result => None,
    }
}

/// The floats of a result, where they are aligned.
fn floats_mut(result: &mut [u8]) -> Option<&mut [f32]> {
    let whole = result.len() / 4 * 4;
    bytemuck::try_cast_slice_mut(&mut result[..whole]).ok()
}

/// The result with the first operand's elements in it.
fn copied<'a>(
    operands: &[Operand<'_>],
    result: &'a mut [u8],
    count: usize,
) -> Option<&'a mut [f32]> {
    let result = floats_mut(result)?.get_mut(..count)?;
    if let Operand::Apart(_) = operands[0] {
        result.copy_from_slice(floats(operands, 0)?.get(..count)?);
    }
    Some(result)
}
