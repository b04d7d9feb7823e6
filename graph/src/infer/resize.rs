//! Operators that change sizes: padding, scaling, sampling.

use super::call::{Answer, Attr, Call, InferError, Rule, axis, dim};
use super::fact::Fact;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Pad" => pad,
        "Resize" => resize,
        "Upsample" => upsample,
        "GridSample" => grid_sample,
        "RoiAlign" => roi_align,
        _ => return None,
    })
}

/// The axes that a list is about: those named, or all.
fn axes(call: &Call<'_>, operand: usize, rank: usize) -> Result<Vec<usize>, InferError> {
    match call.ints_or(operand, "axes")? {
        Some(list) => list.iter().map(|&raw| axis(raw, rank)).collect(),
        None => Ok((0..rank).collect()),
    }
}

/// Paddings before and behind each axis.
pub(crate) fn paddings(call: &Call<'_>) -> Result<Vec<[i128; 2]>, InferError> {
    let x = call.input(0)?;
    let old = call
        .attr_ints("pads")
        .or_else(|| call.attr_ints("paddings"));
    let pads = match call.optional(1) {
        Some(_) => call.ints(1)?,
        None => old.ok_or(InferError::Missing { operand: 1 })?,
    };
    let axes = axes(call, 3, x.rank())?;
    if pads.len() != 2 * axes.len() {
        let (found, count) = (pads.len(), axes.len());
        return Err(InferError::Mismatch(format!(
            "{found} paddings for {count} dimensions"
        )));
    }
    let mut both = vec![[0; 2]; x.rank()];
    for (place, &along) in axes.iter().enumerate() {
        both[along][0] += i128::from(pads[place]);
        both[along][1] += i128::from(pads[place + axes.len()]);
    }
    Ok(both)
}

fn pad(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let mut shape = x.shape.clone();
    for (size, [begin, end]) in shape.iter_mut().zip(paddings(call)?) {
        *size = dim(i128::from(*size) + begin + end)?;
    }
    Ok(vec![Fact::new(x.dtype, shape)?])
}

/// A dimension times a scale as a 32-bit kernel computes it.
#[expect(clippy::cast_possible_truncation, reason = "kernels scale in 32 bits")]
fn scaled(size: u64, scale: f64) -> Result<u64, InferError> {
    let product = size as f32 * scale as f32;
    if product.is_nan() || product < 0.0 {
        return Err(InferError::Mismatch(format!("{size} scaled by {scale}")));
    }
    dim(product as i128)
}

fn scale(x: &Fact, axes: &[usize], scales: &[f64]) -> Answer {
    if scales.len() != axes.len() {
        let (found, count) = (scales.len(), axes.len());
        return Err(InferError::Mismatch(format!(
            "{found} scales for {count} dimensions"
        )));
    }
    let mut shape = x.shape.clone();
    for (&along, &factor) in axes.iter().zip(scales) {
        shape[along] = scaled(shape[along], factor)?;
    }
    Ok(vec![Fact::new(x.dtype, shape)?])
}

/// The axes that a `Resize` is about.
fn resized(call: &Call<'_>, x: &Fact) -> Result<Vec<usize>, InferError> {
    match call.attr_ints("axes").filter(|_| call.opset >= 11) {
        Some(list) => list.iter().map(|&raw| axis(raw, x.rank())).collect(),
        None => Ok((0..x.rank()).collect()),
    }
}

/// Whether a `Resize` is told the sizes of its result.
fn sized(call: &Call<'_>) -> bool {
    call.opset >= 11 && call.optional(3).is_some_and(|sizes| sizes.elements() > 0)
}

/// The scales that a `Resize` is told.
fn told(call: &Call<'_>) -> Result<Vec<f64>, InferError> {
    let operand = if call.opset < 11 { 1 } else { 2 };
    call.value(operand).map(super::Value::floats)
}

fn resize(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let axes = resized(call, x)?;
    if sized(call) {
        return fit(call, x, &axes, call.ints(3)?);
    }
    scale(x, &axes, &told(call)?)
}

