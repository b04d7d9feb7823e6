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
//! done again. With few buffers to decide about, all assignments are gone through (`exact`).
//!
//! All limits are counts, so the result depends on problem and options alone.

mod exact;
mod pack;
mod settle;

use super::front::{sealed, status};
use super::stop::Stop;
use super::{Options, Planned, PlannerFault, Tried, with_heights};
use crate::bounds::Bounds;
use crate::check::Violation;
use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::Place;
use crate::problem::Problem;
use crate::strategy::shortage;
use pack::{Packed, Packer};

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
    if let Some(better) = exact::search(&packer, &lists, best.as_ref().ok()) {
        best = Ok(better);
    }
    let assigned =
        best.map_err(|short| shortage::explain(&problem, &lists, short.arena, short.height))?;
    let (places, tried) = finish(&packer, &assigned);
    let nodes = packer.nodes();
    let plan = with_heights(&problem, places, NAME);
    let bounds = Bounds::new(&problem);
    let status = status(&plan, &bounds, options, stop);
    let planned = sealed(problem, plan, bounds, status)?;
    Ok(Planned {
        tried,
        nodes,
        ..planned
    })
}

/// Arenas by buffer that can hold it at all, in order.
pub(super) type Lists = Table<BufferId, Vec<ArenaId>>;

fn usable(problem: &Problem) -> Result<Lists, PlannerFault> {
    let mut lists = Lists::new();
    for buffer in problem.buffers().values() {
        let size = buffer.size();
        let limit = |arena: ArenaId| {
            let arena = &problem.arenas()[arena];
            let limits = arena.capacity.into_iter().chain(arena.largest_object);
            limits.min().unwrap_or(u64::MAX)
        };
        let fits = |arena: &&ArenaId| size <= limit(**arena);
        let list: Vec<ArenaId> = buffer.arenas.iter().filter(fits).copied().collect();
        if list.is_empty() {
            let limits = buffer.arenas.iter().map(|&arena| limit(arena));
            return Err(PlannerFault::TooLarge(Violation::TooLarge {
                buffer: buffer.name.clone(),
                size,
                limit: limits.max().unwrap_or(0),
            }));
        }
        lists.push(list);
    }
    Ok(lists)
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
