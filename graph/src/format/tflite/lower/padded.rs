//! Operands with a margin.

use super::moved::{part, same_meaning, signed, tabled};
use super::site::{Answer, Known, Rule, Site, Trouble, missing};
use crate::kernel::{Axis, Index, Rearrange, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "PAD" | "PADV2" => pad,
        "MIRROR_PAD" => mirror,
        _ => return None,
    })
}

/// Padding before and behind each dimension.
fn paddings(site: &Site<'_>) -> Result<Vec<(usize, usize)>, Trouble> {
    let (x, result) = (site.operand(0)?, site.result()?);
    let list = site.ints(1)?;
    if list.len() != 2 * x.shape.len() || result.shape.len() != x.shape.len() {
        return Err(missing("paddings of other dimensions"));
    }
    let (pairs, _) = list.as_chunks::<2>();
    let pair = |((&[before, behind], &from), &to): ((&[i64; 2], &usize), &usize)| {
        let [before, behind] = [before, behind].map(|n| usize::try_from(n).ok());
        let (before, behind) = before.zip(behind)?;
        let all = from.checked_add(before)?.checked_add(behind)?;
        (all == to).then_some((before, behind))
    };
    let pairs = pairs.iter().zip(&x.shape).zip(&result.shape).map(pair);
    let pairs: Option<Vec<(usize, usize)>> = pairs.collect();
    pairs.ok_or_else(|| missing("paddings that do not fit"))
}

/// A rearrangement whose positions are the result's, each dimension looked up by `from`: place in the
/// operand's dimension, by place in the result's. Dimensions without padding are strided.
fn looked_up(
    site: &Site<'_>,
    pads: &[(usize, usize)],
    from: impl Fn(usize, usize) -> Option<usize>,
) -> Result<Rearrange, Trouble> {
    let (x, result) = (site.operand(0)?, site.result()?);
    let (strides, rows) = (row_strides(&x.shape), row_strides(&result.shape));
    tabled(&result.shape)?;
    let mut axes = Vec::with_capacity(rows.len());
    for (along, &count) in result.shape.iter().enumerate() {
        let stride = strides[along];
        let index = if pads[along] == (0, 0) {
            Index::Stride(signed(stride)?)
        } else {
            let place = |at| from(along, at).map(|place| place.saturating_mul(stride));
            Index::Table((0..count).map(place).collect())
        };
        axes.push(Axis {
            count,
            to: rows[along],
            from: index,
        });
    }
    Ok(Rearrange::along(result.element()?, axes))
}

fn pad(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    let pads = paddings(site)?;
    let mut moved = looked_up(site, &pads, |along, at| {
        let place = at.checked_sub(pads[along].0)?;
        (place < x.shape[along]).then_some(place)
    })?;
    moved.fill = Some(fill(site, result)?);
    Ok(vec![part(moved, 0, 0)])
}

/// What stands where the operand does not reach.
fn fill(site: &Site<'_>, result: &Known<'_>) -> Result<[u8; 8], Trouble> {
    let mut fill = [0; 8];
    if site.op == "PADV2" {
        let value = site.operand(2)?;
        same_meaning(value, result)?;
        let element = result.element()?;
        let bytes = value.contents.and_then(|bytes| bytes.get(..element));
        let bytes = bytes.ok_or_else(|| missing("a padding that the run makes"))?;
        fill[..element].copy_from_slice(bytes);
    } else if result.is_quantized() {
        fill[0] = result.level()?.1.to_le_bytes()[0];
    }
    Ok(fill)
}

fn mirror(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    // The edge itself is repeated or not.
    let edge = match site.options(77)?.byte(0, "the mode of a MIRROR_PAD")? {
        0 => 1,
        1 => 0,
        other => return Err(missing(format!("mode {other}"))),
    };
    let pads = paddings(site)?;
    for (&(before, behind), &size) in pads.iter().zip(&x.shape) {
        if before.max(behind).saturating_add(edge) > size && (before, behind) != (0, 0) {
            return Err(missing("paddings wider than the operand"));
        }
    }
    let moved = looked_up(site, &pads, |along, at| {
        let (before, size) = (pads[along].0, x.shape[along]);
        Some(match at.checked_sub(before) {
            None => before - at - 1 + edge,
            Some(place) if place < size => place,
            Some(place) => (2 * size - 1 - edge).checked_sub(place)?,
        })
    })?;
    Ok(vec![part(moved, 0, 0)])
}
