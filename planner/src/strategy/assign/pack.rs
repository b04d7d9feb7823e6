//! One arena at a time: the buffers that it was given as a problem of their own.
//!
//! Goes in: an arena and who is in it. Comes out: offsets and a height; either the first found within a
//! capacity, or the lowest that strategies and search find.

use super::super::search::{self, Limits};
use super::super::{Options, Tried, run_strategies};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::plan::Plan;
use crate::problem::{Pair, Problem};
use crate::sweep::Profile;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Offsets of the buffers of one arena.
#[derive(Clone)]
pub(super) struct Packed {
    pub(super) places: Vec<(BufferId, u64)>,
    pub(super) height: u64,
}

/// Packs arenas, and counts what that takes.
pub(super) struct Packer<'a> {
    pub(super) problem: &'a Problem,
    options: &'a Options<'a>,
    nodes: Cell<u64>,
    /// Work that searches within capacities may still take.
    work: Cell<u64>,
}

/// All searches within capacities together take at most about this many times the work of one search ...
const SEARCHES: u64 = 1;
/// ... and each of them at most this part of it.
const SHARE: u64 = 16;

impl<'a> Packer<'a> {
    pub(super) fn new(problem: &'a Problem, options: &'a Options<'a>) -> Self {
        Self {
            problem,
            options,
            nodes: Cell::new(0),
            work: Cell::new(options.search.work.saturating_mul(SEARCHES)),
        }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes.get()
    }

    /// Nothing is left for searches.
    pub(super) fn exhausted(&self) -> bool {
        self.options.search.work > 0 && self.work.get() == 0
    }

    /// Pairs may overlap, so that a load may be more than a height.
    pub(super) fn blurred(&self) -> bool {
        !self.problem.pairs().is_empty()
    }

    /// Bytes of some buffers over time.
    pub(super) fn load(&self, members: &[BufferId]) -> Profile {
        let rects = members
            .iter()
            .flat_map(|&id| &self.problem.buffers()[id].extent);
        Profile::new(rects.map(|r| (r.steps, r.bytes())))
    }

    /// The members of one arena as a problem with that arena alone, without a capacity.
    fn alone(&self, arena: ArenaId, members: &[BufferId]) -> Problem {
        let mut only = self.problem.arenas()[arena].clone();
        (only.capacity, only.largest_object) = (None, None);
        let first = vec![ArenaId::from_index(0)];
        let buffer = |&id: &BufferId| self.problem.buffers()[id].clone().in_arenas(first.clone());
        let buffers = members.iter().map(buffer).collect();
        let mut pairs = Vec::new();
        if self.blurred() {
            let new = |index| BufferId::from_index(index);
            let renamed = members
                .iter()
                .enumerate()
                .map(|(index, &id)| (id, new(index)));
            let of: BTreeMap<BufferId, BufferId> = renamed.collect();
            let both = self.problem.pairs().iter();
            pairs.extend(both.filter_map(|pair| {
                let (lower, upper) = (*of.get(&pair.lower)?, *of.get(&pair.upper)?);
                Some(Pair {
                    lower,
                    upper,
                    ..pair.clone()
                })
            }));
        }
        Problem::new(vec![only].into(), buffers, pairs).expect("a part of a problem is one")
    }

    /// The first packing within `capacity`, or the lowest that was found.
    pub(super) fn within(&self, arena: ArenaId, members: &[BufferId], capacity: u64) -> Packed {
        let problem = self.alone(arena, members);
        let mut bounds = Bounds::new(&problem);
        let only = ArenaId::from_index(0);
        let options = Options {
            observer: None,
            stop_at_bound: true,
            strategies: self.options.strategies.clone(),
            enough: Some(capacity),
            ..self.options.clone()
        };
        let ran = run_strategies(&problem, &bounds, &options);
        let (mut plan, _) = ran.expect("there are strategies");
        let least = bounds.arenas[only].bytes;
        if plan.heights[only] > capacity && least <= capacity {
            let one = (self.options.search.work / SHARE).min(self.work.get());
            let limits = Limits {
                work: one,
                enough: Some(capacity),
                ..self.options.search.clone()
            };
            let nodes = search::improve(&problem, &mut plan, &mut bounds, &limits);
            self.nodes.set(self.nodes.get() + nodes);
            // What a node takes grows with the buffers.
            let took = nodes
                .saturating_mul(members.len() as u64)
                .clamp(1, one.max(1));
            self.work.set(self.work.get().saturating_sub(took));
        }
        packed(members, &plan)
    }

    /// The lowest packing that strategies and search find, and what each strategy reached.
    pub(super) fn lowest(&self, arena: ArenaId, members: &[BufferId]) -> (Packed, Vec<Tried>) {
        let problem = self.alone(arena, members);
        let mut bounds = Bounds::new(&problem);
        let ran = run_strategies(&problem, &bounds, self.options);
        let (mut plan, tried) = ran.expect("there are strategies");
        let nodes = search::improve(&problem, &mut plan, &mut bounds, &self.options.search);
        self.nodes.set(self.nodes.get() + nodes);
        (packed(members, &plan), tried)
    }
}

fn packed(members: &[BufferId], plan: &Plan) -> Packed {
    let offsets = plan.places.values().map(|place| place.offset);
    Packed {
        places: members.iter().copied().zip(offsets).collect(),
        height: plan.heights[ArenaId::from_index(0)],
    }
}

/// Adds what the strategies reached in one arena. A strategy that was not needed there stands at the
/// height of the best.
pub(super) fn join(all: &mut Vec<Tried>, rows: &[Tried], arena: ArenaId, arenas: usize) {
    let only = ArenaId::from_index(0);
    let heights = rows.iter().filter_map(|row| row.heights.as_ref());
    let best = heights.map(|heights| heights[only]).min().unwrap_or(0);
    let known: Table<ArenaId, u64> = match all.last() {
        Some(_) => (0..arenas)
            .map(|index| least(all, ArenaId::from_index(index)))
            .collect(),
        None => Table::filled(0, arenas),
    };
    for (index, row) in rows.iter().enumerate() {
        if all.len() <= index {
            all.push(Tried {
                strategy: row.strategy,
                heights: Some(known.clone()),
            });
        }
    }
    for (index, tried) in all.iter_mut().enumerate() {
        let height = match rows.get(index) {
            Some(row) => row.heights.as_ref().map(|heights| heights[only]),
            None => Some(best),
        };
        match (&mut tried.heights, height) {
            (Some(heights), Some(height)) => heights[arena] = height,
            (heights, _) => *heights = None,
        }
    }
}

fn least(all: &[Tried], arena: ArenaId) -> u64 {
    let heights = all.iter().filter_map(|tried| tried.heights.as_ref());
    heights.map(|heights| heights[arena]).min().unwrap_or(0)
}
