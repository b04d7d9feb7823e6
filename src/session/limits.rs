//! Memories that do not suffice. There shall be a plan to show all the same, with what is beyond: limits that no
//! plan was found within are moved, one by one, until there is one; no further than seems to be needed.

use bayplan_graph::{GraphPlan, GraphPlanError, PlanOptions};
use bayplan_planner::memory::MemoryError;
use bayplan_planner::{Arena, ArenaId, Planned, PlannerFault, Problem, Table, Violation};

/// The memory in which there was no room.
struct Full {
    arena: String,
    /// With so many bytes there might be.
    bytes: u64,
    /// One buffer has so many.
    object: bool,
}

/// Times that a memory is made no larger than it seems to take; then its limit is lifted.
const ROUNDS: u32 = 3;

/// Nothing where the fault is another one.
fn full(fault: &PlannerFault) -> Option<Full> {
    let (arena, bytes, object) = match fault {
        PlannerFault::NoRoom(short) => (&short.full, short.height, false),
        PlannerFault::DoesNotFit { arena, height, .. } => (arena, *height, false),
        PlannerFault::TooLarge(Violation::TooLarge { arena, size, .. }) => (arena, *size, true),
        _ => return None,
    };
    Some(Full {
        arena: arena.clone(),
        bytes,
        object,
    })
}

fn full_of_graph(error: &GraphPlanError) -> Option<Full> {
    match error {
        GraphPlanError::Planner(fault) => full(fault),
        GraphPlanError::Memory(MemoryError::CannotTake { arena, size, .. }) => Some(Full {
            arena: arena.clone(),
            bytes: *size,
            object: true,
        }),
        _ => None,
    }
}

/// Moves the limit that was in the way. False: there was none.
fn lift<'a>(arenas: impl Iterator<Item = &'a mut Arena>, full: &Full, round: u32) -> bool {
    let mut named = arenas.filter(|arena| arena.name == full.arena);
    let Some(arena) = named.next() else {
        return false;
    };
    let now = (arena.capacity, arena.largest_object);
    let more = |limit: u64| (round <= ROUNDS).then_some(limit.max(full.bytes));
    let in_way = |limit: &u64| *limit < full.bytes || round > ROUNDS;
    if let Some(capacity) = arena.capacity.filter(in_way) {
        arena.capacity = more(capacity);
    }
    if let Some(largest) = arena
        .largest_object
        .filter(|limit| full.object && in_way(limit))
    {
        arena.largest_object = more(largest);
    }
    if now == (arena.capacity, arena.largest_object) {
        // It was large enough, and was not all the same.
        arena.capacity = None;
    }
    now != (arena.capacity, arena.largest_object)
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
    let mut round = 0;
    while let Err(fault) = &done {
        round += 1;
        match full(fault) {
            Some(full) if lift(arenas.values_mut(), &full, round) => {}
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
    let mut round = 0;
    while let (Err(error), Some(memory)) = (&done, &mut options.memory) {
        round += 1;
        match full_of_graph(error) {
            Some(full) if lift(memory.arenas.iter_mut(), &full, round) => {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_planner::{Buffer, Options, ids::Id};

    fn problem(sram: u64, ram: Option<u64>) -> Problem {
        let arena = |name: &str, capacity| Arena {
            capacity,
            ..Arena::new(name)
        };
        let arenas = vec![arena("sram", Some(sram)), arena("ram", ram)];
        let both: Vec<ArenaId> = (0..2).map(ArenaId::from_index).collect();
        let pinned = Buffer::new("pinned", 0..2, 4096).in_arenas(vec![both[0]]);
        let buffers = [("a", 2560), ("b", 2048)];
        let free =
            buffers.map(|(name, size)| Buffer::new(name, 0..2, size).in_arenas(both.clone()));
        let buffers: Vec<Buffer> = std::iter::once(pinned).chain(free).collect();
        Problem::new(arenas.into(), buffers.into(), Vec::new()).unwrap()
    }

    fn planned(problem: Problem) -> (Vec<u64>, Option<Table<ArenaId, Arena>>) {
        let plan = |problem| bayplan_planner::plan(problem, &Options::default());
        let (planned, asked) = of_problem(problem, plan).unwrap();
        let heights = planned.checked.plan().heights.values().copied();
        (heights.collect(), asked)
    }

    #[test]
    fn limits_are_moved_no_further_than_needed() {
        assert_eq!(planned(problem(4096, None)), (vec![4096, 4608], None));
        // The pinned one does not fit, the last memory has no room for the rest.
        let (heights, asked) = planned(problem(4000, Some(4096)));
        assert_eq!(heights, [4096, 4608]);
        let asked = asked.unwrap();
        let capacities = asked.values().map(|arena| arena.capacity.unwrap());
        assert_eq!(capacities.collect::<Vec<_>>(), [4000, 4096]);
    }
}
