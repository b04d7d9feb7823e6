//! One operator as its rule sees it: facts of operands, options, and the way to the shared arithmetic.

use super::super::error::TfliteError;
use super::super::flat::Table;
use super::super::options::Options;
use crate::dtype::DType;
use crate::infer::{self, Attr, Attrs, Call, Fact, InferError};

/// Why results could not be sized: the shapes, or a damaged file.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// Shapes or values.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// The options of the operator.
    #[error(transparent)]
    File(#[from] TfliteError),
}

/// Facts of the results, in order.
pub(super) type Answer = Result<Vec<Fact>, Trouble>;

/// How the results of one kind of operator follow.
pub(super) type Rule = fn(&Site<'_>) -> Answer;

/// An operator.
pub(super) struct Site<'a> {
    /// Its kind, operands and number of results. It has no attributes: options are read from the file.
    pub(super) call: Call<'a>,
    /// Element types of the results, as declared.
    pub(super) dtypes: &'a [DType],
    /// The operator's table.
    pub(super) table: Table<'a, 'a>,
}

impl<'a> Site<'a> {
    /// The operand at `position`.
    pub(super) fn operand(&self, position: usize) -> Result<&'a Fact, InferError> {
        self.call.input(position)
    }

    /// The integers that the operand at `position` holds.
    pub(super) fn ints(&self, position: usize) -> Result<&'a [i64], InferError> {
        self.call.ints(position)
    }

    /// The shape that the operand at `position` spells.
    pub(super) fn dims(&self, position: usize) -> Result<Vec<u64>, InferError> {
        infer::dims(self.ints(position)?)
    }

    /// The type of the first result.
    pub(super) fn dtype(&self) -> DType {
        self.dtypes.first().copied().unwrap_or(DType::U8)
    }

    /// One result of this shape, without a value.
    pub(super) fn one(&self, shape: Vec<u64>) -> Answer {
        Ok(vec![Fact::new(self.dtype(), shape)?])
    }

    /// The options, where they are of the kind with this number in the schema.
    pub(super) fn options(&self, kind: u8) -> Result<Options<'a>, TfliteError> {
        Options::of(&self.table, kind)
    }

    /// The shared rule `op` over these operands.
    pub(super) fn run(
        &self,
        op: &str,
        inputs: &[Option<&Fact>],
        attrs: &[(&str, Attr)],
    ) -> Result<Vec<Fact>, InferError> {
        let named = attrs
            .iter()
            .map(|(name, attr)| ((*name).to_owned(), attr.clone()));
        let attrs: Attrs = named.collect();
        infer::infer(&Call {
            op,
            inputs,
            attrs: &attrs,
            ..self.call
        })
    }
}

/// Shapes that contradict each other.
pub(super) fn mismatch(why: impl Into<String>) -> InferError {
    InferError::Mismatch(why.into())
}

/// A list of integers as an operand of a shared rule.
pub(super) fn list(values: impl IntoIterator<Item = i64>) -> Fact {
    Fact::list(DType::I64, values.into_iter().collect())
}

/// The one fact of a rule with one result.
pub(super) fn only(facts: Vec<Fact>) -> Result<Fact, InferError> {
    facts.into_iter().next().ok_or(InferError::UnknownOp)
}

/// A place or a count as the shared rules take it.
pub(super) fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}
