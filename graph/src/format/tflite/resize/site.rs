//! One operator as its rule sees it: facts of operands, options, and the way to the shared arithmetic.

use super::super::error::TfliteError;
use super::super::flat::{Field, Table};
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
        let found = self
            .table
            .u8(Field(3, "the kind of an operator's options"))?;
        let options = Field(4, "the options of an operator");
        let table = if found == kind {
            self.table.table(options)?
        } else {
            None
        };
        Ok(Options(table))
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

/// Options of an operator; absent ones have their defaults.
pub(super) struct Options<'a>(Option<Table<'a, 'a>>);

impl Options<'_> {
    /// A number.
    pub(super) fn int(
        &self,
        slot: u16,
        name: &'static str,
        default: i32,
    ) -> Result<i64, TfliteError> {
        let table = self.0.as_ref();
        let value = table.map_or(Ok(default), |t| t.i32_or(Field(slot, name), default));
        Ok(i64::from(value?))
    }

    /// A byte: a switch or an enumeration.
    pub(super) fn byte(&self, slot: u16, name: &'static str) -> Result<u8, TfliteError> {
        self.0.as_ref().map_or(Ok(0), |t| t.u8(Field(slot, name)))
    }

    /// A switch that is on where it is not written.
    pub(super) fn on(&self, slot: u16, name: &'static str) -> Result<bool, TfliteError> {
        let table = self.0.as_ref();
        let value = table.map_or(Ok(1), |t| t.u8_or(Field(slot, name), 1));
        Ok(value? != 0)
    }

    /// A list of numbers.
    pub(super) fn ints(&self, slot: u16, name: &'static str) -> Result<Vec<i64>, TfliteError> {
        let table = self.0.as_ref();
        let list = table.map_or(Ok(Vec::new()), |t| t.ints(Field(slot, name)))?;
        Ok(list.into_iter().map(i64::from).collect())
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
