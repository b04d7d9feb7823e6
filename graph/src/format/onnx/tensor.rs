//! Constants in the file: type, shape, place of the elements, and the elements themselves where they
//! are few.

use super::error::OnnxError;
use super::external::{self, Place};
use super::passed::Passed;
use super::proto::Tensor;
use crate::dtype::DType;
use crate::infer::{Fact, Value, dtype_name, dtype_of};
use std::path::Path;

/// Where constants are looked up.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The whole file.
    pub(super) file: &'a [u8],
    /// The model's folder.
    pub(super) folder: Option<&'a Path>,
    /// How far it was read.
    pub(super) passed: &'a Passed<'a>,
}

/// A constant as it is in the file.
pub(super) struct Constant {
    /// Type, shape, elements where there are at most `limit`.
    pub(super) fact: Fact,
    /// Where its elements are.
    pub(super) place: Place,
}

impl Source<'_> {
    /// Reads `tensor`; `name` is used in errors.
    pub(super) fn constant(
        self,
        tensor: &Tensor,
        name: &str,
        limit: u64,
    ) -> Result<Constant, OnnxError> {
        let fact = head(tensor, name)?;
        let place = if tensor.head.data_location == 1 {
            external::place(&tensor.head, name, fact.bytes(), self.folder)?
        } else {
            self.inline(tensor, name, &fact)?
        };
        let value = if fact.elements() <= limit {
            self.value(tensor, &fact, &place)
        } else {
            None
        };
        Ok(Constant {
            fact: fact.with(value),
            place,
        })
    }

    /// Elements in this file: as many as the shape says.
    fn inline(self, tensor: &Tensor, name: &str, fact: &Fact) -> Result<Place, OnnxError> {
        let expected = fact.bytes();
        let mut found = 0_u64;
        let mut place = Place::Spelled;
        for span in &tensor.spans {
            let Some((offset, data)) = span.payload(self.file) else {
                return Err(OnnxError::Encoding(format!(
                    "elements of `{name}` are outside the file"
                )));
            };
            let bytes = data.len() as u64;
            self.passed.to(offset as u64);
            found = found.saturating_add(match span.tag {
                9 => {
                    place = Place::Here {
                        offset: offset as u64,
                        bytes,
                    };
                    bytes
                }
                4 | 10 => bytes,
                _ => spelled_bytes(data, fact.dtype, self.passed),
            });
        }
        if found == expected {
            return Ok(place);
        }
        Err(OnnxError::WeightBytes {
            tensor: name.to_owned(),
            expected,
            found,
        })
    }

    fn value(self, tensor: &Tensor, fact: &Fact, place: &Place) -> Option<Value> {
        match place {
            Place::Here { offset, bytes } => {
                let start = usize::try_from(*offset).ok()?;
                let end = start.checked_add(usize::try_from(*bytes).ok()?)?;
                decode(self.file.get(start..end)?, fact.dtype)
            }
            Place::External { .. } => decode(&external::small(place)?, fact.dtype),
            Place::Spelled => self.spelled(tensor, fact.dtype),
        }
    }

    /// Elements in the typed fields.
    fn spelled(self, tensor: &Tensor, dtype: DType) -> Option<Value> {
        let mut ints = Vec::new();
        let mut floats = Vec::new();
        for span in &tensor.spans {
            let (_, data) = span.payload(self.file)?;
            match span.tag {
                4 => floats.extend(
                    data.chunks_exact(4)
                        .map(|c| f64::from(f32::from_le_bytes([c[0], c[1], c[2], c[3]]))),
                ),
                10 => floats.extend(
                    data.chunks_exact(8)
                        .filter_map(|c| Some(f64::from_le_bytes(c.try_into().ok()?))),
                ),
                _ => ints.extend(varints(data)?),
            }
        }
        match dtype {
            DType::F32 | DType::F64 => Some(Value::Floats(floats)),
            DType::F16 | DType::Bf16 => {
                let bits = ints.iter().map(|&v| u16::try_from(v & 0xffff).unwrap_or(0));
                Some(Value::Floats(bits.map(|bits| half(bits, dtype)).collect()))
            }
            DType::C64 | DType::I4 | DType::U4 => None,
            _ => Some(Value::Ints(ints)),
        }
    }
}

