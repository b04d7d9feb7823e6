//! Values of constants, as far as shapes may hang on them.
//!
//! Integers of 32 and 64 bits, truth values and 32-bit floats: narrower ones are quantized, and their
//! arithmetic is not that of numbers.

use super::super::fold;
use super::super::schema::{Model, Tensor};
use crate::dtype::DType;
use crate::infer::{Fact, Value};

/// Values of more elements are not followed: shapes are short.
pub(super) const LIMIT: u64 = 1 << 12;

/// Whether values of this type are numbers that shapes can hang on.
pub(super) fn followed(dtype: DType) -> bool {
    matches!(dtype, DType::I32 | DType::I64 | DType::Bool | DType::F32)
}

/// The contents of a constant in the file, where they are small. Without elements there is nothing to
/// store.
pub(super) fn stored(bytes: &[u8], model: &Model, tensor: &Tensor, fact: &Fact) -> Option<Value> {
    let count = usize::try_from(fact.elements()).ok()?;
    if count == 0 && followed(fact.dtype) && fact.dtype != DType::F32 {
        return Some(Value::Ints(Vec::new()));
    }
    if fact.elements() > LIMIT || tensor.sparse || !fold::has_data(model, tensor) {
        return None;
    }
    let range = model.buffers[tensor.buffer].clone();
    let bytes = bytes
        .get(range)?
        .get(..usize::try_from(fact.bytes()).ok()?)?;
    let value = match fact.dtype {
        DType::I32 => Value::Ints(each(bytes, |b| i64::from(i32::from_le_bytes(b)))),
        DType::I64 => Value::Ints(each(bytes, i64::from_le_bytes)),
        DType::Bool => Value::Ints(each(bytes, |[b]: [u8; 1]| i64::from(b != 0))),
        DType::F32 => Value::Floats(each(bytes, |b| f64::from(f32::from_le_bytes(b)))),
        _ => return None,
    };
    (value.len() == count).then_some(value)
}

fn each<const N: usize, T>(bytes: &[u8], make: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|&part| make(part))
        .collect()
}
