//! Several arenas: which buffer goes where, and then at which offset.
//!
//! Goes in: a problem in which some buffers may be in several arenas, the fastest first. Comes out:
//! places. In this order: every arena keeps to its capacity; as little traffic as possible is
//! *spilled* (a buffer's traffic counts once for each arena that it was moved past); the arenas are low.
//!
//! Buffers propose themselves to their first arena. An arena that is too small keeps the best choice
//! (`resident`); the others go on to their next one, which chooses again (deferred
//! acceptance: Gale & Shapley 1962). What has no further arena must be kept. Then each arena is packed. If the
//! packing of a choice exceeds the capacity although its load does not, the exact search is asked for a
//! packing within the capacity; only then the least worthy buffer at the fullest step moves out. At the
//! end, spilled buffers are tried in their faster arenas again, the worthiest first. If the last
//! arena overflows, buffers that are live there become worth more in the earlier ones, and all is
//! done again. With few buffers to decide about, all assignments are gone through (`exact`): that may
//! prove that none spills less, or that none fits.
//!
//! All limits are counts, so the result depends on problem and options alone.

mod exact;
mod pack;
mod settle;

use super::front::{sealed, status};
use super::stop::Stop;
use super::{Options, Planned, PlannerFault, Status, Tried, with_heights};
use crate::bounds::Bounds;
use crate::check::Violation;
use crate::crowd::{self, Lists};
use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::{Place, Plan};
use crate::problem::Problem;
use crate::spill;
use crate::strategy::shortage;
use pack::{Packed, Packer};
pub(super) use settle::Short;

/// What the strategy of such plans is called.
pub const NAME: &str = "assign";

/// Whether there is something to decide.
pub(super) fn is_needed(problem: &Problem) -> bool {
    problem.buffers().values().any(|b| b.arenas.len() > 1)
}

/// Plans a problem with several arenas.
pub(super) fn plan(
    problem: Problem,
    options: &Options<'_>,
    stop: &Stop<'_>,
) -> Result<Planned, PlannerFault> {
    let lists = usable(&problem)?;
    let packer = Packer::new(&problem, options, stop);
    let mut best = settle::rounds(&packer, &lists);
    let all = exact::search(&packer, &lists, best.as_ref().ok());
    if let Some(better) = all.found {
        best = Ok(better);
    }
    let assigned =
        best.map_err(|short| shortage::explain(&problem, &lists, &short, all.complete))?;
    let (places, tried) = finish(&packer, &assigned);
    let nodes = packer.nodes();
    let spills_least =
        all.complete || assigned.spilled(&problem) == least_spilled(&problem, &lists);
    let plan = with_heights(&problem, places, NAME);
    let bounds = Bounds::new(&problem);
    let status = ended(&problem, (&plan, &bounds), spills_least, (options, stop));
    let planned = sealed(problem, plan, bounds, status)?;
    Ok(Planned {
        tried,
        nodes,
        spills_least,
        ..planned
    })
}

/// Why planning ended with `plan`.
fn ended(
    problem: &Problem,
    (plan, bounds): (&Plan, &Bounds),
    spills_least: bool,
    (options, stop): (&Options<'_>, &Stop<'_>),
) -> Status {
    let all: Vec<ArenaId> = problem.arenas().ids().collect();
    let heights = plan.heights.values();
    let total = heights.fold(0, |sum: u64, &height| sum.saturating_add(height));
    if spills_least && total <= spill::floor(problem, bounds, &all).bytes {
        return Status::Optimal;
    }
    match status(plan, bounds, options, stop) {
        Status::Optimal if !spills_least => Status::Limit,
        status => status,
    }
}

/// Arenas by buffer that can hold it at all, in order.
fn usable(problem: &Problem) -> Result<Lists, PlannerFault> {
    let lists = crowd::usable(problem);
    let Some((id, _)) = lists.iter().find(|(_, list)| list.is_empty()) else {
        return Ok(lists);
    };
    let buffer = &problem.buffers()[id];
    let limit = |arena: &ArenaId| crowd::limit(&problem.arenas()[*arena]).unwrap_or(u64::MAX);
    let most = buffer.arenas.iter().copied().max_by_key(limit);
    let most = most.expect("a buffer has an arena");
    Err(PlannerFault::TooLarge(Violation::TooLarge {
        buffer: buffer.name.clone(),
        arena: problem.arenas()[most].name.clone(),
        size: buffer.size(),
        limit: limit(&most),
    }))
}

/// What is spilled at the least: buffers that are too large for the first arenas of their list.
fn least_spilled(problem: &Problem, lists: &Lists) -> u128 {
    spilled(problem, |id| lists[id][0])
}

/// An assignment that fits: position in each buffer's list, and a packing of each bounded arena.
pub(super) struct Assigned {
    places: Table<BufferId, ArenaId>,
    packed: Table<ArenaId, Option<Packed>>,
}

impl Assigned {
    /// Spilled traffic: the worth of each buffer for every arena that it was moved past.
    fn spilled(&self, problem: &Problem) -> u128 {
        spilled(problem, |id| self.places[id])
    }
}

/// Spilled traffic: the worth of each buffer for every arena of its list that it was moved past.
pub fn spilled(problem: &Problem, place: impl Fn(BufferId) -> ArenaId) -> u128 {
    let spilled = problem.buffers().iter().map(|(id, buffer)| {
        let position = buffer.arenas.iter().position(|&a| a == place(id));
        buffer.worth().saturating_mul(position.unwrap_or(0) as u128)
    });
    spilled.fold(0, u128::saturating_add)
}

/// Packs every arena as low as it gets.
fn finish(packer: &Packer<'_>, assigned: &Assigned) -> (Table<BufferId, Place>, Vec<Tried>) {
    let arenas = packer.problem.arenas();
    let first = |id: BufferId| Place {
        arena: assigned.places[id],
        offset: 0,
    };
    let mut places: Table<BufferId, Place> = assigned.places.ids().map(first).collect();
    let mut tried: Vec<Tried> = Vec::new();
    let mut lows = Table::filled(0, arenas.len());
    for arena in arenas.ids() {
        let ids = assigned
            .places
            .ids()
            .filter(|&id| assigned.places[id] == arena);
        let members: Vec<BufferId> = ids.collect();
        let (mut low, rows) = packer.lowest(arena, &members);
        let height = low.height;
        if let Some(known) = &assigned.packed[arena]
            && known.height < low.height
        {
            low.places.clone_from(&known.places);
        }
        for (id, offset) in low.places {
            places[id].offset = offset;
        }
        pack::join(&mut tried, (&rows, height), arena, &mut lows);
    }
    (places, tried)
}
