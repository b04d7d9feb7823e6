//! Bytes of constants: of values that were computed, and of elements in typed fields of the file.

use crate::dtype::DType;
use crate::format::onnx::proto::Tensor;
use crate::format::onnx::tensor::varints;
use crate::infer::Value;

/// The bytes of a value in this element type; nothing for types that values are not rounded to.
pub(crate) fn encoded(value: &Value, dtype: DType) -> Option<Vec<u8>> {
    match (value, dtype) {
        (Value::Floats(list), DType::F64) => Some(all(list, f64::to_le_bytes)),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "values are rounded to their type"
        )]
        (Value::Floats(list), DType::F32) => Some(all(list, |v| (v as f32).to_le_bytes())),
        (Value::Floats(list), DType::F16 | DType::Bf16)
            if list.iter().all(|v| v.to_bits() == 0) =>
        {
            Some(vec![0; 2 * list.len()])
        }
        (Value::Ints(list), _) => integers(list, dtype),
        (Value::Floats(_), _) => None,
    }
}

fn all<const N: usize>(list: &[f64], bytes: fn(f64) -> [u8; N]) -> Vec<u8> {
    list.iter().flat_map(|&v| bytes(v)).collect()
}

/// The low bytes of each number.
fn integers(list: &[i64], dtype: DType) -> Option<Vec<u8>> {
    let width = match dtype {
        DType::I64 | DType::U64 => 8,
        DType::I32 | DType::U32 => 4,
        DType::I16 | DType::U16 => 2,
        DType::I8 | DType::U8 | DType::Bool => 1,
        _ => return None,
    };
    let bytes = list.iter().map(|v| v.to_le_bytes());
    Some(bytes.flat_map(|b| b.into_iter().take(width)).collect())
}

/// Where elements in typed fields are as they would be in memory: in one piece of floats.
pub(super) fn as_they_are(tensor: &Tensor, file: &[u8]) -> Option<u64> {
    match &tensor.spans[..] {
        [span] if matches!(span.tag, 4 | 10) => Some(span.payload(file)?.0 as u64),
        _ => None,
    }
}

/// The bytes of elements in typed fields.
pub(super) fn spelled(tensor: &Tensor, dtype: DType, file: &[u8]) -> Option<Vec<u8>> {
    let width = usize::try_from(dtype.bits().div_ceil(8)).ok()?;
    let mut bytes = Vec::new();
    for span in &tensor.spans {
        let (_, data) = span.payload(file)?;
        match span.tag {
            4 | 10 => bytes.extend_from_slice(data),
            _ => {
                let numbers = varints(data)?.into_iter().map(i64::to_le_bytes);
                bytes.extend(numbers.flat_map(|b| b.into_iter().take(width)));
            }
        }
    }
    Some(bytes)
}
