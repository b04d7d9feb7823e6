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

use crate::program::{Dispatch, Program, Read};
use crate::reference::{self, Operand};
use crate::run::{Device, KernelFault};
use crate::weights::Weights;
use bayplan_graph::kernel::{ConstantId, Kernel, Source};
use kernel::{Lines, Sizes};
use packed::{Packed, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

/// Largest difference to the reference, as a share of the largest value of an output, on networks of ordinary
/// depth (float networks of the tests: a few millionths).
pub const TOLERANCE: f64 = 1e-3;

/// Elements of a workspace; a kernel that would take more is the reference's.
const MAX_WORKSPACE: usize = 1 << 26;

/// The device. It lives as long as the weights that it has panels of.
#[derive(Clone, Debug)]
pub struct Cpu<'w> {
    /// What the weights of a convolution meet, and the like.
    workspace: Lines,
    packed: Packed,
    sizes: Sizes,
    weights: PhantomData<&'w [u8]>,
}

/// What the device takes beside arenas and weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Bytes of panels, less those of weights that are only read from panels: their file need not stay in memory.
    pub panels: u64,
    /// Bytes of the workspace.
    pub workspace: u64,
}

impl<'w> Cpu<'w> {
    /// For this program; `tick` is told how many kernels are prepared, of how many.
    pub fn new(program: &Program, weights: &'w Weights<'_>, tick: &dyn Fn(usize, usize)) -> Self {
        let sizes = Sizes::here();
        let mut device = Self::with(workspace(program, sizes));
        let all = program.dispatches().count();
        for (done, dispatch) in program.dispatches().enumerate() {
            if let Some((shape, id)) = constant(dispatch, sizes) {
                device.packed.add(&shape, weights.bytes(id));
            }
            tick(done + 1, all);
        }
        device
    }

    /// What [`Cpu::new`] will take, before anything is taken.
    pub fn beside(program: &Program) -> Beside {
        let sizes = Sizes::here();
        let mut panels = BTreeMap::new();
        let mut plain = BTreeSet::new();
        for dispatch in program.dispatches() {
            let packed = constant(dispatch, sizes);
            for (position, read) in dispatch.reads.iter().enumerate() {
                match (read, packed) {
                    (Read::Constant(id), Some((shape, _))) if position == 1 => {
                        let bytes = (shape.groups * shape.panels()) as u64 * 4;
                        panels.insert((*id, shape.way()), bytes);
                    }
                    (Read::Constant(id), _) => {
                        plain.insert(*id);
                    }
                    (Read::Arena(_), _) => {}
                }
            }
        }
        let in_file = |id: &ConstantId| {
            let source = &program.constants[*id].source;
            matches!(source, Source::File { .. } | Source::External { .. })
        };
        let ids: BTreeSet<ConstantId> = panels.keys().map(|key| key.0).collect();
        let spared = ids.iter().filter(|id| !plain.contains(id) && in_file(id));
        let spared: u64 = spared.map(|id| program.constants[*id].bytes).sum();
        let bytes: u64 = panels.values().sum();
        Beside {
            panels: bytes.saturating_sub(spared),
            workspace: workspace(program, sizes) as u64 * 4,
        }
    }

    /// Whether a constant operand at this position is read from panels alone.
    pub fn packs(kernel: &Kernel, position: usize) -> bool {
        position == 1 && Shape::of(kernel, Sizes::here()).is_some()
    }

    /// For these kernels, without panels of any weights.
    pub fn of_kernels<'k>(kernels: impl Iterator<Item = &'k Kernel>) -> Self {
        let sizes = Sizes::here();
        let elements = kernels.map(|kernel| needs(kernel, sizes, false)).max();
        Self::with(elements.unwrap_or(0))
    }

    fn with(elements: usize) -> Self {
        Self {
            workspace: Lines::new(elements),
            packed: Packed::default(),
            sizes: Sizes::here(),
            weights: PhantomData,
        }
    }

    /// Bytes that it took beside the arenas.
    pub fn own_bytes(&self) -> u64 {
        self.packed.bytes() + self.workspace.all().len() as u64 * 4
    }
}

/// The constant that a dispatch multiplies by, and its panels.
fn constant(dispatch: &Dispatch, sizes: Sizes) -> Option<(Shape, ConstantId)> {
    match dispatch.reads.get(1) {
        Some(Read::Constant(id)) => Some((Shape::of(&dispatch.kernel, sizes)?, *id)),
        _ => None,
    }
}

/// Elements of the workspace of a program.
fn workspace(program: &Program, sizes: Sizes) -> usize {
    let each = program.dispatches();
    let each = each.map(|one| needs(&one.kernel, sizes, constant(one, sizes).is_some()));
    each.max().unwrap_or(0)
}

/// Elements of the workspace that a kernel takes; `made`: the panels of its weights are made beforehand.
fn needs(kernel: &Kernel, sizes: Sizes, made: bool) -> usize {
    let elements = match kernel {
        Kernel::Conv(conv) => conv::workspace(conv, sizes, made),
        Kernel::MatMul(product) => gemm::workspace(product, sizes, made),
        Kernel::Pool(pool) => pool::workspace(pool),
        _ => 0,
    };
    if elements > MAX_WORKSPACE {
        0
    } else {
        elements
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
