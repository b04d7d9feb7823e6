//! The whole chain: graph in, certified plan out.
//!
//! Sharing is a decision: if the plan with in-place is not proved optimal, the plan without any is
//! made as well, and the lower one is kept (with in-place on ties).

use crate::certify::{self, CertifiedPlan, Uncertified};
use crate::ir::Graph;
use crate::lifetimes::Lifetimes;
use crate::placement::{self, Placement};
use crate::profile::Profile;
use crate::schedule::Schedule;
use crate::storage::{Policy, Storage};
use bayplan_planner::{Bounds, CheckedPlan, Options, Planned, PlannerFault, ProblemErrors, Tried};
use std::sync::Arc;

/// How to plan a graph.
#[derive(Clone)]
pub struct PlanOptions<'a> {
    /// The target.
    pub profile: Profile,
    /// Alignment of every offset; none: what the graph states.
    pub alignment: Option<u64>,
    /// What may be shared.
    pub policy: Policy,
    /// Strategies and progress.
    pub packing: Options<'a>,
}

impl Default for PlanOptions<'_> {
    fn default() -> Self {
        Self {
            profile: Profile::bayplan(),
            alignment: None,
            policy: Policy::default(),
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
    /// Alignment of every offset.
    pub alignment: u64,
    /// When each tensor lives.
    pub lifetimes: Lifetimes,
    /// Who shares with whom, and why not.
    pub storage: Storage,
    /// Whether in-place was declined altogether, because the plan without it is lower.
    pub declined: bool,
    /// Which buffer holds what.
    pub placement: Placement,
    /// Lower bounds for this schedule and storage.
    pub bounds: Bounds,
    /// Strategies that ran.
    pub tried: Vec<Tried>,
}

/// Why a graph has no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphPlanError {
    /// Its buffers are no problem: sums beyond 64 bits, given offsets that clash.
    #[error(transparent)]
    Problem(#[from] ProblemErrors),
    /// The planner could not.
    #[error(transparent)]
    Planner(#[from] PlannerFault),
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
    let alignment = options.alignment.unwrap_or(graph.alignment());
    let lifetimes = Lifetimes::new(&graph, &schedule, policy.reuse_inputs);
    let attempt = best_attempt(&graph, &schedule, &lifetimes, alignment, options)?;
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
        alignment,
        lifetimes,
        storage,
        declined,
        placement,
        bounds: planned.bounds,
        tried: planned.tried,
    })
}

fn best_attempt(
    graph: &Graph,
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    alignment: u64,
    options: &PlanOptions<'_>,
) -> Result<Attempt, GraphPlanError> {
    let attempt = |policy: Policy| -> Result<Attempt, GraphPlanError> {
        let storage = Storage::new(graph, schedule, lifetimes, policy, alignment);
        let (problem, placement) =
            placement::problem(graph, schedule, lifetimes, &storage, alignment)?;
        let planned = bayplan_planner::plan(problem, &options.packing)?;
        Ok(Attempt {
            declined: false,
            storage,
            placement,
            planned,
        })
    };
    let sharing = attempt(options.policy)?;
    if sharing.planned.is_optimal() || !sharing.storage.takes_in_place() {
        return Ok(sharing);
    }
    let apart = attempt(Policy {
        in_place: false,
        ..options.policy
    })?;
    let total = |attempt: &Attempt| -> u128 {
        let heights = attempt.planned.checked.plan().heights.values();
        heights.map(|&height| u128::from(height)).sum()
    };
    if total(&apart) < total(&sharing) {
        let storage = apart.storage.declining(&sharing.storage);
        return Ok(Attempt {
            declined: true,
            storage,
            ..apart
        });
    }
    Ok(sharing)
}
