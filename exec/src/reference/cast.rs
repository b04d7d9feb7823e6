//! Other element types.

use super::Operand;
use crate::run::KernelFault;
use bayplan_graph::DType;
use bayplan_graph::kernel::Cast;

/// A number of any type: whole ones exactly, floats as 64 bits.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

pub(super) fn run(
    cast: Cast,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    let size = |dtype: DType| {
        let whole = dtype.bits() >= 8 && dtype != DType::C64;
        let fault = KernelFault::Type {
            kernel: "cast",
            dtype,
        };
        let bytes = usize::try_from(dtype.bits() / 8).ok();
        bytes.filter(|_| whole).ok_or(fault)
    };
    let (from, to) = (size(cast.from)?, size(cast.to)?);
    for place in 0..cast.count {
        let source = match operands[0] {
            Operand::Apart(bytes) => &bytes[place * from..(place + 1) * from],
            Operand::Result => &result[place * from..(place + 1) * from],
        };
        let number = load(cast.from, source);
        store(cast.to, number, &mut result[place * to..(place + 1) * to]);
    }
    Ok(())
}

/// So many bytes; the slice has as many.
fn bytes<const N: usize>(source: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(source);
    bytes
}

fn load(dtype: DType, source: &[u8]) -> Number {
    match dtype {
        DType::F64 => Number::Float(f64::from_le_bytes(bytes(source))),
        DType::F32 => Number::Float(f64::from(f32::from_le_bytes(bytes(source)))),
        DType::F16 => Number::Float(f64::from(from_half(u16::from_le_bytes(bytes(source))))),
        DType::Bf16 => {
            let bits = u32::from(u16::from_le_bytes(bytes(source))) << 16;
            Number::Float(f64::from(f32::from_bits(bits)))
        }
        DType::I64 => Number::Whole(i64::from_le_bytes(bytes(source)).into()),
        DType::U64 => Number::Whole(u64::from_le_bytes(bytes(source)).into()),
        DType::I32 => Number::Whole(i32::from_le_bytes(bytes(source)).into()),
        DType::U32 => Number::Whole(u32::from_le_bytes(bytes(source)).into()),
        DType::I16 => Number::Whole(i16::from_le_bytes(bytes(source)).into()),
        DType::U16 => Number::Whole(u16::from_le_bytes(bytes(source)).into()),
        DType::I8 => Number::Whole(i8::from_le_bytes(bytes(source)).into()),
        _ => Number::Whole(source[0].into()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a cast in the model")]
fn store(dtype: DType, number: Number, target: &mut [u8]) {
    let float = match number {
        Number::Whole(value) => value as f64,
        Number::Float(value) => value,
    };
    // Rust's cast cuts off and ends at the limits; whole numbers wrap.
    let whole = |low: i128, high: i128| match number {
        Number::Whole(value) => value,
        Number::Float(value) => (value as i128).clamp(low, high),
    };
    match dtype {
        DType::F64 => target.copy_from_slice(&float.to_le_bytes()),
        DType::F32 => target.copy_from_slice(&narrow(number).to_le_bytes()),
        DType::F16 => target.copy_from_slice(&to_half(narrow(number)).to_le_bytes()),
        DType::Bf16 => target.copy_from_slice(&to_brain(narrow(number)).to_le_bytes()),
        DType::Bool => {
            let truth = match number {
                Number::Whole(value) => value != 0,
                Number::Float(value) => value != 0.0,
            };
            target[0] = u8::from(truth);
        }
        _ => {
            let (low, high) = limits(dtype);
            let wide = whole(low, high).to_le_bytes();
            target.copy_from_slice(&wide[..target.len()]);
        }
    }
}

fn narrow(number: Number) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "a cast in the model")]
    match number {
        Number::Whole(value) => value as f32,
        Number::Float(value) => value as f32,
    }
}

