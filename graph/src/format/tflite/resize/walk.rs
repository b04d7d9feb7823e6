//! Through the operators in their order, calls entered.
//!
//! A tensor is *moved* when its shape is no longer the declared one, *derived* when its value hangs on a
//! shape that moved, and *downstream* when anything about it hangs on a given input. Operators with a
//! moved or derived operand must follow. One that is merely downstream follows if its rule can, and else
//! keeps what is declared, unless the value that its shape needs is downstream itself.

use super::super::error::TfliteError;
use super::super::flat::Flat;
use super::super::fold;
use super::super::schema::{Model, Operator, Subgraph, Tensor};
use super::site::{Trouble, mismatch};
use crate::infer::{Fact, InferError};
use std::collections::BTreeMap;

/// What calls may unfold to, 32 for each operator, operand, result and tensor.
const MAX_WORK: u64 = 1 << 28;

/// Shapes by subgraph and tensor; nothing for subgraphs that keep theirs.
pub(super) type Shapes = Vec<Option<Vec<Vec<i32>>>>;

/// What is known of a tensor.
#[derive(Clone)]
pub(super) struct State {
    pub(super) fact: Fact,
    pub(super) moved: bool,
    pub(super) derived: bool,
    pub(super) downstream: bool,
}

/// How an operator hangs on the given inputs, by its operands.
#[derive(Clone, Copy)]
struct Touch {
    moved: bool,
    derived: bool,
    downstream: bool,
}

impl Touch {
    fn new(operator: &Operator, states: &[State]) -> Self {
        let operands = || {
            operator
                .inputs
                .iter()
                .flatten()
                .map(|&input| &states[input])
        };
        let moved = operands().any(|state| state.moved);
        Self {
            moved,
            derived: operands().any(|state| state.derived) || moved && operator.op == "SHAPE",
            downstream: operands().any(|state| state.downstream),
        }
    }

    fn must_follow(self) -> bool {
        self.moved || self.derived
    }

    /// A result that stays as declared.
    fn kept(self, fact: Fact) -> State {
        State {
            fact,
            moved: false,
            derived: false,
            downstream: self.downstream,
        }
    }

    /// For what writes a variable.
    fn keeps_variables(self) -> Result<Vec<State>, Trouble> {
        if self.moved {
            let why = "a variable keeps its shape from run to run, and would get another one";
            return Err(mismatch(why).into());
        }
        Ok(Vec::new())
    }
}

/// The way through a file.
pub(super) struct Walk<'m> {
    pub(super) bytes: &'m [u8],
    pub(super) flat: &'m Flat<'m>,
    pub(super) model: &'m Model,
    settled: Shapes,
    work: u64,
    /// Elements of values so far.
    pub(super) values: u64,
}

/// The shapes that follow when inputs of the main subgraph have these.
pub(super) fn shapes(
    bytes: &[u8],
    model: &Model,
    seeds: &BTreeMap<usize, Vec<i32>>,
) -> Result<Shapes, TfliteError> {
    let flat = Flat::with_limit(bytes, MAX_WORK);
    let mut walk = Walk::new(bytes, &flat, model);
    let states = walk.start(seeds)?;
    walk.subgraph(0, states, 0)?;
    Ok(walk.settled)
}

impl<'m> Walk<'m> {
    pub(super) fn new(bytes: &'m [u8], flat: &'m Flat<'m>, model: &'m Model) -> Self {
        Self {
            bytes,
            flat,
            model,
            settled: model.subgraphs.iter().map(|_| None).collect(),
            work: 0,
            values: 0,
        }
    }

    /// The main subgraph with these shapes for its inputs.
    pub(super) fn start(
        &mut self,
        seeds: &BTreeMap<usize, Vec<i32>>,
    ) -> Result<Vec<State>, TfliteError> {
        let tensors = &self.model.subgraphs[0].tensors;
        let given = |(&index, shape): (&usize, &Vec<i32>)| {
            let declared = &tensors[index];
            let tensor = Tensor {
                shape: shape.clone(),
                name: declared.name.clone(),
                ..*declared
            };
            let state = State {
                moved: *shape != declared.shape,
                derived: false,
                downstream: true,
                fact: self.declared(&tensor)?,
            };
            Ok((index, state))
        };
        let bound = seeds
            .iter()
            .map(given)
            .collect::<Result<_, TfliteError>>()?;
        self.states(0, bound)
    }

