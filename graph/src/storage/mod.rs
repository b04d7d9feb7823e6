//! Which tensors share bytes, and the reason for every decision.
//!
//! Goes in: graph, schedule, lifetimes, a [`Policy`]. Comes out: [`Storage`], classes of tensors
//! with one root and members at byte offsets, and a [`Decision`] for every view and every in-place
//! offer, taken or refused. No two members of a class need different contents of one byte at one
//! step; [`mod@crate::certify`] proves that again from the graph alone.
//!
//! The nodes are visited in order of the schedule (`storage/builder`). The in-place rule (`storage/inplace`) is
//! order-based and looks through all views: every reader of any member whose bytes would be overwritten must
//! have run.

mod builder;
mod extent;
mod inplace;
mod live;
mod reason;
mod stock;

pub(crate) use extent::rounded;
pub use reason::Reason;
pub use stock::Alias;

use crate::ir::{Graph, NodeId, TensorId};
use crate::lifetimes::Lifetimes;
use crate::schedule::Schedule;
use bayplan_planner::Table;
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
        builder::storage(graph, schedule, lifetimes, policy, alignment)
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

#[cfg(test)]
mod tests;
