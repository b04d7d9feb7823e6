//! Damaged schedules, storages, places and graphs are refused, thousands of each.
//!
//! The certificate must refuse whatever would change a byte when run ([`differs`]), and some things
//! whatever happens.

use crate::machine::differs;
use crate::plans::{graphs, planned};
use crate::policies::policies;
use crate::tape::Tape;
use bayplan_graph::format::own;
use bayplan_graph::ir::Dependency;
use bayplan_graph::plan_file::{GraphPart, GraphPartError};
use bayplan_graph::storage::{Decision, Reason};
use bayplan_graph::{
    Graph, GraphPlan, Locations, Policy, Schedule, Spot, TensorId, certify, placement,
};
use bayplan_planner::ids::Id;
use bayplan_planner::{CheckedPlan, Options};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

fn add(counter: &Cell<u32>, condition: bool) {
    counter.set(counter.get() + u32::from(condition));
}

/// Whether the certificate refuses; it must if the run differs.
fn refused(
    graph: &Arc<Graph>,
    schedule: &Schedule,
    checked: CheckedPlan,
    locations: &Locations,
    reuse_inputs: bool,
) -> bool {
    let clone = (schedule.clone(), locations.clone());
    let refused = certify(graph.clone(), clone.0, checked, clone.1, reuse_inputs).is_err();
    assert!(
        refused || !differs(graph, schedule.order(), locations, reuse_inputs),
        "certified, but running it differs: {schedule:?} {locations:?}"
    );
    refused
}

fn any_plan(graph: &Arc<Graph>, t: &mut Tape) -> Option<GraphPlan> {
    let all: Vec<Policy> = policies().collect();
    planned(graph, t.pick(&all))
}

#[test]
fn dependent_nodes_in_the_wrong_order_are_refused() {
    let (data, states) = (Cell::new(0), Cell::new(0));
    graphs(300, false, |graph, t| {
        let plan = any_plan(graph, t).expect("nothing is fixed");
        for (first, second, dependency) in graph.dependencies() {
            let mut order = plan.certified.schedule().order().to_vec();
            order.swap(first.index(), second.index());
            assert!(Schedule::new(graph, order.clone()).is_err());
            let forged = Schedule::unverified(order);
            let checked = plan.certified.checked().clone();
            let reuse = plan.policy.reuse_inputs;
            let refused = refused(graph, &forged, checked, plan.certified.locations(), reuse);
            let on_data = matches!(dependency, Dependency::Data(_));
            assert!(refused || !on_data);
            add(if on_data { &data } else { &states }, refused);
        }
    });
    assert!(
        data.get() > 2000 && states.get() > 500,
        "{} {}",
        data.get(),
        states.get()
    );
}

/// Refusals that keep contents apart, as against those of policy or taste.
fn semantic(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::SwitchedOff
            | Reason::AlreadyShares(_)
            | Reason::RaisesPeak
            | Reason::FixedElsewhere
            | Reason::Misaligned
    )
}

/// Whether a storage in which this refused decision is taken gives a plan that is refused; nothing
/// where the two are in one class already, which cannot be forged.
fn refused_when_taken(graph: &Arc<Graph>, plan: &GraphPlan, decision: &Decision) -> Option<bool> {
    let schedule = plan.certified.schedule();
    let storage = plan.storage.clone().forged(decision.input, decision.output);
    if storage.home(decision.input) != storage.home(decision.output) {
        return None;
    }
    let problem = placement::problem(graph, schedule, &plan.lifetimes, &storage, plan.grid);
    let Ok((problem, placed)) = problem else {
        return Some(true);
    };
    let quick = Options {
        work_limit: Some(1 << 12),
        ..Options::default()
    };
    let made = bayplan_planner::plan(problem, &quick).expect("no limits");
    let locations = placement::locate(&placed, made.checked.plan()).expect("they belong together");
    let reuse_inputs = plan.policy.reuse_inputs;
    let refused = refused(graph, schedule, made.checked, &locations, reuse_inputs);
    Some(refused)
}

#[test]
fn forged_sharing_is_refused() {
    let counts: RefCell<BTreeMap<&str, (u32, u32)>> = RefCell::default();
    graphs(1000, true, |graph, t| {
        let Some(plan) = any_plan(graph, t) else {
            return;
        };
        for decision in plan.storage.decisions() {
            let Some(reason) = decision.refused.filter(|&r| semantic(r)) else {
                continue;
            };
            let Some(refused) = refused_when_taken(graph, &plan, decision) else {
                continue;
            };
            // The others may be harmless in the end: a state that is rewritten before it is read,
            // a result that nobody reads; or a view, which says the same in its input's bytes.
            let mut views = graph.nodes()[decision.node].views.iter();
            let view = views.any(|view| view.output == decision.output);
            let lost = match reason {
                Reason::StillReadBy(_, t) | Reason::MustSurvive(t) | Reason::IsInput(t) => {
                    graph.tensors()[t].bytes
                }
                _ => 0,
            };
            let written = graph.tensors()[decision.output].bytes;
            let always = lost > 0 && written > 0 && !view;
            assert!(refused || !always, "{decision:?}");
            let mut counts = counts.borrow_mut();
            let count = counts.entry(reason.name()).or_default();
            count.0 += u32::from(refused);
            count.1 += 1;
        }
    });
    let counts = counts.into_inner();
    let total: u32 = counts.values().map(|count| count.0).sum();
    assert!(total > 2000, "{counts:?}");
    for reason in [
        "StillReadBy",
        "MustSurvive",
        "IsInput",
        "IsState",
        "Larger",
        "OtherOperand",
    ] {
        assert!(counts[reason].0 > 20, "{reason} {counts:?}");
    }
}

