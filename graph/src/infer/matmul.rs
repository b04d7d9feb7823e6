//! Products of matrices.

use super::call::{Answer, Attr, Call, InferError, Rule, broadcast};
use super::fact::Fact;
use crate::dtype::DType;
use std::collections::BTreeMap;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "MatMul" => |call| matmul(call, 1, call.input(0)?.dtype),
        "MatMulInteger" => |call| matmul(call, 1, DType::I32),
        "QLinearMatMul" => |call| matmul(call, 3, call.input(7)?.dtype),
        "Gemm" => gemm,
        "Einsum" => einsum,
        _ => return None,
    })
}

/// Operand 0 times the operand at `second`, numpy's way.
pub(crate) fn matmul(call: &Call<'_>, second: usize, dtype: DType) -> Answer {
    let (a, b) = (call.input(0)?, call.input(second)?);
    let differ = || InferError::Mismatch(format!("{:?} times {:?}", a.shape, b.shape));
    let (left, rows, inner) = match &a.shape[..] {
        [] => return Err(differ()),
        [inner] => (&[][..], None, *inner),
        [left @ .., rows, inner] => (left, Some(*rows), *inner),
    };
    let (right, depth, columns) = match &b.shape[..] {
        [] => return Err(differ()),
        [depth] => (&[][..], *depth, None),
        [right @ .., depth, columns] => (right, *depth, Some(*columns)),
    };
    if inner != depth {
        return Err(differ());
    }
    let mut shape = broadcast(left, right)?;
    shape.extend(rows);
    shape.extend(columns);
    Ok(vec![Fact::new(dtype, shape)?])
}

fn gemm(call: &Call<'_>) -> Answer {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let matrix = |fact: &Fact, flag: &str| match fact.shape[..] {
        [rows, columns] if call.attr_int(flag, 0) != 0 => Ok((columns, rows)),
        [rows, columns] => Ok((rows, columns)),
        _ => Err(InferError::Mismatch(format!(
            "{:?} is no matrix",
            fact.shape
        ))),
    };
    let (rows, inner) = matrix(a, "transA")?;
    let (depth, columns) = matrix(b, "transB")?;
    if inner != depth {
        return Err(InferError::Mismatch(format!(
            "{:?} times {:?}",
            a.shape, b.shape
        )));
    }
    Ok(vec![Fact::new(a.dtype, vec![rows, columns])?])
}

fn einsum(call: &Call<'_>) -> Answer {
    let equation = match call.attrs.get("equation") {
        Some(Attr::Text(text)) => text.replace(' ', ""),
        _ => String::new(),
    };
    let bad = |why: &str| InferError::Attribute {
        name: "equation",
        why: format!("`{equation}` {why}"),
    };
    let (left, right) = equation
        .split_once("->")
        .ok_or_else(|| bad("states no result"))?;
    if equation.contains('.') {
        return Err(bad("uses an ellipsis, which is not read"));
    }
    let mut sizes: BTreeMap<char, u64> = BTreeMap::new();
    for (place, term) in left.split(',').enumerate() {
        let operand = call.input(place)?;
        if term.chars().count() != operand.rank() {
            return Err(bad("has another rank than an operand"));
        }
        for (letter, &size) in term.chars().zip(&operand.shape) {
            let seen = sizes.entry(letter).or_insert(size);
            if *seen == 1 {
                *seen = size;
            } else if size != 1 && *seen != size {
                return Err(bad("gives one letter two sizes"));
            }
        }
    }
    let shape = right.chars().map(|letter| sizes.get(&letter).copied());
    let shape: Option<Vec<u64>> = shape.collect();
    let shape = shape.ok_or_else(|| bad("names a letter that no operand has"))?;
    Ok(vec![Fact::new(call.input(0)?.dtype, shape)?])
}
