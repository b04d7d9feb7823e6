//! The in-place rule: may a result take an operand's bytes?
//!
//! DESIGN: output `o` may take input `x`'s bytes iff the kernel offers the pair; `x`'s class is ours
//! to write; every reader of any member that overlaps the written range runs before this node (in
//! the order of the schedule, through all views); no other operand overlaps the written range; `o`
//! starts where `x` starts, is not larger, and has elements of the same size. The rule set is a
//! superset of ggml's (`ggml_gallocr_allocate_node`), each refusal kept as data.

use super::Reason;
use super::builder::Builder;
use super::live::Occupant;
use crate::ir::{NodeId, Role, TensorId};
use bayplan_planner::Step;

impl Builder<'_> {
    /// Why `output` of `node` may not be written over `input`; nothing if it may.
    pub(super) fn refuse_in_place(
        &mut self,
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
        let root = self.storage.classes[class].root();
        if let Some(reason) = self.refuse_root(node, root, output) {
            return Some(reason);
        }
        if !self.offsets_agree(class, output, offset) {
            return Some(Reason::FixedElsewhere);
        }
        let written = offset..offset + o.bytes;
        let mut index = 0;
        while let Some(member) = self.live[class].get(index) {
            if member.meets(&written)
                && let Some(reason) = self.refuse_member(node, input, member)
            {
                return Some(reason);
            }
            index += 1;
        }
        None
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

    /// Whether overwriting this member at `node` destroys what it still means.
    fn refuse_member(&mut self, node: NodeId, input: TensorId, member: Occupant) -> Option<Reason> {
        let tensor = member.tensor;
        let described = &self.graph.tensors()[tensor];
        if self.graph.producer(tensor) == Some(node) {
            return Some(Reason::TakenBy(tensor));
        }
        if described.role == Role::State && self.graph.nodes()[node].writes.contains(&tensor) {
            return None;
        }
        let Some(over) = member.over else {
            let plain_input =
                described.role == Role::Input && !described.keep && !described.is_output;
            let reason = if plain_input {
                Reason::IsInput
            } else {
                Reason::MustSurvive
            };
            return Some(reason(tensor));
        };
        let step = self.schedule.step(node);
        if let Some(reader) = self.later_reader(tensor, step) {
            return Some(Reason::StillReadBy(reader, tensor));
        }
        let operand = tensor != input && over == Step(step.0 + 1);
        operand.then_some(Reason::OtherOperand(tensor))
    }
}
