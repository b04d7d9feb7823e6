//! The rules of a graph, all checked, every broken one reported with names.
//!
//! Goes in: what a builder collected. Comes out: nothing, or [`GraphErrors`]. After it no later
//! stage asks again whether a tensor has a producer or whether file order can be executed.

mod error;

pub use error::{GraphError, GraphErrors};

use crate::ir::{Draft, Node, NodeId, Role, TensorId};
use bayplan_planner::Table;
use bayplan_planner::ids::Id;
use std::collections::BTreeMap;

/// Checks every rule.
pub(crate) fn verify(model: &Draft) -> Result<(), GraphErrors> {
    let mut rules = Rules {
        model,
        producers: Table::filled(None, model.tensors.len()),
        errors: Vec::new(),
    };
    if model.alignment == 0 {
        rules.errors.push(GraphError::ZeroAlignment);
    }
    rules.tensors();
    rules.weights();
    rules.producers();
    for (id, node) in model.nodes.iter() {
        rules.reads(id, node);
        rules.writes(node);
        rules.sharing(node);
    }
    rules.outputs();
    if rules.errors.is_empty() {
        Ok(())
    } else {
        Err(GraphErrors(rules.errors))
    }
}

struct Rules<'a> {
    model: &'a Draft,
    producers: Table<TensorId, Option<NodeId>>,
    errors: Vec<GraphError>,
}

impl Rules<'_> {
    fn name(&self, tensor: TensorId) -> String {
        self.model.tensors[tensor].name.clone()
    }

    fn role(&self, tensor: TensorId) -> Role {
        self.model.tensors[tensor].role
    }

    fn tensors(&mut self) {
        let mut seen: BTreeMap<&str, TensorId> = BTreeMap::new();
        for (id, tensor) in self.model.tensors.iter() {
            if tensor.name.is_empty() {
                self.errors.push(GraphError::NoName { index: id.index() });
            } else if seen.insert(&tensor.name, id).is_some() {
                let tensor = tensor.name.clone();
                self.errors.push(GraphError::DuplicateTensor { tensor });
            }
            if let (Some(dtype), Some(shape)) = (tensor.dtype, &tensor.shape)
                && dtype.bytes(shape) != Some(tensor.bytes)
            {
                let computed = dtype.bytes(shape);
                self.errors.push(GraphError::Bytes {
                    tensor: tensor.name.clone(),
                    stated: tensor.bytes,
                    computed: computed
                        .map_or("more than 64 bits can count".into(), |b| b.to_string()),
                });
            }
            if tensor.keep && tensor.role != Role::Input {
                let (tensor, role) = (tensor.name.clone(), a_role(tensor.role));
                self.errors.push(GraphError::KeepsNoInput { tensor, role });
            }
            self.fixed_offset(id);
        }
    }

    fn weights(&mut self) {
        let weights = self
            .model
            .tensors
            .values()
            .filter(|t| t.role == Role::Weight);
        let total: u128 = weights.map(|t| u128::from(t.bytes)).sum();
        if total > u128::from(u64::MAX) {
            self.errors.push(GraphError::WeightSum { total });
        }
    }

    fn fixed_offset(&mut self, id: TensorId) {
        let tensor = &self.model.tensors[id];
        let Some(offset) = tensor.fixed_offset else {
            return;
        };
        let of_caller = matches!(tensor.role, Role::Input | Role::Output) || tensor.is_output;
        let external = self.model.external_io && of_caller;
        let why = if tensor.role == Role::Weight {
            "weights are not in an arena".to_owned()
        } else if external {
            "it lives in the caller's memory".to_owned()
        } else if self.model.alignment > 0 && offset % self.model.alignment != 0 {
            format!(
                "that is no multiple of the alignment {}",
                self.model.alignment
            )
        } else if offset.checked_add(tensor.bytes).is_none() {
            "it would end beyond 64 bits".to_owned()
        } else {
            return;
        };
        let tensor = tensor.name.clone();
        self.errors.push(GraphError::FixedOffset {
            tensor,
            offset,
            why,
        });
    }

    fn producers(&mut self) {
        for (id, node) in self.model.nodes.iter() {
            for &tensor in &node.outputs {
                let role = self.role(tensor);
                if matches!(role, Role::Input | Role::Weight | Role::State) {
                    self.errors.push(GraphError::GivenIsMade {
                        node: node.name.clone(),
                        tensor: self.name(tensor),
                        role: a_role(role),
                    });
                } else if let Some(first) = self.producers[tensor] {
                    self.errors.push(GraphError::TwoProducers {
                        tensor: self.name(tensor),
                        first: self.model.nodes[first].name.clone(),
                        second: node.name.clone(),
                    });
                } else {
                    self.producers[tensor] = Some(id);
                }
            }
        }
    }

    fn reads(&mut self, id: NodeId, node: &Node) {
        for tensor in node.operands() {
            let given = matches!(self.role(tensor), Role::Input | Role::Weight | Role::State);
            match self.producers[tensor] {
                _ if given => {}
                None => self.errors.push(GraphError::NeverMade {
                    node: node.name.clone(),
                    tensor: self.name(tensor),
                }),
                Some(producer) if producer >= id => self.errors.push(GraphError::ReadBeforeMade {
                    node: node.name.clone(),
                    tensor: self.name(tensor),
                    producer: self.model.nodes[producer].name.clone(),
                }),
                Some(_) => {}
            }
        }
    }

    fn writes(&mut self, node: &Node) {
        for &tensor in &node.writes {
            let role = self.role(tensor);
            if role != Role::State {
                self.errors.push(GraphError::WritesNoState {
                    node: node.name.clone(),
                    tensor: self.name(tensor),
                    role: a_role(role),
                });
            }
        }
    }

    fn sharing(&mut self, node: &Node) {
        let reads = |tensor| node.operands().any(|t| t == tensor);
        let offers = node
            .in_place
            .iter()
            .map(|&(input, output)| (input, output, "an in-place offer"));
        let views = node
            .views
            .iter()
            .map(|view| (view.input, view.output, "a view"));
        for (input, output, what) in offers.chain(views) {
            // A state may be offered by the node that updates it, read or not.
            let touches = reads(input) || node.writes.contains(&input);
            if !touches || !node.outputs.contains(&output) {
                self.errors.push(GraphError::NotItsOperands {
                    node: node.name.clone(),
                    what,
                    input: self.name(input),
                    output: self.name(output),
                });
            }
        }
        for (position, view) in node.views.iter().enumerate() {
            let (input, output) = (
                &self.model.tensors[view.input],
                &self.model.tensors[view.output],
            );
            let end = u128::from(view.offset) + u128::from(output.bytes);
            if end > u128::from(input.bytes) {
                self.errors.push(GraphError::ViewOutside {
                    output: output.name.clone(),
                    input: input.name.clone(),
                    offset: view.offset,
                    end,
                    bytes: input.bytes,
                });
            }
            if node.views[..position]
                .iter()
                .any(|other| other.output == view.output)
            {
                let (node, output) = (node.name.clone(), output.name.clone());
                self.errors.push(GraphError::TwoViews { node, output });
            }
        }
    }

    fn outputs(&mut self) {
        for (id, tensor) in self.model.tensors.iter() {
            let made = self.producers[id].is_some();
            let given = matches!(tensor.role, Role::Input | Role::Weight | Role::State);
            if tensor.is_output && !made && !given {
                let tensor = tensor.name.clone();
                self.errors.push(GraphError::OutputNeverMade { tensor });
            }
        }
    }
}

