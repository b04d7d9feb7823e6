//! Several memories: every graph's plan is certified, and running it changes no byte.

use crate::plans::{graphs, runs};
use crate::policies::policies;
use crate::tape::Tape;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::{Graph, GraphPlan, GraphPlanError, PlanOptions, Policy, Role, Spot, plan};
use bayplan_planner::memory::{Memory, MemoryError, PERSISTENT};
use bayplan_planner::strategy::keep::{Earlier, Fate};
use bayplan_planner::{Arena, Options, PlannerFault};
use std::cell::Cell;
use std::sync::Arc;

/// Two or three memories, the last without a limit, and some pins.
fn memory(graph: &Graph, t: &mut Tape) -> Memory {
    let total: u64 = graph.tensors().values().map(|tensor| tensor.bytes).sum();
    let count = 2 + t.index(2);
    let mut memory = Memory::default();
    for index in 0..count {
        let mut arena = Arena::new(format!("m{index}"));
        if index + 1 < count {
            arena.capacity = Some(1 + t.below(total / 2 + 1));
        }
        if t.chance(20) {
            arena.alignment = t.pick(&[1, 2, 16]);
        }
        memory.arenas.push(arena);
    }
    for tensor in graph.tensors().values() {
        if tensor.role != Role::State && t.chance(10) {
            let arena = u32::try_from(t.index(count)).expect("few");
            memory.pins.insert(tensor.name.clone(), arena);
        }
    }
    memory
}

fn options<'a>(policy: Policy, memory: &Memory, keep: Option<&'a Earlier>) -> PlanOptions<'a> {
    PlanOptions {
        policy,
        memory: Some(memory.clone()),
        packing: Options {
            work_limit: Some(1 << 14),
            keep,
            ..Options::default()
        },
        ..PlanOptions::default()
    }
}

fn sound(graph: &Arc<Graph>, policy: Policy, memory: &Memory, planned: &GraphPlan) {
    let certified = &planned.certified;
    runs(graph, policy, certified);
    let locations = certified.locations();
    let arenas = certified.checked().problem().arenas();
    for (id, tensor) in graph.tensors().iter() {
        let Spot::At(place) = locations.tensors[id] else {
            continue;
        };
        let name = &arenas[place.arena].name;
        // What a variable becomes, or is seen through, is where the variable is.
        assert!(tensor.role != Role::State || name == PERSISTENT);
        if let Some(&pin) = memory.pins.get(&tensor.name)
            && name != PERSISTENT
        {
            assert_eq!(*name, memory.arenas[pin as usize].name);
        }
    }
    // A plan file derives the same problem, and certifies.
    let part = GraphPart::new(planned);
    let again = part.graph().expect("it is the graph");
    part.certify(again, certified.checked().clone())
        .expect("it follows");
    let mut other = part;
    if let Some(memory) = &mut other.memory {
        memory.arenas[0].capacity = memory.arenas[0].capacity.map(|bytes| bytes + 1);
    }
    let again = other.graph().expect("it is the graph");
    assert!(other.certify(again, certified.checked().clone()).is_err());
}

#[test]
fn plans_in_several_memories_are_certified_and_run() {
    let (made, refused) = (Cell::new(0), Cell::new(0));
    graphs(60, true, |graph, t| {
        let memory = memory(graph, t);
        let first = t.index(4);
        for policy in policies().skip(first).step_by(4) {
            match plan(graph.clone(), &options(policy, &memory, None)) {
                Ok(planned) => {
                    made.set(made.get() + 1);
                    sound(graph, policy, &memory, &planned);
                }
                Err(
                    GraphPlanError::Memory(
                        MemoryError::CannotTake { .. }
                        | MemoryError::Torn { .. }
                        | MemoryError::Problem(_),
                    )
                    | GraphPlanError::Planner(
                        PlannerFault::NoRoom(_)
                        | PlannerFault::DoesNotFit { .. }
                        | PlannerFault::TooLarge(_),
                    )
                    | GraphPlanError::Problem(_),
                ) => refused.set(refused.get() + 1),
                Err(error) => panic!("{policy:?}: {error}\n{error:?}"),
            }
        }
    });
    assert!(made.get() > 60, "{made:?} {refused:?}");
}

#[test]
fn a_plan_kept_whole_is_the_same_and_certified() {
    graphs(40, false, |graph, t| {
        let mut memory = memory(graph, t);
        memory.pins.clear();
        let policy = Policy::default();
        let Ok(before) = plan(graph.clone(), &options(policy, &memory, None)) else {
            return;
        };
        let (problem, made) = before.certified.checked().clone().into_parts();
        let earlier = Earlier::of_plan(&problem, &made);
        let again = plan(graph.clone(), &options(policy, &memory, Some(&earlier)));
        let again = again.expect("the earlier plan does");
        if before.declined {
            return; // the earlier plan shares otherwise
        }
        assert_eq!(again.certified.checked().plan().places, made.places);
        let kept = again.kept.as_ref().expect("there was an earlier plan");
        assert!(kept.fates.values().all(|fate| *fate == Fate::Stays));
        sound(graph, policy, &memory, &again);
    });
}
