//! Operators on 8-bit integers that stand for real numbers.
//!
//! The factors are worked out as the stock runtime does, with its widths: some products of scales are
//! taken in 32 bits, some in 64, and the last bit of a factor decides results.

use super::bytewise;
use super::dense::{Product, with_bias};
use super::joined::broadcast;
use super::scaled::{by_byte, level, limits, part, range, same_kind, scale};
use super::site::{Answer, Fused, Known, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::fixed::{exp_of_negative, high_product};
use crate::kernel::quantized::{
    Factors, FromBytes, Join, Level, QuantizedConv, QuantizedJoin, QuantizedMatMul, QuantizedPool,
    QuantizedReduce, QuantizedSoftmax, Requantize, ToBytes,
};
use crate::kernel::{Binary, Conv, Pool, Quantized, Reduce, Reduction, WeightLayout};

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
    if weight.scales.scales.len() == 1 {
        return level(weight);
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
pub(super) fn conv(site: &Site<'_>, mut geometry: Conv, fused: Fused) -> Answer {
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
    geometry.bias = with_bias(site, 2, DType::I32)?;
    let operands = if geometry.bias { 3 } else { 2 };
    let channels = geometry.groups.saturating_mul(geometry.results);
    let factors = factors(x, weight, y, (channels, !by.signed))?;
    let kernel = QuantizedConv {
        geometry,
        image: level(x)?,
        weight: by,
        result: requantize(y, fused, fixed(&factors)?)?,
    };
    Ok(part(Quantized::Conv(kernel), operands))
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
    Ok(by_byte(|byte| {
        sign.wrapping_mul(scale.apply(level.of(byte) << 20))
    }))
}

/// QUANTIZE: real numbers to bytes, or bytes on another scale.
pub(super) fn to_bytes(site: &Site<'_>) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    let ((to, _), dtype) = (y.level()?, x.dtype()?);
    if dtype == DType::F32 {
        let kernel = ToBytes {
            scale: to,
            level: level(y)?,
            count: x.count()?,
        };
        return Ok(part(Quantized::ToBytes(kernel), 1));
    }
    bytewise::rescaled(site)
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
