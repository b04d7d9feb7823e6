//! Operators that make tensors from little: shapes, ranges, fillings, and those that only the data size.

use super::site::{Answer, Rule, Site, list, number, only};
use crate::dtype::DType;
use crate::infer::{Attr, Fact, InferError, dim};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "SHAPE" => |site| Ok(site.run("Shape", site.call.inputs, &[])?),
        "RANK" => |site| {
            Ok(vec![Fact::scalar(
                DType::I32,
                number(site.operand(0)?.rank()),
            )])
        },
        "RANGE" => |site| Ok(site.run("Range", site.call.inputs, &[])?),
        "FILL" => fill,
        "ONE_HOT" => one_hot,
        "RANDOM_UNIFORM" | "RANDOM_STANDARD_NORMAL" => |site| site.one(site.dims(0)?),
        "MULTINOMIAL" => multinomial,
        "WHERE" => where_,
        "UNIQUE" => |_| Err(InferError::NeedsValue { operand: 0 }.into()),
        "NON_MAX_SUPPRESSION_V4" => |site| suppressed(site, false),
        "NON_MAX_SUPPRESSION_V5" => |site| suppressed(site, true),
        "RFFT2D" => rfft,
        _ => return None,
    })
}

/// Operand 0 spells the shape, operand 1 is the number.
fn fill(site: &Site<'_>) -> Answer {
    let shape = list(site.ints(0)?.iter().copied());
    Ok(site.run("Expand", &[Some(site.operand(1)?), Some(&shape)], &[])?)
}

fn one_hot(site: &Site<'_>) -> Answer {
    let along = site.options(61)?.int(0, "the axis of a ONE_HOT", 0)?;
    Ok(site.run("OneHot", site.call.inputs, &[("axis", Attr::Int(along))])?)
}

fn multinomial(site: &Site<'_>) -> Answer {
    let batch = site.operand(0)?.shape.first().copied().unwrap_or(1);
    site.one(vec![batch, dim(i128::from(site.call.int(1)?))?])
}

/// Places of what is not zero, a row for each.
fn where_(site: &Site<'_>) -> Answer {
    let columns = only(site.run("NonZero", &[Some(site.operand(0)?)], &[])?)?;
    Ok(site.run("Transpose", &[Some(&columns)], &[])?)
}

/// As many boxes as there may be at most, and how many there are.
fn suppressed(site: &Site<'_>, scores: bool) -> Answer {
    let most = vec![dim(i128::from(site.call.int(2)?))?];
    let mut facts = vec![Fact::new(DType::I32, most.clone())?];
    if scores {
        facts.push(Fact::new(DType::F32, most)?);
    }
    facts.push(Fact::new(DType::I32, Vec::new())?);
    Ok(facts)
}

/// Operand 1 spells the lengths of the transform; of the last, one half is left.
fn rfft(site: &Site<'_>) -> Answer {
    let (x, lengths) = (site.operand(0)?, site.dims(1)?);
    match (&x.shape[..], &lengths[..]) {
        ([outer @ .., _, _], &[rows, columns]) => {
            site.one([outer, &[rows, columns / 2 + 1]].concat())
        }
        _ => Err(super::site::mismatch(format!("{:?} transformed by {lengths:?}", x.shape)).into()),
    }
}
