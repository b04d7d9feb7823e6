//! The rule of one operator, asked: what is known of its operands in, facts of its results out.

use super::super::element::Element;
use super::super::error::TfliteError;
use super::super::schema::Tensor;
use super::super::tensors;
use super::site::{Answer, Site, mismatch};
use super::values;
use super::walk::{State, Walk};
use crate::dtype::DType;
use crate::infer::{Attrs, Call, Fact, InferError};

/// What may be spent on values, all together: an element, read or made, is 1.
const MAX_VALUES: u64 = 1 << 26;
/// Operators of more operands are not evaluated.
const MAX_OPERANDS: usize = 256;

/// The element type of a tensor. What the planner has no type for counts as bytes; that its size fits 64
/// bits is checked with all sizes.
fn dtype(tensor: &Tensor) -> DType {
    let element = Element::from_code(tensor.element);
    element.and_then(Element::dtype).unwrap_or(DType::U8)
}

/// What it may have cost to compute the values of these results: every known operand is spread to each.
fn effort(operands: &[Option<&Fact>], facts: &[Fact]) -> u64 {
    let known = operands
        .iter()
        .flatten()
        .filter(|fact| fact.value.is_some());
    let made = facts.iter().map(|fact| fact.elements().min(values::LIMIT));
    let made = 1 + made.sum::<u64>();
    known.map(|fact| fact.elements().saturating_add(made)).sum()
}

impl Walk<'_> {
    /// Type, shape and, for a small constant, value of a tensor.
    pub(super) fn declared(&mut self, tensor: &Tensor) -> Result<Fact, TfliteError> {
        let shape = tensors::shape(tensor)?;
        let fact = Fact::new(dtype(tensor), shape.clone());
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

    /// The facts of an operator's results by its rule, in the types that are declared.
    pub(super) fn answer(&mut self, index: usize, position: usize, states: &[State]) -> Answer {
        let subgraph = &self.model.subgraphs[index];
        let operator = &subgraph.operators[position];
        let rule = super::rule(&operator.op).ok_or(InferError::UnknownOp)?;
        let outputs = operator.outputs.iter();
        let dtypes: Vec<DType> = outputs.map(|&o| dtype(&subgraph.tensors[o])).collect();
        let operands = operator.inputs.iter();
        let operands: Vec<Option<&Fact>> = operands
            .map(|input| input.map(|input| &states[input].fact))
            .collect();
        let evaluated = self.values < MAX_VALUES && operands.len() <= MAX_OPERANDS;
        let limit = if evaluated { values::LIMIT } else { 0 };
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
        self.values += effort(&operands, &facts);
        if facts.len() < dtypes.len() {
            let (found, expected) = (facts.len(), dtypes.len());
            return Err(mismatch(format!("{expected} results where there are {found}")).into());
        }
        let typed = |(fact, dtype)| Self::typed(fact, dtype, limit);
        Ok(facts
            .into_iter()
            .zip(dtypes)
            .map(typed)
            .collect::<Result<_, _>>()?)
    }

    /// A fact in the declared element type, its value dropped where it cannot matter.
    fn typed(fact: Fact, dtype: DType, limit: u64) -> Result<Fact, InferError> {
        let value = fact.value.as_deref();
        let value = value.filter(|v| values::followed(dtype) && v.len() as u64 <= limit);
        let value = value.map(|value| value.cast(dtype));
        Ok(Fact::new(dtype, fact.shape)?.with(value))
    }
}
