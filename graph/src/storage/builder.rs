//! Views and in-place offers, decided node by node.
//!
//! Goes in: what [`Storage::new`] takes. Comes out: the storage. A view is refused where sharing would be wrong;
//! of several operands that an output may be written over, one is chosen here (which they are: `inplace`).

use super::live::{Live, Occupant};
use super::{Class, ClassId, Decision, Member, Policy, Question, Reason, Share, Storage};
use crate::ir::{Graph, Node, NodeId, Role, TensorId, View};
use crate::lifetimes::{Lifetimes, survives};
use crate::schedule::Schedule;
use bayplan_planner::{Step, Table};

/// Decides every view and every offer.
pub(super) fn storage(
    graph: &Graph,
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    policy: Policy,
    alignment: u64,
) -> Storage {
    let tensors = graph.tensors().len();
    let mut builder = Builder {
        graph,
        schedule,
        lifetimes,
        policy,
        alignment,
        reach: reach(graph, schedule, lifetimes),
        live: Table::new(),
        readers_run: Table::filled(0, tensors),
        storage: Storage {
            classes: Table::new(),
            homes: Table::filled(None, tensors),
            decisions: Vec::new(),
        },
    };
    builder.given();
    for &id in schedule.order() {
        builder.node(id);
    }
    builder.storage
}

/// The last step + 1 at which a tensor or a view of it is needed.
fn reach(graph: &Graph, schedule: &Schedule, lifetimes: &Lifetimes) -> Table<TensorId, Step> {
    let ends = graph
        .tensors()
        .ids()
        .map(|id| lifetimes.get(id).map_or(Step(0), |life| life.end));
    let mut reach: Table<TensorId, Step> = ends.collect();
    for &node in schedule.order().iter().rev() {
        for view in &graph.nodes()[node].views {
            reach[view.input] = reach[view.input].max(reach[view.output]);
        }
    }
    reach
}

pub(super) struct Builder<'a> {
    pub(super) graph: &'a Graph,
    pub(super) schedule: &'a Schedule,
    pub(super) lifetimes: &'a Lifetimes,
    pub(super) policy: Policy,
    alignment: u64,
    reach: Table<TensorId, Step>,
    /// By class, who of it counts at the step of the node that is visited.
    pub(super) live: Table<ClassId, Live>,
    /// By tensor, how many of its readers in file order are known to have run.
    readers_run: Table<TensorId, usize>,
    pub(super) storage: Storage,
}

