//! Stock planners on random graphs: a plan that they make runs, or is refused with the clobber.
//!
//! Operators get the names whose stock kernels share: `RESHAPE` for whole views, `ADD` where the
//! first two operands are offered as the stock rule would take them, `PAD` otherwise.

use crate::generate::{Case, NODES};
use crate::machine::differs;
use crate::plans::graphs;
use crate::policies::policies;
use crate::tape::{Tape, check};
use bayplan_graph::format::file::{GraphFile, OpEntry};
use bayplan_graph::format::own;
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{
    Graph, GraphBuilder, GraphPlanError, Locations, NodeId, PlanOptions, Policy, Profile, Role,
    Schedule, Spot, StockPlanner, TensorId,
};
use bayplan_planner::ids::Id;
use bayplan_planner::{ArenaId, Claim, Place, Table};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The graph with operators that stock kernels share for. Where nothing else is offered, `ADD`s come
/// out of plain nodes as well: with every operand of equal bytes offered.
fn named(graph: &Graph) -> Arc<Graph> {
    let mut file: GraphFile = own::file(graph);
    let bytes: BTreeMap<String, u64> = file
        .tensors
        .iter()
        .map(|t| (t.name.clone(), t.bytes.unwrap_or(0)))
        .collect();
    let weights: Vec<String> = file
        .tensors
        .iter()
        .filter(|t| t.kind == bayplan_graph::Role::Weight)
        .map(|t| t.name.clone())
        .collect();
    // Stock kernels share between elements of one size.
    file.tensors.iter_mut().for_each(|t| t.dtype = None);
    for op in &mut file.ops {
        op.op = Some(kind(op, &bytes, &weights).to_owned());
    }
    Arc::new(own::graph(file, "stock").expect("only names changed"))
}

fn kind(op: &mut OpEntry, bytes: &BTreeMap<String, u64>, weights: &[String]) -> &'static str {
    let (Some(first), Some(result)) = (op.inputs.first().cloned(), op.outputs.first().cloned())
    else {
        return "PAD";
    };
    let whole = |from: &str| bytes.get(from) == bytes.get(&result);
    if op.alias.contains(&(first.clone(), result.clone())) && whole(&first) {
        return "RESHAPE";
    }
    let viewed = op.alias.iter().any(|a| a.1 == result) || op.slices.iter().any(|s| s.1 == result);
    if viewed || !op.writes.is_empty() || !op.scratch.is_empty() || op.outputs.len() > 1 {
        return "PAD";
    }
    let operands = op.inputs.clone();
    for operand in operands.iter().take(2) {
        let offer = (operand.clone(), result.clone());
        let plain = whole(operand) && !operand.is_empty() && !weights.contains(operand);
        if plain && !op.inplace.contains(&offer) {
            op.inplace.push(offer);
        }
    }
    "ADD"
}

#[test]
fn stock_plans_run_or_are_refused() {
    let (right, wrong, shared) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let all = |graph: &Arc<Graph>, _: &mut Tape| {
        let graph = named(graph);
        for policy in policies() {
            for profile in [Profile::tflite(), Profile::tflm()] {
                let planner = profile.stock;
                let options = PlanOptions {
                    profile,
                    policy,
                    ..PlanOptions::default()
                };
                let planned = match stock::plan(graph.clone(), &options, &Pinned::new()) {
                    Ok(planned) => planned,
                    Err(GraphPlanError::StockWrong { clobbers, .. }) => {
                        assert!(policy.in_place && policy.views, "{policy:?} {clobbers:?}");
                        assert_eq!(planner, Some(StockPlanner::ArenaPlanner));
                        wrong.set(wrong.get() + 1);
                        continue;
                    }
                    Err(GraphPlanError::StockCannot(_)) => {
                        assert!(graph.tensors().values().any(|t| t.keep));
                        assert_eq!(planner, Some(StockPlanner::MicroGreedy));
                        continue;
                    }
                    Err(error) => panic!("{error}"),
                };
                let certified = &planned.certified;
                let reuse = planned.policy.reuse_inputs;
                let order = certified.schedule().order();
                assert!(!differs(&graph, order, certified.locations(), reuse));
                let arena = ArenaId::from_index(0);
                assert!(planned.bounds.arenas[arena].bytes <= certified.arena_bytes());
                assert!(stock::load(&planned) <= certified.arena_bytes());
                assert!(certified.checked().plan().claims[arena] != Claim::Stopped);
                right.set(right.get() + 1);
                shared.set(shared.get() + u32::from(planned.storage.takes_in_place()));
            }
        }
    };
    graphs(300, false, all);
    let counts = (right.get(), wrong.get(), shared.get());
    assert!(counts.0 > 3000 && counts.2 > 100, "{counts:?}");
}

