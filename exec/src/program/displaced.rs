//! Programs that are broken on purpose, so that tests can see that it shows.

use super::{Command, Dispatch, Program, Read};
use bayplan_graph::{Locations, Spot, TensorId};

impl Program {
    /// For tests: the same commands with a tensor at the place of another, whoever needs it; and the places. Nothing where
    /// one of them has no place in an arena, where the first does not fit there, or where a kernel would find its result
    /// over an operand that it cannot have there (of which [`Program::new`] never makes a program).
    #[doc(hidden)]
    pub fn displaced(&self, tensor: TensorId, over: TensorId) -> Option<(Self, Locations)> {
        let mut locations = self.plan.locations().clone();
        let Spot::At(to) = locations.tensors[over] else {
            return None;
        };
        let (from, place) = (self.windows[tensor]?, self.windows[over]?);
        let fits = place.offset + from.bytes <= self.arenas[place.arena].bytes;
        if from.arena != place.arena || from.offset == place.offset || !fits {
            return None;
        }
        locations.tensors[tensor] = Spot::At(to);
        let mut program = self.clone();
        if let Some(window) = &mut program.windows[tensor] {
            window.offset = place.offset;
        }
        for command in &mut program.commands {
            self.displace(command, tensor, place.offset);
        }
        let sound = program.dispatches().all(is_sound);
        sound.then_some((program, locations))
    }

    fn displace(&self, command: &mut Command, tensor: TensorId, offset: usize) {
        match command {
            Command::Load { input, to } if self.inputs[*input].tensor == tensor => {
                to.offset = offset;
            }
            Command::Store {
                output,
                from: Read::Arena(from),
            } if self.outputs[*output].tensor == tensor => from.offset = offset,
            Command::Dispatch(dispatch) => {
                let node = &self.plan.graph().nodes()[dispatch.node];
                let positions = dispatch.operands.iter().zip(&mut dispatch.reads);
                for (&position, read) in positions {
                    if let (Read::Arena(window), true) =
                        (read, node.inputs[position] == Some(tensor))
                    {
                        window.offset = offset;
                    }
                }
                if dispatch.target == tensor {
                    dispatch.write.offset = offset;
                }
            }
            _ => {}
        }
    }
}

/// No operand lies under the result that was apart from it.
fn is_sound(dispatch: &Dispatch) -> bool {
    let mut reads = dispatch.reads.iter().enumerate();
    reads.all(|(position, read)| match read {
        Read::Arena(window) if dispatch.in_place.contains(&position) => {
            (window.arena, window.offset) == (dispatch.write.arena, dispatch.write.offset)
        }
        Read::Arena(window) => !window.overlaps(dispatch.write),
        Read::Constant(_) => true,
    })
}
