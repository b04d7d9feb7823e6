//! The stable keys of a plan in JSON.

use super::figures::Figures;
use super::{base_alignment, in_place, intermediates, kept, spread, unplanned_bodies, within};
use crate::conflict;
use crate::session::Session;
use bayplan_planner::Status;
use serde::Serialize;

/// The stable keys of `plan --json`.
#[derive(Serialize)]
pub(crate) struct Json {
    schema: u32,
    input: String,
    profile: String,
    arena_bytes: u64,
    persistent_bytes: u64,
    total_bytes: u64,
    weight_bytes: u64,
    unused_weight_bytes: u64,
    naive_bytes: u64,
    max_load_bytes: u64,
    /// Null where nothing is proved.
    lower_bound_bytes: Option<u64>,
    order_bound_bytes: Option<u64>,
    /// Null where buffers may be in several memories and it is not known.
    packing_optimal: Option<bool>,
    order_optimal: Option<bool>,
    base_alignment: u64,
    buffers: usize,
    tensors: usize,
    intermediate_tensors: usize,
    intermediate_bytes: u64,
    steps: u32,
    peak_step: u32,
    peak_node: Option<String>,
    fragmentation: f64,
    reuse_rate: f64,
    allocations: usize,
    in_place_taken: usize,
    strategy: String,
    order: &'static str,
    checked: bool,
    certified: bool,
    unplanned_bodies: Vec<String>,
    budget_bytes: Option<u64>,
    fits: Option<bool>,
    /// Why it is undecided, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    search: Search,
    elapsed_ms: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    spread: Option<spread::SpreadJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<kept::KeptJson>,
    #[serde(flatten)]
    conflicts: conflict::Told,
    /// What is told beside the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// What the exact search did, and what it was allowed.
#[derive(Serialize)]
pub(crate) struct Search {
    /// Why planning ended; `not-run` where that was without a search and without a proof; null for a plan from a
    /// file.
    status: Option<&'static str>,
    nodes: u64,
    node_limit: Option<u64>,
    time_limit_ms: Option<u64>,
    seed: u64,
}

/// `optimal`: what is said of the plan beside it.
pub(crate) fn search(session: &Session, optimal: bool) -> Search {
    let effort = &session.effort;
    let time = effort.time_limit.map(|time| time.as_millis());
    Search {
        status: session.status.map(|status| match status {
            // Proved by other means than the search of one arena.
            Status::Limit if optimal => Status::Optimal.name(),
            Status::Limit if session.nodes == 0 => "not-run",
            status => status.name(),
        }),
        nodes: session.nodes,
        node_limit: effort.node_limit,
        time_limit_ms: time.map(|time| u64::try_from(time).unwrap_or(u64::MAX)),
        seed: effort.seed,
    }
}

impl Json {
    /// The answer to a budget, where more is known than the plan and its bounds say.
    pub(crate) fn judged(
        self,
        fits: Option<bool>,
        reason: Option<String>,
        conflicts: conflict::Told,
    ) -> Self {
        Self {
            fits,
            reason,
            conflicts,
            ..self
        }
    }
}

/// The JSON of a plan. `budget`: bytes that there are, where asked.
pub(crate) fn json(session: &Session, budget: Option<u64>) -> Json {
    let figures = Figures::of(session);
    let graph = session.graph.as_ref();
    let (weights, unused) = graph.map_or((0, 0), |side| side.graph().weight_bytes());
    let (intermediates, intermediate_bytes) = graph.map_or((0, 0), intermediates);
    let total = figures.height + session.persistent();
    Json {
        schema: bayplan_planner::file::plan_file::SCHEMA,
        input: session.input.clone(),
        profile: session.profile.clone(),
        arena_bytes: figures.height,
        persistent_bytes: session.persistent(),
        total_bytes: total,
        weight_bytes: weights,
        unused_weight_bytes: unused,
        naive_bytes: figures.naive,
        max_load_bytes: figures.max_load,
        lower_bound_bytes: figures.known_bound(),
        order_bound_bytes: None,
        packing_optimal: spread::known(session, figures.optimal),
        order_optimal: None,
        base_alignment: base_alignment(session),
        buffers: session.checked.problem().buffers().len(),
        tensors: graph.map_or(0, |side| side.graph().tensors().len()),
        intermediate_tensors: intermediates,
        intermediate_bytes,
        steps: session.checked.problem().horizon().0,
        peak_step: figures.peak.0,
        peak_node: session.step_name(figures.peak).map(str::to_owned),
        fragmentation: figures.fragmentation,
        reuse_rate: figures.reuse_rate,
        allocations: figures.allocations,
        in_place_taken: graph.map_or(0, |side| in_place(side).0),
        strategy: session.checked.plan().strategy.clone(),
        order: "file",
        checked: true,
        certified: graph.is_some(),
        unplanned_bodies: graph.map_or_else(Vec::new, unplanned_bodies),
        budget_bytes: budget,
        fits: within(session, budget),
        reason: None,
        search: search(session, figures.optimal),
        conflicts: conflict::Told::default(),
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
        spread: spread::json(session),
        kept: kept::json(session),
        warnings: session.warnings.iter().map(|w| w.title.clone()).collect(),
    }
}