/// A graph of tensors of one size under `RESHAPE`, `ADD` and `PAD`: full of what the rule is for.
fn equal(t: &mut Tape) -> Graph {
    let mut model = GraphBuilder::new("equal");
    let mut made = vec![model.tensor("x", 64, Role::Input)];
    while t.next_row() {
        let (first, second) = (recent(&made, t), recent(&made, t));
        let role = if t.chance(10) {
            Role::Output
        } else {
            Role::Activation
        };
        let index = made.len();
        let result = model.tensor(format!("t{index}"), 64, role);
        let name = format!("n{index}");
        match t.below(5) {
            0 | 1 => drop(
                model
                    .node(name, "RESHAPE", &[first], &[result])
                    .view(first, result),
            ),
            2 | 3 => drop(
                model
                    .node(name, "ADD", &[first, second], &[result])
                    .in_place(first, result)
                    .in_place(second, result),
            ),
            _ => drop(model.node(name, "PAD", &[first], &[result])),
        }
        made.push(result);
    }
    model.build().expect("generated graphs are valid")
}

/// Mostly what was made last, so that chains grow.
fn recent(made: &[TensorId], t: &mut Tape) -> TensorId {
    let back = if t.chance(60) { 0 } else { t.index(4) };
    made[made.len() - 1 - back.min(made.len() - 1)]
}

/// Every class of aliases in bytes of its own: wrong only where the sharing is.
fn apart(graph: &Graph, policy: Policy) -> Locations {
    let schedule = Schedule::file_order(graph);
    let aliases = stock::aliases(graph, &schedule, policy);
    let spot = |id: TensorId| {
        let root = aliases[id].map_or(id, |alias| alias.root);
        Spot::At(Place {
            arena: ArenaId::from_index(0),
            offset: 64 * root.index() as u64,
        })
    };
    Locations {
        tensors: graph.tensors().ids().map(spot).collect(),
        scratch: Table::filled(Vec::new(), graph.nodes().len()),
    }
}

#[test]
fn the_stock_rule_is_refused_exactly_where_a_run_differs() {
    let (right, wrong) = (Cell::new(0), Cell::new(0));
    let make = |t: &mut Tape| Case(Arc::new(equal(t)));
    check(600, NODES, make, |case, _| {
        let graph = &case.0;
        for policy in policies() {
            let options = PlanOptions {
                profile: Profile::tflite(),
                policy,
                ..PlanOptions::default()
            };
            let order: Vec<NodeId> = graph.nodes().ids().collect();
            let differs = differs(graph, &order, &apart(graph, policy), policy.reuse_inputs);
            let refused = match stock::plan(graph.clone(), &options, &Pinned::new()) {
                Ok(_) => false,
                Err(GraphPlanError::StockWrong { .. }) => true,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(refused, differs, "{policy:?}");
            let count = if refused { &wrong } else { &right };
            count.set(count.get() + 1);
        }
    });
    let counts = (right.get(), wrong.get());
    assert!(counts.0 > 2000 && counts.1 > 20, "{counts:?}");
}
