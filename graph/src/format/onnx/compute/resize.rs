//! Resampling: nearest elements are moved, others are mixed.

use super::site::{Parts, Rule, Site, Why, dims, element, one};
use super::taps::{Coordinates, Nearest, Sampled};
use super::tidy::rearranged;
use crate::infer::factors;
use crate::kernel::{Index, Interpolate, Kernel, TapAxis, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    match op {
        "Resize" | "Upsample" => Some(resize),
        _ => None,
    }
}

fn resize(site: &Site<'_>) -> Parts {
    if site.flag("antialias") {
        return Err("attribute `antialias` is set".into());
    }
    if dims(site.input(0)?).contains(&0) {
        return Err("an operand without elements".into());
    }
    if axes(site)?.iter().any(Sampled::is_ambiguous) {
        return Err("corners aligned to a size that is not whole".into());
    }
    match site.call.attr_text("mode", "nearest") {
        "nearest" => nearest(site),
        "linear" | "bilinear" => mixed(site, 2, |_, axis| axis.linear()),
        "cubic" => mixed(site, 4, |site, axis| {
            let a = site.float("cubic_coeff_a", -0.75);
            axis.cubic(a, site.flag("exclude_outside"))
        }),
        other => Err(format!("attribute `mode` is `{other}`").into()),
    }
}

/// The axes, of which those that stay as they are have scale 1.
#[expect(clippy::cast_possible_truncation, reason = "the file has 32 bits")]
fn axes(site: &Site<'_>) -> Result<Vec<Sampled>, Why> {
    let (input, output) = (dims(site.input(0)?), dims(site.result()?));
    let coordinates = Coordinates::of(site)?;
    let pairs = input.into_iter().zip(output).zip(factors(&site.call)?);
    Ok(pairs
        .map(|((input, output), factor)| Sampled {
            input,
            output,
            scale: factor as f32,
            coordinates,
        })
        .collect())
}

fn unchanged(axis: &Sampled) -> bool {
    axis.input == axis.output && axis.scale.to_bits() == 1_f32.to_bits()
}

fn nearest(site: &Site<'_>) -> Parts {
    let x = site.input(0)?;
    let mut from = Vec::new();
    for (axis, row) in axes(site)?.iter().zip(row_strides(&dims(x))) {
        from.push(if unchanged(axis) {
            Index::Stride(isize::try_from(row).unwrap_or(isize::MAX))
        } else {
            site.table(axis.output)?;
            let elements = axis.nearest(Nearest::of(site, axis.scale)?);
            let offsets = elements.into_iter().map(|at| Some(at.saturating_mul(row)));
            Index::Table(offsets.collect())
        });
    }
    Ok(rearranged(
        element(x)?,
        &dims(site.result()?),
        from,
        0,
        None,
    ))
}

fn mixed(
    site: &Site<'_>,
    taps: usize,
    table: fn(&Site<'_>, &Sampled) -> Vec<(usize, f32)>,
) -> Parts {
    let x = site.floats(0)?;
    let mut mixed: Vec<TapAxis> = Vec::new();
    for (axis, row) in axes(site)?.iter().zip(row_strides(&dims(x))) {
        let taps = if unchanged(axis) { 1 } else { taps };
        site.table(axis.output.saturating_mul(taps))?;
        let table = if unchanged(axis) {
            (0..axis.output).map(|at| (at, 1.0)).collect()
        } else {
            table(site, axis)
        };
        let offset = |(at, weight): (usize, f32)| (at.saturating_mul(row), weight);
        mixed.push(TapAxis {
            count: axis.output,
            taps,
            table: table.into_iter().map(offset).collect(),
        });
    }
    Ok(one(Kernel::Interpolate(Interpolate { axes: mixed }), &[0]))
}
