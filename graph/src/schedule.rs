//! The order of execution: which node runs at which step.
//!
//! Goes in: a graph and a permutation of its nodes. Comes out: a [`Schedule`] in which every node
//! runs after what it depends on, states included.

use crate::ir::{Dependency, Graph, NodeId};
use bayplan_planner::ids::Id;
use bayplan_planner::{Step, Table};

/// A permutation of the nodes that respects every dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    order: Vec<NodeId>,
    steps: Table<NodeId, Step>,
}

/// Why an order cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Not every node exactly once.
    #[error("an order of {found} nodes is no permutation of the graph's {expected}")]
    NoPermutation {
        /// In the order.
        found: usize,
        /// In the graph.
        expected: usize,
    },
    /// Two dependent nodes in the wrong order.
    #[error("`{second}` must run after `{first}`: {why}")]
    Order {
        /// Must come first.
        first: String,
        /// Must come second.
        second: String,
        /// What they share.
        why: String,
    },
}

impl Schedule {
    /// The order of the file.
    pub fn file_order(graph: &Graph) -> Self {
        let order: Vec<NodeId> = graph.nodes().ids().collect();
        let steps = order.iter().map(|&node| step(node.index())).collect();
        Self { order, steps }
    }

    /// Any order, verified.
    pub fn new(graph: &Graph, order: Vec<NodeId>) -> Result<Self, ScheduleError> {
        let expected = graph.nodes().len();
        let mut steps: Table<NodeId, Option<Step>> = Table::filled(None, expected);
        for (position, &node) in order.iter().enumerate() {
            if node.index() < expected {
                steps[node] = Some(step(position));
            }
        }
        let steps: Option<Table<NodeId, Step>> = (order.len() == expected)
            .then(|| steps.values().copied().collect::<Option<Vec<Step>>>())
            .flatten()
            .map(Table::from);
        let Some(steps) = steps else {
            let found = order.len();
            return Err(ScheduleError::NoPermutation { found, expected });
        };
        for (first, second, dependency) in graph.dependencies() {
            if steps[first] >= steps[second] {
                return Err(out_of_order(graph, first, second, dependency));
            }
        }
        Ok(Self { order, steps })
    }

    /// An order that nobody verified, over nodes `0..order.len()` in some permutation. Only for tests
    /// that forge schedules: the certifier must refuse a wrong one.
    #[doc(hidden)]
    pub fn unverified(order: Vec<NodeId>) -> Self {
        let mut steps = Table::filled(Step(0), order.len());
        for (position, &node) in order.iter().enumerate() {
            steps[node] = step(position);
        }
        Self { order, steps }
    }

    /// Nodes in order of execution.
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// The step at which a node runs.
    pub fn step(&self, node: NodeId) -> Step {
        self.steps[node]
    }

    /// The node that runs at a step.
    pub fn node_at(&self, step: Step) -> Option<NodeId> {
        self.order.get(step.0 as usize).copied()
    }

    /// One step for each node, and one step when there are none: inputs must be somewhere.
    pub fn horizon(&self) -> Step {
        step(self.order.len().max(1))
    }
}

fn step(position: usize) -> Step {
    Step(u32::try_from(position).expect("node ids are u32"))
}

fn out_of_order(
    graph: &Graph,
    first: NodeId,
    second: NodeId,
    dependency: Dependency,
) -> ScheduleError {
    let why = match dependency {
        Dependency::Data(t) => format!("it reads `{}`", graph.tensors()[t].name),
        Dependency::State(t) => format!("both touch variable `{}`", graph.tensors()[t].name),
    };
    ScheduleError::Order {
        first: graph.nodes()[first].name.clone(),
        second: graph.nodes()[second].name.clone(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, Role};

    #[test]
    fn dependent_nodes_keep_their_order() {
        let mut model = GraphBuilder::new("state");
        let x = model.tensor("x", 8, Role::Input);
        let state = model.tensor("state", 8, Role::State);
        let r = model.tensor("r", 8, Role::Output);
        model.node("read", "Copy", &[state], &[r]);
        model.node("write", "Store", &[x], &[]).writes(state);
        let graph = model.build().unwrap();
        let node = NodeId::from_index;
        assert!(Schedule::new(&graph, vec![node(0), node(1)]).is_ok());
        let wrong = Schedule::new(&graph, vec![node(1), node(0)]).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "`write` must run after `read`: both touch variable `state`"
        );
        for order in [
            vec![node(0)],
            vec![node(0), node(0)],
            vec![node(0), node(7)],
        ] {
            let refused = Schedule::new(&graph, order).unwrap_err();
            assert!(matches!(refused, ScheduleError::NoPermutation { .. }));
        }
    }
}
