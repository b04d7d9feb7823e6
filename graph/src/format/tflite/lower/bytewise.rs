//! Functions of one byte, as tables of all 256.

use super::scaled::{by_byte, level, limits, part, range, same_kind, scale};
use super::site::{Answer, Fused, Site, Trouble, missing};
use crate::kernel::fixed::halved;
use crate::kernel::quantized::Lookup;
use crate::kernel::{Quantized, Unary};

/// A part that looks up each byte.
fn lookup(site: &Site<'_>, number: impl Fn(i32) -> i32) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    let from = level(x)?;
    let (low, high) = limits(level(y)?.signed);
    let byte = |byte| number(from.of(byte)).clamp(low, high).to_le_bytes()[0];
    let kernel = Lookup {
        table: Box::new(by_byte(byte)),
        count: x.count()?,
    };
    Ok(part(Quantized::Lookup(kernel), 1))
}

/// A function of each element.
pub(super) fn unary(site: &Site<'_>, function: Unary) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    same_kind(x, y)?;
    match function {
        Unary::Sigmoid => real(site, |x| 1.0 / (1.0 + libm::expf(-x))),
        Unary::Tanh => real(site, libm::tanhf),
        Unary::Relu => clipped(site, Fused::Clip(Some(0), None)),
        Unary::Clip { low, high } => match (low.to_bits(), high.to_bits()) {
            _ if (low, high) == (0.0, 6.0) => clipped(site, Fused::Clip(Some(0), Some(6))),
            _ if (low, high) == (-1.0, 1.0) => clipped(site, Fused::Clip(Some(-1), Some(1))),
            _ => Err(missing("operands of 8 bits")),
        },
        Unary::LeakyRelu { alpha } => leaky(site, alpha),
        Unary::HardSwish => hard_swish(site),
        _ => Err(missing("operands of 8 bits")),
    }
}

/// A function of real numbers, rounded once.
fn real(site: &Site<'_>, function: impl Fn(f32) -> f32) -> Answer {
    let (from, (to, zero)) = (site.operand(0)?.level()?.0, site.result()?.level()?);
    let inverse = 1.0 / to;
    #[expect(clippy::cast_precision_loss, reason = "numbers of 9 bits")]
    #[expect(clippy::cast_possible_truncation, reason = "ends at the limits")]
    lookup(site, |x| {
        ((function(from * x as f32) * inverse).round() + zero as f32) as i32
    })
}

/// The identity between the bounds of an activation, on another scale.
fn clipped(site: &Site<'_>, fused: Fused) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    let ((from, _), (to, zero)) = (x.level()?, y.level()?);
    let (low, high) = range(y, fused)?;
    let scale = scale(f64::from(from / to))?;
    lookup(site, |x| {
        scale.apply(x).saturating_add(zero).clamp(low, high)
    })
}

fn leaky(site: &Site<'_>, alpha: f32) -> Answer {
    let ((from, _), (to, zero)) = (site.operand(0)?.level()?, site.result()?.level()?);
    let above = scale(f64::from(from / to))?;
    let below = f64::from(from * alpha / to);
    let sign = if below < 0.0 { -1 } else { 1 };
    let below = scale(below.abs())?;
    lookup(site, |x| {
        let number = if x >= 0 {
            above.apply(x)
        } else {
            below.apply(x).wrapping_mul(sign)
        };
        number.saturating_add(zero)
    })
}

/// `a · b / 2^15` in 16 bits, halves away from 0.
fn high_product_16(a: i32, b: i32) -> i32 {
    let product = i64::from(a) * i64::from(b);
    let nudge = if product < 0 { 1 - (1 << 14) } else { 1 << 14 };
    narrow((product + nudge) / (1 << 15))
}

/// Ends at the limits of 16 bits.
fn narrow(x: i64) -> i32 {
    i32::try_from(x.clamp(-32_768, 32_767)).unwrap_or(0)
}

/// `x / 2^bits` as 16-bit arithmetic has it: beyond 15 bits there is nothing to round by, and what comes
/// out is 1 or -1.
fn halved_16(x: i32, bits: u32) -> i32 {
    match bits {
        0..=15 => halved(x, bits),
        _ if x < 0 => -1,
        _ => 1,
    }
}

/// In 16 bits throughout, as the stock kernel does.
fn hard_swish(site: &Site<'_>) -> Answer {
    let ((from, _), (to, zero)) = (site.operand(0)?.level()?, site.result()?.level()?);
    let fine = (1.0 / 128.0) * from;
    let narrow_scale = |factor: f32| {
        let scale = scale(f64::from(factor))?;
        let rounded = (i64::from(scale.multiplier) + (1 << 15)) >> 16;
        Ok::<_, Trouble>((narrow(rounded), scale.shift))
    };
    let (result, down) = narrow_scale(fine / to)?;
    let (gate, up) = narrow_scale(fine / (3.0 / 32768.0))?;
    if down > 0 {
        return Err(missing("such scales"));
    }
    lookup(site, |x| {
        let fine = x << 7;
        let value = high_product_16(fine, result);
        let left = |x: i32, bits: i32| narrow(i64::from(x) << bits);
        let mut open = if up > 0 { left(fine, up - 1) } else { fine };
        open = high_product_16(open, gate);
        open = match up {
            1.. => left(open, 1),
            0 => open,
            _ => halved_16(open, up.unsigned_abs()),
        };
        let open = (open + (1 << 15)) >> 1;
        halved_16(open * value / (1 << 15), down.unsigned_abs()) + zero
    })
}

/// Bytes on another scale.
pub(super) fn rescaled(site: &Site<'_>) -> Answer {
    let ((from, _), (to, zero)) = (site.operand(0)?.level()?, site.result()?.level()?);
    let scale = scale(f64::from(from) / f64::from(to))?;
    lookup(site, |x| scale.apply(x).saturating_add(zero))
}
