//! Running a program in memory that the caller gives.
//!
//! Goes in: a [`Program`], its [`Weights`], arenas of exactly the planned bytes, inputs. Comes out: outputs, in the
//! caller's bytes. Nothing is allocated on the way. What kernels do is up to a [`Device`].

use crate::program::{Command, Dispatch, Program, Read, Window};
use crate::reference::Operand;
use crate::weights::Weights;
use bayplan_graph::kernel::{Kernel, MAX_OPERANDS};
use bayplan_planner::ids::Id;

/// What a kernel finds wrong while it runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelFault {
    /// An index that the run computed leads nowhere.
    #[error("index {index} (number {position}) is outside an axis of {size}")]
    Index {
        /// Its position among the indices.
        position: usize,
        /// The index.
        index: i64,
        /// Size of the axis.
        size: usize,
    },
    /// An element type that this kernel is not built for.
    #[error("the kernel {kernel} is not built for {dtype}")]
    Type {
        /// The kernel.
        kernel: &'static str,
        /// The element type.
        dtype: bayplan_graph::DType,
    },
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A kernel could not go on.
    #[error("`{node}`: {fault}")]
    Kernel {
        /// The node.
        node: String,
        /// Why.
        fault: KernelFault,
    },
    /// Memory, inputs or outputs of another size or number than the program has.
    #[error("{what} {position} has {found} bytes instead of {expected}")]
    Size {
        /// `arena`, `input`, `output`.
        what: &'static str,
        /// Which one.
        position: usize,
        /// Bytes given.
        found: usize,
        /// Bytes of the program.
        expected: usize,
    },
    /// Too few or too many arenas, inputs or outputs.
    #[error("{found} {what} instead of {expected}")]
    Count {
        /// `arenas`, `inputs`, `outputs`.
        what: &'static str,
        /// How many.
        found: usize,
        /// Of the program.
        expected: usize,
    },
}

/// Runs kernels.
pub trait Device {
    /// Its name in flags and reports.
    fn name(&self) -> &'static str;

    /// Runs one kernel: reads the operands, writes the result. Sizes were checked against [`Kernel::needs`].
    fn dispatch(
        &mut self,
        kernel: &Kernel,
        operands: &[Operand<'_>],
        result: &mut [u8],
    ) -> Result<(), KernelFault>;
}

/// Arenas of a program, zeroed.
#[derive(Clone, Debug)]
pub struct Memory {
    arenas: Vec<Vec<u8>>,
}

impl Memory {
    /// Exactly the bytes that the program's plan has.
    pub fn new(program: &Program) -> Self {
        let arenas = program.arenas.values();
        Self {
            arenas: arenas.map(|arena| vec![0; arena.bytes]).collect(),
        }
    }

    /// The arenas, to be given to [`run`].
    pub fn windows(&mut self) -> Vec<&mut [u8]> {
        self.arenas.iter_mut().map(Vec::as_mut_slice).collect()
    }
}

/// Looks at the arenas between commands.
pub trait Watcher {
    /// Before the command with this position.
    fn before(&mut self, _position: usize, _arenas: &mut [&mut [u8]]) {}
    /// After it.
    fn after(&mut self, _position: usize, _arenas: &mut [&mut [u8]]) {}
}

/// Nobody looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {}

/// What is given to a run, and where its results go; by position of the program's arenas, inputs, outputs.
pub struct Given<'a, 'b> {
    /// Arenas.
    pub arenas: &'a mut [&'b mut [u8]],
    /// Inputs.
    pub inputs: &'a [&'a [u8]],
    /// Outputs.
    pub outputs: &'a mut [&'b mut [u8]],
}

