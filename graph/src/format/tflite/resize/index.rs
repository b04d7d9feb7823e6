//! Operators that pick, join, cut, pad and repeat elements.

use super::site::{Answer, Rule, Site, list, mismatch, number};
use crate::infer::{Attr, Fact, InferError, axis, broadcast, dim};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "CONCATENATION" => concat,
        "SPLIT" => split,
        "SPLIT_V" => split_v,
        "SLICE" => slice,
        "PAD" | "PADV2" | "MIRROR_PAD" => pad,
        "GATHER" => gather,
        "REVERSE_V2" => reverse,
        "GATHER_ND" => |site| Ok(site.run("GatherND", site.call.inputs, &[])?),
        "TILE" => |site| Ok(site.run("Tile", site.call.inputs, &[])?),
        "BROADCAST_TO" => broadcast_to,
        "BROADCAST_ARGS" => broadcast_args,
        "SCATTER_ND" => |site| site.one(site.dims(2)?),
        "SPARSE_TO_DENSE" => |site| site.one(site.dims(1)?),
        "SEGMENT_SUM" => segments,
        "UNSORTED_SEGMENT_PROD"
        | "UNSORTED_SEGMENT_MAX"
        | "UNSORTED_SEGMENT_SUM"
        | "UNSORTED_SEGMENT_MIN" => unsorted_segments,
        _ => return None,
    })
}

fn concat(site: &Site<'_>) -> Answer {
    let along = site.options(10)?.int(0, "the axis of a CONCATENATION", 0)?;
    Ok(site.run("Concat", site.call.inputs, &[("axis", Attr::Int(along))])?)
}

/// Operand 0 is the axis.
fn split(site: &Site<'_>) -> Answer {
    let x = site.operand(1)?;
    let along = axis(site.call.int(0)?, x.rank())?;
    let parts = site.call.outputs as u64;
    if parts == 0 || !x.shape[along].is_multiple_of(parts) {
        let why = format!("axis {along} of {:?} in {parts} equal parts", x.shape);
        return Err(mismatch(why).into());
    }
    let attrs = [("axis", Attr::Int(number(along)))];
    Ok(site.run("Split", &[Some(x)], &attrs)?)
}

/// Operand 1 lists the parts, of which one may be -1: what is left; operand 2 is the axis.
fn split_v(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let along = axis(site.call.int(2)?, x.rank())?;
    let mut sizes = site.ints(1)?.to_vec();
    let known: i128 = sizes
        .iter()
        .filter(|&&s| s != -1)
        .map(|&s| i128::from(s))
        .sum();
    let rest = i64::try_from(i128::from(x.shape[along]) - known).unwrap_or(-1);
    if let Some(open) = sizes.iter_mut().find(|size| **size == -1) {
        *open = rest;
    }
    let attrs = [("axis", Attr::Int(number(along)))];
    Ok(site.run("Split", &[Some(x), Some(&list(sizes))], &attrs)?)
}

/// Begins and sizes; -1 is all that is left.
fn slice(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let (begins, sizes) = (site.ints(1)?, site.ints(2)?);
    if begins.len() != x.rank() || sizes.len() != x.rank() {
        let why = format!(
            "{} begins, {} sizes for {:?}",
            begins.len(),
            sizes.len(),
            x.shape
        );
        return Err(mismatch(why).into());
    }
    let mut ends = Vec::with_capacity(sizes.len());
    for ((&begin, &size), &room) in begins.iter().zip(sizes).zip(&x.shape) {
        let last = i128::from(begin) + i128::from(size);
        let end = if size == -1 { i128::from(room) } else { last };
        if begin < 0 || size < -1 || end > i128::from(room) || i128::from(begin) > end {
            let why = format!(
                "a slice of {sizes:?} from {begins:?} is not inside {:?}",
                x.shape
            );
            return Err(mismatch(why).into());
        }
        ends.push(i64::try_from(end).unwrap_or(i64::MAX));
    }
    let (begins, ends) = (list(begins.iter().copied()), list(ends));
    Ok(site.run("Slice", &[Some(x), Some(&begins), Some(&ends)], &[])?)
}