/// Tensors with bytes in an arena, and where.
fn placed(graph: &Graph, locations: &Locations) -> Vec<(TensorId, bayplan_planner::Place)> {
    let spots = locations.tensors.iter();
    let placed = spots.filter_map(|(id, spot)| match spot {
        Spot::At(place) if graph.tensors()[id].bytes > 0 => Some((id, *place)),
        _ => None,
    });
    placed.collect()
}

#[test]
fn a_tensor_moved_into_another_is_refused_if_that_changes_anything() {
    let (refusals, harmless) = (Cell::new(0), Cell::new(0));
    graphs(600, false, |graph, t| {
        let plan = any_plan(graph, t).expect("nothing is fixed");
        let placed = placed(graph, plan.certified.locations());
        if placed.is_empty() {
            return;
        }
        for _ in 0..6 {
            let (moved, from) = t.pick(&placed);
            let (other, onto) = t.pick(&placed);
            let bytes = graph.tensors()[moved].bytes;
            let lowest = onto.offset.saturating_sub(bytes - 1);
            let reach = onto.offset + graph.tensors()[other].bytes - lowest;
            let mut place = from;
            place.offset = lowest + t.below(reach);
            if from.arena != onto.arena || place == from {
                continue;
            }
            let mut locations = plan.certified.locations().clone();
            locations.tensors[moved] = Spot::At(place);
            let checked = plan.certified.checked().clone();
            let (schedule, reuse) = (plan.certified.schedule(), plan.policy.reuse_inputs);
            let refused = refused(graph, schedule, checked, &locations, reuse);
            add(if refused { &refusals } else { &harmless }, true);
        }
    });
    assert!(
        refusals.get() > 1000,
        "{} {}",
        refusals.get(),
        harmless.get()
    );
    assert!(harmless.get() > 50, "{}", harmless.get());
}

#[test]
fn scratch_moved_onto_a_tensor_is_refused_if_that_changes_anything() {
    let refusals = Cell::new(0);
    graphs(600, false, |graph, t| {
        let plan = any_plan(graph, t).expect("nothing is fixed");
        let placed = placed(graph, plan.certified.locations());
        for node in graph.nodes().ids() {
            for block in 0..graph.nodes()[node].scratch.len() {
                if placed.is_empty() {
                    continue;
                }
                let mut locations = plan.certified.locations().clone();
                locations.scratch[node][block] = t.pick(&placed).1;
                let checked = plan.certified.checked().clone();
                let (schedule, reuse) = (plan.certified.schedule(), plan.policy.reuse_inputs);
                add(
                    &refusals,
                    refused(graph, schedule, checked, &locations, reuse),
                );
            }
        }
    });
    assert!(refusals.get() > 500, "{}", refusals.get());
}

#[test]
fn a_plan_is_refused_for_a_graph_with_one_other_edge() {
    let refusals = Cell::new(0);
    graphs(500, false, |graph, t| {
        let part = GraphPart::new(&any_plan(graph, t).expect("nothing is fixed"));
        assert!(part.must_be_for(graph).is_ok());
        for node in graph.nodes().ids() {
            let inputs = &graph.nodes()[node].inputs;
            let Some((position, old)) = inputs
                .iter()
                .enumerate()
                .find_map(|(i, t)| Some((i, (*t)?)))
            else {
                continue;
            };
            let before = |id: &TensorId| {
                let given = graph.producer(*id).is_none_or(|producer| producer < node);
                given && *id != old && graph.tensors()[*id].bytes == graph.tensors()[old].bytes
            };
            let candidates: Vec<TensorId> = graph.tensors().ids().filter(before).collect();
            if candidates.is_empty() {
                continue;
            }
            let mut file = own::file(graph);
            let new = graph.tensors()[t.pick(&candidates)].name.clone();
            file.ops[node.index()].inputs[position] = new;
            // An offer or a view of the operand that is gone is no graph.
            let Ok(other) = own::graph(file, "other") else {
                continue;
            };
            let refused = part.must_be_for(&other);
            assert!(matches!(refused, Err(GraphPartError::OtherGraph { .. })));
            add(&refusals, true);
        }
    });
    assert!(refusals.get() > 1000, "{}", refusals.get());
}
