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

fn pad(call: &Call<'_>) -> Answer {
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
    let mut shape = x.shape.clone();
    for (place, &along) in axes.iter().enumerate() {
        let both = i128::from(pads[place]) + i128::from(pads[place + axes.len()]);
        shape[along] = dim(i128::from(shape[along]) + both)?;
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

fn resize(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let all: Vec<usize> = (0..x.rank()).collect();
    if call.opset < 11 {
        return scale(x, &all, &call.value(1)?.floats());
    }
    let axes = match call.attr_ints("axes") {
        Some(list) => list
            .iter()
            .map(|&raw| axis(raw, x.rank()))
            .collect::<Result<_, _>>()?,
        None => all,
    };
    if call.optional(3).is_some_and(|sizes| sizes.elements() > 0) {
        return fit(call, x, &axes, call.ints(3)?);
    }
    scale(x, &axes, &call.value(2)?.floats())
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
    let ratios = axes
        .iter()
        .zip(&sizes)
        .map(|(&along, &size)| size as f64 / x.shape[along] as f64);
    let ratio = match call.attr_text("keep_aspect_ratio_policy", "stretch") {
        "not_larger" => Some(ratios.fold(f64::INFINITY, f64::min)),
        "not_smaller" => Some(ratios.fold(0.0, f64::max)),
        _ => None,
    };
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
    match (call.optional(1), call.attrs.get("scales")) {
        (Some(_), _) => scale(x, &all, &call.value(1)?.floats()),
        (None, Some(Attr::Floats(list))) => scale(x, &all, list),
        (None, _) => {
            let factor = |name| match call.attrs.get(name) {
                Some(&Attr::Float(value)) => value,
                _ => 1.0,
            };
            scale(
                x,
                &all,
                &[1.0, 1.0, factor("height_scale"), factor("width_scale")],
            )
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