/// By how much a `Resize` or `Upsample` stretches each axis, as its kernel reckons.
pub(crate) fn factors(call: &Call<'_>) -> Result<Vec<f64>, InferError> {
    let x = call.input(0)?;
    let (axes, list) = if call.op == "Upsample" {
        ((0..x.rank()).collect(), raised(call)?)
    } else {
        let axes = resized(call, x)?;
        let list = if sized(call) {
            ratios(call, x, &axes)?
        } else {
            told(call)?
        };
        (axes, list)
    };
    let mut factors = vec![1.0; x.rank()];
    for (along, factor) in axes.into_iter().zip(list) {
        factors[along] = factor;
    }
    Ok(factors)
}

/// The stretch of each axis where a `Resize` is told the sizes of its result.
fn ratios(call: &Call<'_>, x: &Fact, axes: &[usize]) -> Result<Vec<f64>, InferError> {
    let sizes = super::call::dims(call.ints(3)?)?;
    let pairs = axes.iter().zip(&sizes);
    let ratios: Vec<f64> = pairs
        .map(|(&along, &size)| size as f64 / x.shape[along] as f64)
        .collect();
    let ratio = common(call, &ratios);
    Ok(ratio.map_or(ratios, |ratio| vec![ratio; axes.len()]))
}

/// The one stretch of all axes, where the ratio of sides is kept.
fn common(call: &Call<'_>, ratios: &[f64]) -> Option<f64> {
    let all = ratios.iter().copied();
    match call.attr_text("keep_aspect_ratio_policy", "stretch") {
        "not_larger" => Some(all.fold(f64::INFINITY, f64::min)),
        "not_smaller" => Some(all.fold(0.0, f64::max)),
        _ => None,
    }
}

/// To given sizes, the ratio of sides kept where the node asks for it.
fn fit(call: &Call<'_>, x: &Fact, axes: &[usize], sizes: &[i64]) -> Answer {
    let sizes = super::call::dims(sizes)?;
    if sizes.len() != axes.len() {
        let (found, count) = (sizes.len(), axes.len());
        return Err(InferError::Mismatch(format!(
            "{found} sizes for {count} dimensions"
        )));
    }
    let pairs = axes.iter().zip(&sizes);
    let ratios: Vec<f64> = pairs
        .map(|(&along, &size)| size as f64 / x.shape[along] as f64)
        .collect();
    let ratio = common(call, &ratios);
    let mut shape = x.shape.clone();
    for (&along, &size) in axes.iter().zip(&sizes) {
        shape[along] = match ratio {
            Some(ratio) => scaled(1, (shape[along] as f64 * ratio).round())?,
            None => size,
        };
    }
    Ok(vec![Fact::new(x.dtype, shape)?])
}

fn upsample(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let all: Vec<usize> = (0..x.rank()).collect();
    scale(x, &all, &raised(call)?)
}

/// The scales of an `Upsample`.
fn raised(call: &Call<'_>) -> Result<Vec<f64>, InferError> {
    match (call.optional(1), call.attrs.get("scales")) {
        (Some(_), _) => call.value(1).map(super::Value::floats),
        (None, Some(Attr::Floats(list))) => Ok(list.clone()),
        (None, _) => {
            let factor = |name| call.attr_float(name, 1.0);
            Ok(vec![
                1.0,
                1.0,
                factor("height_scale"),
                factor("width_scale"),
            ])
        }
    }
}

fn grid_sample(call: &Call<'_>) -> Answer {
    let (x, grid) = (call.input(0)?, call.input(1)?);
    let ([batch, channels, ..], [_, sizes @ .., _]) = (&x.shape[..], &grid.shape[..]) else {
        return Err(InferError::Mismatch(format!(
            "{:?} sampled at {:?}",
            x.shape, grid.shape
        )));
    };
    let mut shape = vec![*batch, *channels];
    shape.extend(sizes);
    Ok(vec![Fact::new(x.dtype, shape)?])
}

fn roi_align(call: &Call<'_>) -> Answer {
    let (x, regions) = (call.input(0)?, call.input(1)?);
    let (Some(&count), Some(&channels)) = (regions.shape.first(), x.shape.get(1)) else {
        return Err(InferError::Mismatch(format!(
            "{:?} at {:?}",
            x.shape, regions.shape
        )));
    };
    let side = |name| dim(i128::from(call.attr_int(name, 1)));
    let shape = vec![
        count,
        channels,
        side("output_height")?,
        side("output_width")?,
    ];
    Ok(vec![Fact::new(x.dtype, shape)?])
}
