//! One arena at a time: the buffers that it was given as a problem of their own.
//!
//! Goes in: an arena and who is in it. Comes out: offsets and a height; either the first found within a
//! capacity, or the lowest that strategies and search find.

use super::super::search::Spent;
use super::super::stages::Stages;
use super::super::stop::Stop;
use super::super::{Options, Progress, Stage, Tried, quick, with_heights};
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
    /// No packing of them is lower.
    pub(super) bound: u64,
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
            work: Cell::new(options.brief(ALL).work()),
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
        self.stopped() || (self.options.work() > 0 && self.work.get() == 0)
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
        let brief = self.options.brief(EACH);
        let options = Options {
            stop_at_bound: true,
            enough: Some(capacity),
            work_limit: Some(brief.work().min(self.work.get())),
            ..brief
        };
        let (packed, _, spent) = self.pack(arena, members, &options);
        self.work.set(self.work.get().saturating_sub(spent.work));
        packed
    }

    /// The lowest packing that strategies and search find, and what each strategy reached.
    pub(super) fn lowest(&self, arena: ArenaId, members: &[BufferId]) -> (Packed, Vec<Tried>) {
        let limited = self.problem.arenas()[arena].capacity.is_some();
        let options = if limited {
            self.options.brief(LIMITED)
        } else {
            self.options.clone()
        };
        let (packed, tried, _) = self.pack(arena, members, &options);
        (packed, tried)
    }

    /// Packs with what is left of the nodes, and counts those that it takes.
    fn pack(
        &self,
        arena: ArenaId,
        members: &[BufferId],
        options: &Options<'_>,
    ) -> (Packed, Vec<Tried>, Spent) {
        let problem = part(self.problem, arena, members);
        let before = self.nodes.get();
        let outer = options.progress;
        let report = |progress: &Progress| {
            let stage = match progress.stage {
                Stage::Search { nodes } => Stage::Search {
                    nodes: before + nodes,
                },
                stage => stage,
            };
            if let Some(report) = outer {
                report(&Progress { stage, ..*progress });
            }
        };
        let options = Options {
            node_limit: options.node_limit.map(|all| all.saturating_sub(before)),
            progress: outer.map(|_| &report as _),
            ..options.clone()
        };
        let mut stages = Stages::new(&options, self.stop);
        let mut bounds = Bounds::new(&problem);
        stages.run(&problem, &mut bounds);
        self.nodes.set(before + stages.spent.nodes);
        let plan = stages.best.plan.unwrap_or_else(|| {
            let places = quick::place(&problem);
            with_heights(&problem, places, quick::NAME)
        });
        let bound = bounds.arenas[ArenaId::from_index(0)].bytes;
        let packed = packed(members, &plan, bound);
        (packed, stages.best.tried, stages.spent)
    }
}

fn packed(members: &[BufferId], plan: &Plan, bound: u64) -> Packed {
    let offsets = plan.places.values().map(|place| place.offset);
    Packed {
        places: members.iter().copied().zip(offsets).collect(),
        height: plan.heights[ArenaId::from_index(0)],
        bound,
    }
}

/// Adds what the strategies reached in one arena; `lows` has the height of the best of them in each arena so
/// far, and gets this one's. A strategy that was not needed there stands at that height.
pub(super) fn join(
    all: &mut Vec<Tried>,
    (rows, height): (&[Tried], u64),
    arena: ArenaId,
    lows: &mut Table<ArenaId, u64>,
) {
    let only = ArenaId::from_index(0);
    let heights = rows.iter().filter_map(|row| row.heights.as_ref());
    // Folding may have met the bound before any strategy ran.
    let best = heights.map(|heights| heights[only]).min().unwrap_or(height);
    for row in rows.get(all.len()..).unwrap_or_default() {
        all.push(Tried {
            strategy: row.strategy,
            heights: Some(lows.clone()),
        });
    }
    lows[arena] = best;
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
