//! The front door: problem in, checked plan out.
//!
//! [`plan()`] computes the bounds, runs the strategies in a fixed order until one meets the bound,
//! keeps the lowest plan (the earliest on ties) and passes it through [`crate::check()`]. The result
//! does not depend on the number of threads.

mod floors;
mod fold;
mod greedy;
pub mod improve;
mod min_offset;
mod online;
pub mod search;

use crate::bounds::Bounds;
use crate::check::{self, CheckedPlan, Refused, Violation};
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::plan::{Claim, Place, Plan};
use crate::problem::Problem;
use crate::witness::Bound;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A way to place buffers. Of equal sizes (or ranks) the larger alignment goes first; every order
/// ends in the buffer's id, so each strategy is a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// Size descending, start ascending; lowest gap. (Pisarchyk & Lee's order, arXiv 2001.03288.)
    SizeFirstFit,
    /// Lowest feasible offset next; ties by total of the fullest step, width, area, all descending.
    MinOffsetTwa,
    /// Lowest feasible offset next; ties by total, area, width.
    MinOffsetTaw,
    /// Lowest feasible offset next; ties by width, area, total.
    MinOffsetWat,
    /// Size descending, start ascending; narrowest gap (arXiv 2001.03288, Greedy by Size).
    SizeBestFit,
    /// Steps by load descending; within one, size descending; narrowest gap (arXiv 2001.03288,
    /// Greedy by Breadth).
    BreadthBestFit,
    /// Size descending, then width descending; lowest gap.
    SizeLifeFirstFit,
    /// Width descending, then size descending; narrowest gap (XLA's temporal order).
    LifeBestFit,
    /// Width × size descending; lowest gap.
    AreaFirstFit,
    /// Start ascending, then size descending; narrowest gap.
    StartBestFit,
    /// Start ascending, then size descending; lowest gap: what an allocator at run time would do.
    StartFirstFit,
    /// Buffers that live through everything first, then size descending, start ascending;
    /// narrowest gap (the order of a well-known mobile runtime).
    WholeLifeBestFit,
}

impl Strategy {
    /// All strategies, in the order in which they are run.
    pub const ALL: [Self; 12] = [
        Self::MinOffsetTwa,
        Self::MinOffsetTaw,
        Self::SizeFirstFit,
        Self::BreadthBestFit,
        Self::SizeBestFit,
        Self::MinOffsetWat,
        Self::SizeLifeFirstFit,
        Self::StartBestFit,
        Self::AreaFirstFit,
        Self::LifeBestFit,
        Self::WholeLifeBestFit,
        Self::StartFirstFit,
    ];

    /// The name in flags, files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::SizeFirstFit => "size-first-fit",
            Self::SizeBestFit => "size-best-fit",
            Self::SizeLifeFirstFit => "size-life-first-fit",
            Self::BreadthBestFit => "breadth-best-fit",
            Self::LifeBestFit => "life-best-fit",
            Self::AreaFirstFit => "area-first-fit",
            Self::StartBestFit => "start-best-fit",
            Self::StartFirstFit => "start-first-fit",
            Self::WholeLifeBestFit => "whole-life-best-fit",
            Self::MinOffsetWat => "min-offset-wat",
            Self::MinOffsetTaw => "min-offset-taw",
            Self::MinOffsetTwa => "min-offset-twa",
        }
    }

    /// The strategy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Places all buffers; min-offset never gives up.
    fn places(self, problem: &Problem, limit: usize) -> Option<Table<BufferId, Place>> {
        match self {
            Self::MinOffsetWat | Self::MinOffsetTaw | Self::MinOffsetTwa => {
                Some(min_offset::place(problem, self))
            }
            _ => greedy::place(problem, self, limit),
        }
    }

    /// Runs it alone: a plan with true heights and no claim, not yet checked.
    pub fn run(self, problem: &Problem) -> Plan {
        let plan = self.run_within(problem, usize::MAX);
        plan.expect("without a limit nothing gives up")
    }

    fn run_within(self, problem: &Problem, limit: usize) -> Option<Plan> {
        let places = self.places(problem, limit)?;
        Some(with_heights(problem, places, self.name()))
    }
}

/// A plan with true heights and no claim.
fn with_heights(problem: &Problem, places: Table<BufferId, Place>, strategy: &str) -> Plan {
    let mut heights = Table::filled(0_u64, problem.arenas().len());
    for (id, buffer) in problem.buffers().iter() {
        if !buffer.extent.is_empty() {
            let height: &mut u64 = &mut heights[places[id].arena];
            *height = (*height).max(places[id].offset.saturating_add(buffer.size()));
        }
    }
    Plan {
        strategy: strategy.into(),
        claims: Table::filled(Claim::Stopped, heights.len()),
        heights,
        places,
    }
}

/// Beside another plan, a greedy that has looked at this many placed rectangles gives up: some
/// seconds of work, on problems of many thousand buffers that nearly all live together. A count, so
/// that results do not depend on the machine.
const GIVE_UP: usize = 1 << 28;

/// What one strategy reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Which.
    pub strategy: Strategy,
    /// Height of every arena; nothing when it gave up.
    pub heights: Option<Table<ArenaId, u64>>,
}

