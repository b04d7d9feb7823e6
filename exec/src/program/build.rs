//! From a plan to its commands.

use super::{ArenaSize, Command, Dispatch, Port, Program, ProgramError, Read, Window};
use bayplan_graph::kernel::{Compute, ConstantId};
use bayplan_graph::{CertifiedPlan, Graph, NodeId, Role, Spot, TensorId};
use bayplan_planner::ids::Id;
use bayplan_planner::memory::PERSISTENT;
use bayplan_planner::{ArenaId, Table};
use std::collections::BTreeMap;

/// Tensors in the caller's memory begin at multiples of this.
const CALLER_ALIGNMENT: usize = 64;

impl Program {
    /// Builds the program of a plan; `compute` says what its nodes do.
    pub fn new(plan: &CertifiedPlan, compute: &Compute) -> Result<Self, ProgramError> {
        let graph = plan.graph().clone();
        supported(&graph, compute)?;
        let mut builder = Builder {
            graph: &graph,
            plan,
            compute,
            caller: BTreeMap::new(),
            arenas: arenas(plan)?,
            commands: Vec::new(),
        };
        builder.callers()?;
        let inputs = builder.ports(|id| graph.tensors()[id].role == Role::Input)?;
        let outputs = builder.ports(|id| graph.tensors()[id].is_output)?;
        builder.loads(&inputs)?;
        for &node in plan.schedule().order() {
            builder.node(node)?;
        }
        builder.commands.push(Command::Wait);
        builder.stores(&outputs)?;
        let windows = builder.homes()?;
        let (commands, arenas) = (builder.commands, builder.arenas);
        let mut used: Vec<_> = commands.iter().flat_map(constants).collect();
        used.sort_unstable();
        used.dedup();
        Ok(Self {
            commands,
            arenas,
            inputs,
            outputs,
            constants: compute.constants.clone(),
            used,
            plan: plan.clone(),
            windows,
        })
    }
}

/// The constants that a command reads.
fn constants(command: &Command) -> Vec<ConstantId> {
    let reads = match command {
        Command::Dispatch(dispatch) => &dispatch.reads[..],
        Command::Store { from, .. } => std::slice::from_ref(from),
        _ => &[],
    };
    let constant = |read: &Read| match read {
        Read::Constant(id) => Some(*id),
        Read::Arena(_) => None,
    };
    reads.iter().filter_map(constant).collect()
}

/// Every node has kernels, or all that have none are named.
fn supported(graph: &Graph, compute: &Compute) -> Result<(), ProgramError> {
    if compute.nodes.len() != graph.nodes().len() {
        return Err(ProgramError::OtherGraph {
            found: compute.nodes.len(),
            expected: graph.nodes().len(),
        });
    }
    let names = graph.nodes().values().map(|node| node.name.clone());
    let mut missing: Vec<_> = names
        .zip(compute.nodes.values())
        .filter_map(|(name, lowered)| Some((name, lowered.as_ref().err()?.clone())))
        .collect();
    for (&tensor, &id) in &compute.weights {
        if let bayplan_graph::kernel::Source::Unknown(why) = &compute.constants[id].source
            && (!graph.readers(tensor).is_empty() || graph.tensors()[tensor].is_output)
        {
            missing.push((graph.tensors()[tensor].name.clone(), why.clone()));
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(ProgramError::Unsupported(missing))
    }
}

fn arenas(plan: &CertifiedPlan) -> Result<Table<ArenaId, ArenaSize>, ProgramError> {
    let arenas = plan.checked().problem().arenas().values();
    let heights = plan.checked().plan().heights.values();
    let sized = arenas.zip(heights).map(|(arena, &height)| {
        Ok(ArenaSize {
            name: arena.name.clone(),
            bytes: addressable(height, &arena.name)?,
            persistent: arena.name == PERSISTENT,
        })
    });
    sized.collect()
}

fn addressable(bytes: u64, what: &str) -> Result<usize, ProgramError> {
    let fits = usize::try_from(bytes).ok();
    let fits = fits.filter(|&bytes| isize::try_from(bytes).is_ok());
    fits.ok_or_else(|| ProgramError::TooLarge {
        what: what.to_owned(),
    })
}

pub(super) struct Builder<'a> {
    pub(super) graph: &'a Graph,
    plan: &'a CertifiedPlan,
    compute: &'a Compute,
    /// Places of tensors that are the caller's.
    caller: BTreeMap<TensorId, Window>,
    arenas: Table<ArenaId, ArenaSize>,
    commands: Vec<Command>,
}

