//! Which results `ArenaPlanner` gives the bytes of an operand.
//!
//! The rule counts references once, before the run, and never looks at the order (`LiteRT`
//! `tflite/arena_planner.cc`, `IdentifyInPlaceTensors`): of the operands that the kernel flags, the
//! first wins that is neither a graph input nor a variable nor a constant, if the result is no graph
//! output. A kernel that changes the contents also asks for equal bytes, more than 4 of them, one
//! reference to the operand and one to its root. Only root and operand are counted, not what else
//! shares with them: two views in a row hide the first from the rule, and what it meant can be
//! overwritten. The certificate finds that.

use crate::format::tflite::ops;
use crate::ir::{Graph, Node, Role, TensorId};
use crate::schedule::Schedule;
use crate::storage::{Alias, Policy};
use bayplan_planner::Table;

/// Operands that are looked at.
const OPERANDS: usize = 3;
/// Results of at most this many bytes are never written over an operand.
const SCALAR: u64 = 4;

/// The aliases of `graph`, by result; as far as `policy` allows in-place and views.
pub fn aliases(
    graph: &Graph,
    schedule: &Schedule,
    policy: Policy,
) -> Table<TensorId, Option<Alias>> {
    let references = references(graph);
    let mut aliases: Table<TensorId, Option<Alias>> = Table::filled(None, graph.tensors().len());
    for &id in schedule.order() {
        let node = &graph.nodes()[id];
        let Some(&output) = node.outputs.first() else {
            continue;
        };
        let unmodified = ops::stock_unmodified(&node.op);
        let allowed = if unmodified {
            policy.views
        } else {
            policy.in_place
        };
        let Some(input) = flagged(graph, node, &references, output).filter(|_| allowed) else {
            continue;
        };
        let root = aliases[input].map_or(input, |alias| alias.root);
        let bytes = |t: TensorId| graph.tensors()[t].bytes;
        let counted = unmodified || references[root] <= 1;
        if counted && bytes(root) == bytes(output) {
            aliases[output] = Some(Alias {
                input,
                root,
                unmodified,
            });
        }
    }
    aliases
}

/// The first operand that the kernel flags and the rule accepts.
fn flagged(
    graph: &Graph,
    node: &Node,
    references: &Table<TensorId, u64>,
    output: TensorId,
) -> Option<TensorId> {
    let unmodified = ops::stock_unmodified(&node.op);
    let positions: &[usize] = if unmodified {
        &[0]
    } else {
        ops::stock_shared_operands(&node.op)
    };
    let tensor = |id: TensorId| &graph.tensors()[id];
    let accepted = |&input: &TensorId| {
        let made_here = matches!(tensor(input).role, Role::Activation | Role::Output);
        let changes = || {
            tensor(input).bytes == tensor(output).bytes
                && tensor(input).bytes > SCALAR
                && references[input] <= 1
        };
        made_here && !tensor(output).is_output && (unmodified || changes())
    };
    let operands = node.inputs.iter().take(OPERANDS).enumerate();
    let mut operands = operands.filter(|(position, _)| positions.contains(position));
    operands.find_map(|(_, &input)| input.filter(accepted))
}

/// Operands that name each tensor, and one more for what is an output (of the graph).
fn references(graph: &Graph) -> Table<TensorId, u64> {
    let mut counts: Table<TensorId, u64> = Table::filled(0, graph.tensors().len());
    for (id, tensor) in graph.tensors().iter() {
        counts[id] = u64::from(tensor.is_output);
    }
    for node in graph.nodes().values() {
        node.operands().for_each(|id| counts[id] += 1);
    }
    counts
}
