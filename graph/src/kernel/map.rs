//! Kernels that look at one element of each operand.

use super::{Broadcast, MAX_OPERANDS, Needs, bytes_of};
use crate::dtype::DType;

/// A function of one element. Of integers only [`Unary::Abs`], [`Unary::Neg`], [`Unary::Relu`],
/// [`Unary::Clip`], [`Unary::Sign`] and [`Unary::Square`] are meant, of truth values [`Unary::Not`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unary {
    /// |x|.
    Abs,
    /// -x.
    Neg,
    /// -1, 0 or 1.
    Sign,
    /// max(x, 0).
    Relu,
    /// Between two bounds.
    Clip {
        /// Not below.
        low: f32,
        /// Not above.
        high: f32,
    },
    /// x, or alpha·x below 0.
    LeakyRelu {
        /// The slope.
        alpha: f32,
    },
    /// x, or alpha·(eˣ − 1) below 0.
    Elu {
        /// The depth.
        alpha: f32,
    },
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
    /// clip(alpha·x + beta, 0, 1).
    HardSigmoid {
        /// The slope.
        alpha: f32,
        /// The height at 0.
        beta: f32,
    },
    /// x·clip(x / 6 + 1 / 2, 0, 1).
    HardSwish,
    /// Hyperbolic tangent.
    Tanh,
    /// eˣ.
    Exp,
    /// Natural logarithm.
    Log,
    /// √x.
    Sqrt,
    /// 1 / √x.
    Rsqrt,
    /// 1 / x.
    Reciprocal,
    /// x².
    Square,
    /// x·by.
    Scale {
        /// The factor.
        by: f32,
    },
    /// The error function.
    Erf,
    /// x·Φ(x), exactly or by tanh.
    Gelu {
        /// The approximation by tanh.
        tanh: bool,
    },
    /// ln(1 + eˣ).
    Softplus,
    /// x / (1 + |x|).
    Softsign,
    /// Down to a whole number.
    Floor,
    /// Up to a whole number.
    Ceil,
    /// To the nearest whole number, halves to even.
    Round,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// The other truth value.
    Not,
}

/// A function of two elements; [`Binary::Add`], [`Binary::Mul`], [`Binary::Max`] and [`Binary::Min`] go on over any number
/// of operands, from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Binary {
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a·b.
    Mul,
    /// a / b; integers are cut off towards 0.
    Div,
    /// aᵇ.
    Pow,
    /// The larger.
    Max,
    /// The smaller.
    Min,
    /// (a − b)².
    SquaredDifference,
    /// a, or a·b below 0.
    PRelu,
    /// a = b, a truth value.
    Equal,
    /// a < b, a truth value.
    Less,
    /// a ≤ b, a truth value.
    LessOrEqual,
    /// a > b, a truth value.
    Greater,
    /// a ≥ b, a truth value.
    GreaterOrEqual,
    /// Both, of truth values.
    And,
    /// Any, of truth values.
    Or,
    /// One of them, of truth values.
    Xor,
}

impl Binary {
    /// Whether the result is a truth value whatever the operands are.
    pub fn compares(self) -> bool {
        matches!(
            self,
            Self::Equal | Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual
        )
    }

    /// Whether it goes on over more than two operands.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::Max | Self::Min)
    }
}

/// `result = then(join(operands…))`, element by element. With one operand there is nothing to join.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// How operands are joined; nothing where there is one.
    pub join: Option<Binary>,
    /// What is done with the outcome, in this order (an activation, say).
    pub then: Vec<Unary>,
    /// Type of all operands, and of the result unless the join compares.
    pub dtype: DType,
    /// How operands are stretched.
    pub broadcast: Broadcast,
}

impl Map {
    /// A function of each element.
    pub fn unary(function: Unary, dtype: DType, count: usize) -> Self {
        let broadcast = Broadcast {
            shape: vec![count],
            strides: vec![vec![1]],
        };
        Self {
            join: None,
            then: vec![function],
            dtype,
            broadcast,
        }
    }

    /// Type of the result.
    pub fn result(&self) -> DType {
        match self.join {
            Some(join) if join.compares() => DType::Bool,
            _ => self.dtype,
        }
    }

    pub(super) fn in_place(&self, operand: usize) -> bool {
        self.result().bits() == self.dtype.bits() && self.broadcast.is_whole(operand)
    }

    pub(super) fn name(&self) -> &'static str {
        match self.join {
            None => "unary",
            Some(Binary::Add) => "add",
            Some(Binary::Mul) => "mul",
            Some(_) => "binary",
        }
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        let operands = self.broadcast.strides.len();
        let fits = match self.join {
            None => operands == 1,
            Some(join) => operands == 2 || (join.goes_on() && operands > 2),
        };
        if !fits || operands > MAX_OPERANDS {
            return None;
        }
        let reads = (0..operands).map(|o| bytes_of(self.broadcast.reach(o), self.dtype));
        Some(Needs {
            reads: reads.collect::<Option<_>>()?,
            write: bytes_of(super::product(&self.broadcast.shape), self.result())?,
        })
    }
}

/// `result = condition ? a : b`. Operands: condition (truth values), a, b.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// Bytes of an element of a, b and the result.
    pub element: usize,
    /// How the three are stretched.
    pub broadcast: Broadcast,
}

impl Select {
    /// The condition has elements of one byte.
    pub(super) fn in_place(&self, operand: usize) -> bool {
        (operand > 0 || self.element == 1) && self.broadcast.is_whole(operand)
    }

    pub(super) fn needs(&self) -> Option<Needs> {
        let sizes = [1, self.element, self.element];
        let bytes = |elements: usize, size: usize| u64::try_from(elements.checked_mul(size)?).ok();
        let reads = sizes.iter().enumerate();
        let reads = reads.map(|(o, &size)| bytes(self.broadcast.reach(o)?, size));
        Some(Needs {
            reads: reads.collect::<Option<_>>()?,
            write: bytes(super::product(&self.broadcast.shape)?, self.element)?,
        })
    }
}

/// Another element type: floats to integers are cut off towards 0 and end at the limits of the type, integers
/// wrap, anything but 0 is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// Of the operand.
    pub from: DType,
    /// Of the result.
    pub to: DType,
    /// Elements.
    pub count: usize,
}

impl Cast {
    pub(super) fn needs(&self) -> Option<Needs> {
        Some(Needs {
            reads: vec![bytes_of(Some(self.count), self.from)?],
            write: bytes_of(Some(self.count), self.to)?,
        })
    }
}