/// Called after each strategy with its result and the number still to come.
pub type Observer<'a> = dyn Fn(&Tried, usize) + Sync + 'a;

/// How to plan.
#[derive(Clone)]
pub struct Options<'a> {
    /// Strategies to run, in this order. Empty is an error.
    pub strategies: Vec<Strategy>,
    /// Whether to stop once a plan meets the bound (the remaining strategies cannot do better).
    pub stop_at_bound: bool,
    /// For progress bars.
    pub observer: Option<&'a Observer<'a>>,
    /// Improvement of large plans, behind the strategies.
    pub improve: improve::Limits<'a>,
    /// The exact search behind that.
    pub search: search::Limits<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            strategies: Strategy::ALL.to_vec(),
            stop_at_bound: true,
            observer: None,
            improve: improve::Limits::default(),
            search: search::Limits::default(),
        }
    }
}

/// A checked plan, the bounds, and what else was tried.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The best plan.
    pub checked: CheckedPlan,
    /// Lower bounds.
    pub bounds: Bounds,
    /// Every strategy that ran, in order.
    pub tried: Vec<Tried>,
    /// Nodes of the exact search.
    pub nodes: u64,
}

impl Planned {
    /// Height of the first arena.
    pub fn height(&self) -> u64 {
        self.checked.plan().heights[ArenaId::from_index(0)]
    }

    /// Whether every arena is proved to be as low as possible.
    pub fn is_optimal(&self) -> bool {
        self.checked
            .plan()
            .claims
            .values()
            .all(|c| matches!(c, Claim::Optimal(_)))
    }
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlannerFault {
    /// No strategies to run.
    #[error("no strategy to run")]
    NoStrategy,
    /// The best plan found exceeds an arena's limits. Whether another would fit is not said, unless
    /// `bound` exceeds the capacity as well.
    #[error("arena `{arena}` needs {height} bytes in the best plan found and has {capacity}; no plan is under {}", bound.bytes)]
    DoesNotFit {
        /// The arena.
        arena: String,
        /// What the best plan needs.
        height: u64,
        /// What there is.
        capacity: u64,
        /// What every plan needs.
        bound: Bound,
    },
    /// A buffer is larger than any of its arenas accepts.
    #[error("{0}")]
    TooLarge(Violation),
    /// A plan of ours failed our own check: a defect of this library.
    #[error("a plan made by `{}` failed the check", .0.plan.strategy)]
    Defect(Box<Refused>),
}

/// Uses this many threads from now on; the result of planning does not depend on it. An error if
/// threads were chosen, or planning began, before.
pub fn use_threads(threads: usize) -> Result<(), rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
}

/// Strategies that run side by side; a constant, so that results do not depend on the machine.
const BATCH: usize = 2;

/// From this many buffers on, only the first strategies run: improvement does more than the others.
const LARGE: usize = 1 << 14;
/// How many those are.
const FIRST: usize = 4;
/// From this many on, improvement comes right behind folding or the fastest strategy, and ends it if
/// much was folded, or what is left to gain is less than this part of the bound.
const HUGE: usize = 1 << 17;
const CLOSE: u64 = 1000;

/// Plans `problem`: bounds, strategies, improvement, search, check.
pub fn plan(problem: Problem, options: &Options<'_>) -> Result<Planned, PlannerFault> {
    let mut bounds = Bounds::new(&problem);
    let mut best = Best::default();
    let nodes = best.find(&problem, &mut bounds, options);
    let plan = best.plan.ok_or(PlannerFault::NoStrategy)?;
    let checked = check::check(problem, claimed(plan, &bounds))
        .map_err(|refused| explain(*refused, &bounds))?;
    Ok(Planned {
        checked,
        bounds,
        tried: best.tried,
        nodes,
    })
}

/// Makes a plan of places that someone else chose (a stock runtime's planner, say): true heights,
/// claims by the bounds, checked like any other.
pub fn adopt(
    problem: Problem,
    places: Table<BufferId, Place>,
    strategy: &str,
) -> Result<Planned, PlannerFault> {
    let bounds = Bounds::new(&problem);
    let plan = claimed(with_heights(&problem, places, strategy), &bounds);
    let checked = check::check(problem, plan).map_err(|refused| explain(*refused, &bounds))?;
    Ok(Planned {
        checked,
        bounds,
        tried: Vec::new(),
        nodes: 0,
    })
}

/// The best plan so far, and what was tried for it.
#[derive(Default)]
struct Best {
    plan: Option<Plan>,
    tried: Vec<Tried>,
}

