//! What is known of a tensor before the run: element type, shape and, where it is small and does not
//! depend on the caller's data, its value.

use super::call::InferError;
use crate::dtype::DType;
use std::sync::Arc;

/// No tensor has more dimensions.
pub const MAX_RANK: usize = 64;

/// The elements of a constant in row-major order. Truth values are 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of an integer or truth type.
    Ints(Vec<i64>),
    /// Of a float type, rounded to it.
    Floats(Vec<f64>),
}

impl Value {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Ints(list) => list.len(),
            Self::Floats(list) => list.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements at these positions, in this order; nothing if one is outside.
    pub(crate) fn pick(&self, positions: &[usize]) -> Option<Self> {
        fn all<T: Copy>(list: &[T], positions: &[usize]) -> Option<Vec<T>> {
            positions.iter().map(|&at| list.get(at).copied()).collect()
        }
        Some(match self {
            Self::Ints(list) => Self::Ints(all(list, positions)?),
            Self::Floats(list) => Self::Floats(all(list, positions)?),
        })
    }

    /// The elements as floats.
    pub(crate) fn floats(&self) -> Vec<f64> {
        match self {
            Self::Ints(list) => list.iter().map(|&v| v as f64).collect(),
            Self::Floats(list) => list.clone(),
        }
    }

    /// This value in the element type `dtype`: floats are rounded to it or cut off, integers wrap.
    pub(crate) fn cast(&self, dtype: DType) -> Self {
        let is_float = float(dtype);
        match self {
            Self::Ints(list) if !is_float => {
                Self::Ints(list.iter().map(|&v| wrap(v, dtype)).collect())
            }
            Self::Floats(list) if !is_float => {
                Self::Ints(list.iter().map(|&v| cut(v, dtype)).collect())
            }
            _ => Self::Floats(self.floats().iter().map(|&v| round(v, dtype)).collect()),
        }
    }
}

/// Whether elements are floats.
pub(crate) fn float(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::Bf16)
}

/// A float as an element of `dtype`. Narrow floats are kept in 32 bits: close enough to count with.
#[expect(clippy::cast_possible_truncation, reason = "rounding is the point")]
pub(crate) fn round(value: f64, dtype: DType) -> f64 {
    if dtype == DType::F64 {
        value
    } else {
        f64::from(value as f32)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a cast in the model")]
fn cut(value: f64, dtype: DType) -> i64 {
    if dtype == DType::Bool {
        i64::from(value != 0.0)
    } else {
        wrap(value as i64, dtype)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast in the model"
)]
fn wrap(value: i64, dtype: DType) -> i64 {
    match dtype {
        DType::I32 => i64::from(value as i32),
        DType::U32 => i64::from(value as u32),
        DType::I16 => i64::from(value as i16),
        DType::U16 => i64::from(value as u16),
        DType::I8 => i64::from(value as i8),
        DType::U8 => i64::from(value as u8),
        DType::Bool => i64::from(value != 0),
        _ => value,
    }
}

/// Type, shape and perhaps value of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Vec<u64>,
    /// The elements, where they are known and few.
    pub value: Option<Arc<Value>>,
}

impl Fact {
    /// A tensor whose bytes fit in 64 bits.
    pub fn new(dtype: DType, shape: Vec<u64>) -> Result<Self, InferError> {
        if shape.len() > MAX_RANK {
            return Err(InferError::Rank { found: shape.len() });
        }
        if dtype.bytes(&shape).is_none() {
            return Err(InferError::TooLarge { shape });
        }
        Ok(Self {
            dtype,
            shape,
            value: None,
        })
    }

    /// The same with this value, if it has as many elements as the shape.
    #[must_use]
    pub fn with(mut self, value: Option<Value>) -> Self {
        self.value = value
            .filter(|v| v.len() as u64 == self.elements())
            .map(Arc::new);
        self
    }

    /// Integers along one dimension.
    pub fn list(dtype: DType, values: Vec<i64>) -> Self {
        Self {
            dtype,
            shape: vec![values.len() as u64],
            value: Some(Arc::new(Value::Ints(values))),
        }
    }

    /// One integer without dimensions.
    pub fn scalar(dtype: DType, value: i64) -> Self {
        Self {
            dtype,
            shape: Vec::new(),
            value: Some(Arc::new(Value::Ints(vec![value]))),
        }
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        elements(&self.shape).unwrap_or(u64::MAX)
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.dtype.bytes(&self.shape).unwrap_or(u64::MAX)
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// Number of elements of a shape, where 64 bits can count them.
pub(crate) fn elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |n, &dim| n.checked_mul(dim))
}

/// Row-major distances between neighbours in each dimension.
pub(crate) fn strides(shape: &[u64]) -> Vec<u64> {
    let mut strides = vec![1_u64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

/// Source positions for each element of `shape`, given where an index comes from.
pub(crate) fn positions(shape: &[u64], source: impl Fn(&[u64]) -> u64) -> Vec<usize> {
    let count = elements(shape).unwrap_or(0);
    let mut index = vec![0_u64; shape.len()];
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(usize::try_from(source(&index)).unwrap_or(usize::MAX));
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    found
}

/// Row-major position of an index.
pub(crate) fn position(index: &[u64], strides: &[u64]) -> u64 {
    index.iter().zip(strides).map(|(i, s)| i * s).sum()
}
