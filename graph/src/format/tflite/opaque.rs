//! Branches and loops as single nodes: what is known of their bodies.

use super::build::Builder;
use super::error::TfliteError;
use super::resources;
use super::schema::{Operator, Subgraph};
use super::tensors;
use crate::format::bodies::OpaqueBodies;
use crate::ir::{NodeId, TensorId};
use std::collections::{BTreeMap, BTreeSet};

impl Builder<'_> {
    /// The subgraphs that an operator runs, in words.
    pub(super) fn bodies(&self, operator: &Operator) -> String {
        let name = |&index: &usize| format!("{index} (`{}`)", self.model.subgraphs[index].name);
        let list: Vec<String> = operator.runs.iter().map(name).collect();
        if list.is_empty() {
            return "another subgraph".into();
        }
        format!("subgraphs {}", list.join(" and "))
    }

    /// Notes the bodies of a node; returns the variables that they touch.
    pub(super) fn run_opaque(
        &mut self,
        operator: &Operator,
        node: NodeId,
    ) -> Result<Vec<TensorId>, TfliteError> {
        let model = self.model;
        let mut subgraphs: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = operator.runs.iter().rev().copied().collect();
        let mut states = BTreeSet::new();
        let mut bytes = 0_u64;
        while let Some(index) = open.pop() {
            if !subgraphs.insert(index) {
                continue;
            }
            let body = &model.subgraphs[index];
            self.spend(operator.at, 64 * body.operators.len())?;
            for operator in &body.operators {
                open.extend(operator.runs.iter().rev());
                for &output in &operator.outputs {
                    let size = tensors::size(model, &body.tensors[output])?;
                    bytes = bytes.saturating_add(size.bytes);
                }
            }
            self.variables_of(body, &mut states)?;
        }
        self.opaque.push(OpaqueBodies { node, bytes });
        Ok(states.into_iter().collect())
    }

    /// Variables that a body names, as large as what it reads from and assigns to them.
    fn variables_of(
        &mut self,
        body: &Subgraph,
        states: &mut BTreeSet<TensorId>,
    ) -> Result<(), TfliteError> {
        let mut handles: BTreeMap<usize, TensorId> = BTreeMap::new();
        for operator in &body.operators {
            let first = operator.inputs.first().copied().flatten();
            if let (Some(name), Some(&handle)) = (&operator.variable, operator.outputs.first()) {
                let state = self.resources.named(&mut self.graph, &mut self.names, name);
                handles.insert(handle, state);
                states.insert(state);
            }
            let value = match &*operator.op {
                "READ_VARIABLE" => operator.outputs.first().copied(),
                "ASSIGN_VARIABLE" => operator.inputs.get(1).copied().flatten(),
                _ => None,
            };
            let state = first.and_then(|handle| handles.get(&handle));
            if let (Some(&state), Some(value)) = (state, value) {
                let size = tensors::size(self.model, &body.tensors[value])?;
                resources::grow(
                    &mut self.graph,
                    state,
                    size.bytes,
                    size.element.dtype(),
                    Some(size.shape),
                );
            }
        }
        Ok(())
    }
}
