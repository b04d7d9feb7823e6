//! Plans as stock runtimes make them today, to be shown beside ours.
//!
//! Goes in: a graph and a profile with a [`StockPlanner`]. Comes out: an ordinary [`GraphPlan`] with
//! the sharing and the places of that planner, checked and certified like ours; or, where the stock
//! runtime would compute wrong numbers, [`GraphPlanError::StockWrong`] with every clobber.
//!
//! - `ArenaPlanner` shares by static reference counts (`stock/alias`), keeps inputs, outputs and what
//!   nobody reads to the end, and places by the tightest gap.
//! - Micro's `GreedyMemoryPlanner` shares nothing, frees inputs after their last reader, and places
//!   by the lowest gap around offsets that the file gives.
//!
//! Both plan subgraphs that were inlined in line with the rest, as Micro does; `LiteRT` gives each an
//! arena of its own. Kernels' temporaries are known only where the graph states them as scratch.

mod alias;
mod spans;

pub use alias::aliases;

use crate::certify::{self, Clobber};
use crate::ir::{Graph, Role, TensorId};
use crate::lifetimes::Lifetimes;
use crate::placement::{self, Home, Placement};
use crate::plan::{GraphPlan, GraphPlanError, PlanOptions};
use crate::profile::StockPlanner;
use crate::schedule::Schedule;
use crate::storage::{Policy, Storage};
use bayplan_planner::{BufferId, Place, PlannerFault, Problem, Table};
use std::sync::Arc;

/// What a stock planner does with what is allowed: Micro's shares nothing and frees its inputs.
pub fn policy(planner: StockPlanner, allowed: Policy) -> Policy {
    match planner {
        StockPlanner::ArenaPlanner => allowed,
        StockPlanner::MicroGreedy => Policy {
            in_place: false,
            views: false,
            reuse_inputs: true,
        },
    }
}

/// Who shares with whom under a stock planner's rule.
pub fn storage(
    planner: StockPlanner,
    graph: &Graph,
    schedule: &Schedule,
    policy: Policy,
) -> Storage {
    let aliases = match planner {
        StockPlanner::ArenaPlanner => aliases(graph, schedule, policy),
        StockPlanner::MicroGreedy => Table::filled(None, graph.tensors().len()),
    };
    Storage::stock(graph, schedule, &aliases)
}

/// Offsets that the file gives, by tensor; empty: none.
pub type Pinned = Table<TensorId, Option<u64>>;

/// Plans `graph` as the stock planner of the profile does, in the order of the file.
pub fn plan(
    graph: Arc<Graph>,
    options: &PlanOptions<'_>,
    pinned: &Pinned,
) -> Result<GraphPlan, GraphPlanError> {
    let name = options.profile.name;
    let stock = options.profile.stock.ok_or(GraphPlanError::NoStock(name))?;
    refuse(&graph, stock, pinned)?;
    reachable(stock, options)?;
    let schedule = Schedule::file_order(&graph);
    let policy = policy(stock, options.policy);
    let grid = options.profile.grid(&graph, options.alignment);
    let lifetimes = Lifetimes::new(&graph, &schedule, policy.reuse_inputs);
    let storage = storage(stock, &graph, &schedule, policy);
    let (problem, placement) = placement::problem(&graph, &schedule, &lifetimes, &storage, grid)?;
    let view = spans::View {
        graph: &graph,
        schedule: &schedule,
        storage: &storage,
        problem: &problem,
        placement: &placement,
    };
    let places = view.places(stock, grid.alignment, pinned).ok_or_else(|| {
        GraphPlanError::StockCannot(format!(
            "{} is quadratic; beyond {} tensors, or 64 bits of bytes, it is not followed",
            stock.name(),
            bayplan_planner::stock::MAX_SPANS
        ))
    })?;
    let planned = adopt(problem, places, stock)?;
    let locations = placement::locate(&placement, planned.checked.plan());
    let locations = locations.expect("the placement came with the plan's problem");
    let clobbers = certify::clobbers(
        &graph,
        &schedule,
        &planned.checked,
        &locations,
        policy.reuse_inputs,
    );
    if !clobbers.is_empty() {
        let chains = chains(&graph, &schedule, policy, &clobbers);
        return Err(GraphPlanError::StockWrong {
            planner: stock,
            clobbers,
            chains,
        });
    }
    let reuse = policy.reuse_inputs;
    let certified = certify::certify(graph, schedule, planned.checked.clone(), locations, reuse);
    let certified = certified.map_err(|refused| GraphPlanError::Defect {
        refused,
        checked: Box::new(planned.checked),
    })?;
    Ok(GraphPlan {
        certified,
        policy,
        profile: options.profile.clone(),
        grid,
        lifetimes,
        storage,
        stock: Some(stock),
        declined: false,
        placement,
        bounds: planned.bounds,
        tried: planned.tried,
        memory: None,
        kept: None,
        nodes: planned.nodes,
        status: planned.status,
        spills_least: false,
    })
}

