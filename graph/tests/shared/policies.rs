//! What may be shared: all ways, and how random graphs are planned under each.

use bayplan_graph::{PlanOptions, Policy};

/// All eight.
pub(crate) fn policies() -> impl Iterator<Item = Policy> {
    (0..8).map(|bits| Policy {
        in_place: bits & 1 != 0,
        views: bits & 2 != 0,
        reuse_inputs: bits & 4 != 0,
    })
}

/// The usual options, with a short search.
pub(crate) fn options(policy: Policy) -> PlanOptions<'static> {
    PlanOptions {
        policy,
        packing: bayplan_planner::Options {
            work_limit: Some(1 << 15),
            ..Default::default()
        },
        ..PlanOptions::default()
    }
}
