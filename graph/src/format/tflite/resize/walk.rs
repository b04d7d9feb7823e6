//! Through the operators in their order, calls entered.
//!
//! A tensor is *moved* when its shape is no longer the declared one, *derived* when its value hangs on a
//! shape that moved, and *downstream* when anything about it hangs on a given input. Operators with a
//! moved or derived operand must follow. One that is merely downstream follows if its rule can, and else
//! keeps what is declared, unless the value that its shape needs is downstream itself.

use super::super::element::Element;
use super::super::error::TfliteError;
use super::super::flat::Flat;
use super::super::fold;
use super::super::schema::{Model, Operator, Subgraph, Tensor};
use super::super::tensors;
use super::site::{Answer, Site, Trouble, mismatch};
use super::values;
use crate::dtype::DType;
use crate::infer::{Attrs, Call, Fact, InferError};
use std::collections::BTreeMap;

/// Calls within calls.
const MAX_DEPTH: usize = 16;
/// What calls may unfold to, 32 for each operator and tensor.
const MAX_WORK: u64 = 1 << 28;
/// Elements of values that are computed, all together.
const MAX_VALUES: u64 = 1 << 24;

/// Shapes by subgraph and tensor; nothing for subgraphs that keep theirs.
pub(super) type Shapes = Vec<Option<Vec<Vec<i32>>>>;

/// What is known of a tensor.
#[derive(Clone)]
pub(super) struct State {
    pub(super) fact: Fact,
    moved: bool,
    derived: bool,
    downstream: bool,
}

/// The way through a file.
pub(super) struct Walk<'m> {
    bytes: &'m [u8],
    flat: &'m Flat<'m>,
    model: &'m Model,
    settled: Shapes,
    work: u64,
    values: u64,
}

