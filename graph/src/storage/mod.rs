//! Which tensors share bytes, and the reason for every decision.
//!
//! Goes in: graph, schedule, lifetimes, a [`Policy`]. Comes out: [`Storage`], classes of tensors
//! with one root and members at byte offsets, and a [`Decision`] for every view and every in-place
//! offer, taken or refused. No two members of a class need different contents of one byte at one
//! step; [`mod@crate::certify`] proves that again from the graph alone.
//!
//! The nodes are visited in order of the schedule. The in-place rule (`storage/inplace`) is order-based
//! and looks through all views: every reader of any member whose bytes would be overwritten must
//! have run.

mod extent;
mod inplace;
mod reason;
mod stock;

pub(crate) use extent::rounded;
pub use reason::Reason;
pub use stock::Alias;

use crate::ir::{Graph, Node, NodeId, Role, TensorId, View};
use crate::lifetimes::{Lifetimes, survives};
use crate::schedule::Schedule;
use bayplan_planner::{Step, Table};
use serde::{Deserialize, Serialize};

bayplan_planner::id_type!(
    /// A class of tensors that share bytes.
    ClassId
);

/// What may be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Take in-place offers.
    pub in_place: bool,
    /// Give views no bytes of their own.
    pub views: bool,
    /// Inputs may be overwritten after their last reader.
    pub reuse_inputs: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            in_place: true,
            views: true,
            reuse_inputs: false,
        }
    }
}

/// How a tensor came into its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Share {
    /// It has bytes of its own.
    Own,
    /// It is bytes of this tensor.
    ViewOf(TensorId),
    /// It is written over this tensor.
    Over(TensorId),
}

/// A tensor in a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which.
    pub tensor: TensorId,
    /// Its first byte, from the start of the class.
    pub offset: u64,
    /// How it came in.
    pub share: Share,
}

/// Tensors that share bytes; the first member is the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Root first, then in order of joining.
    pub members: Vec<Member>,
    /// Its bytes are not in an arena: a weight's, or the caller's.
    pub outside: bool,
}

impl Class {
    /// The tensor whose bytes these were first.
    pub fn root(&self) -> TensorId {
        self.members[0].tensor
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// May the output be the input's bytes?
    View,
    /// May the output be written over the input?
    InPlace,
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The node that was asked about.
    pub node: NodeId,
    /// The tensor whose bytes are wanted.
    pub input: TensorId,
    /// The tensor that would take them.
    pub output: TensorId,
    /// What was asked.
    pub question: Question,
    /// Nothing when taken.
    pub refused: Option<Reason>,
}

/// Classes and decisions.
#[derive(Clone, Debug)]
pub struct Storage {
    classes: Table<ClassId, Class>,
    homes: Table<TensorId, Option<(ClassId, u64)>>,
    decisions: Vec<Decision>,
}

impl Storage {
    /// Decides every view and every in-place offer. A member of a class starts at a multiple of
    /// `alignment` within it, or gets bytes of its own.
    pub fn new(
        graph: &Graph,
        schedule: &Schedule,
        lifetimes: &Lifetimes,
        policy: Policy,
        alignment: u64,
    ) -> Self {
        let mut builder = Builder {
            graph,
            schedule,
            lifetimes,
            policy,
            alignment,
            reach: reach(graph, schedule, lifetimes),
            storage: Self {
                classes: Table::new(),
                homes: Table::filled(None, graph.tensors().len()),
                decisions: Vec::new(),
            },
        };
        builder.given();
        for &id in schedule.order() {
            builder.node(id);
        }
        builder.storage
    }

    /// The sharing that a stock planner decided: results in their roots' bytes, from the first byte on.
    /// Nothing is asked of our own rules; the certificate judges it.
    pub(crate) fn stock(
        graph: &Graph,
        schedule: &Schedule,
        aliases: &Table<TensorId, Option<Alias>>,
    ) -> Self {
        stock::storage(graph, schedule, aliases)
    }

    /// All classes, in order of first use.
    pub fn classes(&self) -> &Table<ClassId, Class> {
        &self.classes
    }

    /// The class of a tensor and its byte offset there; nothing for what is never used.
    pub fn home(&self, tensor: TensorId) -> Option<(ClassId, u64)> {
        self.homes[tensor]
    }

    /// Every decision, in order of the schedule.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// How a tensor came into its class.
    pub fn share(&self, tensor: TensorId) -> Option<Share> {
        let (class, _) = self.homes[tensor]?;
        let member = self.classes[class]
            .members
            .iter()
            .find(|m| m.tensor == tensor);
        member.map(|m| m.share)
    }

    /// The rectangles that a class covers: at each step the union of its live members, each widened to
    /// multiples of `granule`.
    pub fn extent(
        &self,
        graph: &Graph,
        lifetimes: &Lifetimes,
        class: ClassId,
        granule: u64,
    ) -> Vec<bayplan_planner::Rect> {
        extent::extent(graph, lifetimes, &self.classes[class], granule)
    }

