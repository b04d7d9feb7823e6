//! The whole chain: graph in, certified plan out.
//!
//! Sharing is a decision: if the plan with in-place is not proved optimal, the plan without any is
//! made as well, and the lower one is kept (with in-place on ties). A time limit holds for both together.

use crate::certify::Clobber;
use crate::certify::{self, CertifiedPlan, Uncertified};
use crate::ir::Graph;
use crate::lifetimes::Lifetimes;
use crate::memory;
use crate::placement::{self, Placement};
use crate::profile::{Grid, Profile, StockPlanner};
use crate::schedule::Schedule;
use crate::storage::{Policy, Storage};
use bayplan_planner::check::Refused;
use bayplan_planner::memory::{Memory, MemoryError};
use bayplan_planner::strategy::assign::spilled;
use bayplan_planner::strategy::keep::Kept;
use bayplan_planner::sweep::Profile as Load;
use bayplan_planner::{
    Bounds, CheckedPlan, Options, Planned, PlannerFault, ProblemErrors, Status, Tried,
};
use std::sync::Arc;
use std::time::Instant;

/// How to plan a graph.
#[derive(Clone)]
pub struct PlanOptions<'a> {
    /// The target.
    pub profile: Profile,
    /// Alignment of every offset; none: what profile and graph state.
    pub alignment: Option<u64>,
    /// What may be shared.
    pub policy: Policy,
    /// The memories that temporaries may be in; none: one without limits.
    pub memory: Option<Memory>,
    /// Strategies and progress.
    pub packing: Options<'a>,
}

impl Default for PlanOptions<'_> {
    fn default() -> Self {
        Self {
            profile: Profile::bayplan(),
            alignment: None,
            policy: Policy::default(),
            memory: None,
            packing: Options::default(),
        }
    }
}

/// A certified plan with everything that led to it.
#[derive(Clone, Debug)]
pub struct GraphPlan {
    /// The plan, replayed.
    pub certified: CertifiedPlan,
    /// What was allowed.
    pub policy: Policy,
    /// The target.
    pub profile: Profile,
    /// Starts and sizes.
    pub grid: Grid,
    /// When each tensor lives.
    pub lifetimes: Lifetimes,
    /// Who shares with whom, and why not.
    pub storage: Storage,
    /// The stock planner that made it; nothing: ours.
    pub stock: Option<StockPlanner>,
    /// Whether in-place was declined altogether, because the plan without it is lower.
    pub declined: bool,
    /// Which buffer holds what.
    pub placement: Placement,
    /// Lower bounds for this schedule and storage.
    pub bounds: Bounds,
    /// Strategies that ran.
    pub tried: Vec<Tried>,
    /// Nodes of the exact search.
    pub nodes: u64,
    /// Why planning ended.
    pub status: Status,
    /// Where temporaries may be in several memories: proved that no plan spills less.
    pub spills_least: bool,
    /// The memories that temporaries may be in, where they were given.
    pub memory: Option<Memory>,
    /// What became of an earlier plan's offsets, where there was one.
    pub kept: Option<Kept>,
}

impl GraphPlan {
    /// The most that lives at once in the arena of temporaries, in bytes.
    pub fn max_load(&self) -> u64 {
        let buffers = self.certified.checked().problem().buffers();
        let places = &self.certified.checked().plan().places;
        let here = buffers
            .iter()
            .filter(|(id, _)| places[*id].arena == placement::temporary());
        let rects = here.flat_map(|(_, buffer)| &buffer.extent);
        Load::new(rects.map(|r| (r.steps, r.bytes()))).max().0
    }
}

