//! Operators that only give the same elements another shape or order.

use super::call::{Answer, Call, InferError, Rule, axis, dim, dims, signed};
use super::fact::{Fact, position, positions, strides};

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Reshape" => reshape,
        "Squeeze" => squeeze,
        "Unsqueeze" => unsqueeze,
        "Flatten" => flatten,
        "Transpose" => transpose,
        "DepthToSpace" => depth_to_space,
        "SpaceToDepth" => space_to_depth,
        _ => return None,
    })
}

/// The operand under another shape.
fn reshaped(x: &Fact, shape: Vec<u64>) -> Answer {
    let result = Fact::new(x.dtype, shape)?;
    if result.elements() != x.elements() {
        return Err(InferError::Mismatch(format!(
            "{:?} has {} elements, {:?} has {}",
            x.shape,
            x.elements(),
            result.shape,
            result.elements()
        )));
    }
    Ok(vec![result.with(x.value.as_deref().cloned())])
}

fn reshape(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let wanted = call
        .ints_or(1, "shape")?
        .ok_or(InferError::Missing { operand: 1 })?;
    let keep_zero = call.attr_int("allowzero", 0) != 0;
    let mut shape = Vec::new();
    let mut open = None;
    for (place, &number) in wanted.iter().enumerate() {
        shape.push(match number {
            -1 if open.replace(place).is_some() => {
                return Err(InferError::Mismatch(
                    "the new shape has two dimensions of -1".into(),
                ));
            }
            -1 => 1,
            0 if !keep_zero => *x.shape.get(place).ok_or_else(|| {
                InferError::Mismatch(format!(
                    "dimension {place} is to be kept, but {:?} has none",
                    x.shape
                ))
            })?,
            other => dim(i128::from(other))?,
        });
    }
    if let Some(place) = open {
        let rest = Fact::new(x.dtype, shape.clone())?.elements();
        if rest == 0 || !x.elements().is_multiple_of(rest) {
            let found = x.elements();
            return Err(InferError::Mismatch(format!(
                "{found} elements do not fill {wanted:?}"
            )));
        }
        shape[place] = x.elements() / rest;
    }
    reshaped(x, shape)
}

fn squeeze(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let Some(axes) = call.ints_or(1, "axes")? else {
        return reshaped(x, x.shape.iter().copied().filter(|&d| d != 1).collect());
    };
    let mut drop = vec![false; x.rank()];
    for &raw in axes {
        let place = axis(raw, x.rank())?;
        if x.shape[place] != 1 {
            return Err(InferError::Mismatch(format!(
                "dimension {place} of {:?} is not 1",
                x.shape
            )));
        }
        drop[place] = true;
    }
    let kept = x.shape.iter().zip(drop).filter(|&(_, drop)| !drop);
    reshaped(x, kept.map(|(&d, _)| d).collect())
}

fn unsqueeze(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let axes = call
        .ints_or(1, "axes")?
        .ok_or(InferError::Missing { operand: 1 })?;
    let rank = x.rank() + axes.len();
    if rank > super::MAX_RANK {
        return Err(InferError::Rank { found: rank });
    }
    let mut new = vec![false; rank];
    for &raw in axes {
        let place = axis(raw, rank)?;
        if std::mem::replace(&mut new[place], true) {
            return Err(InferError::Mismatch(format!("axis {raw} is there twice")));
        }
    }
    let mut old = x.shape.iter().copied();
    let shape = new
        .iter()
        .map(|&new| if new { 1 } else { old.next().unwrap_or(1) });
    reshaped(x, shape.collect())
}

fn flatten(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let raw = call.attr_int("axis", 1);
    let split = if raw == signed(x.rank() as u64) {
        x.rank()
    } else {
        axis(raw, x.rank())?
    };
    let product = |dims: &[u64]| {
        super::fact::elements(dims).ok_or(InferError::TooLarge {
            shape: x.shape.clone(),
        })
    };
    reshaped(
        x,
        vec![product(&x.shape[..split])?, product(&x.shape[split..])?],
    )
}

/// The operand's axis that each axis of a transposed result is.
pub(crate) fn order(call: &Call<'_>) -> Result<Vec<usize>, InferError> {
    let x = call.input(0)?;
    let order: Vec<usize> = match call.attr_ints("perm") {
        Some(list) => list
            .iter()
            .map(|&raw| axis(raw, x.rank()))
            .collect::<Result<_, _>>()?,
        None => (0..x.rank()).rev().collect(),
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted.iter().enumerate().any(|(i, &place)| i != place) || order.len() != x.rank() {
        let why = format!("is {order:?}, no order of {} dimensions", x.rank());
        return Err(InferError::Attribute { name: "perm", why });
    }
    Ok(order)
}

fn transpose(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let order = order(call)?;
    let shape: Vec<u64> = order.iter().map(|&place| x.shape[place]).collect();
    let result = Fact::new(x.dtype, shape)?;
    let steps = strides(&x.shape);
    let steps: Vec<u64> = order.iter().map(|&place| steps[place]).collect();
    let value = x
        .value
        .as_deref()
        .and_then(|value| value.pick(&positions(&result.shape, |index| position(index, &steps))));
    Ok(vec![result.with(value)])
}

pub(crate) fn block<'a>(call: &Call<'a>) -> Result<(&'a Fact, u64), InferError> {
    let x = call.input(0)?;
    let size = call.attr_int("blocksize", 0);
    let block = u64::try_from(size).ok().filter(|&b| b > 0 && b < 1 << 31);
    match (block, x.rank()) {
        (Some(block), 4) => Ok((x, block)),
        (None, _) => Err(InferError::Attribute {
            name: "blocksize",
            why: format!("is {size}"),
        }),
        (_, rank) => Err(InferError::Mismatch(format!(
            "an image of rank {rank} instead of 4"
        ))),
    }
}

fn depth_to_space(call: &Call<'_>) -> Answer {
    let (x, block) = block(call)?;
    if !x.shape[1].is_multiple_of(block * block) {
        return Err(InferError::Mismatch(format!(
            "{} channels in blocks of {block}",
            x.shape[1]
        )));
    }
    let wide = |d: u64| dim(i128::from(d) * i128::from(block));
    reshaped(
        x,
        vec![
            x.shape[0],
            x.shape[1] / (block * block),
            wide(x.shape[2])?,
            wide(x.shape[3])?,
        ],
    )
    .map(without_value)
}

fn space_to_depth(call: &Call<'_>) -> Answer {
    let (x, block) = block(call)?;
    if !x.shape[2].is_multiple_of(block) || !x.shape[3].is_multiple_of(block) {
        return Err(InferError::Mismatch(format!(
            "{:?} in blocks of {block}",
            x.shape
        )));
    }
    let channels = dim(i128::from(x.shape[1]) * i128::from(block) * i128::from(block))?;
    reshaped(
        x,
        vec![x.shape[0], channels, x.shape[2] / block, x.shape[3] / block],
    )
    .map(without_value)
}

/// The order of elements changes, which nobody needs to know.
fn without_value(facts: Vec<Fact>) -> Vec<Fact> {
    facts
        .into_iter()
        .map(|fact| Fact {
            value: None,
            ..fact
        })
        .collect()
}

/// The shape that operand `position` spells.
pub(crate) fn shape_of(call: &Call<'_>, position: usize) -> Result<Vec<u64>, InferError> {
    dims(call.ints(position)?)
}
