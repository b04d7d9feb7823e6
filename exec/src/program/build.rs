//! From a plan to its commands.

use super::{ArenaSize, Command, Dispatch, Port, Program, ProgramError, Read, Window};
use bayplan_graph::ir::Node;
use bayplan_graph::kernel::{Compute, ConstantId, Kernel, MAX_OPERANDS, Part, Target};
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

struct Builder<'a> {
    graph: &'a Graph,
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
    fn place(&self, tensor: TensorId) -> Result<Option<Read>, ProgramError> {
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
            let in_place = in_place(&site, parts.len(), write, &reads)?;
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

    /// The tensors of a part, and that they are large enough.
    fn site<'b>(&'b self, node: &'b Node, part: &'b Part) -> Result<Site<'b>, ProgramError> {
        let unsound = || ProgramError::Unsound {
            node: node.name.clone(),
            kernel: part.kernel.name(),
        };
        let target = match part.write {
            Target::Result(at) => node.outputs.get(at),
            Target::State(at) => node.writes.get(at),
        };
        let target = *target.ok_or_else(unsound)?;
        let operand = |&at: &usize| node.inputs.get(at).copied().flatten();
        let operands: Option<Vec<TensorId>> = part.reads.iter().map(operand).collect();
        let operands = operands.ok_or_else(unsound)?;
        let needs = part.kernel.needs().ok_or_else(unsound)?;
        if needs.reads.len() != operands.len() || operands.len() > MAX_OPERANDS {
            return Err(unsound());
        }
        let sizes = needs.reads.iter().copied().chain([needs.write]);
        for (&tensor, needed) in operands.iter().chain([&target]).zip(sizes) {
            let found = &self.graph.tensors()[tensor];
            if needed > found.bytes {
                return Err(ProgramError::Reach {
                    node: node.name.clone(),
                    kernel: part.kernel.name(),
                    tensor: found.name.clone(),
                    needed,
                    bytes: found.bytes,
                });
            }
        }
        Ok(Site {
            graph: self.graph,
            node,
            kernel: &part.kernel,
            operands,
            target,
        })
    }

    /// Where it writes and reads; nothing when it writes what is nowhere.
    fn windows(&self, site: &Site<'_>) -> Result<Option<(Window, Vec<Read>)>, ProgramError> {
        let placeless = |tensor: TensorId| ProgramError::Placeless {
            node: site.node.name.clone(),
            tensor: self.graph.tensors()[tensor].name.clone(),
        };
        let write = match self.place(site.target)? {
            Some(Read::Arena(window)) => window,
            Some(Read::Constant(_)) => return Err(placeless(site.target)),
            None => return Ok(None),
        };
        let mut reads = Vec::with_capacity(site.operands.len());
        for &operand in &site.operands {
            reads.push(self.place(operand)?.ok_or_else(|| placeless(operand))?);
        }
        Ok(Some((write, reads)))
    }

    /// Whether the plan has the result where it already is; an error where the kernel would change it.
    fn is_view(
        &self,
        site: &Site<'_>,
        write: Window,
        reads: &[Read],
    ) -> Result<bool, ProgramError> {
        let copies = matches!(site.kernel, Kernel::Copy { .. });
        if copies
            && let [Read::Arena(read)] = reads
            && (read.arena, read.offset) == (write.arena, write.offset)
        {
            return Ok(true);
        }
        let view = site
            .node
            .views
            .iter()
            .find(|view| view.output == site.target);
        let Some(view) = view else {
            return Ok(false);
        };
        let Some(Read::Arena(input)) = self.place(view.input)? else {
            return Ok(false);
        };
        let offset = usize::try_from(view.offset).ok();
        let begin = offset.and_then(|offset| input.offset.checked_add(offset));
        if input.arena != write.arena || begin != Some(write.offset) {
            return Ok(false);
        }
        if site.operands[..] == [view.input] && site.kernel.is_window(view.offset) {
            return Ok(true);
        }
        Err(ProgramError::View {
            node: site.node.name.clone(),
            tensor: self.graph.tensors()[site.target].name.clone(),
            kernel: site.kernel.name(),
        })
    }
}

/// A part and its tensors.
struct Site<'a> {
    graph: &'a Graph,
    node: &'a Node,
    kernel: &'a Kernel,
    operands: Vec<TensorId>,
    target: TensorId,
}

/// The operands under the result; an error where the kernel cannot have that.
fn in_place(
    site: &Site<'_>,
    parts: usize,
    write: Window,
    reads: &[Read],
) -> Result<Vec<usize>, ProgramError> {
    let mut found = Vec::new();
    for (position, read) in reads.iter().enumerate() {
        let Read::Arena(read) = read else { continue };
        if !read.overlaps(write) {
            continue;
        }
        let same = read.offset == write.offset && read.bytes >= write.bytes;
        if !same || parts != 1 || !site.kernel.in_place(position) {
            return Err(ProgramError::Shares {
                node: site.node.name.clone(),
                tensor: site.graph.tensors()[site.operands[position]].name.clone(),
                kernel: site.kernel.name(),
            });
        }
        found.push(position);
    }
    Ok(found)
}
