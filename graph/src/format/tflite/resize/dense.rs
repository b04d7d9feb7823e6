//! Products of matrices, and tables that are looked up.

use super::site::{Answer, Rule, Site, mismatch};
use crate::infer::{Fact, InferError};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "FULLY_CONNECTED" => fully_connected,
        "BATCH_MATMUL" => batch_matmul,
        "EMBEDDING_LOOKUP" => lookup,
        _ => return None,
    })
}

/// The operand at `position`, which is a matrix: rows and columns.
pub(super) fn matrix(site: &Site<'_>, position: usize) -> Result<(u64, u64), InferError> {
    match site.operand(position)?.shape[..] {
        [rows, columns] => Ok((rows, columns)),
        ref shape => Err(mismatch(format!(
            "operand {position} of shape {shape:?} is no matrix"
        ))),
    }
}

/// Without `keep_num_dims` every element counts: the operand is as many rows as it fills.
fn fully_connected(site: &Site<'_>) -> Answer {
    let keep = site.options(8)?.byte(2, "whether dimensions are kept")? != 0;
    let x = site.operand(0)?;
    let (units, depth) = matrix(site, 1)?;
    let whole = x.elements().checked_rem(depth) == Some(0);
    if keep && x.shape.last() != Some(&depth) || !whole {
        let why = format!("{:?} against a weight of {units} times {depth}", x.shape);
        return Err(mismatch(why).into());
    }
    let rows = x.shape.len().saturating_sub(1);
    if keep {
        return site.one([&x.shape[..rows], &[units]].concat());
    }
    site.one(vec![x.elements() / depth, units])
}

fn batch_matmul(site: &Site<'_>) -> Answer {
    let options = site.options(101)?;
    let turned = |position: usize, turn: bool| {
        let mut fact = site.operand(position)?.clone();
        let rank = fact.rank();
        if rank < 2 {
            return Err(mismatch(format!("{:?} is no matrix", fact.shape)));
        }
        if turn {
            fact.shape.swap(rank - 1, rank - 2);
        }
        Ok::<Fact, InferError>(fact)
    };
    let left = turned(0, options.byte(0, "whether the left side is turned")? != 0)?;
    let right = turned(1, options.byte(1, "whether the right side is turned")? != 0)?;
    Ok(site.run("MatMul", &[Some(&left), Some(&right)], &[])?)
}

fn lookup(site: &Site<'_>) -> Answer {
    let (wanted, table) = (site.operand(0)?, site.operand(1)?);
    match (&wanted.shape[..], &table.shape[..]) {
        (&[count], [_, row @ ..]) => site.one([&[count], row].concat()),
        _ => Err(mismatch(format!("{:?} looked up in {:?}", wanted.shape, table.shape)).into()),
    }
}
