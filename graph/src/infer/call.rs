//! One use of an operator: operands, attributes, the operator set's version; and what may be wrong.

use super::fact::{Fact, Value};
use crate::dtype::DType;
use std::collections::BTreeMap;

/// Why results could not be sized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InferError {
    /// No rule for the operator.
    #[error("its rule is not known")]
    UnknownOp,
    /// Not something whose bytes are known before the run.
    #[error("it works on {what}, which have no fixed bytes")]
    Unsized {
        /// Sequences, optional values, strings.
        what: &'static str,
    },
    /// An operand must be there.
    #[error("operand {operand} is missing")]
    Missing {
        /// Its position.
        operand: usize,
    },
    /// The result's shape follows from a value that only the run knows.
    #[error("its shape depends on the value of operand {operand}, which only the run knows")]
    NeedsValue {
        /// Its position.
        operand: usize,
    },
    /// Shapes or attributes contradict each other.
    #[error("{0}")]
    Mismatch(String),
    /// An attribute with a value that has no meaning.
    #[error("attribute `{name}` {why}")]
    Attribute {
        /// Its name.
        name: &'static str,
        /// What is wrong.
        why: String,
    },
    /// Too many dimensions.
    #[error("a tensor of {found} dimensions")]
    Rank {
        /// How many.
        found: usize,
    },
    /// More bytes than 64 bits can count.
    #[error("shape {shape:?} makes more bytes than 64 bits can count")]
    TooLarge {
        /// The shape.
        shape: Vec<u64>,
    },
    /// A dimension below zero or beyond 64 bits.
    #[error("a dimension of the result would be {value}")]
    Dimension {
        /// The number.
        value: i128,
    },
}

/// An attribute of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// A whole number.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text.
    Text(String),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
    /// A constant.
    Tensor(Fact),
    /// Anything else: bodies, strings in lists.
    Other,
}

/// Attributes by name.
pub type Attrs = BTreeMap<String, Attr>;

/// One use of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The kind.
    pub op: &'a str,
    /// Version of the operator set.
    pub opset: i64,
    /// Operands; nothing where an optional one is absent.
    pub inputs: &'a [Option<&'a Fact>],
    /// Attributes.
    pub attrs: &'a Attrs,
    /// How many results the node lists.
    pub outputs: usize,
    /// Largest number of elements of a value that may be computed.
    pub fold_limit: u64,
}

/// What a rule answers: facts of the results, in order.
pub(crate) type Answer = Result<Vec<Fact>, InferError>;

/// How the results of one operator follow.
pub(crate) type Rule = fn(&Call<'_>) -> Answer;

impl<'a> Call<'a> {
    /// The operand at `position`, if present.
    pub(crate) fn optional(&self, position: usize) -> Option<&'a Fact> {
        self.inputs.get(position).copied().flatten()
    }

    /// The operand at `position`.
    pub(crate) fn input(&self, position: usize) -> Result<&'a Fact, InferError> {
        self.optional(position)
            .ok_or(InferError::Missing { operand: position })
    }

    /// The value of the operand at `position`.
    pub(crate) fn value(&self, position: usize) -> Result<&'a Value, InferError> {
        let fact = self.input(position)?;
        fact.value
            .as_deref()
            .ok_or(InferError::NeedsValue { operand: position })
    }

    /// The value of the operand at `position`, which holds integers.
    pub(crate) fn ints(&self, position: usize) -> Result<&'a [i64], InferError> {
        match self.value(position)? {
            Value::Ints(list) => Ok(list),
            Value::Floats(_) => Err(InferError::Mismatch(format!(
                "operand {position} holds floats instead of integers"
            ))),
        }
    }

    /// The single number that the operand at `position` holds.
    pub(crate) fn int(&self, position: usize) -> Result<i64, InferError> {
        match self.ints(position)? {
            &[value] => Ok(value),
            list => Err(InferError::Mismatch(format!(
                "operand {position} holds {} numbers instead of one",
                list.len()
            ))),
        }
    }

    /// Integers that newer operator sets give as an operand and older ones as an attribute.
    pub(crate) fn ints_or(
        &self,
        position: usize,
        name: &str,
    ) -> Result<Option<&'a [i64]>, InferError> {
        if self.optional(position).is_some() {
            return self.ints(position).map(Some);
        }
        Ok(self.attr_ints(name))
    }

    /// A list attribute.
    pub(crate) fn attr_ints(&self, name: &str) -> Option<&'a [i64]> {
        match self.attrs.get(name) {
            Some(Attr::Ints(list)) => Some(list),
            _ => None,
        }
    }

    /// A number attribute.
    pub(crate) fn attr_int(&self, name: &str, default: i64) -> i64 {
        match self.attrs.get(name) {
            Some(&Attr::Int(value)) => value,
            _ => default,
        }
    }

    /// A float attribute.
    pub(crate) fn attr_float(&self, name: &str, default: f64) -> f64 {
        match self.attrs.get(name) {
            Some(&Attr::Float(value)) => value,
            _ => default,
        }
    }

    /// A text attribute.
    pub(crate) fn attr_text(&self, name: &str, default: &'a str) -> &'a str {
        match self.attrs.get(name) {
            Some(Attr::Text(text)) => text,
            _ => default,
        }
    }

    /// Whether all of these operands have values and `elements` of them may be computed.
    pub(crate) fn folds(&self, elements: u64) -> bool {
        elements <= self.fold_limit && self.inputs.iter().flatten().all(|f| f.value.is_some())
    }
}

