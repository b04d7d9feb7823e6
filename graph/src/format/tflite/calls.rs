//! Subgraphs in the place of what runs them: plain calls, and what branches and loops share with them.
//!
//! Goes in: the operator, and which tensors of the graph its subgraph works on. Comes out: the
//! subgraph's nodes and its [`Frame`]. A call binds operands and results to those of the caller.

use super::build::{Builder, Frame};
use super::error::TfliteError;
use super::fold;
use super::schema::Operator;
use super::tensors;
use crate::ir::TensorId;
use std::collections::{BTreeMap, BTreeSet};

/// Subgraphs within subgraphs.
const MAX_DEPTH: usize = 16;

impl<'m> Builder<'m> {
    /// Walks the subgraph of a call in its place.
    pub(super) fn call(&mut self, frame: &Frame<'m>, position: usize) -> Result<(), TfliteError> {
        let operator = &frame.subgraph.operators[position];
        let name = frame.name(position);
        let Some(&target) = operator.runs.first() else {
            return Ok(()); // a call has its subgraph, or it was refused
        };
        let bound = self.bind(frame, operator, target);
        let bound = bound.map_err(|why| TfliteError::Binding {
            at: operator.at,
            operator: name.clone(),
            subgraph: target,
            why,
        })?;
        self.run(frame, position, target, &bound, name)?;
        Ok(())
    }

    /// Walks a subgraph in the place of an operator that runs it, with some of its tensors `bound`
    /// to others of the graph.
    pub(super) fn run(
        &mut self,
        frame: &Frame<'m>,
        position: usize,
        target: usize,
        bound: &BTreeMap<usize, TensorId>,
        scope: String,
    ) -> Result<Frame<'m>, TfliteError> {
        let at = frame.subgraph.operators[position].at;
        let depth = frame.depth + 1;
        if depth > MAX_DEPTH {
            return Err(TfliteError::CallsTooDeep {
                at,
                operator: frame.name(position),
                limit: MAX_DEPTH,
            });
        }
        let body = &self.model.subgraphs[target];
        self.spend(at, 32 * (body.operators.len() + body.tensors.len()))?;
        let body = self.declare(target, bound, Some(scope), depth)?;
        self.walk(&body)?;
        Ok(body)
    }

    /// Operands and results of a call, by tensor of the subgraph; or why they do not fit.
    fn bind(
        &self,
        frame: &Frame<'m>,
        operator: &Operator,
        target: usize,
    ) -> Result<BTreeMap<usize, TensorId>, String> {
        let body = &self.model.subgraphs[target];
        let inputs: Vec<usize> = operator.inputs.iter().flatten().copied().collect();
        let mut bound = BTreeMap::new();
        let results = body.operators.iter().flat_map(|operator| &operator.outputs);
        let made: BTreeSet<usize> = results.copied().collect();
        for (what, given, wanted) in [
            ("operands", &inputs, &body.inputs),
            ("results", &operator.outputs, &body.outputs),
        ] {
            if given.len() != wanted.len() {
                return Err(format!("{} {what}, it has {}", given.len(), wanted.len()));
            }
            for (&outer, &inner) in given.iter().zip(wanted) {
                let (id, tensor) = (frame.ids[outer], &body.tensors[inner]);
                if bound.insert(inner, id).is_some()
                    || (what == "results" && !made.contains(&inner))
                {
                    let name = &tensor.name;
                    return Err(format!("it hands `{name}` on without an operator between"));
                }
                self.fits(id, target, inner)?;
            }
        }
        Ok(bound)
    }

    /// Whether tensor `id` can stand for tensor `inner` of a subgraph, or why not.
    pub(super) fn fits(&self, id: TensorId, target: usize, inner: usize) -> Result<(), String> {
        let tensor = &self.model.subgraphs[target].tensors[inner];
        let name = &tensor.name;
        if tensor.variable || fold::has_data(self.model, tensor) {
            return Err(format!("`{name}` there has contents of its own"));
        }
        let size = tensors::size(self.model, tensor).map_err(|e| e.to_string())?;
        let outside = self.graph.draft.tensors[id].bytes;
        if size.bytes != outside {
            let bytes = size.bytes;
            return Err(format!("`{name}` there is {bytes} bytes, here {outside}"));
        }
        Ok(())
    }
}
