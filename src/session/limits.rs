//! Memories that do not suffice. There shall be a plan to show all the same, with what is beyond: limits that no
//! plan was found within are lifted, one by one, until there is one.

use bayplan_graph::{GraphPlan, GraphPlanError, PlanOptions};
use bayplan_planner::memory::MemoryError;
use bayplan_planner::{Arena, ArenaId, Planned, PlannerFault, Problem, Table, Violation};

/// The memory in which there was no room, and what for.
enum Full {
    /// For all that has to be there.
    Bytes(String),
    /// For one buffer.
    Object(String),
}

/// Nothing where the fault is another one.
fn full(fault: &PlannerFault) -> Option<Full> {
    match fault {
        PlannerFault::NoRoom(short) => Some(Full::Bytes(short.full.clone())),
        PlannerFault::DoesNotFit { arena, .. } => Some(Full::Bytes(arena.clone())),
        PlannerFault::TooLarge(Violation::TooLarge { arena, .. }) => {
            Some(Full::Object(arena.clone()))
        }
        _ => None,
    }
}

fn full_of_graph(error: &GraphPlanError) -> Option<Full> {
    match error {
        GraphPlanError::Planner(fault) => full(fault),
        GraphPlanError::Memory(MemoryError::CannotTake { arena, .. }) => {
            Some(Full::Object(arena.clone()))
        }
        _ => None,
    }
}

/// Lifts the limit that was in the way. False: there was none.
fn lift<'a>(arenas: impl Iterator<Item = &'a mut Arena>, full: &Full) -> bool {
    let (Full::Bytes(name) | Full::Object(name)) = full;
    let mut named = arenas.filter(|arena| arena.name == *name);
    let Some(arena) = named.next() else {
        return false;
    };
    let bytes = arena.capacity.take().is_some();
    match full {
        Full::Bytes(_) => bytes,
        Full::Object(_) => arena.largest_object.take().is_some() || bytes,
    }
}

fn is_limited(arena: &Arena) -> bool {
    arena.capacity.is_some() || arena.largest_object.is_some()
}

/// Plans a problem; if need be beyond its limits, which then come back with the plan.
pub(super) fn of_problem(
    problem: Problem,
    plan: impl Fn(Problem) -> Result<Planned, PlannerFault>,
) -> Result<(Planned, Option<Table<ArenaId, Arena>>), PlannerFault> {
    // A million buffers are not copied for nothing.
    let spare = problem
        .arenas()
        .values()
        .any(is_limited)
        .then(|| problem.clone());
    let mut done = plan(problem);
    let Some(spare) = spare else {
        return done.map(|planned| (planned, None));
    };
    let mut arenas = spare.arenas().clone();
    while let Err(fault) = &done {
        match full(fault) {
            Some(full) if lift(arenas.values_mut(), &full) => {}
            _ => break,
        }
        done = plan(with(&spare, arenas.clone()));
    }
    let asked = (arenas != *spare.arenas()).then(|| spare.arenas().clone());
    done.map(|planned| (planned, asked))
}

/// The same of a graph.
pub(super) fn of_graph(
    options: &mut PlanOptions<'_>,
    plan: impl Fn(&PlanOptions<'_>) -> Result<GraphPlan, GraphPlanError>,
) -> Result<(GraphPlan, Option<Vec<Arena>>), GraphPlanError> {
    let asked = options.memory.as_ref().map(|memory| memory.arenas.clone());
    let mut done = plan(options);
    while let (Err(error), Some(memory)) = (&done, &mut options.memory) {
        match full_of_graph(error) {
            Some(full) if lift(memory.arenas.iter_mut(), &full) => {}
            _ => break,
        }
        done = plan(options);
    }
    let now = options.memory.as_ref().map(|memory| &memory.arenas);
    let asked = asked.filter(|asked| now != Some(asked));
    done.map(|planned| (planned, asked))
}

/// The arenas of a problem with the limits that were asked for.
pub(super) fn restored(problem: &Problem, asked: &[Arena]) -> Table<ArenaId, Arena> {
    let arenas = problem.arenas().values();
    let named = |arena: &Arena| asked.iter().find(|one| one.name == arena.name).cloned();
    arenas
        .map(|arena| named(arena).unwrap_or_else(|| arena.clone()))
        .collect()
}

/// The same buffers in arenas with other limits.
pub(super) fn with(problem: &Problem, arenas: Table<ArenaId, Arena>) -> Problem {
    Problem::new(arenas, problem.buffers().clone(), problem.pairs().to_vec())
        .expect("limits alone make no problem impossible")
}