    /// The tensors of a subgraph as declared, but for those that are bound.
    pub(super) fn states(
        &mut self,
        index: usize,
        mut bound: BTreeMap<usize, State>,
    ) -> Result<Vec<State>, TfliteError> {
        self.visit(index)?;
        let tensors = self.model.subgraphs[index].tensors.iter().enumerate();
        let state = |(index, tensor): (usize, &Tensor)| match bound.remove(&index) {
            Some(state) => Ok(state),
            None => Ok(State {
                fact: self.declared(tensor)?,
                moved: false,
                derived: false,
                downstream: false,
            }),
        };
        tensors.map(state).collect()
    }

    /// Counts a subgraph that is about to be walked.
    pub(super) fn visit(&mut self, index: usize) -> Result<(), TfliteError> {
        let subgraph = &self.model.subgraphs[index];
        let at = subgraph.tensors.first().map_or(0, |tensor| tensor.at);
        let operators = subgraph.operators.iter();
        let ends = operators.map(|operator| 1 + operator.inputs.len() + operator.outputs.len());
        self.spend(
            at,
            32 * (subgraph.tensors.len() + ends.sum::<usize>()) as u64,
        )
    }

    pub(super) fn spend(&mut self, at: usize, work: u64) -> Result<(), TfliteError> {
        self.work = self.work.saturating_add(work);
        if self.work > MAX_WORK {
            let limit = MAX_WORK;
            return Err(TfliteError::Amplified { at, limit });
        }
        Ok(())
    }

    /// Walks a subgraph; returns what is known of its results.
    pub(super) fn subgraph(
        &mut self,
        index: usize,
        mut states: Vec<State>,
        depth: usize,
    ) -> Result<Vec<State>, TfliteError> {
        let subgraph = &self.model.subgraphs[index];
        for position in 0..subgraph.operators.len() {
            let found = self.step(index, position, &states, depth);
            let found = found.map_err(|trouble| refusal(subgraph, index, position, trouble))?;
            let outputs = &subgraph.operators[position].outputs;
            for (&output, state) in outputs.iter().zip(found) {
                states[output] = state;
            }
        }
        let shapes = states.iter().map(|state| numbers(&state.fact.shape));
        let shapes = shapes.collect::<Option<Vec<_>>>().unwrap_or_default();
        self.settle(index, shapes)?;
        let results = subgraph.outputs.iter();
        Ok(results.map(|&output| states[output].clone()).collect())
    }

    /// A subgraph is planned with one set of shapes.
    pub(super) fn settle(
        &mut self,
        index: usize,
        shapes: Vec<Vec<i32>>,
    ) -> Result<(), TfliteError> {
        let subgraph = &self.model.subgraphs[index];
        let place = &mut self.settled[index];
        let Some(tensor) = place.as_ref().and_then(|settled| {
            let mut pairs = settled.iter().zip(&shapes);
            pairs.position(|(first, second)| first != second)
        }) else {
            *place = Some(shapes);
            return Ok(());
        };
        let named = &subgraph.tensors[tensor];
        let first = place.as_ref().map(|settled| settled[tensor].clone());
        Err(TfliteError::Resize {
            at: named.at,
            operator: format!("subgraph {index} (`{}`)", subgraph.name),
            tensor: named.name.clone(),
            declared: named.shape.clone(),
            why: format!(
                "it is called more than once, and the tensor would have shapes {:?} and {:?}",
                first.unwrap_or_default(),
                shapes[tensor]
            ),
        })
    }