impl Builder<'_> {
    fn bytes(&self, tensor: TensorId) -> Result<usize, ProgramError> {
        let tensor = &self.graph.tensors()[tensor];
        addressable(tensor.bytes, &tensor.name)
    }

    /// An arena more for tensors that the plan leaves to the caller.
    fn callers(&mut self) -> Result<(), ProgramError> {
        let arena = ArenaId::from_index(self.arenas.len());
        let mut end = 0_usize;
        for (id, tensor) in self.graph.tensors().iter() {
            if !self.graph.is_external(id) || tensor.role == Role::Weight {
                continue;
            }
            let bytes = self.bytes(id)?;
            let window = Window {
                arena,
                offset: end,
                bytes,
            };
            self.caller.insert(id, window);
            let next = window.offset.checked_add(bytes);
            let next = next.and_then(|next| next.checked_next_multiple_of(CALLER_ALIGNMENT));
            let next = next.filter(|&next| isize::try_from(next).is_ok());
            end = next.ok_or_else(|| ProgramError::TooLarge {
                what: tensor.name.clone(),
            })?;
        }
        if !self.caller.is_empty() {
            self.arenas.push(ArenaSize {
                name: "caller".into(),
                bytes: end,
                persistent: false,
            });
        }
        Ok(())
    }

    fn ports(&self, wanted: impl Fn(TensorId) -> bool) -> Result<Vec<Port>, ProgramError> {
        let ids = self.graph.tensors().ids().filter(|&id| wanted(id));
        let port = |id: TensorId| {
            let tensor = &self.graph.tensors()[id];
            Ok(Port {
                tensor: id,
                name: tensor.name.clone(),
                dtype: tensor.dtype,
                shape: tensor.shape.clone(),
                bytes: self.bytes(id)?,
            })
        };
        ids.map(port).collect()
    }

    /// Where a tensor is; nothing where it has no bytes of its own.
    pub(super) fn place(&self, tensor: TensorId) -> Result<Option<Read>, ProgramError> {
        if let Some(window) = self.caller.get(&tensor) {
            return Ok(Some(Read::Arena(*window)));
        }
        Ok(match self.plan.locations().tensors[tensor] {
            Spot::At(place) => Some(Read::Arena(Window {
                arena: place.arena,
                offset: addressable(place.offset, &self.graph.tensors()[tensor].name)?,
                bytes: self.bytes(tensor)?,
            })),
            Spot::Outside => match self.compute.weights.get(&tensor) {
                Some(&id) => Some(Read::Constant(self.whole(tensor, id)?)),
                None => None,
            },
            Spot::Nowhere => None,
        })
    }

    /// The constant of a tensor, which has as many bytes.
    fn whole(&self, tensor: TensorId, id: ConstantId) -> Result<ConstantId, ProgramError> {
        let (tensor, found) = (
            &self.graph.tensors()[tensor],
            self.compute.constants[id].bytes,
        );
        if found == tensor.bytes {
            return Ok(id);
        }
        Err(ProgramError::Constant {
            tensor: tensor.name.clone(),
            found,
            bytes: tensor.bytes,
        })
    }

    /// Where each tensor is that has bytes of an arena.
    fn homes(&self) -> Result<Table<TensorId, Option<Window>>, ProgramError> {
        let window = |id| match self.place(id)? {
            Some(Read::Arena(window)) => Ok(Some(window)),
            _ => Ok(None),
        };
        self.graph.tensors().ids().map(window).collect()
    }

    fn loads(&mut self, inputs: &[Port]) -> Result<(), ProgramError> {
        for (input, port) in inputs.iter().enumerate() {
            // An input that nobody reads has no place.
            if let Some(Read::Arena(to)) = self.place(port.tensor)? {
                self.commands.push(Command::Load { input, to });
            }
        }
        Ok(())
    }

    fn stores(&mut self, outputs: &[Port]) -> Result<(), ProgramError> {
        for (output, port) in outputs.iter().enumerate() {
            let from = self.place(port.tensor)?;
            let from = from.ok_or_else(|| ProgramError::Placeless {
                node: "the end of the run".into(),
                tensor: port.name.clone(),
            })?;
            self.commands.push(Command::Store { output, from });
        }
        Ok(())
    }

    fn node(&mut self, id: NodeId) -> Result<(), ProgramError> {
        let node = &self.graph.nodes()[id];
        let Ok(parts) = &self.compute.nodes[id] else {
            return Ok(()); // named before
        };
        for part in parts {
            let site = self.site(node, part)?;
            let Some((write, reads)) = self.windows(&site)? else {
                continue;
            };
            if self.is_view(&site, write, &reads)? {
                continue;
            }
            let in_place = site.in_place(parts.len(), write, &reads)?;
            self.commands.push(Command::Dispatch(Box::new(Dispatch {
                node: id,
                kernel: part.kernel.clone(),
                reads,
                operands: part.reads.clone(),
                target: site.target,
                write,
                in_place,
            })));
        }
        Ok(())
    }
}
