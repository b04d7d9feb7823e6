//! Element types and the bytes of a shape.

use serde::{Deserialize, Serialize};

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DType {
    /// 64-bit float.
    #[serde(alias = "float64")]
    F64,
    /// 32-bit float.
    #[serde(alias = "float32")]
    F32,
    /// 16-bit float.
    #[serde(alias = "float16")]
    F16,
    /// bfloat16.
    #[serde(alias = "bfloat16")]
    Bf16,
    /// 64-bit integer.
    #[serde(alias = "int64")]
    I64,
    /// 64-bit unsigned integer.
    #[serde(alias = "uint64")]
    U64,
    /// 32-bit integer.
    #[serde(alias = "int32")]
    I32,
    /// 32-bit unsigned integer.
    #[serde(alias = "uint32")]
    U32,
    /// 16-bit integer.
    #[serde(alias = "int16")]
    I16,
    /// 16-bit unsigned integer.
    #[serde(alias = "uint16")]
    U16,
    /// 8-bit integer.
    #[serde(alias = "int8")]
    I8,
    /// 8-bit unsigned integer.
    #[serde(alias = "uint8")]
    U8,
    /// 4-bit integer, two in a byte.
    #[serde(alias = "int4")]
    I4,
    /// 4-bit unsigned integer, two in a byte.
    #[serde(alias = "uint4")]
    U4,
    /// Truth value in a byte.
    Bool,
    /// Two 32-bit floats.
    #[serde(alias = "complex64")]
    C64,
}

impl DType {
    /// Bits of one element.
    pub fn bits(self) -> u64 {
        match self {
            Self::F64 | Self::I64 | Self::U64 | Self::C64 => 64,
            Self::F32 | Self::I32 | Self::U32 => 32,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 16,
            Self::I8 | Self::U8 | Self::Bool => 8,
            Self::I4 | Self::U4 => 4,
        }
    }

    /// Bytes of a dense tensor of this shape, rounded up to a whole byte; nothing when it does not
    /// fit in 64 bits.
    pub fn bytes(self, shape: &[u64]) -> Option<u64> {
        if shape.contains(&0) {
            return Some(0);
        }
        let elements = shape
            .iter()
            .try_fold(1_u64, |product, &dim| product.checked_mul(dim))?;
        let bits = u128::from(elements) * u128::from(self.bits());
        u64::try_from(bits.div_ceil(8)).ok()
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_shapes() {
        for (dtype, shape, bytes) in [
            (DType::F32, &[1, 224, 224, 3][..], Some(602_112)),
            (DType::I4, &[3], Some(2)),
            (DType::F32, &[], Some(4)),
            (DType::F64, &[0, u64::MAX, 2], Some(0)),
            (DType::F32, &[1 << 32, 1 << 31], None),
            (DType::I8, &[65_536, 65_536], Some(1 << 32)),
        ] {
            assert_eq!(dtype.bytes(shape), bytes, "{dtype} {shape:?}");
        }
    }
}
