//! The same of arenas with limits: what each lacks by itself, else what is missing in several of them.

use super::filter::{self, Attempt, Filter};
use super::{Answer, Cause, Conflict, Known, conflict};
use crate::crowd::{self, Crowd, Lists};
use crate::ids::{ArenaId, BufferId};
use crate::part::chosen;
use crate::problem::Problem;
use crate::strategy::{Options, PlannerFault, plan};
use std::collections::BTreeMap;

/// Why no plan keeps within the capacities and largest objects of the arenas; nothing where that is not so, or
/// not known. In this order, of which the first that is found is told: buffers that are too large for each
/// arena that they may be in; arenas, and groups of them, in which more is live at a step than they have;
/// arenas into which a search cannot pack what can be nowhere else; and what cannot be packed into several
/// arenas, whoever is in which.
///
/// ```
/// use bayplan_planner::{Arena, ArenaId, Buffer, Options, Problem, conflict::shortfalls, ids::Id};
///
/// let arenas = ["sram", "ram"].map(|name| Arena { capacity: Some(4096), ..Arena::new(name) });
/// let anywhere = || arenas.iter().enumerate().map(|(index, _)| ArenaId::from_index(index)).collect();
/// let buffers = [("a", 2560), ("b", 2048), ("c", 4000)];
/// let buffers = buffers.map(|(name, bytes)| Buffer::new(name, 0..2, bytes).in_arenas(anywhere()));
/// let problem = Problem::new(arenas.to_vec().into(), buffers.to_vec().into(), Vec::new())?;
/// let found = shortfalls(&problem, &Options::default())?;
/// assert_eq!((found[0].capacity, found[0].members.len()), (8192, 3)); // 8608 bytes at step 0
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The limits of `options` hold for each search; an error is a defect of this library.
pub fn shortfalls(problem: &Problem, options: &Options<'_>) -> Result<Vec<Conflict>, PlannerFault> {
    let lists = crowd::usable(problem);
    let mut found = objects(problem, &lists);
    if found.is_empty() {
        found = crowds(problem, &lists);
    }
    if found.is_empty() {
        found = singles(problem, &lists, options)?;
    }
    if found.is_empty() {
        found.extend(together(problem, &lists, options)?);
    }
    Ok(found)
}

/// Buffers that are too large, those with the same arenas as one.
fn objects(problem: &Problem, lists: &Lists) -> Vec<Conflict> {
    let mut by_arenas: BTreeMap<&[ArenaId], Vec<BufferId>> = BTreeMap::new();
    for (id, _) in lists.iter().filter(|(_, list)| list.is_empty()) {
        let arenas = &problem.buffers()[id].arenas;
        by_arenas.entry(arenas).or_default().push(id);
    }
    let told = |(arenas, members): (&[ArenaId], Vec<BufferId>)| {
        let limits = arenas.iter().map(|&id| crowd::limit(&problem.arenas()[id]));
        let limit = limits.max().flatten().unwrap_or(0);
        Conflict {
            arena: arenas[0],
            beside: arenas[1..].to_vec(),
            capacity: limit,
            members,
            cause: Cause::Object { limit },
            minimal: false,
        }
    };
    by_arenas.into_iter().map(told).collect()
}

fn crowds(problem: &Problem, lists: &Lists) -> Vec<Conflict> {
    let crowds = crowd::crowds(problem, lists).into_iter();
    crowds.map(load).collect()
}

fn load(crowd: Crowd) -> Conflict {
    Conflict {
        arena: crowd.arenas[0],
        beside: crowd.arenas[1..].to_vec(),
        capacity: crowd.capacity,
        members: crowd.members,
        cause: Cause::Load {
            step: crowd.step,
            alignment: 1,
            bytes: crowd.bytes,
        },
        minimal: false,
    }
}

/// What can be in no other arena and is live at one step with more than `capacity` bytes, where there is such a
/// step. Nothing in a problem with pairs, whose overlaps would be counted twice.
pub fn too_much(problem: &Problem, arenas: &[ArenaId], capacity: u64) -> Option<Conflict> {
    let lists = crowd::usable(problem);
    let crowd = || crowd::crowd(problem, &lists, arenas.to_vec(), capacity);
    let plain = problem.pairs().is_empty() && !arenas.is_empty();
    plain.then(crowd).flatten().map(load)
}

/// Each arena with what can be nowhere else.
fn singles(
    problem: &Problem,
    lists: &Lists,
    options: &Options<'_>,
) -> Result<Vec<Conflict>, PlannerFault> {
    let ids: Vec<BufferId> = problem.buffers().ids().collect();
    let narrow = chosen(problem, &ids, problem.arenas().clone(), |id| {
        lists[id].clone()
    });
    let mut found = Vec::new();
    for (id, arena) in problem.arenas().iter() {
        if let Some(capacity) = arena.capacity
            && let Answer::Conflict(conflict) = conflict(&narrow, id, capacity, options)?
        {
            found.push(conflict);
        }
    }
    Ok(found)
}

/// What is in no single arena alone.
fn together(
    problem: &Problem,
    lists: &Lists,
    options: &Options<'_>,
) -> Result<Option<Conflict>, PlannerFault> {
    let has_bytes = |id: &BufferId| !problem.buffers()[*id].extent.is_empty();
    let ids: Vec<BufferId> = problem.buffers().ids().filter(has_bytes).collect();
    if ids.iter().all(|&id| lists[id].len() < 2) {
        return Ok(None);
    }
    let arenas = |id: BufferId| problem.buffers()[id].arenas.clone();
    let ask = |ids: &[BufferId], options: &Options<'_>| {
        let attempt = match plan(
            chosen(problem, ids, problem.arenas().clone(), arenas),
            options,
        ) {
            Ok(planned) => (Attempt::Fits(planned.height()), planned.nodes),
            Err(fault) => (failed(fault)?, 0),
        };
        Ok(attempt)
    };
    let whole = chosen(problem, &ids, problem.arenas().clone(), arenas);
    let filter = Filter::new(problem, &ask, options);
    let filter::Answer::Fails(found) = filter.answer(&ids, &whole, Known::Nothing)? else {
        return Ok(None);
    };
    let mut held: Vec<ArenaId> = found
        .members
        .iter()
        .flat_map(|&id| lists[id].clone())
        .collect();
    held.sort_unstable();
    held.dedup();
    let capacities = held.iter().filter_map(|&id| problem.arenas()[id].capacity);
    Ok(Some(Conflict {
        arena: held[0],
        beside: held[1..].to_vec(),
        capacity: capacities.fold(0, u64::saturating_add),
        members: found.members,
        cause: Cause::Packing { nodes: found.nodes },
        minimal: found.minimal,
    }))
}

/// What a fault says of whether there is a plan.
fn failed(fault: PlannerFault) -> Result<Attempt, PlannerFault> {
    match fault {
        PlannerFault::NoRoom(short) if short.proved => Ok(Attempt::Fails),
        PlannerFault::DoesNotFit {
            capacity, bound, ..
        } if bound.bytes > capacity => Ok(Attempt::Fails),
        PlannerFault::TooLarge(_) => Ok(Attempt::Fails),
        PlannerFault::NoRoom(_) | PlannerFault::DoesNotFit { .. } => Ok(Attempt::Unknown(0)),
        fault => Err(fault),
    }
}
