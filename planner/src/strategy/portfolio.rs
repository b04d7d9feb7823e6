//! The strategies, two at a time, until one meets the bound.

use super::stop::Stop;
use super::{Options, Progress, Stage, Strategy, quick, with_heights};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::plan::{Place, Plan};
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

/// The best plan of the strategies, and what each of them reached. There is a plan, however early `stop`
/// says so: `spare`, or one like it. Nothing if there is no strategy.
pub(super) fn run(
    problem: &Problem,
    bounds: &Bounds,
    options: &Options<'_>,
    stop: &Stop<'_>,
    spare: Option<Table<BufferId, Place>>,
) -> Option<(Plan, Vec<Tried>)> {
    let tally = Tally::new(problem, bounds, options, stop);
    let mut best: Option<(Cost, Plan)> = None;
    let mut tried = Vec::new();
    for (batch, strategies) in options.strategies.chunks(BATCH).enumerate() {
        // The first one ends by itself: there has to be a plan.
        let limit = |index: usize| {
            if batch + index == 0 {
                usize::MAX
            } else {
                GIVE_UP
            }
        };
        let run = |(index, &strategy): (usize, &Strategy)| {
            let tick = |placed: u64| tally.placed(placed);
            let plan = strategy.run_within(problem, limit(index), &tick);
            tally.ended(plan.as_ref());
            let heights = plan.as_ref().map(|plan| plan.heights.clone());
            (plan, Tried { strategy, heights })
        };
        let plans: Vec<(Option<Plan>, Tried)> =
            strategies.par_iter().enumerate().map(run).collect();
        for (plan, row) in plans {
            tried.push(row);
            let Some(plan) = plan else { continue };
            let cost = Cost::of(problem, &plan);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, plan));
            }
        }
        let done = best
            .as_ref()
            .is_some_and(|(_, plan)| settled(plan, bounds, options));
        if (options.stop_at_bound && done) || stop.asked() {
            break;
        }
    }
    if options.strategies.is_empty() {
        return None;
    }
    let plan = best.map_or_else(
        || {
            let places = spare.unwrap_or_else(|| quick::place(problem));
            with_heights(problem, places, quick::NAME)
        },
        |(_, plan)| plan,
    );
    Some((plan, tried))
}

/// What the strategies of a run have reached together, for whoever watches.
struct Tally<'a> {
    options: &'a Options<'a>,
    stop: &'a Stop<'a>,
    bound: u64,
    buffers: u64,
    placed: AtomicU64,
    ended: AtomicUsize,
    /// Least height of the first arena.
    height: AtomicU64,
}

impl<'a> Tally<'a> {
    fn new(
        problem: &Problem,
        bounds: &Bounds,
        options: &'a Options<'a>,
        stop: &'a Stop<'a>,
    ) -> Self {
        let first = bounds.arenas.values().next();
        Self {
            options,
            stop,
            bound: first.map_or(0, |bound| bound.bytes),
            buffers: problem.buffers().len() as u64,
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
        let of = self.options.strategies.len();
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

/// Whether every arena is as low as can be, or as was asked for.
fn settled(plan: &Plan, bounds: &Bounds, options: &Options<'_>) -> bool {
    let mut arenas = plan.heights.iter();
    arenas.all(|(arena, &height)| options.settled(height, bounds.arenas[arena].bytes))
}