/// The shapes that follow when inputs of the main subgraph have these.
pub(super) fn shapes(
    bytes: &[u8],
    model: &Model,
    seeds: &BTreeMap<usize, Vec<i32>>,
) -> Result<Shapes, TfliteError> {
    let flat = Flat::new(bytes);
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
    fn states(
        &mut self,
        index: usize,
        mut bound: BTreeMap<usize, State>,
    ) -> Result<Vec<State>, TfliteError> {
        let subgraph = &self.model.subgraphs[index];
        let at = subgraph.tensors.first().map_or(0, |tensor| tensor.at);
        self.spend(
            at,
            32 * (subgraph.tensors.len() + subgraph.operators.len()) as u64,
        )?;
        let tensors = subgraph.tensors.iter().enumerate();
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

    /// Type, shape and, for a small constant, value of a tensor. What the planner has no type for counts
    /// as bytes; that its size fits 64 bits is checked with all sizes.
    fn declared(&mut self, tensor: &Tensor) -> Result<Fact, TfliteError> {
        let dtype = Element::from_code(tensor.element).and_then(Element::dtype);
        let shape = tensors::shape(tensor)?;
        let fact = Fact::new(dtype.unwrap_or(DType::U8), shape.clone());
        let fact = fact.map_err(|_| TfliteError::TooLarge {
            at: tensor.at,
            tensor: tensor.name.clone(),
            shape,
        })?;
        let value = (self.values < MAX_VALUES)
            .then(|| values::stored(self.bytes, self.model, tensor, &fact));
        let value = value.flatten();
        self.values += value.as_ref().map_or(0, |value| value.len() as u64);
        Ok(fact.with(value))
    }

    fn spend(&mut self, at: usize, work: u64) -> Result<(), TfliteError> {
        self.work = self.work.saturating_add(work);
        if self.work > MAX_WORK {
            let limit = MAX_WORK;
            return Err(TfliteError::Amplified { at, limit });
        }
        Ok(())
    }

    /// Walks a subgraph; returns what is known of its results.
    fn subgraph(
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
    fn settle(&mut self, index: usize, shapes: Vec<Vec<i32>>) -> Result<(), TfliteError> {
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
        let operands = || {
            operator
                .inputs
                .iter()
                .flatten()
                .map(|&input| &states[input])
        };
        let touched = operands().any(|state| state.moved || state.derived);
        let derived = operands().any(|state| state.derived)
            || operator.op == "SHAPE" && operands().any(|state| state.moved);
        let downstream = operands().any(|state| state.downstream);
        let as_declared = |fact: Fact| State {
            fact,
            moved: false,
            derived: false,
            downstream,
        };
        if !operator.runs.is_empty() {
            if touched {
                let found = self.call(operator, states, depth)?;
                return self.returned(subgraph, operator, found);
            }
            self.keep(&operator.runs)?;
        }
        if operator.op == "ASSIGN_VARIABLE" && operands().skip(1).any(|state| state.moved) {
            let why = "a variable keeps its shape from run to run, and would get another one";
            return Err(mismatch(why).into());
        }
        let declared = operator.outputs.iter();
        let declared = declared.map(|&output| self.declared(&subgraph.tensors[output]));
        let declared: Vec<Fact> = declared.collect::<Result<_, _>>()?;
        if operator.outputs.is_empty() && !touched {
            return Ok(Vec::new());
        }
        let found = match self.answer(index, position, states) {
            Ok(found) => found,
            Err(trouble) if touched => return Err(trouble),
            Err(Trouble::Infer(InferError::NeedsValue { operand }))
                if downstream && unknown(operator, states, operand) =>
            {
                return Err(InferError::NeedsValue { operand }.into());
            }
            Err(_) => return Ok(declared.into_iter().map(as_declared).collect()),
        };
        let results = operator.outputs.iter().zip(declared).zip(found);
        let mut facts = Vec::with_capacity(operator.outputs.len());
        for ((&output, declared), found) in results {
            let moved = declared.shape != found.shape;
            if moved && !downstream {
                facts.push(as_declared(declared));
                continue;
            }
            self.may_move(&subgraph.tensors[output], moved, &found.shape)?;
            facts.push(State {
                fact: found,
                moved,
                derived,
                downstream,
            });
        }
        Ok(facts)
    }

    /// Variables and constants keep their shapes, and the format counts in 32 bits.
    fn may_move(&self, tensor: &Tensor, moved: bool, shape: &[u64]) -> Result<(), InferError> {
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

    /// The facts of an operator's results by its rule, in the types that are declared.
    pub(super) fn answer(&mut self, index: usize, position: usize, states: &[State]) -> Answer {
        let subgraph = &self.model.subgraphs[index];
        let operator = &subgraph.operators[position];
        let rule = super::rule(&operator.op).ok_or(InferError::UnknownOp)?;
        let types = operator.outputs.iter().map(|&output| {
            let element = Element::from_code(subgraph.tensors[output].element);
            element.and_then(Element::dtype).unwrap_or(DType::U8)
        });
        let dtypes: Vec<DType> = types.collect();
        let operands = operator.inputs.iter();
        let operands: Vec<Option<&Fact>> = operands
            .map(|input| input.map(|input| &states[input].fact))
            .collect();
        let limit = if self.values < MAX_VALUES {
            values::LIMIT
        } else {
            0
        };
        let attrs = Attrs::new();
        let facts = rule(&Site {
            call: Call {
                op: &operator.op,
                opset: 17,
                inputs: &operands,
                attrs: &attrs,
                outputs: operator.outputs.len(),
                fold_limit: limit,
            },
            dtypes: &dtypes,
            table: self.flat.table(operator.at, "an operator")?,
        })?;
        if facts.len() < dtypes.len() {
            let (found, expected) = (facts.len(), dtypes.len());
            return Err(mismatch(format!("{expected} results where there are {found}")).into());
        }
        let typed = |(fact, dtype)| self.typed(fact, dtype, limit);
        Ok(facts
            .into_iter()
            .zip(dtypes)
            .map(typed)
            .collect::<Result<_, _>>()?)
    }

    /// A fact in the declared element type, its value dropped where it cannot matter.
    fn typed(&mut self, fact: Fact, dtype: DType, limit: u64) -> Result<Fact, InferError> {
        let value = fact.value.as_deref();
        let value = value.filter(|v| values::followed(dtype) && v.len() as u64 <= limit);
        let value = value.map(|value| value.cast(dtype));
        self.values += value.as_ref().map_or(0, |value| value.len() as u64 + 1);
        Ok(Fact::new(dtype, fact.shape)?.with(value))
    }

    /// Notes that these subgraphs, and those that they run, keep their declared shapes.
    fn keep(&mut self, runs: &[usize]) -> Result<(), TfliteError> {
        self.spend(0, self.model.subgraphs.len() as u64)?;
        let mut open = runs.to_vec();
        let mut seen = vec![false; self.model.subgraphs.len()];
        while let Some(index) = open.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            let subgraph = &self.model.subgraphs[index];
            let at = subgraph.tensors.first().map_or(0, |tensor| tensor.at);
            self.spend(
                at,
                32 * (subgraph.tensors.len() + subgraph.operators.len()) as u64,
            )?;
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
    fn call(
        &mut self,
        operator: &Operator,
        states: &[State],
        depth: usize,
    ) -> Result<Vec<State>, Trouble> {
        let operands = operator.inputs.iter().flatten();
        let operands: Vec<State> = operands.map(|&input| states[input].clone()).collect();
        match (&*operator.op, &operator.runs[..]) {
            ("CALL" | "CALL_ONCE", &[body]) => self.enter(operator, body, operands, depth),
            ("IF", &[yes, no]) => {
                let operands = operands.get(1..).unwrap_or_default();
                let first = self.enter(operator, yes, operands.to_vec(), depth)?;
                let second = self.enter(operator, no, operands.to_vec(), depth)?;
                either(first, &second)
            }
            ("WHILE", &[condition, body]) => {
                let operands: Vec<State> = operands.into_iter().map(State::any).collect();
                self.enter(operator, condition, operands.clone(), depth)?;
                let results = self.enter(operator, body, operands.clone(), depth)?;
                either(operands, &results)
            }
            _ => Err(InferError::UnknownOp.into()),
        }
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

/// Whether the value of this operand is not known, and would hang on a given input.
fn unknown(operator: &Operator, states: &[State], operand: usize) -> bool {
    let input = operator.inputs.get(operand).copied().flatten();
    input.is_some_and(|input| states[input].downstream && states[input].fact.value.is_none())
}

/// A shape as the format counts.
fn numbers(shape: &[u64]) -> Option<Vec<i32>> {
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
