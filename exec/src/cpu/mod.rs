//! The fast CPU device: matrix products and convolutions in panels with the widest vectors that the machine has (by way
//! of `pulp`), functions by polynomials, everything else as in the reference.
//!
//! Goes in: the same program, arenas and weights as in the reference. Comes out: the same within [`TOLERANCE`]; sums
//! are taken in another order. All that it needs beside the arenas is taken when it is made: panels of the weights that
//! are multiplied by, and a workspace.

mod conv;
mod functions;
mod gemm;
mod kernel;
mod layout;
mod map;
mod packed;
mod pool;
mod rows;
#[cfg(test)]
mod tests;

use crate::program::{Program, Read};
use crate::reference::{self, Operand};
use crate::run::{Device, KernelFault};
use crate::weights::Weights;
use bayplan_graph::kernel::Kernel;
use kernel::{Lines, Sizes};
use packed::{Packed, Shape};
use std::marker::PhantomData;

/// Largest difference to the reference, as a share of the largest value of an output, on networks of ordinary
/// depth (float networks of the tests: a few millionths).
pub const TOLERANCE: f64 = 1e-3;

/// The device. It lives as long as the weights that it has panels of.
#[derive(Clone, Debug)]
pub struct Cpu<'w> {
    /// What the weights of a convolution meet, and the like.
    workspace: Lines,
    packed: Packed,
    sizes: Sizes,
    weights: PhantomData<&'w [u8]>,
}

impl<'w> Cpu<'w> {
    /// For this program; `tick` is told how many kernels are prepared, of how many.
    pub fn new(program: &Program, weights: &'w Weights<'_>, tick: &dyn Fn(usize, usize)) -> Self {
        let mut device = Self::of_kernels(program.dispatches().map(|dispatch| &dispatch.kernel));
        let all = program.dispatches().count();
        for (done, dispatch) in program.dispatches().enumerate() {
            let shape = Shape::of(&dispatch.kernel, device.sizes);
            if let (Some(shape), Some(Read::Constant(id))) = (shape, dispatch.reads.get(1)) {
                device.packed.add(&shape, weights.bytes(*id));
            }
            tick(done + 1, all);
        }
        device
    }

    /// Whether a constant operand at this position is read from panels alone.
    pub fn packs(kernel: &Kernel, position: usize) -> bool {
        position == 1 && Shape::of(kernel, Sizes::here()).is_some()
    }

    /// For these kernels, without panels of any weights.
    pub fn of_kernels<'k>(kernels: impl Iterator<Item = &'k Kernel>) -> Self {
        let sizes = Sizes::here();
        let elements = kernels.map(|kernel| Self::needs(kernel, sizes)).max();
        Self {
            workspace: Lines::new(elements.unwrap_or(0)),
            packed: Packed::default(),
            sizes,
            weights: PhantomData,
        }
    }

    /// Bytes that it took beside the arenas.
    pub fn own_bytes(&self) -> u64 {
        self.packed.bytes() + self.workspace.all().len() as u64 * 4
    }

    fn needs(kernel: &Kernel, sizes: Sizes) -> usize {
        match kernel {
            Kernel::Conv(conv) => conv::workspace(conv, sizes),
            Kernel::MatMul(product) => gemm::workspace(product, sizes),
            Kernel::Pool(pool) => pool::workspace(pool),
            _ => 0,
        }
    }
}

impl Device for Cpu<'_> {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn dispatch(
        &mut self,
        kernel: &Kernel,
        operands: &[Operand<'_>],
        result: &mut [u8],
    ) -> Result<(), KernelFault> {
        let room = (&self.packed, self.workspace.all_mut(), self.sizes);
        let done = match kernel {
            Kernel::Conv(kernel) => conv::run(kernel, operands, result, room),
            Kernel::MatMul(kernel) => gemm::run(kernel, operands, result, room),
            Kernel::Pool(kernel) => pool::run(kernel, operands, result, room.1),
            Kernel::Reduce(kernel) => rows::mean(kernel, operands, result),
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
