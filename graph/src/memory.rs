//! A graph's buffers in several memories: who is pinned, and how much is read and written in each.
//!
//! Goes in: a problem with its placement, and a [`Memory`]. Comes out: the problem with the memories
//! as its arenas. A buffer's traffic is what operators read and write in it in one run: every operand
//! once for each reader, every result once, scratch twice, inputs and outputs once more for the
//! caller. Views that are taken move nothing. Tensors that share their bytes are one buffer, so they are
//! in one memory.

use crate::ir::{Graph, Role, TensorId};
use crate::placement::{Home, Placement};
use crate::storage::{Question, Storage};
use bayplan_planner::memory::{Known, Memory, MemoryError};
use bayplan_planner::{BufferId, Problem, Table};
use std::collections::BTreeSet;

/// Spreads the problem of a graph over memories.
pub fn spread(
    memory: &Memory,
    graph: &Graph,
    storage: &Storage,
    problem: &Problem,
    placement: &Placement,
) -> Result<Problem, MemoryError> {
    let traffic = traffic(graph, storage, problem, placement);
    let mut names: Table<BufferId, Vec<String>> =
        Table::filled(Vec::new(), problem.buffers().len());
    let mut states: Table<BufferId, bool> = Table::filled(false, problem.buffers().len());
    for (id, tensor) in graph.tensors().iter() {
        if let Home::In(buffer, _) = placement.tensors[id] {
            names[buffer].push(tensor.name.clone());
            states[buffer] |= tensor.role == Role::State;
        }
    }
    for &buffer in placement.scratch.values().flatten() {
        names[buffer].push(problem.buffers()[buffer].name.clone());
    }
    memory.spread(problem, |id| Known {
        names: names[id].clone(),
        traffic: Some(traffic[id]),
        persistent: states[id],
    })
}

/// Bytes that are read and written in each buffer in one run.
fn traffic(
    graph: &Graph,
    storage: &Storage,
    problem: &Problem,
    placement: &Placement,
) -> Table<BufferId, u64> {
    let mut traffic: Table<BufferId, u64> = Table::filled(0, problem.buffers().len());
    let mut move_bytes = |tensor: TensorId| {
        if let Home::In(buffer, _) = placement.tensors[tensor] {
            let bytes = graph.tensors()[tensor].bytes;
            traffic[buffer] = traffic[buffer].saturating_add(bytes);
        }
    };
    let views = storage.decisions().iter();
    let views = views.filter(|d| d.question == Question::View && d.refused.is_none());
    let views: BTreeSet<_> = views
        .flat_map(|d| [(d.node, d.input), (d.node, d.output)])
        .collect();
    for (id, node) in graph.nodes().iter() {
        let touched = node.operands().chain(node.outputs.iter().copied());
        for tensor in touched.filter(|&tensor| !views.contains(&(id, tensor))) {
            move_bytes(tensor);
        }
    }
    for (id, tensor) in graph.tensors().iter() {
        if tensor.role == Role::Input {
            move_bytes(id);
        }
        if tensor.is_output {
            move_bytes(id);
        }
    }
    for &block in placement.scratch.values().flatten() {
        let bytes = problem.buffers()[block].size();
        traffic[block] = bytes.saturating_mul(2);
    }
    traffic
}