fn limits(dtype: DType) -> (i128, i128) {
    match dtype {
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        DType::U64 => (0, u64::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

/// A 16-bit float of IEEE 754, exactly.
fn from_half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let (exponent, fraction) = (u32::from(bits >> 10) & 0x1f, u32::from(bits) & 0x3ff);
    match exponent {
        0 => {
            let magnitude = fraction as f32 * f32::from_bits((127 - 24) << 23);
            f32::from_bits(magnitude.to_bits() | sign)
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

/// The nearest 16-bit float, halves to even.
fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = u16::try_from(bits >> 31).unwrap_or(0) << 15;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 // no number
    } else if magnitude >= 0x477f_f000 {
        0x7c00 // beyond the largest
    } else if magnitude >= 0x3880_0000 {
        rounded(magnitude - (112 << 23), 13)
    } else if magnitude >= 0x3300_0000 {
        let shift = 126 - (magnitude >> 23);
        rounded((magnitude & 0x007f_ffff) | 0x0080_0000, shift)
    } else {
        0
    };
    sign | u16::try_from(half).unwrap_or(0x7c00)
}

/// `bits / 2^shift`, to the nearest, halves to even.
fn rounded(bits: u32, shift: u32) -> u32 {
    let (kept, rest) = (bits >> shift, bits & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    kept + u32::from(rest > half || (rest == half && kept & 1 == 1))
}

/// The nearest bfloat16, halves to even.
fn to_brain(value: f32) -> u16 {
    let bits = value.to_bits();
    let brain = if value.is_nan() {
        0x7fc0 | (bits >> 16)
    } else {
        rounded(bits, 16)
    };
    u16::try_from(brain).unwrap_or(0x7f80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_there_and_back() {
        for bits in 0..=u16::MAX {
            let value = from_half(bits);
            if value.is_nan() {
                assert_eq!(to_half(value) & 0x7e00, 0x7e00);
            } else {
                assert_eq!(to_half(value), bits, "{value}");
            }
        }
        // Between two halves: the even one.
        let one = 1.0_f32;
        let step = 2.0_f32.powi(-10);
        assert_eq!(to_half(one + step / 2.0), 0x3c00);
        assert_eq!(to_half(one + step * 1.5), 0x3c02);
        assert_eq!(to_half(65_519.9), 0x7bff);
        assert_eq!(to_half(65_520.0), 0x7c00);
        assert_eq!(
            to_half(2.0_f32.powi(-25)),
            0,
            "halfway to the smallest: even"
        );
        assert_eq!(to_half(2.0_f32.powi(-25) * 1.001), 1);
    }

    #[test]
    fn casts_cut_off_end_at_limits_and_wrap() {
        for (from, to, value, expected) in [
            (
                DType::F32,
                DType::I8,
                (-3.9_f32).to_le_bytes().to_vec(),
                vec![253_u8],
            ),
            (
                DType::F32,
                DType::U8,
                300.0_f32.to_le_bytes().to_vec(),
                vec![255],
            ),
            (
                DType::I64,
                DType::U8,
                257_i64.to_le_bytes().to_vec(),
                vec![1],
            ),
            (
                DType::U64,
                DType::F32,
                u64::MAX.to_le_bytes().to_vec(),
                2.0_f32.powi(64).to_le_bytes().to_vec(),
            ),
            (
                DType::F64,
                DType::U64,
                2.0_f64.powi(63).to_le_bytes().to_vec(),
                (1_u64 << 63).to_le_bytes().to_vec(),
            ),
            (
                DType::F32,
                DType::Bool,
                0.5_f32.to_le_bytes().to_vec(),
                vec![1],
            ),
            (
                DType::I8,
                DType::I64,
                vec![255],
                (-1_i64).to_le_bytes().to_vec(),
            ),
            (
                DType::Bf16,
                DType::F32,
                vec![0x80, 0x3f],
                1.0_f32.to_le_bytes().to_vec(),
            ),
        ] {
            let mut result = vec![0; expected.len()];
            let cast = Cast { from, to, count: 1 };
            run(cast, &[Operand::Apart(&value)], &mut result).unwrap();
            assert_eq!(result, expected, "{from} to {to}");
        }
    }
}