    /// What is known of the results of one operator.
    pub(super) fn step(
        &mut self,
        index: usize,
        position: usize,
        states: &[State],
        depth: usize,
    ) -> Result<Vec<State>, Trouble> {
        let subgraph = &self.model.subgraphs[index];
        let operator = &subgraph.operators[position];
        let touch = Touch::new(operator, states);
        if !operator.runs.is_empty() {
            if touch.must_follow() {
                return self.call(subgraph, operator, states, depth);
            }
            self.keep(&operator.runs)?;
        }
        if operator.op == "ASSIGN_VARIABLE" {
            return touch.keeps_variables();
        }
        let outputs = operator.outputs.iter();
        let tensors: Vec<&Tensor> = outputs.map(|&output| &subgraph.tensors[output]).collect();
        let mut declared = Vec::with_capacity(tensors.len());
        for tensor in &tensors {
            declared.push(self.declared(tensor)?);
        }
        let Some(found) = self.followed(index, position, states, touch)? else {
            return Ok(declared.into_iter().map(|fact| touch.kept(fact)).collect());
        };
        let mut results = Vec::with_capacity(tensors.len());
        for ((tensor, declared), fact) in tensors.into_iter().zip(declared).zip(found) {
            let moved = declared.shape != fact.shape;
            if moved && !touch.downstream {
                results.push(touch.kept(declared));
                continue;
            }
            self.may_move(tensor, moved, &fact.shape)?;
            results.push(State {
                fact,
                moved,
                derived: touch.derived,
                downstream: touch.downstream,
            });
        }
        Ok(results)
    }

    /// The facts of an operator's results; nothing where they are as declared.
    fn followed(
        &mut self,
        index: usize,
        position: usize,
        states: &[State],
        touch: Touch,
    ) -> Result<Option<Vec<Fact>>, Trouble> {
        let operator = &self.model.subgraphs[index].operators[position];
        if operator.outputs.is_empty() && !touch.must_follow() {
            return Ok(None);
        }
        let needed = match self.answer(index, position, states) {
            Ok(found) => return Ok(Some(found)),
            Err(trouble) if touch.must_follow() => return Err(trouble),
            Err(Trouble::Infer(InferError::NeedsValue { operand })) => operand,
            Err(_) => return Ok(None),
        };
        let operand = operator.inputs.get(needed).copied().flatten();
        let open = |state: &State| state.downstream && state.fact.value.is_none();
        if operand.is_some_and(|operand| open(&states[operand])) {
            return Err(InferError::NeedsValue { operand: needed }.into());
        }
        Ok(None)
    }

    /// Variables and constants keep their shapes, and the format counts in 32 bits.
    pub(super) fn may_move(
        &self,
        tensor: &Tensor,
        moved: bool,
        shape: &[u64],
    ) -> Result<(), InferError> {
        let fixed = tensor.variable || fold::has_data(self.model, tensor);
        if moved && fixed {
            let (name, old) = (&tensor.name, &tensor.shape);
            let why = format!("`{name}` is a variable or constant of {old:?}, not of {shape:?}");
            return Err(mismatch(why));
        }
        if let Some(&size) = shape.iter().find(|&&size| i32::try_from(size).is_err()) {
            let why = format!(
                "a dimension would be {size}; at most {} is possible",
                i32::MAX
            );
            return Err(mismatch(why));
        }
        Ok(())
    }
}

/// A shape as the format counts.
pub(super) fn numbers(shape: &[u64]) -> Option<Vec<i32>> {
    shape.iter().map(|&size| i32::try_from(size).ok()).collect()
}

/// What stopped an operator, with its name and place.
fn refusal(subgraph: &Subgraph, index: usize, position: usize, trouble: Trouble) -> TfliteError {
    let why = match trouble {
        Trouble::File(error) => return error,
        Trouble::Infer(why) => why.to_string(),
    };
    let operator = &subgraph.operators[position];
    let place = if index == 0 {
        String::new()
    } else {
        format!("subgraph {index}: ")
    };
    let operand = operator.inputs.iter().flatten().next();
    let tensor = operator.outputs.first().or(operand);
    let tensor = tensor.map(|&tensor| &subgraph.tensors[tensor]);
    TfliteError::Resize {
        at: operator.at,
        operator: format!("{place}{}#{position}", operator.op),
        tensor: tensor.map(|tensor| tensor.name.clone()).unwrap_or_default(),
        declared: tensor
            .map(|tensor| tensor.shape.clone())
            .unwrap_or_default(),
        why,
    }
}
