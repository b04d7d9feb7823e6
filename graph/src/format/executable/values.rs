//! Elements that a file spells.

use crate::dtype::DType;
use crate::format::file::Values;
use crate::format::onnx::compute::encode::encoded;
use crate::infer::{Fact, Value};
use crate::kernel::{Compute, Constant, Kernel, Part, Rearrange, Source};

/// A weight of so many elements, all of one value, is filled at load.
const FILLED: usize = 1 << 12;

/// Bytes, so many times.
pub(super) struct Elements {
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
}

impl Elements {
    /// Those that a file gives a tensor; or why they are none.
    pub(super) fn new(values: &Values, fact: &Fact) -> Result<Self, &'static str> {
        let count = usize::try_from(fact.elements());
        let count = count.map_err(|_| "it has more elements than this machine can address")?;
        let (list, count) = match values {
            Values::All(value) => (std::slice::from_ref(value), count),
            Values::Each(list) if list.len() == count => (&list[..], 1),
            Values::Each(_) => {
                return Err("`values` has another number of elements than its shape");
            }
        };
        let bytes = encoded(&rounded(list, fact.dtype), fact.dtype);
        let bytes = bytes.ok_or("`values` cannot spell elements of its type")?;
        Ok(Self { bytes, count })
    }

    /// Where a weight's bytes are; a large one of a single value is filled at load.
    pub(super) fn source(self, name: &str, compute: &mut Compute) -> Source {
        if self.count <= FILLED {
            return Source::Bytes(self.bytes.repeat(self.count).into());
        }
        let moves = Rearrange::strided(self.bytes.len(), &[self.count], &[0], 0);
        let element = compute.constants.push(Constant {
            name: format!("{name}/element"),
            bytes: self.bytes.len() as u64,
            source: Source::Bytes(self.bytes.into()),
        });
        Source::Computed {
            operands: vec![element],
            parts: vec![Part::simple(Kernel::Rearrange(moves), 1)],
        }
    }
}

/// The elements, where there are as many as the shape has.
pub(super) fn value_of(values: &Values, fact: &Fact) -> Option<Value> {
    let count = usize::try_from(fact.elements()).ok()?;
    match values {
        Values::All(value) => Some(rounded(&vec![*value; count], fact.dtype)),
        Values::Each(list) if list.len() == count => Some(rounded(list, fact.dtype)),
        Values::Each(_) => None,
    }
}

/// Numbers of a file as elements of this type.
fn rounded(list: &[f64], dtype: DType) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "casts from floats saturate"
    )]
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::Bf16 => Value::Floats(list.to_vec()),
        _ => Value::Ints(list.iter().map(|&v| v as i64).collect()),
    }
}
