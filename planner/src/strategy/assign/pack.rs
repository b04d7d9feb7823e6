//! One arena at a time: the buffers that it was given as a problem of their own.
//!
//! Goes in: an arena and who is in it. Comes out: offsets and a height; either the first found within a
//! capacity, or the lowest that strategies and search find.

use super::super::front::improve;
use super::super::search::Spent;
use super::super::stop::Stop;
use super::super::{Options, Progress, Stage, Tried, portfolio};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::part::part;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::sweep::Profile;
use std::cell::Cell;

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
    stop: &'a Stop<'a>,
    nodes: Cell<u64>,
    /// Work that searches within capacities may still take.
    work: Cell<u64>,
}

/// All searches within capacities together take this part of the work of one search ...
const ALL: u64 = 4;
/// ... and each of them at most this part.
const EACH: u64 = 64;
/// An arena with a capacity is lowered with this part of it: what it does not need serves nobody else.
const LIMITED: u64 = 16;

impl<'a> Packer<'a> {
    pub(super) fn new(problem: &'a Problem, options: &'a Options<'a>, stop: &'a Stop<'a>) -> Self {
        Self {
            problem,
            options,
            stop,
            nodes: Cell::new(0),
            work: Cell::new(options.part_of_work(ALL)),
        }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes.get()
    }

    /// Whether planning was cut short.
    pub(super) fn stopped(&self) -> bool {
        self.stop.asked()
    }

    /// Nothing is left for searches.
    pub(super) fn exhausted(&self) -> bool {
        self.stopped() || (self.options.part_of_work(ALL) > 0 && self.work.get() == 0)
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

    /// The first packing within `capacity`, or the lowest that was found.
    pub(super) fn within(&self, arena: ArenaId, members: &[BufferId], capacity: u64) -> Packed {
        let problem = part(self.problem, arena, members);
        let mut bounds = Bounds::new(&problem);
        let options = Options {
            stop_at_bound: true,
            enough: Some(capacity),
            progress: None,
            ..self.options.clone()
        };
        let ran = portfolio::run(&problem, &bounds, &options, self.stop, None);
        let (mut plan, _) = ran.expect("there are strategies");
        let each = self.options.part_of_work(EACH).min(self.work.get());
        let spent = self.improve(&problem, &mut plan, &mut bounds, &options, Some(each));
        self.work.set(self.work.get().saturating_sub(spent.work));
        packed(members, &plan)
    }

    /// The lowest packing that strategies and search find, and what each strategy reached.
    pub(super) fn lowest(&self, arena: ArenaId, members: &[BufferId]) -> (Packed, Vec<Tried>) {
        let problem = part(self.problem, arena, members);
        let mut bounds = Bounds::new(&problem);
        let ran = portfolio::run(&problem, &bounds, self.options, self.stop, None);
        let (mut plan, tried) = ran.expect("there are strategies");
        let limited = self.problem.arenas()[arena].capacity.is_some();
        let part = limited.then(|| self.options.part_of_work(LIMITED));
        let work = part.or(self.options.work_limit);
        self.improve(&problem, &mut plan, &mut bounds, self.options, work);
        (packed(members, &plan), tried)
    }

    /// Searches with what is left of the nodes, and counts those that it takes.
    fn improve(
        &self,
        problem: &Problem,
        plan: &mut Plan,
        bounds: &mut Bounds,
        options: &Options<'_>,
        work_limit: Option<u64>,
    ) -> Spent {
        let before = self.nodes.get();
        let outer = self.options.progress;
        let report = |progress: &Progress| {
            if let (Some(report), Stage::Search { nodes }) = (outer, progress.stage) {
                let nodes = before + nodes;
                report(&Progress {
                    stage: Stage::Search { nodes },
                    ..*progress
                });
            }
        };
        let limits = Options {
            node_limit: options.node_limit.map(|all| all.saturating_sub(before)),
            work_limit,
            progress: outer.map(|_| &report as _),
            ..options.clone()
        };
        let spent = improve(problem, plan, bounds, &limits, self.stop);
        self.nodes.set(before + spent.nodes);
        spent
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