/// `raw` as one of `rank` axes; negative ones count from the end.
pub(crate) fn axis(raw: i64, rank: usize) -> Result<usize, InferError> {
    let count = i64::try_from(rank).unwrap_or(i64::MAX);
    let place = if raw < 0 {
        raw.saturating_add(count)
    } else {
        raw
    };
    let place = usize::try_from(place).ok().filter(|&place| place < rank);
    place.ok_or_else(|| InferError::Mismatch(format!("axis {raw} of a tensor of rank {rank}")))
}

/// A dimension computed in wide numbers.
pub(crate) fn dim(value: i128) -> Result<u64, InferError> {
    u64::try_from(value).map_err(|_| InferError::Dimension { value })
}

/// The shape that a list of numbers spells.
pub(crate) fn dims(list: &[i64]) -> Result<Vec<u64>, InferError> {
    list.iter().map(|&value| dim(i128::from(value))).collect()
}

/// A dimension as a signed number: 64-bit shapes are bounded by the bytes of real tensors.
pub(crate) fn signed(dim: u64) -> i64 {
    i64::try_from(dim).unwrap_or(i64::MAX)
}

/// Two shapes broadcast against each other, numpy's way.
pub(crate) fn broadcast(a: &[u64], b: &[u64]) -> Result<Vec<u64>, InferError> {
    let rank = a.len().max(b.len());
    let at = |shape: &[u64], axis: usize| {
        (axis + shape.len())
            .checked_sub(rank)
            .map_or(1, |axis| shape[axis])
    };
    (0..rank)
        .map(|axis| match (at(a, axis), at(b, axis)) {
            (x, y) if x == y => Ok(x),
            (1, other) | (other, 1) => Ok(other),
            (x, y) => Err(InferError::Mismatch(format!(
                "shapes {a:?} and {b:?} do not broadcast: {x} against {y}"
            ))),
        })
        .collect()
}

/// Element type by its number in the file format.
pub fn dtype_of(code: i64) -> Option<DType> {
    Some(match code {
        1 => DType::F32,
        2 => DType::U8,
        3 => DType::I8,
        4 => DType::U16,
        5 => DType::I16,
        6 => DType::I32,
        7 => DType::I64,
        9 => DType::Bool,
        10 => DType::F16,
        11 => DType::F64,
        12 => DType::U32,
        13 => DType::U64,
        14 => DType::C64,
        16 => DType::Bf16,
        21 => DType::U4,
        22 => DType::I4,
        _ => return None,
    })
}

/// The name of an element type that has no fixed bytes here.
pub fn dtype_name(code: i64) -> String {
    match code {
        0 => "undefined".into(),
        8 => "string".into(),
        15 => "complex128".into(),
        17..=20 | 24 => "float8".into(),
        23 => "float4".into(),
        25 => "uint2".into(),
        26 => "int2".into(),
        other => format!("number {other}"),
    }
}