/// Operand 1 lists the axes along which the order turns.
fn reverse(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let Ok(axes) = site.ints(1) else {
        return site.one(x.shape.clone());
    };
    let each = |value| list(axes.iter().map(|_| value));
    let (begins, ends, steps) = (each(i64::MAX), each(i64::MIN), each(-1));
    let axes = list(axes.iter().copied());
    let operands = [&begins, &ends, &axes, &steps].map(Some);
    Ok(site.run("Slice", &[&[Some(x)], &operands[..]].concat(), &[])?)
}

/// Pairs of paddings; the shared rule has those of the beginnings first.
fn pad(site: &Site<'_>) -> Answer {
    let pads = site.ints(1)?;
    if let Some(less) = pads.iter().find(|&&pad| pad < 0) {
        return Err(mismatch(format!("a padding of {less}")).into());
    }
    let begins = pads.iter().step_by(2);
    let ends = pads.iter().skip(1).step_by(2);
    let sorted = list(begins.chain(ends).copied());
    Ok(site.run("Pad", &[Some(site.operand(0)?), Some(&sorted)], &[])?)
}

fn gather(site: &Site<'_>) -> Answer {
    let options = site.options(23)?;
    let (x, indices) = (site.operand(0)?, site.operand(1)?);
    let along = axis(options.int(0, "the axis of a GATHER", 0)?, x.rank())?;
    let batch = options.int(1, "the batch dimensions of a GATHER", 0)?;
    if batch == 0 {
        let attrs = [("axis", Attr::Int(number(along)))];
        return Ok(site.run("Gather", &[Some(x), Some(indices)], &attrs)?);
    }
    let batch = axis(batch, indices.rank() + 1)?;
    if batch > along || x.shape[..batch] != indices.shape[..batch] {
        let why = format!("{:?} gathered at {:?} over {batch}", x.shape, indices.shape);
        return Err(mismatch(why).into());
    }
    let (left, right) = (&x.shape[..along], &x.shape[along + 1..]);
    site.one([left, &indices.shape[batch..], right].concat())
}

fn broadcast_to(site: &Site<'_>) -> Answer {
    let facts = site.run("Expand", site.call.inputs, &[])?;
    let wanted = site.dims(1)?;
    if facts.iter().any(|fact| fact.shape != wanted) {
        let why = format!(
            "{:?} does not broadcast to {wanted:?}",
            site.operand(0)?.shape
        );
        return Err(mismatch(why).into());
    }
    Ok(facts)
}

/// The shape that two shapes broadcast to, as a value.
fn broadcast_args(site: &Site<'_>) -> Answer {
    let both = broadcast(&site.dims(0)?, &site.dims(1)?)?;
    let signed = both.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX));
    Ok(vec![list(signed)])
}

/// As many rows as the largest number of a segment says.
fn segments(site: &Site<'_>) -> Answer {
    let last = site.ints(1)?.iter().copied().max().unwrap_or(-1);
    rows(site, 1, i128::from(last) + 1)
}

fn unsorted_segments(site: &Site<'_>) -> Answer {
    let ids = site.operand(1)?.rank();
    rows(site, ids, i128::from(site.call.int(2)?))
}

/// `count` rows instead of the first `skip` dimensions of operand 0.
fn rows(site: &Site<'_>, skip: usize, count: i128) -> Answer {
    let x = site.operand(0)?;
    let rest = x.shape.get(skip..);
    let rest = rest.ok_or_else(|| InferError::Mismatch(format!("segments of {:?}", x.shape)))?;
    let result = Fact::new(site.dtype(), [&[dim(count)?], rest].concat())?;
    Ok(vec![result])
}
