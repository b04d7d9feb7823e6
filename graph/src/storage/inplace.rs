//! The in-place rule: may a result take an operand's bytes?
//!
//! DESIGN: output `o` may take input `x`'s bytes iff the kernel offers the pair; `x`'s class is ours
//! to write; every reader of any member that overlaps the written range runs before this node (in
//! the order of the schedule, through all views); no other operand overlaps the written range; `o`
//! starts where `x` starts, is not larger, and has elements of the same size. The rule set is a
//! superset of ggml's (`ggml_gallocr_allocate_node`), each refusal kept as data.

use super::{Builder, Member, Reason, Role};
use crate::ir::{NodeId, TensorId};
use crate::lifetimes::survives;
use bayplan_planner::Step;

impl Builder<'_> {
    /// Why `output` of `node` may not be written over `input`; nothing if it may.
    pub(super) fn refuse_in_place(
        &self,
        node: NodeId,
        input: TensorId,
        output: TensorId,
    ) -> Option<Reason> {
        if !self.policy.in_place {
            return Some(Reason::SwitchedOff);
        }
        if self.storage.homes[output].is_some() {
            let sharing = self.graph.nodes()[node]
                .views
                .iter()
                .find(|v| v.output == output);
            return Some(Reason::AlreadyShares(sharing.map_or(output, |v| v.input)));
        }
        let (x, o) = (&self.graph.tensors()[input], &self.graph.tensors()[output]);
        if o.bytes > x.bytes {
            return Some(Reason::Larger);
        }
        if let (Some(a), Some(b)) = (x.dtype, o.dtype)
            && a.bits() != b.bits()
        {
            return Some(Reason::ElementSize);
        }
        let (class, offset) = self.storage.homes[input]?;
        let class = &self.storage.classes[class];
        if let Some(reason) = self.refuse_root(node, class.root(), output) {
            return Some(reason);
        }
        if !self.offsets_agree(class, output, offset) {
            return Some(Reason::FixedElsewhere);
        }
        let written = (offset, offset + o.bytes);
        class
            .members
            .iter()
            .find_map(|member| self.refuse_member(node, input, member, written))
    }

    /// Whether the class is ours to write at all.
    fn refuse_root(&self, node: NodeId, root: TensorId, output: TensorId) -> Option<Reason> {
        if self.graph.tensors()[root].role == Role::Weight {
            return Some(Reason::IsConstant);
        }
        if self.graph.is_external(root) || self.graph.is_external(output) {
            return Some(Reason::External);
        }
        if self.graph.tensors()[root].role == Role::State {
            if !self.graph.nodes()[node].writes.contains(&root) {
                return Some(Reason::IsState(root));
            }
            return self
                .written_while_needed(root, output)
                .map(Reason::StateWritten);
        }
        None
    }

    /// Whether overwriting `written` at `node` destroys what this member still means.
    fn refuse_member(
        &self,
        node: NodeId,
        input: TensorId,
        member: &Member,
        written: (u64, u64),
    ) -> Option<Reason> {
        let tensor = member.tensor;
        let described = &self.graph.tensors()[tensor];
        let step = self.schedule.step(node);
        let end = member.offset + described.bytes;
        let empty = described.bytes == 0 || written.0 == written.1;
        let overlaps = !empty && member.offset < written.1 && written.0 < end;
        if !overlaps {
            return None;
        }
        if self.graph.producer(tensor) == Some(node) {
            return Some(Reason::TakenBy(tensor));
        }
        let updated_here =
            described.role == Role::State && self.graph.nodes()[node].writes.contains(&tensor);
        if survives(self.graph, tensor, self.policy.reuse_inputs) && !updated_here {
            let plain_input =
                described.role == Role::Input && !described.keep && !described.is_output;
            let reason = if plain_input {
                Reason::IsInput
            } else {
                Reason::MustSurvive
            };
            return Some(reason(tensor));
        }
        if updated_here {
            return None;
        }
        let life = self.lifetimes.get(tensor)?;
        let later = self
            .graph
            .readers(tensor)
            .iter()
            .find(|&&reader| self.schedule.step(reader) > step);
        if let Some(&reader) = later {
            return Some(Reason::StillReadBy(reader, tensor));
        }
        let operand = tensor != input && life.end == Step(step.0 + 1);
        operand.then_some(Reason::OtherOperand(tensor))
    }
}
