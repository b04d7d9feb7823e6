//! The strategies, two at a time, until one meets the bound.

use super::stop::Stop;
use super::{Options, Progress, Stage, Strategy};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, Id, Table};
use crate::plan::Plan;
use crate::problem::Problem;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Beside another plan, a greedy that has looked at this many placed rectangles gives up: some
/// seconds of work, on problems of many thousand buffers that nearly all live together. A count, so
/// that results do not depend on the machine.
const GIVE_UP: usize = 1 << 28;

/// Strategies that run side by side; a constant, so that results do not depend on the machine.
const BATCH: usize = 2;

/// What one strategy reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Which.
    pub strategy: Strategy,
    /// Height of every arena; nothing when it gave up or was stopped.
    pub heights: Option<Table<ArenaId, u64>>,
}

/// The best plan so far, and what was tried for it.
#[derive(Default)]
pub(super) struct Best {
    pub(super) plan: Option<Plan>,
    pub(super) tried: Vec<Tried>,
}

impl Best {
    /// Takes `plan` if it is better; the earlier one on ties.
    pub(super) fn offer(&mut self, problem: &Problem, plan: Plan) {
        let better = |best: &Plan| Cost::of(problem, &plan) < Cost::of(problem, best);
        if self.plan.as_ref().is_none_or(better) {
            self.plan = Some(plan);
        }
    }

    /// Whether every arena is as low as can be, or as was asked for.
    pub(super) fn settled(&self, bounds: &Bounds, options: &Options<'_>) -> bool {
        let settled = |(arena, &height)| options.settled(height, bounds.arenas[arena].bytes);
        let plan = self.plan.as_ref();
        plan.is_some_and(|plan| plan.heights.iter().all(settled))
    }

    /// Whether every arena is as low as that.
    pub(super) fn is_within(&self, heights: &Table<ArenaId, u64>) -> bool {
        let within = |(arena, &height)| height <= heights[arena];
        let plan = self.plan.as_ref();
        plan.is_some_and(|plan| plan.heights.iter().all(within))
    }

    /// Runs strategies until one meets the bound, or `stop` says so. Without `stop` there is a plan then,
    /// if there is any strategy.
    pub(super) fn run(
        &mut self,
        problem: &Problem,
        bounds: &Bounds,
        (options, stop): (&Options<'_>, &Stop<'_>),
        strategies: &[Strategy],
    ) {
        let tally = Tally::new(problem, bounds, (options, stop), strategies.len());
        for (batch, together) in strategies.chunks(BATCH).enumerate() {
            let first = batch == 0 && self.plan.is_none();
            let run = |(index, &strategy): (usize, &Strategy)| {
                // The first one ends by itself: there has to be a plan.
                let limit = if first && index == 0 {
                    usize::MAX
                } else {
                    GIVE_UP
                };
                let tick = |placed: u64| tally.placed(placed);
                let plan = strategy.run_within(problem, limit, &tick);
                tally.ended(plan.as_ref());
                let heights = plan.as_ref().map(|plan| plan.heights.clone());
                (plan, Tried { strategy, heights })
            };
            let plans: Vec<(Option<Plan>, Tried)> =
                together.par_iter().enumerate().map(run).collect();
            for (plan, row) in plans {
                self.tried.push(row);
                if let Some(plan) = plan {
                    self.offer(problem, plan);
                }
            }
            if (options.stop_at_bound && self.settled(bounds, options)) || stop.asked() {
                break;
            }
        }
    }
}

/// What the strategies of a run have reached together, for whoever watches.
struct Tally<'a> {
    options: &'a Options<'a>,
    stop: &'a Stop<'a>,
    bound: u64,
    buffers: u64,
    /// Strategies that will run if none meets the bound.
    of: usize,
    placed: AtomicU64,
    ended: AtomicUsize,
    /// Least height of the first arena.
    height: AtomicU64,
}

impl<'a> Tally<'a> {
    fn new(
        problem: &Problem,
        bounds: &Bounds,
        (options, stop): (&'a Options<'a>, &'a Stop<'a>),
        of: usize,
    ) -> Self {
        let first = bounds.arenas.values().next();
        Self {
            options,
            stop,
            bound: first.map_or(0, |bound| bound.bytes),
            buffers: problem.buffers().len() as u64,
            of,
            placed: AtomicU64::new(0),
            ended: AtomicUsize::new(0),
            height: AtomicU64::new(u64::MAX),
        }
    }

    /// So many more buffers are placed. Whether to stop.
    fn placed(&self, placed: u64) -> bool {
        self.placed.fetch_add(placed, Ordering::Relaxed);
        self.report();
        self.stop.asked()
    }

    /// A strategy has ended, with a plan or without.
    fn ended(&self, plan: Option<&Plan>) {
        let height = plan.and_then(|plan| plan.heights.get(ArenaId::from_index(0)));
        if let Some(&height) = height {
            self.height.fetch_min(height, Ordering::Relaxed);
        }
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        // What it placed since its last tick, and what it did not.
        let all = self.buffers * ended as u64;
        self.placed.fetch_max(all, Ordering::Relaxed);
        self.report();
    }

    fn report(&self) {
        let Some(report) = self.options.progress else {
            return;
        };
        let of = self.of;
        let height = self.height.load(Ordering::Relaxed);
        report(&Progress {
            stage: Stage::Strategies {
                ended: self.ended.load(Ordering::Relaxed),
                of,
                placed: self.placed.load(Ordering::Relaxed),
                buffers: self.buffers * of as u64,
            },
            height: (height < u64::MAX).then_some(height),
            bound: self.bound,
        });
    }
}

/// What makes a plan worse: bytes over capacity first, then the sum of the heights.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    excess: u128,
    total: u128,
}

impl Cost {
    fn of(problem: &Problem, plan: &Plan) -> Self {
        let excess = problem.arenas().iter().map(|(id, arena)| {
            let capacity = arena.capacity.unwrap_or(u64::MAX);
            u128::from(plan.heights[id].saturating_sub(capacity))
        });
        Self {
            excess: excess.sum(),
            total: plan
                .heights
                .values()
                .map(|&height| u128::from(height))
                .sum(),
        }
    }
}