/// Why a graph has no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphPlanError {
    /// Its buffers are no problem: sums beyond 64 bits, given offsets that clash.
    #[error(transparent)]
    Problem(#[from] ProblemErrors),
    /// Its buffers cannot be spread over the memories.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The planner could not.
    #[error(transparent)]
    Planner(#[from] PlannerFault),
    /// The profile's runtime brings no planner of its own.
    #[error("profile `{0}` has no stock planner; tflite and tflm have one")]
    NoStock(&'static str),
    /// The stock planner has no answer to what the graph asks.
    #[error("the stock planner cannot be followed: {0}")]
    StockCannot(String),
    /// Offsets that the file gives overlap.
    #[error("with the offsets that the file gives, buffers overlap: {}", .refused.violations[0])]
    StockOverlaps {
        /// Whose plan.
        planner: StockPlanner,
        /// Every violation.
        refused: Box<Refused>,
    },
    /// The stock runtime would compute wrong numbers.
    #[error("with the plan of {}, the run would go wrong: {}", planner.name(), clobbers[0])]
    StockWrong {
        /// Whose plan.
        planner: StockPlanner,
        /// Everything that goes wrong; never empty.
        clobbers: Vec<Clobber>,
        /// For each class of shared bytes that it goes wrong in, who has them in turn.
        chains: Vec<String>,
    },
    /// A plan of ours failed our own replay: a defect of this library.
    #[error("a plan of ours failed the certificate: {refused}")]
    Defect {
        /// Every clobber.
        refused: Uncertified,
        /// The plan, to be saved.
        checked: Box<CheckedPlan>,
    },
}

struct Attempt {
    declined: bool,
    storage: Storage,
    placement: Placement,
    planned: Planned,
}

/// Plans `graph` in the order of its file.
pub fn plan(graph: Arc<Graph>, options: &PlanOptions<'_>) -> Result<GraphPlan, GraphPlanError> {
    let schedule = Schedule::file_order(&graph);
    let policy = options.policy;
    let grid = options.profile.grid(&graph, options.alignment);
    let lifetimes = Lifetimes::new(&graph, &schedule, policy.reuse_inputs);
    let attempt = best_attempt(&graph, &schedule, &lifetimes, grid, options)?;
    let Attempt {
        declined,
        storage,
        placement,
        planned,
    } = attempt;
    let locations = placement::locate(&placement, planned.checked.plan());
    let locations = locations.expect("the placement came with the plan's problem");
    let certified = certify::certify(
        graph,
        schedule,
        planned.checked.clone(),
        locations,
        policy.reuse_inputs,
    );
    let certified = certified.map_err(|refused| GraphPlanError::Defect {
        refused,
        checked: Box::new(planned.checked),
    })?;
    Ok(GraphPlan {
        certified,
        policy,
        profile: options.profile.clone(),
        grid,
        lifetimes,
        storage,
        stock: None,
        declined,
        placement,
        bounds: planned.bounds,
        tried: planned.tried,
        nodes: planned.nodes,
        status: planned.status,
        spills_least: planned.spills_least,
        memory: options.memory.clone(),
        kept: planned.kept,
    })
}

fn best_attempt(
    graph: &Graph,
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    grid: Grid,
    options: &PlanOptions<'_>,
) -> Result<Attempt, GraphPlanError> {
    let started = Instant::now();
    let attempt = |policy: Policy| -> Result<Attempt, GraphPlanError> {
        let limit = options.packing.time_limit;
        let packing = Options {
            time_limit: limit.map(|limit| limit.saturating_sub(started.elapsed())),
            ..options.packing.clone()
        };
        let storage = Storage::new(graph, schedule, lifetimes, policy, grid.alignment);
        let (problem, placement) = placement::problem(graph, schedule, lifetimes, &storage, grid)?;
        let problem = match &options.memory {
            Some(memory) => memory::spread(memory, graph, &storage, &problem, &placement)?,
            None => problem,
        };
        let planned = bayplan_planner::plan(problem, &packing)?;
        Ok(Attempt {
            declined: false,
            storage,
            placement,
            planned,
        })
    };
    let mut sharing = attempt(options.policy)?;
    let settled = match changes(&sharing) {
        Some(changes) => changes == 0,
        None => sharing.planned.is_optimal(),
    };
    if settled || !sharing.storage.takes_in_place() || sharing.planned.status.was_cut() {
        return Ok(sharing);
    }
    let apart = attempt(Policy {
        in_place: false,
        ..options.policy
    });
    let mut apart = match apart {
        // Without sharing it may not fit.
        Err(GraphPlanError::Planner(_)) if options.memory.is_some() => return Ok(sharing),
        apart => apart?,
    };
    // What cut the second attempt short cut the choice short.
    if apart.planned.status.was_cut() {
        sharing.planned.status = apart.planned.status;
    }
    apart.planned.nodes += sharing.planned.nodes;
    sharing.planned.nodes = apart.planned.nodes;
    if is_better(&apart, &sharing) {
        let storage = apart.storage.declining(&sharing.storage);
        return Ok(Attempt {
            declined: true,
            storage,
            ..apart
        });
    }
    Ok(sharing)
}

/// Buffers that are not where an earlier plan had them, where there was one.
fn changes(attempt: &Attempt) -> Option<usize> {
    let [_, new, moved, gone] = attempt.planned.kept.as_ref()?.counts();
    Some(new + moved + gone)
}

/// Less spilled, or lower; beside an earlier plan, nearer to it and not higher.
fn is_better(apart: &Attempt, sharing: &Attempt) -> bool {
    let cost = |attempt: &Attempt| -> (u128, u128) {
        let plan = attempt.planned.checked.plan();
        let problem = attempt.planned.checked.problem();
        let heights = plan.heights.values().map(|&height| u128::from(height));
        (spilled(problem, |id| plan.places[id].arena), heights.sum())
    };
    match (changes(apart), changes(sharing)) {
        (Some(a), Some(s)) => a < s && cost(apart) <= cost(sharing),
        _ => cost(apart) < cost(sharing),
    }
}
