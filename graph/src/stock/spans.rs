//! What a stock planner is asked to place, and its places as places of our buffers.

use super::{Pinned, buffer_of};
use crate::ir::{Graph, NodeId, Role, TensorId};
use crate::placement::{Placement, persistent, temporary};
use crate::profile::StockPlanner;
use crate::schedule::Schedule;
use crate::storage::{Class, Storage};
use bayplan_planner::stock::{Span, arena_planner, micro_greedy};
use bayplan_planner::sweep::Profile;
use bayplan_planner::{BufferId, Lifetime, Place, Problem, Table};

/// All that the spans are derived from.
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    pub(super) schedule: &'a Schedule,
    pub(super) storage: &'a Storage,
    pub(super) problem: &'a Problem,
    pub(super) placement: &'a Placement,
}

impl View<'_> {
    /// Where `stock` puts every buffer. Nothing beyond what it is followed to.
    pub(super) fn places(
        &self,
        stock: StockPlanner,
        alignment: u64,
        pinned: &Pinned,
    ) -> Option<Table<BufferId, Place>> {
        let unplaced = Place {
            arena: temporary(),
            offset: 0,
        };
        let mut places = Table::filled(unplaced, self.problem.buffers().len());
        let (buffers, spans): (Vec<_>, Vec<_>) = self.temporaries(stock, pinned).unzip();
        let offsets = match stock {
            StockPlanner::ArenaPlanner => arena_planner(&spans, alignment)?,
            StockPlanner::MicroGreedy => micro_greedy(&spans)?,
        };
        for (&buffer, offset) in buffers.iter().zip(offsets) {
            places[buffer].offset = offset;
        }
        let (buffers, spans): (Vec<_>, Vec<_>) = self.states().unzip();
        for (&buffer, offset) in buffers.iter().zip(arena_planner(&spans, alignment)?) {
            places[buffer] = Place {
                arena: persistent(),
                offset,
            };
        }
        Some(places)
    }

    /// The most that lives at once, in bytes.
    pub(super) fn load(&self, stock: StockPlanner) -> u64 {
        let horizon = self.schedule.horizon().0;
        let none = Pinned::new();
        let rects = self.temporaries(stock, &none).map(|(_, span)| {
            let end = span.last.unwrap_or(horizon).saturating_add(1);
            (
                Lifetime::new(span.first, end.max(span.first + 1)),
                span.size,
            )
        });
        Profile::new(rects).max().0
    }

    /// Tensors in order of the file, then scratch in order of execution.
    fn temporaries(
        &self,
        stock: StockPlanner,
        pinned: &Pinned,
    ) -> impl Iterator<Item = (BufferId, Span)> {
        let tensors = self.roots(false).map(move |(root, class, buffer)| {
            let (first, last) = match stock {
                StockPlanner::ArenaPlanner => self.kept(root, class),
                StockPlanner::MicroGreedy => self.scopes(root),
            };
            let given = pinned.get(root).copied().flatten();
            (buffer, self.span(buffer, first, last, given))
        });
        let scratch = self
            .placement
            .scratch
            .iter()
            .flat_map(move |(node, blocks)| {
                let at = match stock {
                    StockPlanner::ArenaPlanner => self.step(node),
                    StockPlanner::MicroGreedy => self.step(node) + 1,
                };
                blocks
                    .iter()
                    .map(move |&buffer| (buffer, self.span(buffer, at, Some(at), None)))
            });
        tensors.chain(scratch)
    }

    fn states(&self) -> impl Iterator<Item = (BufferId, Span)> {
        self.roots(true)
            .map(|(_, _, buffer)| (buffer, self.span(buffer, 0, None, None)))
    }

    /// Roots with bytes of ours, in order of the file.
    fn roots(&self, states: bool) -> impl Iterator<Item = (TensorId, &Class, BufferId)> {
        let tensors = self.graph.tensors().iter();
        tensors.filter_map(move |(id, tensor)| {
            let (class, _) = self.storage.home(id)?;
            let class = &self.storage.classes()[class];
            let wanted = class.root() == id && (tensor.role == Role::State) == states;
            let buffer = buffer_of(self.placement, id).filter(|_| wanted)?;
            Some((id, class, buffer))
        })
    }

    fn span(&self, buffer: BufferId, first: u32, last: Option<u32>, given: Option<u64>) -> Span {
        Span {
            size: self.problem.buffers()[buffer].size(),
            first,
            last,
            given,
        }
    }

    fn step(&self, node: NodeId) -> u32 {
        self.schedule.step(node).0
    }

    fn first(&self, root: TensorId) -> Option<u32> {
        self.graph.producer(root).map(|node| self.step(node))
    }

    fn last_reader(&self, tensor: TensorId) -> Option<u32> {
        let readers = self.graph.readers(tensor).iter();
        readers.map(|&node| self.step(node)).max()
    }

    /// `ArenaPlanner`: inputs, outputs and what nobody reads are never given back.
    fn kept(&self, root: TensorId, class: &Class) -> (u32, Option<u32>) {
        let tensor = &self.graph.tensors()[root];
        let first = self.first(root);
        let kept = first.is_none() || tensor.is_output;
        let readers = class
            .members
            .iter()
            .filter_map(|m| self.last_reader(m.tensor));
        let last = readers.max().filter(|_| !kept);
        (first.unwrap_or(0), last)
    }

    /// Micro: scope 0 for inputs, then one for each operator; outputs live to the last one. An input
    /// that nobody reads would be free from scope 1 on; ours must be there while the first operator
    /// runs, so it is held one scope longer than there.
    fn scopes(&self, root: TensorId) -> (u32, Option<u32>) {
        let first = self.first(root).map_or(0, |step| step + 1);
        let last = if self.graph.tensors()[root].is_output {
            self.schedule.horizon().0
        } else {
            self.last_reader(root).map_or(first.max(1), |step| step + 1)
        };
        (first, Some(last.max(first)))
    }
}
