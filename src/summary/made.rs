//! How a plan was made: strategy, search, sharing, and what cut it short.

use super::{cut_by, in_place};
use crate::session::Session;
use crate::units::grouped;
use bayplan_planner::{Status, Witness};

/// The strategy of the plan, and what was tried beside it.
pub(super) fn made_by(session: &Session) -> String {
    let strategy = &session.checked.plan().strategy;
    let stopped = session.tried.iter().filter(|t| t.heights.is_none()).count();
    let cut = session.status.is_some_and(Status::was_cut);
    let stopped = if stopped > 0 && cut {
        format!(" ({stopped} stopped)")
    } else if stopped > 0 {
        format!(" ({stopped} gave up: too much lives together)")
    } else {
        String::new()
    };
    let tried = session.tried.len();
    let tried = if tried > 1 {
        format!(", best of {tried} tried{stopped}")
    } else {
        String::new()
    };
    let shares = session
        .graph
        .as_ref()
        .map(in_place)
        .filter(|&(_, offers)| offers > 0);
    let shares = shares.map_or_else(String::new, |(taken, offers)| {
        format!("; {taken} of {offers} in-place offers taken")
    });
    let stock = session.graph.as_ref().and_then(|side| side.part.stock);
    let strategy = stock.map_or(strategy.as_str(), |stock| stock.name());
    let profile = match session.profile.as_str() {
        "bayplan" => String::new(),
        profile => format!("; profile {profile}"),
    };
    let nodes = searched(session).map_or_else(String::new, |nodes| {
        format!("; {} nodes searched", grouped(nodes))
    });
    format!("{strategy}{tried}{nodes}{shares}{profile}")
}

/// Nodes of the exact search, where the bound does not tell them.
fn searched(session: &Session) -> Option<u64> {
    let bounds = session.bounds.arenas.values();
    let mut told = bounds.filter(|bound| matches!(bound.witness, Witness::Search { .. }));
    (session.nodes > 0 && told.next().is_none()).then_some(session.nodes)
}

/// What cut planning short.
pub(super) fn stopped(session: &Session) -> Option<String> {
    let by = cut_by(session.status?.name())?;
    Some(format!(
        "stopped   by {by}: another run may find another plan"
    ))
}
