//! Operators that give the same elements another shape or order.

use super::site::{Answer, Rule, Site, list, mismatch, number, only};
use crate::infer::{Attr, Fact, InferError, axis, dim};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "RESHAPE" => reshape,
        "SQUEEZE" => squeeze,
        "EXPAND_DIMS" => expand_dims,
        "TRANSPOSE" => transpose,
        "PACK" => pack,
        "UNPACK" => unpack,
        "BITCAST" => bitcast,
        "SPACE_TO_DEPTH" => space_to_depth,
        "DEPTH_TO_SPACE" => depth_to_space,
        "SPACE_TO_BATCH_ND" => space_to_batch,
        "BATCH_TO_SPACE_ND" => batch_to_space,
        "MATRIX_DIAG" => matrix_diag,
        _ => return None,
    })
}

/// The new shape is operand 1 where that is a list, else an option; zeros are zeros.
fn reshape(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let given = site.call.optional(1).filter(|shape| shape.rank() == 1);
    let stated;
    let shape = if let Some(shape) = given {
        site.ints(1)?;
        shape
    } else {
        let mut option = site.options(17)?.ints(0, "the new shape of a RESHAPE")?;
        if option == [0] {
            option.clear(); // how old files spell a scalar
        }
        stated = list(option);
        &stated
    };
    let literal = ("allowzero", Attr::Int(1));
    Ok(site.run("Reshape", &[Some(x), Some(shape)], &[literal])?)
}

fn squeeze(site: &Site<'_>) -> Answer {
    let axes = site.options(30)?.ints(0, "the axes of a SQUEEZE")?;
    let attrs = [("axes", Attr::Ints(axes))];
    let none = attrs.iter().all(|(_, a)| *a == Attr::Ints(Vec::new()));
    let attrs = if none { &[][..] } else { &attrs[..] };
    Ok(site.run("Squeeze", &[Some(site.operand(0)?)], attrs)?)
}

fn expand_dims(site: &Site<'_>) -> Answer {
    let place = list([site.call.int(1)?]);
    Ok(site.run("Unsqueeze", &[Some(site.operand(0)?), Some(&place)], &[])?)
}

fn transpose(site: &Site<'_>) -> Answer {
    let order = ("perm", Attr::Ints(site.ints(1)?.to_vec()));
    Ok(site.run("Transpose", &[Some(site.operand(0)?)], &[order])?)
}

fn pack(site: &Site<'_>) -> Answer {
    let along = site.options(59)?.int(1, "the axis of a PACK", 0)?;
    let place = list([along]);
    let count = site.call.inputs.len();
    let all = site.operand(0)?.elements().saturating_mul(count as u64);
    let small = all <= site.call.fold_limit;
    let mut parts = Vec::with_capacity(count);
    for position in 0..count {
        let mut part = site.operand(position)?.clone();
        part.value = part.value.filter(|_| small);
        parts.push(only(site.run(
            "Unsqueeze",
            &[Some(&part), Some(&place)],
            &[],
        )?)?);
    }
    let parts: Vec<Option<&Fact>> = parts.iter().map(Some).collect();
    Ok(site.run("Concat", &parts, &[("axis", Attr::Int(along))])?)
}

fn unpack(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let along = axis(
        site.options(64)?.int(1, "the axis of an UNPACK", 0)?,
        x.rank(),
    )?;
    let count = site.call.outputs;
    if x.shape[along] != count as u64 {
        let why = format!("axis {along} of {:?} unpacked to {count}", x.shape);
        return Err(mismatch(why).into());
    }
    let attrs = [("axis", Attr::Int(number(along)))];
    let place = list([number(along)]);
    let parts = site.run("Split", &[Some(x)], &attrs)?;
    let squeeze = |part: &Fact| only(site.run("Squeeze", &[Some(part), Some(&place)], &[])?);
    Ok(parts.iter().map(squeeze).collect::<Result<_, _>>()?)
}

