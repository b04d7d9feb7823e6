//! Element types of the schema.

use crate::dtype::DType;

/// What a tensor holds.
#[derive(Clone, Copy)]
pub(super) enum Element {
    /// A type that graphs know.
    Known(DType),
    /// Another type of so many bits.
    Bits(u64),
    /// A handle of a variable or table: no bytes in an arena.
    Handle,
    /// Contents whose size nobody knows beforehand.
    Unsized(&'static str),
}

impl Element {
    /// `TensorType` of the schema.
    pub(super) fn from_code(code: i8) -> Option<Self> {
        Some(match code {
            0 => Self::Known(DType::F32),
            1 => Self::Known(DType::F16),
            2 => Self::Known(DType::I32),
            3 => Self::Known(DType::U8),
            4 => Self::Known(DType::I64),
            5 => Self::Unsized("strings"),
            6 => Self::Known(DType::Bool),
            7 => Self::Known(DType::I16),
            8 => Self::Known(DType::C64),
            9 => Self::Known(DType::I8),
            10 => Self::Known(DType::F64),
            11 => Self::Bits(128), // complex128
            12 => Self::Known(DType::U64),
            13 => Self::Handle,
            14 => Self::Unsized("variants"),
            15 => Self::Known(DType::U32),
            16 => Self::Known(DType::U16),
            17 => Self::Known(DType::I4),
            18 => Self::Known(DType::Bf16),
            19 => Self::Bits(2), // int2
            20 => Self::Known(DType::U4),
            21 | 22 => Self::Bits(8), // float8
            _ => return None,
        })
    }

    /// The graph's type, where it has one.
    pub(super) fn dtype(self) -> Option<DType> {
        match self {
            Self::Known(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// Bytes of a dense tensor; nothing when they do not fit in 64 bits. What has no size of its own
    /// counts nothing.
    pub(super) fn bytes(self, shape: &[u64]) -> Option<u64> {
        let bits = match self {
            Self::Known(dtype) => return dtype.bytes(shape),
            Self::Bits(bits) => bits,
            Self::Handle | Self::Unsized(_) => return Some(0),
        };
        let elements = DType::U8.bytes(shape)?;
        let bytes = (u128::from(elements) * u128::from(bits)).div_ceil(8);
        u64::try_from(bytes).ok()
    }
}
