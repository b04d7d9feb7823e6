//! Every graph gets a certified plan under every policy, and running it changes no byte.

use crate::generate::{self, Case, NODES};
use crate::machine::differs;
use crate::policies::{options, policies};
use crate::tape::{Tape, check};
use bayplan_graph::certify::clobbers;
use bayplan_graph::{CertifiedPlan, Graph, GraphPlan, GraphPlanError, Policy, Role, plan};
use bayplan_planner::ids::Id;
use bayplan_planner::{ArenaId, Claim, ProblemError};
use std::cell::Cell;
use std::sync::Arc;

fn has_fixed(graph: &Graph) -> bool {
    graph.tensors().values().any(|t| t.fixed_offset.is_some())
}

/// Replays the plan, and runs the graph on it.
pub(crate) fn runs(graph: &Graph, policy: Policy, certified: &CertifiedPlan) {
    let (schedule, locations) = (certified.schedule(), certified.locations());
    let reuse = policy.reuse_inputs;
    assert_eq!(
        clobbers(graph, schedule, certified.checked(), locations, reuse),
        []
    );
    assert!(
        !differs(graph, schedule.order(), locations, reuse),
        "{policy:?} {locations:?}"
    );
}

/// The plan under a policy; nothing where given offsets clash.
pub(crate) fn planned(graph: &Arc<Graph>, policy: Policy) -> Option<GraphPlan> {
    match plan(graph.clone(), &options(policy)) {
        Ok(planned) => Some(planned),
        Err(GraphPlanError::Problem(errors)) => {
            let clash = |e: &ProblemError| matches!(e, ProblemError::FixedClash { .. });
            assert!(has_fixed(graph) && errors.0.iter().all(clash), "{errors}");
            None
        }
        Err(error) => panic!("{policy:?}: {error}\n{error:?}"),
    }
}

pub(crate) fn graphs(cases: u32, fixed: bool, property: impl Fn(&Arc<Graph>, &mut Tape)) {
    let make = |t: &mut Tape| Case(Arc::new(generate::graph(t, fixed)));
    check(cases, NODES, make, |case, t| property(&case.0, t));
}

/// The largest sum of bytes live at one node, by the rules of the cases' README.
fn simulated_load(graph: &Graph, reuse_inputs: bool) -> u64 {
    let last = graph.nodes().len().saturating_sub(1);
    let mut loads = vec![0; last + 1];
    for (id, tensor) in graph.tensors().iter() {
        let external = graph.external_io()
            && (matches!(tensor.role, Role::Input | Role::Output) || tensor.is_output);
        let made = graph.nodes().iter().find(|(_, n)| n.outputs.contains(&id));
        let first = match (tensor.role, made) {
            (Role::Input, _) => 0,
            (Role::Output | Role::Activation, Some((node, _))) => node.index(),
            _ => continue,
        };
        let readers = graph
            .nodes()
            .iter()
            .filter(|(_, n)| n.inputs.contains(&Some(id)));
        let mut until = readers
            .map(|(node, _)| node.index())
            .fold(first, usize::max);
        let kept = tensor.role == Role::Input && (tensor.keep || !reuse_inputs);
        if kept || tensor.is_output {
            until = last;
        }
        if !external {
            loads[first..=until]
                .iter_mut()
                .for_each(|load| *load += tensor.bytes);
        }
    }
    for (id, node) in graph.nodes().iter() {
        loads[id.index()] += node.scratch.iter().sum::<u64>();
    }
    loads.into_iter().max().unwrap_or(0)
}

fn sound(graph: &Arc<Graph>, policy: Policy, planned: &GraphPlan) {
    let certified = &planned.certified;
    let (problem, made) = (certified.checked().problem(), certified.checked().plan());
    for (arena, bound) in planned.bounds.arenas.iter() {
        assert!(bound.bytes <= made.heights[arena]);
        let optimal = matches!(made.claims[arena], Claim::Optimal(_));
        assert_eq!(optimal, bound.bytes == made.heights[arena]);
    }
    if !has_fixed(graph) {
        let rounded = |bytes: u64| bytes.next_multiple_of(planned.grid.alignment);
        let naive: u64 = problem.buffers().values().map(|b| rounded(b.size())).sum();
        assert!(certified.arena_bytes() + certified.persistent_bytes() <= naive);
    }
    runs(graph, policy, certified);
    if !policy.in_place && !policy.views {
        let (load, _) = planned.bounds.max_loads[ArenaId::from_index(0)];
        assert_eq!(load, simulated_load(graph, policy.reuse_inputs));
    }
}

#[test]
fn every_policy_gives_a_certified_plan_that_runs() {
    let (plans, shared) = (Cell::new(0), Cell::new(0));
    let all = |graph: &Arc<Graph>, _: &mut Tape| {
        for policy in policies() {
            if let Some(planned) = planned(graph, policy) {
                sound(graph, policy, &planned);
                plans.set(plans.get() + 1);
                let takes = planned.storage.takes_in_place();
                shared.set(shared.get() + u32::from(takes));
            }
        }
    };
    graphs(250, false, all);
    graphs(250, true, all);
    assert!(
        plans.get() > 3000 && shared.get() > 500,
        "{} {}",
        plans.get(),
        shared.get()
    );
}

#[test]
fn sharing_never_raises_the_arena() {
    graphs(200, false, |graph, _| {
        let total = |in_place: bool| {
            let policy = Policy {
                in_place,
                ..Policy::default()
            };
            let planned = planned(graph, policy).expect("nothing is fixed");
            planned.certified.arena_bytes() + planned.certified.persistent_bytes()
        };
        assert!(total(true) <= total(false));
    });
}