fn head(tensor: &Tensor, name: &str) -> Result<Fact, OnnxError> {
    let code = i64::from(tensor.head.data_type);
    let dtype = dtype_of(code).ok_or_else(|| OnnxError::Type {
        tensor: name.to_owned(),
        what: format!("a tensor of element type {}", dtype_name(code)),
    })?;
    let mut shape = Vec::new();
    for (dimension, &value) in tensor.head.dims.iter().enumerate() {
        let tensor = || name.to_owned();
        shape.push(u64::try_from(value).map_err(|_| OnnxError::NegativeDim {
            tensor: tensor(),
            dimension,
            value,
        })?);
    }
    Fact::new(dtype, shape).map_err(|why| OnnxError::Shape {
        tensor: name.to_owned(),
        why,
    })
}

/// Bytes of elements that are spelled as variable-length numbers.
fn spelled_bytes(data: &[u8], dtype: DType, passed: &Passed<'_>) -> u64 {
    let count_in = |part: &[u8]| {
        passed.by(part.len() as u64);
        part.iter().filter(|&&byte| byte & 0x80 == 0).count() as u64
    };
    let count: u64 = data.chunks(1 << 20).map(count_in).sum();
    match dtype {
        DType::I4 | DType::U4 => count, // two elements in each number
        _ => count.saturating_mul(dtype.bits() / 8),
    }
}

pub(super) fn varints(mut data: &[u8]) -> Option<Vec<i64>> {
    let mut list = Vec::new();
    while !data.is_empty() {
        list.push(
            prost::encoding::decode_varint(&mut data)
                .ok()?
                .cast_signed(),
        );
    }
    Some(list)
}

/// Little-endian elements; nothing for types that are not counted with.
fn decode(data: &[u8], dtype: DType) -> Option<Value> {
    fn all<const N: usize, T>(data: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
        data.chunks_exact(N)
            .filter_map(|c| c.try_into().ok())
            .map(read)
            .collect()
    }
    Some(match dtype {
        DType::F32 => Value::Floats(all(data, |c| f64::from(f32::from_le_bytes(c)))),
        DType::F64 => Value::Floats(all(data, f64::from_le_bytes)),
        DType::F16 | DType::Bf16 => {
            Value::Floats(all(data, |c| half(u16::from_le_bytes(c), dtype)))
        }
        DType::I64 => Value::Ints(all(data, i64::from_le_bytes)),
        DType::U64 => {
            let list = all(data, |c| i64::try_from(u64::from_le_bytes(c)).ok());
            Value::Ints(list.into_iter().collect::<Option<_>>()?)
        }
        DType::I32 => Value::Ints(all(data, |c| i64::from(i32::from_le_bytes(c)))),
        DType::U32 => Value::Ints(all(data, |c| i64::from(u32::from_le_bytes(c)))),
        DType::I16 => Value::Ints(all(data, |c| i64::from(i16::from_le_bytes(c)))),
        DType::U16 => Value::Ints(all(data, |c| i64::from(u16::from_le_bytes(c)))),
        DType::I8 => Value::Ints(all(data, |c| i64::from(i8::from_le_bytes(c)))),
        DType::U8 | DType::Bool => Value::Ints(data.iter().map(|&b| i64::from(b)).collect()),
        _ => return None,
    })
}

/// A 16-bit float.
fn half(bits: u16, dtype: DType) -> f64 {
    if dtype == DType::Bf16 {
        return f64::from(f32::from_bits(u32::from(bits) << 16));
    }
    let (exponent, fraction) = ((bits >> 10) & 0x1f, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2_f64.powi(i32::from(e) - 15),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}