fn a_role(role: Role) -> &'static str {
    match role {
        Role::Input => "an input",
        Role::Output => "an output",
        Role::Weight => "a weight",
        Role::Activation => "an intermediate",
        Role::State => "a variable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::GraphBuilder;

    #[test]
    fn every_broken_rule_is_reported_with_names() {
        let mut model = GraphBuilder::new("bad");
        let x = model.tensor("x", 4, Role::Input);
        let w = model.tensor("w", 4, Role::Weight);
        let a = model.tensor("a", 8, Role::Activation);
        let b = model.tensor("a", 8, Role::Activation);
        let y = model.tensor("y", 4, Role::Output);
        let ghost = model.tensor("ghost", 4, Role::Activation);
        let unmade = model.tensor("unmade", 4, Role::Output);
        model.node("first", "Op", &[b], &[a, w]).in_place(x, a);
        model
            .node("second", "Op", &[ghost, a], &[b, a])
            .view(a, b)
            .view(a, b)
            .writes(x);
        model.node("third", "Op", &[x], &[y]).slice(x, y, 1);
        model.keep(a).fixed_offset(w, 0).alignment(0);
        let errors = model.build().unwrap_err().to_string();
        for part in [
            "`a` is declared twice",
            "`first` reads `a` before `second` makes it",
            "`first` makes `w`, which is a weight",
            "an in-place offer from `x` to `a`",
            "`second` reads `ghost`",
            "`a` is made twice, by `first` and by `second`",
            "declared a view twice by `second`",
            "`second` writes `x`, which is an input",
            "bytes 1..5 of `x`, which has 4",
            "output `unmade` is made by no node",
            "`a` is marked `keep`",
            "weights are not in an arena",
            "alignment is 0",
        ] {
            assert!(errors.contains(part), "{part}\nnot in\n{errors}");
        }
        assert_eq!(unmade.index(), 6);
    }

    #[test]
    fn a_node_cannot_read_its_own_result() {
        let mut model = GraphBuilder::new("loop");
        let a = model.tensor("a", 4, Role::Activation);
        model.node("knot", "Op", &[a], &[a]);
        assert!(matches!(
            model.build().unwrap_err().0[..],
            [GraphError::ReadBeforeMade { .. }]
        ));
    }
}