/// Runs the program once.
pub fn run(
    program: &Program,
    weights: &Weights<'_>,
    device: &mut dyn Device,
    given: &mut Given<'_, '_>,
    watcher: &mut dyn Watcher,
) -> Result<(), Fault> {
    check(program, given)?;
    for (position, command) in program.commands.iter().enumerate() {
        watcher.before(position, given.arenas);
        match command {
            Command::Load { input, to } => {
                let bytes = &given.inputs[*input][..to.bytes];
                given.arenas[to.arena.index()][to.offset..to.end()].copy_from_slice(bytes);
            }
            Command::Dispatch(dispatch) => {
                let done = step(dispatch, weights, device, given.arenas);
                done.map_err(|fault| Fault::Kernel {
                    node: program.plan().graph().nodes()[dispatch.node].name.clone(),
                    fault,
                })?;
            }
            Command::Wait => {}
            Command::Store { output, from } => {
                let to = &mut given.outputs[*output];
                to.copy_from_slice(match from {
                    Read::Arena(w) => &given.arenas[w.arena.index()][w.offset..w.end()],
                    Read::Constant(id) => &weights.bytes(*id)[..to.len()],
                });
            }
        }
        watcher.after(position, given.arenas);
    }
    Ok(())
}

/// Sizes are those of the program.
fn check(program: &Program, given: &Given<'_, '_>) -> Result<(), Fault> {
    let arenas = given.arenas.iter().map(|arena| arena.len());
    same(
        "arena",
        "arenas",
        arenas,
        program.arenas.values().map(|arena| arena.bytes),
    )?;
    let inputs = given.inputs.iter().map(|input| input.len());
    same(
        "input",
        "inputs",
        inputs,
        program.inputs.iter().map(|port| port.bytes),
    )?;
    let outputs = given.outputs.iter().map(|output| output.len());
    same(
        "output",
        "outputs",
        outputs,
        program.outputs.iter().map(|port| port.bytes),
    )
}

fn same(
    what: &'static str,
    all: &'static str,
    found: impl ExactSizeIterator<Item = usize>,
    expected: impl ExactSizeIterator<Item = usize>,
) -> Result<(), Fault> {
    if found.len() != expected.len() {
        return Err(Fault::Count {
            what: all,
            found: found.len(),
            expected: expected.len(),
        });
    }
    for (position, (found, expected)) in found.zip(expected).enumerate() {
        if found != expected {
            return Err(Fault::Size {
                what,
                position,
                found,
                expected,
            });
        }
    }
    Ok(())
}

/// One dispatch: its result is taken out of its arena, the operands are what is left and right of it.
fn step(
    dispatch: &Dispatch,
    weights: &Weights<'_>,
    device: &mut dyn Device,
    arenas: &mut [&mut [u8]],
) -> Result<(), KernelFault> {
    let write = dispatch.write;
    let (before, rest) = arenas.split_at_mut(write.arena.index());
    let (own, behind) = rest
        .split_first_mut()
        .expect("windows are in arenas of the program");
    let (low, rest) = own.split_at_mut(write.offset);
    let (result, high) = rest.split_at_mut(write.bytes);
    let mut operands = [Operand::Result; MAX_OPERANDS];
    for (position, read) in dispatch.reads.iter().enumerate() {
        operands[position] = match read {
            Read::Constant(id) => Operand::Apart(weights.bytes(*id)),
            Read::Arena(_) if dispatch.in_place.contains(&position) => Operand::Result,
            Read::Arena(read) if read.arena == write.arena => {
                Operand::Apart(beside(*read, write, low, high))
            }
            Read::Arena(read) => {
                let (index, own) = (read.arena.index(), write.arena.index());
                let arena = if index < own {
                    &before[index]
                } else {
                    &behind[index - own - 1]
                };
                Operand::Apart(&arena[read.offset..read.end()])
            }
        };
    }
    device.dispatch(&dispatch.kernel, &operands[..dispatch.reads.len()], result)
}

/// A window of the arena that the result was taken out of.
fn beside<'a>(read: Window, write: Window, low: &'a [u8], high: &'a [u8]) -> &'a [u8] {
    if read.end() <= write.offset {
        &low[read.offset..read.end()]
    } else if read.bytes == 0 {
        &[]
    } else {
        let from = read.offset - write.end();
        &high[from..from + read.bytes]
    }
}