/// The most that lives at once under the rules of the stock planner that made `plan`, in bytes.
pub fn load(plan: &GraphPlan) -> u64 {
    let view = spans::View {
        graph: plan.certified.graph(),
        schedule: plan.certified.schedule(),
        storage: &plan.storage,
        problem: plan.certified.checked().problem(),
        placement: &plan.placement,
    };
    plan.stock.map_or(0, |stock| view.load(stock))
}

/// What a stock planner knows nothing of.
fn refuse(graph: &Graph, stock: StockPlanner, pinned: &Pinned) -> Result<(), GraphPlanError> {
    let mut tensors = graph.tensors().iter();
    if let Some((_, tensor)) = tensors.find(|(_, t)| t.fixed_offset.is_some()) {
        return Err(GraphPlanError::StockCannot(format!(
            "`{}` has a given offset; {} knows none",
            tensor.name,
            stock.name()
        )));
    }
    let mut tensors = graph.tensors().values();
    let micro = stock == StockPlanner::MicroGreedy;
    if let Some(tensor) = tensors.find(|t| micro && t.keep && !t.is_output) {
        return Err(GraphPlanError::StockCannot(format!(
            "input `{}` is to be kept; {} overwrites inputs after their last reader",
            tensor.name,
            stock.name()
        )));
    }
    let state = |(id, offset): (TensorId, &Option<u64>)| {
        offset.is_some() && graph.tensors()[id].role == Role::State
    };
    if let Some((id, _)) = pinned.iter().find(|&(id, offset)| state((id, offset))) {
        return Err(GraphPlanError::StockCannot(format!(
            "the file's offline plan pins the variable `{}`, which is not followed",
            graph.tensors()[id].name
        )));
    }
    Ok(())
}

/// Micro's planner places at multiples of its 16 bytes, and cannot be asked for others.
fn reachable(stock: StockPlanner, options: &PlanOptions<'_>) -> Result<(), GraphPlanError> {
    let granule = options.profile.granule;
    match options.alignment {
        Some(asked) if stock == StockPlanner::MicroGreedy && !granule.is_multiple_of(asked) => {
            Err(GraphPlanError::StockCannot(format!(
                "{} places at multiples of {granule} bytes, not of {asked}",
                stock.name()
            )))
        }
        _ => Ok(()),
    }
}

/// Checks the places. Offsets that a file gives may overlap: that is the file's fault, not ours.
fn adopt(
    problem: Problem,
    places: Table<BufferId, Place>,
    stock: StockPlanner,
) -> Result<bayplan_planner::Planned, GraphPlanError> {
    let adopted = bayplan_planner::strategy::adopt(problem, places, "stock");
    adopted.map_err(|fault| match fault {
        PlannerFault::Defect(refused) => GraphPlanError::StockOverlaps {
            planner: stock,
            refused,
        },
        other => GraphPlanError::Planner(other),
    })
}

/// For every tensor that is read broken: the chain of sharing that leads from its root to what is
/// there instead, in names.
fn chains(graph: &Graph, schedule: &Schedule, policy: Policy, clobbers: &[Clobber]) -> Vec<String> {
    let aliases = aliases(graph, schedule, policy);
    let mut roots: Vec<TensorId> = Vec::new();
    for clobber in clobbers {
        let (Clobber::ReadsOther { tensor, .. } | Clobber::Lost { tensor, .. }) = clobber else {
            continue;
        };
        let id = graph.tensors().iter().find(|(_, t)| t.name == *tensor);
        let Some((id, _)) = id else { continue };
        let root = aliases[id].map_or(id, |alias| alias.root);
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let chain = |root: TensorId| {
        let mut links = vec![format!("`{}`", graph.tensors()[root].name)];
        for &node in schedule.order() {
            let node = &graph.nodes()[node];
            let shares = |output: &TensorId| aliases[*output].is_some_and(|a| a.root == root);
            let sharing = node.outputs.iter().copied().filter(shares);
            links.extend(
                sharing.map(|id| format!("`{}` ({})", graph.tensors()[id].name, node.name)),
            );
        }
        links.join(" → ")
    };
    roots.into_iter().map(chain).collect()
}

/// Whether the buffer of a tensor begins with it.
fn buffer_of(placement: &Placement, tensor: TensorId) -> Option<BufferId> {
    match placement.tensors[tensor] {
        Home::In(buffer, 0) => Some(buffer),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