impl Best {
    /// All that the options allow; returns the nodes of the search.
    fn find(&mut self, problem: &Problem, bounds: &mut Bounds, options: &Options<'_>) -> u64 {
        let count = problem.buffers().len();
        let all = options.strategies == Strategy::ALL && options.improve.work > 0;
        let mut strategies = &options.strategies[..];
        if all {
            self.find_folded(problem, bounds, options);
            if self.meets(bounds, 0) && options.stop_at_bound {
                return 0;
            }
            if count >= LARGE {
                strategies = &strategies[..FIRST];
            }
            if count >= HUGE {
                let folded = self.plan.is_some();
                if !folded {
                    self.run(problem, bounds, options, &[Strategy::StartFirstFit]);
                }
                let mut quick = options.clone();
                quick.improve.close = CLOSE;
                self.improve(problem, bounds, &quick);
                if folded || self.meets(bounds, CLOSE) && options.stop_at_bound {
                    return 0;
                }
            }
        }
        self.run(problem, bounds, options, strategies);
        self.improve(problem, bounds, options);
        let Some(plan) = &mut self.plan else { return 0 };
        search::improve(problem, plan, bounds, &options.search)
    }

    /// Plans a smaller problem, of which every plan is a plan of this one.
    fn find_folded(&mut self, problem: &Problem, bounds: &Bounds, options: &Options<'_>) {
        let Some(folded) = fold::fold(problem) else {
            return;
        };
        let options = Options {
            observer: None,
            ..options.clone()
        };
        let mut inner = Self::default();
        let mut inner_bounds = bounds.clone();
        inner.run(&folded.problem, bounds, &options, &options.strategies);
        inner.improve(&folded.problem, bounds, &options);
        let Some(mut plan) = inner.plan else { return };
        search::improve(
            &folded.problem,
            &mut plan,
            &mut inner_bounds,
            &options.search,
        );
        let name = format!("fold, {}", plan.strategy);
        self.offer(
            problem,
            with_heights(problem, folded.unfold(&plan.places), &name),
        );
    }

    fn improve(&mut self, problem: &Problem, bounds: &Bounds, options: &Options<'_>) {
        if let Some(plan) = &mut self.plan {
            improve::improve(problem, plan, bounds, &options.improve);
        }
    }

    /// Takes `plan` if it is better; the earlier one on ties.
    fn offer(&mut self, problem: &Problem, plan: Plan) {
        let better = |best: &Plan| Cost::of(problem, &plan) < Cost::of(problem, best);
        if self.plan.as_ref().is_none_or(better) {
            self.plan = Some(plan);
        }
    }

    /// Whether all heights are at their bounds, or above by less than one part in so many (0: none).
    fn meets(&self, bounds: &Bounds, parts: u64) -> bool {
        let near = |(arena, &height): (ArenaId, &u64)| {
            let bound = bounds.arenas[arena].bytes;
            let margin = bound.checked_div(parts).unwrap_or(0);
            height <= bound.saturating_add(margin)
        };
        let plan = self.plan.as_ref();
        plan.is_some_and(|plan| plan.heights.iter().all(near))
    }

    /// Runs strategies two at a time, until one meets the bound.
    fn run(
        &mut self,
        problem: &Problem,
        bounds: &Bounds,
        options: &Options<'_>,
        strategies: &[Strategy],
    ) {
        for (batch, together) in strategies.chunks(BATCH).enumerate() {
            let left = strategies.len() - batch * BATCH - together.len();
            let first = batch == 0 && self.plan.is_none();
            let run = |(index, &strategy): (usize, &Strategy)| {
                // The first one always ends: there has to be a plan.
                let limit = if first && index == 0 {
                    usize::MAX
                } else {
                    GIVE_UP
                };
                let plan = strategy.run_within(problem, limit);
                let heights = plan.as_ref().map(|plan| plan.heights.clone());
                let tried = Tried { strategy, heights };
                if let Some(observer) = options.observer {
                    observer(&tried, left + together.len() - 1 - index);
                }
                (plan, tried)
            };
            let plans: Vec<(Option<Plan>, Tried)> =
                together.par_iter().enumerate().map(run).collect();
            for (plan, row) in plans {
                self.tried.push(row);
                if let Some(plan) = plan {
                    self.offer(problem, plan);
                }
            }
            if options.stop_at_bound && self.meets(bounds, 0) {
                break;
            }
        }
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

fn claimed(mut plan: Plan, bounds: &Bounds) -> Plan {
    for (arena, &height) in plan.heights.iter() {
        let bound = bounds.arenas[arena];
        let optimal = height == bound.bytes;
        plan.claims[arena] = if optimal {
            Claim::Optimal(bound.witness)
        } else {
            Claim::Within(bound)
        };
    }
    plan
}

/// A refusal is our fault unless limits that the caller set are the only thing that is broken.
fn explain(refused: Refused, bounds: &Bounds) -> PlannerFault {
    let limits = |v: &Violation| {
        matches!(
            v,
            Violation::OverCapacity { .. } | Violation::TooLarge { .. }
        )
    };
    if !refused.violations.iter().all(limits) {
        return PlannerFault::Defect(Box::new(refused));
    }
    for (id, arena) in refused.problem.arenas().iter() {
        let height = refused.plan.heights[id];
        if let Some(capacity) = arena.capacity.filter(|&capacity| height > capacity) {
            let (arena, bound) = (arena.name.clone(), bounds.arenas[id]);
            return PlannerFault::DoesNotFit {
                arena,
                height,
                capacity,
                bound,
            };
        }
    }
    let first = refused.violations.into_iter().next();
    PlannerFault::TooLarge(first.expect("a refusal has a violation"))
}