impl Builder<'_> {
    /// Inputs, weights and states are there before the first step.
    fn given(&mut self) {
        for (id, tensor) in self.graph.tensors().iter() {
            if matches!(tensor.role, Role::Input | Role::Weight | Role::State) {
                self.own(id, Step(0));
            }
        }
    }

    /// Gives `tensor`, which is there from `step` on, a class of its own.
    fn own(&mut self, tensor: TensorId, step: Step) {
        let outside =
            self.graph.tensors()[tensor].role == Role::Weight || self.graph.is_external(tensor);
        let class = self.storage.classes.push(Class {
            members: Vec::new(),
            outside,
        });
        self.live.push(Live::default());
        self.join(tensor, (class, 0), Share::Own, step);
    }

    fn join(
        &mut self,
        tensor: TensorId,
        (class, offset): (ClassId, u64),
        share: Share,
        step: Step,
    ) {
        self.storage.classes[class].members.push(Member {
            tensor,
            offset,
            share,
        });
        self.storage.homes[tensor] = Some((class, offset));
        let described = &self.graph.tensors()[tensor];
        if let Some(fixed) = described.fixed_offset {
            self.live[class].give(offset, fixed);
        }
        let life = self.lifetimes.get(tensor);
        let over = life.map_or(Step(0), |life| life.end);
        let survives = survives(self.graph, tensor, self.policy.reuse_inputs);
        let occupant = Occupant {
            tensor,
            lo: offset,
            hi: offset + described.bytes,
            over: (!survives).then_some(over),
        };
        self.live[class].join(occupant, step);
    }

    fn node(&mut self, id: NodeId) {
        let node = &self.graph.nodes()[id];
        for &view in &node.views {
            self.view(id, view);
        }
        for &output in &node.outputs {
            self.in_place(id, node, output);
            if self.storage.homes[output].is_none() {
                self.own(output, self.schedule.step(id));
            }
        }
    }

    fn decide(
        &mut self,
        node: NodeId,
        (input, output): (TensorId, TensorId),
        question: Question,
        refused: Option<Reason>,
    ) {
        self.storage.decisions.push(Decision {
            node,
            input,
            output,
            question,
            refused,
        });
    }

    fn view(&mut self, id: NodeId, view: View) {
        let refused = self.refuse_view(view);
        self.decide(id, (view.input, view.output), Question::View, refused);
        if refused.is_none() {
            let (class, offset) = self.storage.homes[view.input].expect("inputs come first");
            let place = (class, offset + view.offset);
            let share = Share::ViewOf(view.input);
            self.join(view.output, place, share, self.schedule.step(id));
        }
    }

    fn refuse_view(&self, view: View) -> Option<Reason> {
        if !self.policy.views {
            return Some(Reason::SwitchedOff);
        }
        let (class, offset) = self.storage.homes[view.input].expect("inputs come first");
        let root = self.storage.classes[class].root();
        if self.graph.is_external(view.output) && !self.graph.is_external(root) {
            return Some(Reason::External);
        }
        if self.graph.tensors()[root].role == Role::Weight
            && survives(self.graph, view.output, true)
        {
            return Some(Reason::IsConstant);
        }
        if !(offset + view.offset).is_multiple_of(self.alignment) {
            return Some(Reason::Misaligned);
        }
        if !self.offsets_agree(class, view.output, offset + view.offset) {
            return Some(Reason::FixedElsewhere);
        }
        self.written_while_needed(root, view.output)
            .map(Reason::StateWritten)
    }

    /// The first writer of state `root` that runs while `tensor` or a view of it is still needed. Writers run
    /// in their order in the file: they depend on each other.
    pub(super) fn written_while_needed(&self, root: TensorId, tensor: TensorId) -> Option<NodeId> {
        let made = self.lifetimes.get(tensor)?.start;
        let writers = self.graph.writers(root);
        let before = writers.partition_point(|&writer| self.schedule.step(writer) <= made);
        let next = writers.get(before).copied();
        next.filter(|&writer| self.schedule.step(writer) < self.reach[tensor])
    }

    /// Whether the given offsets of the class and of a new member at `offset` fit each other.
    pub(super) fn offsets_agree(&self, class: ClassId, tensor: TensorId, offset: u64) -> bool {
        let fixed = self.graph.tensors()[tensor].fixed_offset;
        fixed.is_none_or(|fixed| self.live[class].agrees(offset, fixed))
    }

    /// The first reader of `tensor` in file order that runs after `step`. Steps may not go down from one
    /// question to the next: who has run is not looked at again.
    pub(super) fn later_reader(&mut self, tensor: TensorId, step: Step) -> Option<NodeId> {
        let run = &mut self.readers_run[tensor];
        let readers = &self.graph.readers(tensor)[*run..];
        let later = readers.iter().position(|&r| self.schedule.step(r) > step);
        *run += later.unwrap_or(readers.len());
        later.map(|later| readers[later])
    }

    fn in_place(&mut self, id: NodeId, node: &Node, output: TensorId) {
        let offers: Vec<TensorId> = node
            .in_place
            .iter()
            .filter(|o| o.1 == output)
            .map(|o| o.0)
            .collect();
        let answers: Vec<Option<Reason>> = offers
            .iter()
            .map(|&input| self.refuse_in_place(id, input, output))
            .collect();
        let bytes = |t: TensorId| self.graph.tensors()[t].bytes;
        // Of several allowed operands take the one that leaves the smallest tail, then the first.
        let allowed = (0..offers.len()).filter(|&i| answers[i].is_none());
        let best = allowed.min_by_key(|&i| (bytes(offers[i]) - bytes(output), i));
        for (index, &input) in offers.iter().enumerate() {
            let refused = match best {
                Some(best) if best != index => {
                    answers[index].or(Some(Reason::AlreadyShares(offers[best])))
                }
                _ => answers[index],
            };
            self.decide(id, (input, output), Question::InPlace, refused);
        }
        if let Some(best) = best {
            let place = self.storage.homes[offers[best]].expect("operands come first");
            let share = Share::Over(offers[best]);
            self.join(output, place, share, self.schedule.step(id));
        }
    }
}
