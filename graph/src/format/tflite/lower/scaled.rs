//! Scales, zeros and ranges of tensors of bytes.

use super::site::{Fused, Known, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::fixed::Scale;
use crate::kernel::quantized::Level;
use crate::kernel::{Kernel, Part, Quantized};

pub(super) fn part(kernel: Quantized, operands: usize) -> Vec<Part> {
    vec![Part::simple(Kernel::Quantized(kernel), operands)]
}

/// The factor as integers.
pub(super) fn scale(factor: f64) -> Result<Scale, Trouble> {
    Scale::new(factor).ok_or_else(|| missing("such scales"))
}

pub(super) fn level(known: &Known<'_>) -> Result<Level, Trouble> {
    let signed = known.dtype()? == DType::I8;
    let zero = known.level()?.1;
    Ok(Level { signed, zero })
}

/// Least and largest number of a kind of byte.
pub(super) fn limits(signed: bool) -> (i32, i32) {
    if signed { (-128, 127) } else { (0, 255) }
}

/// Least and largest number of a result after an activation.
pub(super) fn range(result: &Known<'_>, fused: Fused) -> Result<(i32, i32), Trouble> {
    let (scale, zero) = result.level()?;
    let (low, high) = limits(result.dtype()? == DType::I8);
    #[expect(clippy::cast_possible_truncation, reason = "ends at the limits")]
    let number = |bound: i8| ((f32::from(bound) / scale).round() as i32).saturating_add(zero);
    match fused {
        Fused::Nothing => Ok((low, high)),
        Fused::Clip(from, to) => {
            let low = from.map_or(low, |from| low.max(number(from)));
            let high = to.map_or(high, |to| high.min(number(to)));
            if low > high {
                return Err(missing("an activation outside the result's range"));
            }
            Ok((low, high))
        }
    }
}

/// Bytes of the same kind.
pub(super) fn same_kind(a: &Known<'_>, b: &Known<'_>) -> Result<(), Trouble> {
    if a.dtype()? != b.dtype()? {
        return Err(missing(format!(
            "operands of types {} and {}",
            a.dtype()?,
            b.dtype()?
        )));
    }
    Ok(())
}

/// A value for each byte.
pub(super) fn by_byte<T: Copy + Default>(value: impl Fn(u8) -> T) -> [T; 256] {
    let mut table = [T::default(); 256];
    for byte in 0..=u8::MAX {
        table[usize::from(byte)] = value(byte);
    }
    table
}