    /// Whether any in-place offer was taken.
    pub fn takes_in_place(&self) -> bool {
        self.decisions
            .iter()
            .any(|d| d.question == Question::InPlace && d.refused.is_none())
    }

    /// This storage (made without in-place) with the reason that the planner declined the offers
    /// that `other` takes.
    #[must_use]
    pub(crate) fn declining(mut self, other: &Self) -> Self {
        self.decisions.clone_from(&other.decisions);
        for decision in &mut self.decisions {
            if decision.question == Question::InPlace && decision.refused.is_none() {
                decision.refused = Some(Reason::RaisesPeak);
            }
        }
        self
    }

    /// Makes `output` share the bytes of `input`'s class at the same start, whatever the rules say,
    /// with everything that shares with it already. Only for tests that forge decisions: the
    /// certifier must refuse what comes of it.
    #[doc(hidden)]
    #[must_use]
    pub fn forged(mut self, input: TensorId, output: TensorId) -> Self {
        let (Some((into, at)), Some((from, start))) = (self.homes[input], self.homes[output])
        else {
            return self;
        };
        if into == from {
            return self;
        }
        let moved = std::mem::take(&mut self.classes[from].members);
        self.classes[from].outside = true; // nothing is left in it
        for member in moved {
            let Some(offset) = (member.offset + at).checked_sub(start) else {
                continue;
            };
            self.homes[member.tensor] = Some((into, offset));
            let share = if member.tensor == output {
                Share::Over(input)
            } else {
                member.share
            };
            self.classes[into].members.push(Member {
                offset,
                share,
                ..member
            });
        }
        self
    }
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

struct Builder<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    lifetimes: &'a Lifetimes,
    policy: Policy,
    alignment: u64,
    reach: Table<TensorId, Step>,
    storage: Storage,
}

impl Builder<'_> {
    /// Inputs, weights and states are there before the first step.
    fn given(&mut self) {
        for (id, tensor) in self.graph.tensors().iter() {
            if matches!(tensor.role, Role::Input | Role::Weight | Role::State) {
                self.own(id);
            }
        }
    }

    fn own(&mut self, tensor: TensorId) {
        let outside =
            self.graph.tensors()[tensor].role == Role::Weight || self.graph.is_external(tensor);
        let member = Member {
            tensor,
            offset: 0,
            share: Share::Own,
        };
        let class = self.storage.classes.push(Class {
            members: vec![member],
            outside,
        });
        self.storage.homes[tensor] = Some((class, 0));
    }

    fn join(&mut self, tensor: TensorId, class: ClassId, offset: u64, share: Share) {
        self.storage.classes[class].members.push(Member {
            tensor,
            offset,
            share,
        });
        self.storage.homes[tensor] = Some((class, offset));
    }

    fn node(&mut self, id: NodeId) {
        let node = &self.graph.nodes()[id];
        for &view in &node.views {
            self.view(id, view);
        }
        for &output in &node.outputs {
            self.in_place(id, node, output);
            if self.storage.homes[output].is_none() {
                self.own(output);
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
            self.join(
                view.output,
                class,
                offset + view.offset,
                Share::ViewOf(view.input),
            );
        }
    }

    fn refuse_view(&self, view: View) -> Option<Reason> {
        if !self.policy.views {
            return Some(Reason::SwitchedOff);
        }
        let (class, offset) = self.storage.homes[view.input].expect("inputs come first");
        let class = &self.storage.classes[class];
        let root = class.root();
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

    /// A writer of state `root` that runs while `tensor` or a view of it is still needed.
    fn written_while_needed(&self, root: TensorId, tensor: TensorId) -> Option<NodeId> {
        let made = self.lifetimes.get(tensor)?.start;
        let needed = |step: Step| made < step && step < self.reach[tensor];
        let writers = self.graph.writers(root).iter().copied();
        writers
            .filter(|&writer| needed(self.schedule.step(writer)))
            .min_by_key(|&w| self.schedule.step(w))
    }

    /// Whether the given offsets of the class and of a new member at `offset` fit each other.
    fn offsets_agree(&self, class: &Class, tensor: TensorId, offset: u64) -> bool {
        let fixed = |id: TensorId| self.graph.tensors()[id].fixed_offset;
        let Some(wanted) = fixed(tensor) else {
            return true;
        };
        let Some(start) = wanted.checked_sub(offset) else {
            return false;
        };
        let mut others = class
            .members
            .iter()
            .filter_map(|m| Some((m.offset, fixed(m.tensor)?)));
        others.all(|(at, given)| given.checked_sub(at) == Some(start))
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
            let (class, offset) = self.storage.homes[offers[best]].expect("operands come first");
            self.join(output, class, offset, Share::Over(offers[best]));
        }
    }
}

#[cfg(test)]
mod tests;
