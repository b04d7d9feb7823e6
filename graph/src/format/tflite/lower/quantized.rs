//! Operators on 8-bit integers that stand for real numbers.
//!
//! The factors are worked out as the stock runtime does, with its widths: some products of scales are
//! taken in 32 bits, some in 64, and the last bit of a factor decides results.

use super::dense::{Product, with_bias};
use super::joined::broadcast;
use super::site::{Answer, Fused, Known, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::fixed::{Scale, exp_of_negative, halved, high_product};
use crate::kernel::quantized::{
    Factors, FromBytes, Join, Level, Lookup, QuantizedConv, QuantizedJoin, QuantizedMatMul,
    QuantizedPool, QuantizedReduce, QuantizedSoftmax, Requantize, ToBytes,
};
use crate::kernel::{
    Binary, Conv, Kernel, Part, Pool, Quantized, Reduce, Reduction, Unary, WeightLayout,
};

fn part(kernel: Quantized, operands: usize) -> Vec<Part> {
    vec![Part::simple(Kernel::Quantized(kernel), operands)]
}

/// The factor as integers.
fn scale(factor: f64) -> Result<Scale, Trouble> {
    Scale::new(factor).ok_or_else(|| missing("such scales"))
}

fn level(known: &Known<'_>) -> Result<Level, Trouble> {
    let signed = known.dtype()? == DType::I8;
    let zero = known.level()?.1;
    Ok(Level { signed, zero })
}

/// Least and largest number of a kind of byte.
fn limits(signed: bool) -> (i32, i32) {
    if signed { (-128, 127) } else { (0, 255) }
}

/// Least and largest number of a result after an activation.
fn range(result: &Known<'_>, fused: Fused) -> Result<(i32, i32), Trouble> {
    let (scale, zero) = result.level()?;
    let (low, high) = limits(result.dtype()? == DType::I8);
    #[expect(clippy::cast_possible_truncation, reason = "ends at the limits")]
    let number = |bound: i8| ((f32::from(bound) / scale).round() as i32).saturating_add(zero);
    match fused {
        Fused::Nothing => Ok((low, high)),
        Fused::Tanh => Err(missing("a fused TANH of 8 bits")),
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

fn requantize(result: &Known<'_>, fused: Fused, factors: Factors) -> Result<Requantize, Trouble> {
    let (low, high) = range(result, fused)?;
    let zero = result.level()?.1;
    Ok(Requantize {
        factors,
        zero,
        low,
        high,
    })
}

/// Factors of sums of products: by channel, or one for all. `narrow`: the product is taken in 32 bits.
fn factors(
    image: &Known<'_>,
    weight: &Known<'_>,
    result: &Known<'_>,
    (channels, narrow): (usize, bool),
) -> Result<Vec<f64>, Trouble> {
    let (from, to) = (image.level()?.0, result.level()?.0);
    let all = &weight.scales.scales;
    if all.len() != 1 && all.len() != channels {
        return Err(missing("scales of another number of channels"));
    }
    let factor = |&weight: &f32| {
        let product = if narrow {
            f64::from(from * weight)
        } else {
            f64::from(from) * f64::from(weight)
        };
        product / f64::from(to)
    };
    Ok(all.iter().map(factor).collect())
}

fn fixed(factors: &[f64]) -> Result<Factors, Trouble> {
    let scales = factors.iter().map(|&factor| scale(factor));
    Ok(Factors::Fixed(scales.collect::<Result<_, _>>()?))
}

/// The weight's kind of byte. Where there are several scales, they change along `axis`, and zeros are 0.
fn weight_level(image: &Known<'_>, weight: &Known<'_>, axis: usize) -> Result<Level, Trouble> {
    let dtype = weight.dtype()?;
    if dtype != image.dtype()? || weight.scales.scales.is_empty() {
        return Err(missing(format!(
            "weights of type {dtype} with such operands"
        )));
    }
    if let [zero] = weight.scales.zeros[..] {
        let signed = dtype == DType::I8;
        return Ok(Level { signed, zero });
    }
    if dtype != DType::I8 || weight.scales.zeros.iter().any(|&zero| zero != 0) {
        return Err(missing("weights whose zero points are not 0"));
    }
    if weight.scales.axis != axis {
        return Err(missing("weights whose scales change along another axis"));
    }
    Ok(Level {
        signed: true,
        zero: 0,
    })
}

/// A convolution whose operands are image, weight, and perhaps bias.
pub(super) fn conv(site: &Site<'_>, geometry: Conv, fused: Fused) -> Answer {
    let (x, weight, y) = (site.operand(0)?, site.operand(1)?, site.result()?);
    same_kind(x, y)?;
    let axis = match geometry.weight {
        WeightLayout::Depthwise => 3,
        _ => 0,
    };
    let by = weight_level(x, weight, axis)?;
    if by.signed && by.zero != 0 {
        return Err(missing("weights whose zero points are not 0"));
    }
    let bias = with_bias(site, 2, DType::I32)?;
    let channels = geometry.groups.saturating_mul(geometry.results);
    let factors = factors(x, weight, y, (channels, !by.signed))?;
    let kernel = QuantizedConv {
        geometry: Conv { bias, ..geometry },
        image: level(x)?,
        weight: by,
        result: requantize(y, fused, fixed(&factors)?)?,
    };
    let operands = if bias { 3 } else { 2 };
    Ok(part(Quantized::Conv(kernel), operands))
}

/// Bytes of the same kind.
fn same_kind(a: &Known<'_>, b: &Known<'_>) -> Result<(), Trouble> {
    if a.dtype()? != b.dtype()? {
        return Err(missing(format!(
            "operands of types {} and {}",
            a.dtype()?,
            b.dtype()?
        )));
    }
    Ok(())
}

pub(super) fn fully_connected(site: &Site<'_>, product: &Product, fused: Fused) -> Answer {
    let (x, weight, y) = (site.operand(0)?, site.operand(1)?, site.result()?);
    same_kind(x, y)?;
    let b = weight_level(x, weight, 0)?;
    let bias = with_bias(site, 2, DType::I32)?;
    // The stock reference kernel multiplies by the factor itself.
    let factors = Factors::Real(factors(x, weight, y, (product.n, false))?);
    let kernel = QuantizedMatMul {
        m: product.m,
        n: product.n,
        k: product.k,
        a: level(x)?,
        b,
        bias,
        result: requantize(y, fused, factors)?,
    };
    let operands = if bias { 3 } else { 2 };
    Ok(part(Quantized::MatMul(kernel), operands))
}

pub(super) fn pool(site: &Site<'_>, geometry: Pool, fused: Fused) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    same_kind(x, y)?;
    let (from, to) = (x.level()?, y.level()?);
    if (from.0 - to.0).abs() > 1.0e-6 || from.1 != to.1 {
        return Err(missing("a result of another scale"));
    }
    let (low, high) = range(y, fused)?;
    let signed = y.dtype()? == DType::I8;
    Ok(part(
        Quantized::Pool(QuantizedPool {
            geometry,
            signed,
            low,
            high,
        }),
        1,
    ))
}

pub(super) fn joined(site: &Site<'_>, join: Binary, fused: Fused) -> Answer {
    let (a, b, y) = (site.operand(0)?, site.operand(1)?, site.result()?);
    same_kind(a, y)?;
    let (from_a, from_b, to) = (a.level()?.0, b.level()?.0, y.level()?.0);
    let levels = [level(a)?, level(b)?];
    let (join, factor) = match join {
        Binary::Add | Binary::Sub => {
            let twice = f64::from(2.0 * from_a.max(from_b));
            let sign = if join == Binary::Sub { -1 } else { 1 };
            let tables = [
                summand(levels[0], f64::from(from_a) / twice, 1)?,
                summand(levels[1], f64::from(from_b) / twice, sign)?,
            ];
            let factor = twice / f64::from(1_048_576.0 * to);
            (Join::Sum(Box::new(tables)), factor)
        }
        Binary::Mul => (Join::Product(levels), f64::from(from_a * from_b / to)),
        _ => return Err(missing("operands of 8 bits")),
    };
    let kernel = QuantizedJoin {
        join,
        broadcast: broadcast(y, &[a, b])?,
        result: requantize(y, fused, fixed(&[factor])?)?,
    };
    Ok(part(Quantized::Join(kernel), 2))
}

/// By byte: what an operand adds to a sum, with 20 bits behind the point.
fn summand(level: Level, factor: f64, sign: i32) -> Result<[i32; 256], Trouble> {
    let scale = scale(factor)?;
    Ok(by_byte(|byte| sign * scale.apply(level.of(byte) << 20)))
}

fn by_byte<T: Copy + Default>(value: impl Fn(u8) -> T) -> [T; 256] {
    let mut table = [T::default(); 256];
    for byte in 0..=u8::MAX {
        table[usize::from(byte)] = value(byte);
    }
    table
}

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
        Unary::Sigmoid => real(site, |x| 1.0 / (1.0 + (-x).exp())),
        Unary::Tanh => real(site, f32::tanh),
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
            sign * below.apply(x)
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

/// QUANTIZE: real numbers to bytes, or bytes on another scale.
pub(super) fn to_bytes(site: &Site<'_>) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    let ((to, zero), dtype) = (y.level()?, x.dtype()?);
    if dtype == DType::F32 {
        let kernel = ToBytes {
            scale: to,
            level: level(y)?,
            count: x.count()?,
        };
        return Ok(part(Quantized::ToBytes(kernel), 1));
    }
    let factor = f64::from(x.level()?.0) / f64::from(to);
    let scale = scale(factor)?;
    lookup(site, |x| scale.apply(x).saturating_add(zero))
}

/// DEQUANTIZE.
pub(super) fn from_bytes(site: &Site<'_>) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    let dtype = x.dtype()?;
    if !x.is_quantized() || y.dtype()? != DType::F32 {
        return Err(missing(format!("from {dtype} to {}", y.dtype()?)));
    }
    let (scales, zeros) = (x.scales.scales.clone(), x.scales.zeros.clone());
    let inner = if scales.len() == 1 {
        1
    } else {
        let axis = x.scales.axis;
        if x.shape.get(axis) != Some(&scales.len()) {
            return Err(missing("scales that do not fit the shape"));
        }
        super::site::count(&x.shape[axis + 1..])?
    };
    let kernel = FromBytes {
        scales,
        zeros,
        signed: dtype == DType::I8,
        inner,
        count: x.count()?,
    };
    Ok(part(Quantized::FromBytes(kernel), 1))
}

/// The exponentials of differences of bytes, as fractions of 2^31.
pub(super) fn softmax(site: &Site<'_>, (outer, axis): (usize, usize), beta: f32) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    same_kind(x, y)?;
    let signed = x.dtype()? == DType::I8;
    let (to, zero) = y.level()?;
    if (to - 1.0 / 256.0).abs() > 0.001 / 256.0 || zero != limits(signed).0 {
        return Err(missing("a result whose scale is not 1/256"));
    }
    // 26 bits behind the point.
    let factor = f64::from(beta) * f64::from(x.level()?.0) * 67_108_864.0;
    let scale = scale(factor.min(2_147_483_647.0))?;
    if scale.shift < 0 {
        return Err(missing("such a small scale"));
    }
    // What lies further below counts nothing.
    let reach = (31_i64 << 26) >> scale.shift;
    let mut exps = [0; 256];
    for (below, exp) in (0..256_i32).zip(exps.iter_mut()) {
        if i64::from(below) <= reach {
            let scaled = high_product(
                (-below).wrapping_shl(scale.shift.unsigned_abs()),
                scale.multiplier,
            );
            *exp = exp_of_negative(scaled);
        }
    }
    let kernel = QuantizedSoftmax {
        outer,
        axis,
        signed,
        exps: Box::new(exps),
    };
    Ok(part(Quantized::Softmax(kernel), 1))
}

/// MEAN: the number of elements goes into the factor.
pub(super) fn reduce(site: &Site<'_>, geometry: Reduce) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    same_kind(x, y)?;
    if geometry.reduction != Reduction::Mean {
        return Err(missing("operands of 8 bits"));
    }
    let each: Vec<usize> = geometry.reduced.iter().map(|axis| axis.0).collect();
    let all = i64::try_from(super::site::count(&each)?).unwrap_or(i64::MAX);
    if all == 0 || all > 1 << 22 {
        return Err(missing(format!("a mean of {all} elements")));
    }
    let mut scale = scale(f64::from(x.level()?.0) / f64::from(y.level()?.0))?;
    let bits = i32::try_from(all.ilog2())
        .unwrap_or(0)
        .min(31 + scale.shift);
    let divided = (i64::from(scale.multiplier) << bits) / all;
    scale.multiplier = i32::try_from(divided).map_err(|_| missing("such scales"))?;
    scale.shift -= bits;
    let kernel = QuantizedReduce {
        kept: geometry.kept,
        reduced: geometry.reduced,
        operand: level(x)?,
        result: requantize(y, Fused::Nothing, Factors::Fixed(vec![scale]))?,
    };
    Ok(part(Quantized::Reduce(kernel), 1))
}
