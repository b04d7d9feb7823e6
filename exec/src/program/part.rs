//! One kernel of a node: its tensors, their windows, and what the plan may share.
//!
//! Goes in: a part and the plan. Comes out: windows that are large enough and that the kernel can have as they lie; or an
//! error that names node and tensor.

use super::build::Builder;
use super::{ProgramError, Read, Window};
use bayplan_graph::ir::Node;
use bayplan_graph::kernel::{Kernel, MAX_OPERANDS, Part, Target};
use bayplan_graph::{Graph, TensorId};

/// A part and its tensors.
pub(super) struct Site<'a> {
    graph: &'a Graph,
    node: &'a Node,
    kernel: &'a Kernel,
    operands: Vec<TensorId>,
    pub(super) target: TensorId,
}

impl Builder<'_> {
    /// The tensors of a part, and that they are large enough.
    pub(super) fn site<'b>(
        &'b self,
        node: &'b Node,
        part: &'b Part,
    ) -> Result<Site<'b>, ProgramError> {
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
    pub(super) fn windows(
        &self,
        site: &Site<'_>,
    ) -> Result<Option<(Window, Vec<Read>)>, ProgramError> {
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
    pub(super) fn is_view(
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

impl Site<'_> {
    /// The operands under the result; an error where the kernel cannot have that.
    pub(super) fn in_place(
        &self,
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
            if !same || parts != 1 || !self.kernel.in_place(position) {
                return Err(ProgramError::Shares {
                    node: self.node.name.clone(),
                    tensor: self.graph.tensors()[self.operands[position]].name.clone(),
                    kernel: self.kernel.name(),
                });
            }
            found.push(position);
        }
        Ok(found)
    }
}
