//! `IF`: the nodes of both branches, then one node that chooses ([`crate::format::bodies`]).
//!
//! Goes in: the operator and its two subgraphs. Comes out: the branches' nodes, called
//! `IF#3/then/ADD#1` and `IF#3/else/ADD#1`, and a node `IF#3` that reads the condition and the results
//! of both and makes those of the operator. Branches read the operands themselves, as calls do.

use super::build::{Builder, Frame};
use super::error::TfliteError;
use super::model::Place;
use super::schema::Operator;
use crate::format::bodies::over_candidates;
use crate::ir::{Role, TensorId};
use std::collections::BTreeMap;

impl<'m> Builder<'m> {
    /// Adds the `IF` at `place` with its branches.
    pub(super) fn branch(&mut self, frame: &Frame<'m>, place: Place) -> Result<(), TfliteError> {
        let operator = &frame.subgraph.operators[place.operator];
        let name = frame.name(place.operator);
        let refuse = |why: String| TfliteError::Inline {
            at: operator.at,
            operator: name.clone(),
            why,
        };
        let operands = frame.all_present(operator).map_err(refuse)?;
        let Some((&condition, operands)) = operands.split_first() else {
            return Err(refuse("it has no condition".into()));
        };
        let results = self.plain_results(frame, operator).map_err(refuse)?;
        let mut chosen = Vec::new();
        for (&target, which) in operator.runs.iter().zip(["then", "else"]) {
            let misfit = |why| TfliteError::Binding {
                at: operator.at,
                operator: name.clone(),
                subgraph: target,
                why,
            };
            let bound = self.bind_operands(operands, target).map_err(misfit)?;
            let scope = format!("{name}/{which}");
            let body = self.run(frame, place.operator, target, &bound, scope)?;
            let made = body.results();
            self.same_sizes(&made, &results).map_err(misfit)?;
            chosen.push(made);
        }
        for (position, &result) in results.iter().enumerate() {
            let candidates: Vec<TensorId> = chosen.iter().map(|made| made[position]).collect();
            self.same_resource(&candidates, result).map_err(refuse)?;
        }
        let mut inputs = vec![condition];
        inputs.extend(chosen.iter().flatten());
        let offers = self.offers(&chosen, condition, &results);
        let node = (name.clone(), &*operator.op, frame.scope.clone());
        let id = self.step(place, node, &inputs, &results)?;
        self.graph.draft.nodes[id].in_place = offers;
        Ok(())
    }

    /// The results of an operator of which none may be a variable.
    pub(super) fn plain_results(
        &self,
        frame: &Frame<'m>,
        operator: &Operator,
    ) -> Result<Vec<TensorId>, String> {
        let (results, states) = self.results(frame, operator);
        match states.first() {
            None => Ok(results),
            Some(&state) => {
                let name = &self.graph.draft.tensors[state].name;
                Err(format!("its result `{name}` is a variable"))
            }
        }
    }

    /// The operands of an `IF` as the inputs of a branch.
    fn bind_operands(
        &self,
        operands: &[TensorId],
        target: usize,
    ) -> Result<BTreeMap<usize, TensorId>, String> {
        let body = &self.model.subgraphs[target];
        let (found, wanted) = (operands.len(), body.inputs.len());
        if found != wanted {
            return Err(format!("{found} operands, it has {wanted}"));
        }
        let mut bound = BTreeMap::new();
        for (&id, &inner) in operands.iter().zip(&body.inputs) {
            self.fits(id, target, inner)?;
            let outside = &self.graph.draft.tensors[id];
            if outside.role == Role::State {
                let name = &outside.name;
                return Err(format!("`{name}` is a variable, the branch gets a copy"));
            }
            if bound.insert(inner, id).is_some() {
                return Err(twice(&body.tensors[inner].name));
            }
        }
        Ok(bound)
    }

    /// Whether what a body makes is as large as what the operator declares.
    pub(super) fn same_sizes(
        &self,
        made: &[TensorId],
        declared: &[TensorId],
    ) -> Result<(), String> {
        let (found, wanted) = (declared.len(), made.len());
        if found != wanted {
            return Err(format!("{found} results, it has {wanted}"));
        }
        for (&made, &declared) in made.iter().zip(declared) {
            let [made, declared] = [made, declared].map(|id| &self.graph.draft.tensors[id]);
            if made.bytes != declared.bytes {
                return Err(format!(
                    "`{}` there is {} bytes, `{}` here is {}",
                    made.name, made.bytes, declared.name, declared.bytes
                ));
            }
        }
        Ok(())
    }

    /// `result` is a handle of the resource that all `candidates` are handles of, if they are such.
    pub(super) fn same_resource(
        &mut self,
        candidates: &[TensorId],
        result: TensorId,
    ) -> Result<(), String> {
        let behind: Vec<Option<TensorId>> = candidates
            .iter()
            .map(|&id| self.resources.behind(id))
            .collect();
        let Some(&first) = behind.first() else {
            return Ok(());
        };
        if behind.iter().any(|&other| other != first) {
            let name = &self.graph.draft.tensors[result].name;
            return Err(format!("`{name}` is a handle of different resources"));
        }
        if let Some(state) = first {
            self.resources.bind(result, state);
        }
        Ok(())
    }

    /// Which results may lie in the bytes of what they are chosen from.
    fn offers(
        &self,
        chosen: &[Vec<TensorId>],
        condition: TensorId,
        results: &[TensorId],
    ) -> Vec<(TensorId, TensorId)> {
        let pairs = over_candidates(chosen, condition, results).into_iter();
        pairs
            .filter_map(|(from, to)| self.offer(from, to))
            .collect()
    }

    /// The offer to write `to` over `from`, if they are such that it can be taken.
    pub(super) fn offer(&self, from: TensorId, to: TensorId) -> Option<(TensorId, TensorId)> {
        let [a, b] = [from, to].map(|id| &self.graph.draft.tensors[id]);
        (a.bytes == b.bytes && a.bytes > 0 && a.role != Role::Weight).then_some((from, to))
    }
}

impl Frame<'_> {
    /// The operands of an operator that may not lack any.
    pub(super) fn all_present(&self, operator: &Operator) -> Result<Vec<TensorId>, String> {
        let present = |(position, input): (usize, &Option<usize>)| {
            let input = input.ok_or_else(|| format!("its operand {position} is absent"))?;
            Ok(self.ids[input])
        };
        operator.inputs.iter().enumerate().map(present).collect()
    }
}

/// A subgraph with one tensor as two inputs.
pub(super) fn twice(name: &str) -> String {
    format!("`{name}` there is more than one of its inputs")
}
