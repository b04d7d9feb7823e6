//! The front door: bounds, strategies, search, check.

use super::shortage::Shortage;
use super::stages::Stages;
use super::stop::{Reason, Stop};
use super::{Options, Strategy, Tried, assign, keep, online, quick, with_heights};
use crate::bounds::Bounds;
use crate::check::{self, CheckedPlan, Refused, Violation};
use crate::ids::{BufferId, Table};
use crate::plan::{Claim, Place, Plan};
use crate::problem::Problem;
use crate::witness::Bound;
use crate::words::grouped;

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
    /// Why planning ended.
    pub status: Status,
    /// Where buffers may be in several arenas: proved that no plan spills less
    /// ([`assign::spilled`](super::assign::spilled)). False: not known, or nothing to decide.
    pub spills_least: bool,
    /// What became of the earlier plan's offsets, where there was one.
    pub kept: Option<keep::Kept>,
}

/// Why planning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Every arena is proved to be as low as possible. Where buffers may be in several: no plan spills less,
    /// and none takes fewer bytes over all of them.
    Optimal,
    /// Every arena is as low as [`Options::enough`] asks, or none can be.
    Decided,
    /// A limit that counts was reached, or there was nothing left to try. The same options give the same
    /// plan.
    Limit,
    /// The time limit cut it short: another run may find another plan.
    TimeLimit,
    /// The caller cut it short: another run may find another plan.
    Cancelled,
}

impl Status {
    /// The word in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Decided => "decided",
            Self::Limit => "limit",
            Self::TimeLimit => "time-limit",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether another run with the same options may find another plan.
    pub fn was_cut(self) -> bool {
        matches!(self, Self::TimeLimit | Self::Cancelled)
    }
}

impl Planned {
    /// Height of the first arena in bytes; 0 where there is none.
    pub fn height(&self) -> u64 {
        let first = self.checked.plan().heights.values().next();
        first.copied().unwrap_or(0)
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
    #[error("arena `{arena}` needs {} bytes in the best plan found and has {}; no plan is under {}", grouped(*height), grouped(*capacity), grouped(bound.bytes))]
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
    /// No assignment to several arenas was found that fits.
    #[error("{0}")]
    NoRoom(Box<Shortage>),
    /// A buffer is larger than any of its arenas accepts.
    #[error("{0}")]
    TooLarge(Violation),
    /// A plan of ours failed our own check: a defect of this library.
    #[error("a plan made by `{}` failed the check", .0.plan.strategy)]
    Defect(Box<Refused>),
}

/// Plans `problem`: bounds, strategies, search, check. However early it is stopped, there is a plan,
/// unless capacities leave no room for what there was time for.
pub fn plan(problem: Problem, options: &Options<'_>) -> Result<Planned, PlannerFault> {
    if options.threads == 0 {
        return planned(problem, options, &Stop::new(options));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .build();
    match pool {
        Ok(pool) => pool.install(|| planned(problem, options, &Stop::new(options))),
        Err(_) => planned(problem, options, &Stop::new(options)), // the system has no threads left
    }
}

/// The same, within a run that may be stopped.
pub(super) fn planned(
    problem: Problem,
    options: &Options<'_>,
    stop: &Stop<'_>,
) -> Result<Planned, PlannerFault> {
    if options.strategies.is_empty() {
        return Err(PlannerFault::NoStrategy);
    }
    match options.keep {
        Some(earlier) => keep::plan(problem, earlier, options, stop),
        None if assign::is_needed(&problem) => assign::plan(problem, options, stop),
        None => placed(problem, options, stop),
    }
}

/// From this many buffers on, the plan for those who cannot wait is made beforehand, beside the bounds.
const MANY: usize = 1 << 16;

/// Every buffer is in the one arena that it may be in.
fn placed(
    problem: Problem,
    options: &Options<'_>,
    stop: &Stop<'_>,
) -> Result<Planned, PlannerFault> {
    let (mut bounds, spare) = if problem.buffers().len() < MANY {
        (Bounds::new(&problem), None)
    } else {
        rayon::join(|| Bounds::new(&problem), || Some(spare(&problem)))
    };
    let mut stages = Stages::new(options, stop);
    let spare = spare.and_then(|spare| stages.begin_with(&problem, spare));
    stages.run(&problem, &mut bounds);
    let (found, tried, nodes) = (stages.best.plan, stages.best.tried, stages.spent.nodes);
    let best = found.unwrap_or_else(|| {
        spare.unwrap_or_else(|| with_heights(&problem, quick::place(&problem), quick::NAME))
    });
    let status = status(&best, &bounds, options, stop);
    let planned = sealed(problem, best, bounds, status)?;
    Ok(Planned {
        tried,
        nodes,
        ..planned
    })
}

/// A plan for those who cannot wait.
fn spare(problem: &Problem) -> Plan {
    if online::suits(problem) {
        return Strategy::StartFirstFit.run(problem);
    }
    with_heights(problem, quick::place(problem), quick::NAME)
}

/// A plan with the claims that the bounds allow, checked.
pub(super) fn sealed(
    problem: Problem,
    plan: Plan,
    bounds: Bounds,
    status: Status,
) -> Result<Planned, PlannerFault> {
    let checked = check::check(problem, claimed(plan, &bounds))
        .map_err(|refused| explain(*refused, &bounds))?;
    Ok(Planned {
        checked,
        bounds,
        tried: Vec::new(),
        nodes: 0,
        status,
        spills_least: false,
        kept: None,
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
    let plan = with_heights(&problem, places, strategy);
    let status = if meets(&plan, &bounds) {
        Status::Optimal
    } else {
        Status::Limit
    };
    sealed(problem, plan, bounds, status)
}

/// Whether every arena is proved to be as low as possible.
fn meets(plan: &Plan, bounds: &Bounds) -> bool {
    let mut arenas = plan.heights.iter();
    arenas.all(|(arena, &height)| height <= bounds.arenas[arena].bytes)
}

/// Why planning ended with `plan`.
pub(super) fn status(
    plan: &Plan,
    bounds: &Bounds,
    options: &Options<'_>,
    stop: &Stop<'_>,
) -> Status {
    if meets(plan, bounds) {
        return Status::Optimal;
    }
    let mut arenas = plan.heights.iter();
    let settled = |(arena, &height)| options.settled(height, bounds.arenas[arena].bytes);
    if arenas.all(settled) {
        return Status::Decided;
    }
    match stop.reason() {
        Some(Reason::Time) => Status::TimeLimit,
        Some(Reason::Cancelled) => Status::Cancelled,
        None => Status::Limit,
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