/// A narrower type adds a dimension, a wider one takes the last away.
fn bitcast(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let (from, to) = (x.dtype.bits(), site.dtype().bits());
    let mut shape = x.shape.clone();
    if from > to {
        shape.push(from / to);
    } else if from < to && shape.pop() != Some(to / from) {
        let why = format!("{:?} elements of {from} bits as elements of {to}", x.shape);
        return Err(mismatch(why).into());
    }
    site.one(shape)
}

/// Batch, height, width, channels, and the side of a block.
fn blocks(site: &Site<'_>, options: u8) -> Result<([u64; 4], i64), super::site::Trouble> {
    let block = site.options(options)?.int(0, "the side of a block", 0)?;
    match site.operand(0)?.shape[..] {
        [n, h, w, c] => Ok(([n, h, w, c], block)),
        ref shape => Err(mismatch(format!("an image of shape {shape:?}")).into()),
    }
}

fn blocked(site: &Site<'_>, op: &str, options: u8) -> Answer {
    let ([n, h, w, c], block) = blocks(site, options)?;
    let x = Fact::new(site.dtype(), vec![n, c, h, w])?;
    let result = only(site.run(op, &[Some(&x)], &[("blocksize", Attr::Int(block))])?)?;
    match result.shape[..] {
        [n, c, h, w] => site.one(vec![n, h, w, c]),
        _ => Err(InferError::UnknownOp.into()),
    }
}

fn space_to_depth(site: &Site<'_>) -> Answer {
    blocked(site, "SpaceToDepth", 19)
}

fn depth_to_space(site: &Site<'_>) -> Answer {
    blocked(site, "DepthToSpace", 94)
}

/// Sides of blocks, and what is added to (or cropped from) both ends of each dimension.
fn sides(site: &Site<'_>) -> Result<Vec<(u64, i128)>, InferError> {
    let (sides, ends) = (site.dims(1)?, site.dims(2)?);
    let rank = site.operand(0)?.rank();
    if ends.len() != 2 * sides.len() || sides.len() >= rank || sides.contains(&0) {
        let why = format!("blocks of {sides:?} with {ends:?} at {rank} dimensions");
        return Err(mismatch(why));
    }
    let both = ends
        .chunks(2)
        .map(|ends| ends.iter().map(|&end| i128::from(end)).sum());
    Ok(sides.into_iter().zip(both).collect())
}

fn space_to_batch(site: &Site<'_>) -> Answer {
    let mut shape = site.operand(0)?.shape.clone();
    for (place, (side, more)) in sides(site)?.into_iter().enumerate() {
        let padded = dim(i128::from(shape[place + 1]) + more)?;
        if !padded.is_multiple_of(side) {
            return Err(mismatch(format!("{padded} in blocks of {side}")).into());
        }
        shape[place + 1] = padded / side;
        shape[0] = product(shape[0], side)?;
    }
    site.one(shape)
}

fn batch_to_space(site: &Site<'_>) -> Answer {
    let mut shape = site.operand(0)?.shape.clone();
    for (place, (side, less)) in sides(site)?.into_iter().enumerate() {
        if !shape[0].is_multiple_of(side) {
            return Err(mismatch(format!("a batch of {} in blocks of {side}", shape[0])).into());
        }
        shape[0] /= side;
        shape[place + 1] = dim(i128::from(product(shape[place + 1], side)?) - less)?;
    }
    site.one(shape)
}

fn product(a: u64, b: u64) -> Result<u64, InferError> {
    dim(i128::from(a).saturating_mul(i128::from(b)))
}

fn matrix_diag(site: &Site<'_>) -> Answer {
    let mut shape = site.operand(0)?.shape.clone();
    let last = *shape
        .last()
        .ok_or_else(|| mismatch("a diagonal without elements"))?;
    shape.push(last);
    site.one(shape)
}
