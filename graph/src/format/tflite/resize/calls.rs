//! Operators that run subgraphs: the shapes of their operands go in, those of their results come out.

use super::super::error::TfliteError;
use super::super::schema::{Operator, Subgraph};
use super::site::{Trouble, mismatch};
use super::walk::{State, Walk, numbers};
use crate::infer::InferError;
use std::collections::BTreeMap;

/// Calls within calls.
const MAX_DEPTH: usize = 16;

impl Walk<'_> {
    /// Notes that these subgraphs, and those that they run, keep their declared shapes.
    pub(super) fn keep(&mut self, runs: &[usize]) -> Result<(), TfliteError> {
        self.spend(0, self.model.subgraphs.len() as u64)?;
        let mut open = runs.to_vec();
        let mut seen = vec![false; self.model.subgraphs.len()];
        while let Some(index) = open.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            self.visit(index)?;
            let subgraph = &self.model.subgraphs[index];
            let declared = subgraph.tensors.iter().map(|tensor| tensor.shape.clone());
            self.settle(index, declared.collect())?;
            let deeper = subgraph
                .operators
                .iter()
                .flat_map(|operator| &operator.runs);
            open.extend(deeper);
        }
        Ok(())
    }

    /// An operator that runs subgraphs on operands that changed.
    pub(super) fn call(
        &mut self,
        subgraph: &Subgraph,
        operator: &Operator,
        states: &[State],
        depth: usize,
    ) -> Result<Vec<State>, Trouble> {
        let operands = operator.inputs.iter().flatten();
        let operands: Vec<State> = operands.map(|&input| states[input].clone()).collect();
        let found = match (&*operator.op, &operator.runs[..]) {
            ("CALL" | "CALL_ONCE", &[body]) => self.enter(operator, body, operands, depth)?,
            ("IF", &[yes, no]) => {
                let operands = operands.get(1..).unwrap_or_default();
                let first = self.enter(operator, yes, operands.to_vec(), depth)?;
                let second = self.enter(operator, no, operands.to_vec(), depth)?;
                either(first, &second)?
            }
            ("WHILE", &[condition, body]) => {
                let operands: Vec<State> = operands.into_iter().map(State::any).collect();
                self.enter(operator, condition, operands.clone(), depth)?;
                let results = self.enter(operator, body, operands.clone(), depth)?;
                either(operands, &results)?
            }
            _ => return Err(InferError::UnknownOp.into()),
        };
        self.returned(subgraph, operator, found)
    }

    /// Results of a call, as tensors of the caller.
    fn returned(
        &self,
        subgraph: &Subgraph,
        operator: &Operator,
        found: Vec<State>,
    ) -> Result<Vec<State>, Trouble> {
        let mut results = Vec::with_capacity(found.len());
        for (&output, state) in operator.outputs.iter().zip(found) {
            let tensor = &subgraph.tensors[output];
            let moved = numbers(&state.fact.shape).as_ref() != Some(&tensor.shape);
            self.may_move(tensor, moved, &state.fact.shape)?;
            results.push(State {
                moved,
                downstream: true,
                ..state
            });
        }
        Ok(results)
    }

    fn enter(
        &mut self,
        operator: &Operator,
        body: usize,
        operands: Vec<State>,
        depth: usize,
    ) -> Result<Vec<State>, Trouble> {
        let limit = MAX_DEPTH;
        if depth >= limit {
            let (at, operator) = (operator.at, operator.op.clone());
            return Err(TfliteError::CallsTooDeep {
                at,
                operator,
                limit,
            }
            .into());
        }
        let subgraph = &self.model.subgraphs[body];
        if subgraph.inputs.len() != operands.len() {
            let (found, expected) = (operands.len(), subgraph.inputs.len());
            let why = format!("{found} operands, subgraph {body} has {expected}");
            return Err(mismatch(why).into());
        }
        let mut bound = BTreeMap::new();
        for (&input, state) in subgraph.inputs.iter().zip(operands) {
            let moved = numbers(&state.fact.shape).as_ref() != Some(&subgraph.tensors[input].shape);
            bound.insert(input, State { moved, ..state });
        }
        let states = self.states(body, bound)?;
        Ok(self.subgraph(body, states, depth + 1)?)
    }
}

impl State {
    /// The same with a value that nobody knows.
    fn any(mut self) -> Self {
        self.fact.value = None;
        self
    }
}

/// What holds whichever of two is taken.
fn either(first: Vec<State>, second: &[State]) -> Result<Vec<State>, Trouble> {
    let shape = |state: &State| state.fact.shape.clone();
    let (a, b): (Vec<_>, Vec<_>) = (
        first.iter().map(shape).collect(),
        second.iter().map(shape).collect(),
    );
    if a != b {
        let why = format!("its subgraphs give shapes {a:?} and {b:?}");
        return Err(mismatch(why).into());
    }
    Ok(first.into_iter().map(State::any).collect())
}
