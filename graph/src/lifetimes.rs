//! When each tensor is live, by a reverse scan of the schedule.
//!
//! Goes in: graph and schedule. Comes out: one half-open lifetime for each tensor that needs bytes
//! of an arena. Scanning backwards, the first reader met is the last one (the rule of `TFLite`):
//!
//! ```text
//! step   0 conv   1 split   2 head        x 0..1 (with reuse_inputs)   a 0..2
//! reads  x        a         p             p 1..3   q 1..2 (nobody reads it)
//! makes  a        p, q      y             y 2..3
//! ```

use crate::ir::{Graph, Role, TensorId};
use crate::schedule::Schedule;
use bayplan_planner::{Lifetime, Step, Table};

/// Lifetimes by tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    table: Table<TensorId, Option<Lifetime>>,
}

impl Lifetimes {
    /// Scans `schedule` backwards. Inputs live through the whole run unless `reuse_inputs`; outputs
    /// and states always live to the end.
    pub fn new(graph: &Graph, schedule: &Schedule, reuse_inputs: bool) -> Self {
        let mut ends: Table<TensorId, Option<Step>> = Table::filled(None, graph.tensors().len());
        for &node in schedule.order().iter().rev() {
            let after = Step(schedule.step(node).0 + 1);
            let touched = graph.nodes()[node]
                .operands()
                .chain(graph.nodes()[node].outputs.iter().copied());
            for tensor in touched {
                ends[tensor].get_or_insert(after);
            }
        }
        let horizon = schedule.horizon();
        let lifetime = |id: TensorId| {
            let tensor = &graph.tensors()[id];
            let start = match (tensor.role, graph.producer(id)) {
                (Role::Weight, _) => return None,
                (Role::Input | Role::State, _) => Step(0),
                (_, Some(producer)) => schedule.step(producer),
                (_, None) => return None, // nobody makes it, nobody reads it
            };
            let survives = survives(graph, id, reuse_inputs);
            let end = if survives {
                horizon
            } else {
                ends[id].unwrap_or(Step(1))
            };
            Some(Lifetime { start, end })
        };
        Self {
            table: graph.tensors().ids().map(lifetime).collect(),
        }
    }

    /// When `tensor` is live; nothing for weights and for what no node makes.
    pub fn get(&self, tensor: TensorId) -> Option<Lifetime> {
        self.table[tensor]
    }
}

/// Whether the contents of a tensor must be whole after the last step.
pub fn survives(graph: &Graph, tensor: TensorId, reuse_inputs: bool) -> bool {
    let tensor = &graph.tensors()[tensor];
    match tensor.role {
        Role::State => true,
        Role::Input => tensor.is_output || tensor.keep || !reuse_inputs,
        Role::Output | Role::Activation => tensor.is_output,
        Role::Weight => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphBuilder;

    #[test]
    fn the_last_reader_counts_and_unread_results_live_one_step() {
        let mut model = GraphBuilder::new("skip");
        let roles = [
            Role::Input,
            Role::Activation,
            Role::Activation,
            Role::Activation,
            Role::Output,
        ];
        let names = ["x", "t", "u", "q", "y"];
        let ids: Vec<TensorId> = names
            .iter()
            .zip(roles)
            .map(|(n, r)| model.tensor(*n, 8, r))
            .collect();
        let [x, t, u, q, y] = ids[..] else {
            unreachable!()
        };
        let w = model.tensor("w", 8, Role::Weight);
        model.node("a", "Op", &[x, w], &[t]);
        model.node("b", "Op", &[t], &[u, q]);
        model.node("c", "Op", &[u, t], &[y]);
        let graph = model.build().unwrap();
        let schedule = Schedule::file_order(&graph);
        let lives = Lifetimes::new(&graph, &schedule, true);
        let got = [x, t, u, q, y, w].map(|id| lives.get(id).map(<(u32, u32)>::from));
        assert_eq!(
            got,
            [
                Some((0, 1)),
                Some((0, 3)),
                Some((1, 3)),
                Some((1, 2)),
                Some((2, 3)),
                None
            ]
        );
        let kept = Lifetimes::new(&graph, &schedule, false);
        assert_eq!(kept.get(x), Some(Lifetime::new(0, 3)));
    }
}
