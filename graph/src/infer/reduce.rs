//! Operators that take dimensions away: sums, maxima, positions of the largest.

use super::call::{Answer, Call, InferError, Rule, axis, dim};
use super::fact::{Fact, Value, positions, round, strides};
use crate::dtype::DType;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "ReduceSum" | "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1"
        | "ReduceL2" | "ReduceSumSquare" | "ReduceLogSum" | "ReduceLogSumExp" => reduce,
        "ArgMax" | "ArgMin" => arg,
        "TopK" => top_k,
        _ => return None,
    })
}

/// Whether each axis of the operand is reduced.
pub(crate) fn gone(call: &Call<'_>) -> Result<Vec<bool>, InferError> {
    let x = call.input(0)?;
    let axes = call.ints_or(1, "axes")?.unwrap_or(&[]);
    let as_it_is = axes.is_empty() && call.attr_int("noop_with_empty_axes", 0) != 0;
    let mut gone = vec![axes.is_empty() && !as_it_is; x.rank()];
    for &raw in axes {
        gone[axis(raw, x.rank())?] = true;
    }
    Ok(gone)
}

fn reduce(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let gone = gone(call)?;
    let keep = call.attr_int("keepdims", 1) != 0;
    let dims = x.shape.iter().zip(&gone);
    let shape = dims.filter_map(|(&d, &gone)| match (gone, keep) {
        (false, _) => Some(d),
        (true, true) => Some(1),
        (true, false) => None,
    });
    let result = Fact::new(x.dtype, shape.collect())?;
    let value = call
        .folds(x.elements())
        .then(|| folded(call.op, x, &gone, &result))
        .flatten();
    Ok(vec![result.with(value)])
}

/// Goes through all elements and folds each into its place in the result.
fn folded(op: &str, x: &Fact, gone: &[bool], result: &Fact) -> Option<Value> {
    let kept: Vec<u64> = x
        .shape
        .iter()
        .zip(gone)
        .map(|(&d, &gone)| if gone { 1 } else { d })
        .collect();
    let steps = strides(&kept);
    let targets = positions(&x.shape, |index| {
        let places = index.iter().zip(&steps).zip(gone);
        places
            .map(|((&i, &step), &gone)| if gone { 0 } else { i * step })
            .sum()
    });
    let count = usize::try_from(result.elements()).ok()?;
    match x.value.as_deref()? {
        Value::Ints(list) => {
            let apply: fn(i64, i64) -> Option<i64> = match op {
                "ReduceSum" => i64::checked_add,
                "ReduceProd" => i64::checked_mul,
                "ReduceMax" => |a, b| Some(a.max(b)),
                "ReduceMin" => |a, b| Some(a.min(b)),
                _ => return None,
            };
            gather_into(list, &targets, count, apply).map(Value::Ints)
        }
        Value::Floats(list) => {
            let apply: fn(f64, f64) -> Option<f64> = match op {
                "ReduceSum" => |a, b| Some(a + b),
                "ReduceProd" => |a, b| Some(a * b),
                "ReduceMax" => |a, b| Some(a.max(b)),
                "ReduceMin" => |a, b| Some(a.min(b)),
                _ => return None,
            };
            let sums = gather_into(list, &targets, count, apply)?;
            Some(Value::Floats(
                sums.into_iter().map(|v| round(v, result.dtype)).collect(),
            ))
        }
    }
}

fn gather_into<T: Copy>(
    list: &[T],
    targets: &[usize],
    count: usize,
    apply: fn(T, T) -> Option<T>,
) -> Option<Vec<T>> {
    let mut sums: Vec<Option<T>> = vec![None; count];
    for (&value, &target) in list.iter().zip(targets) {
        let place = sums.get_mut(target)?;
        *place = Some(match *place {
            Some(so_far) => apply(so_far, value)?,
            None => value,
        });
    }
    sums.into_iter().collect()
}

fn arg(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let along = axis(call.attr_int("axis", 0), x.rank())?;
    let mut shape = x.shape.clone();
    if call.attr_int("keepdims", 1) == 0 {
        shape.remove(along);
    } else {
        shape[along] = 1;
    }
    Ok(vec![Fact::new(DType::I64, shape)?])
}

fn top_k(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let along = axis(call.attr_int("axis", -1), x.rank())?;
    let count = match call.optional(1) {
        Some(_) => call.int(1)?,
        None => call.attr_int("k", -1),
    };
    let count = dim(i128::from(count))?;
    if count > x.shape[along] {
        return Err(InferError::Mismatch(format!(
            "the {count} largest of {}",
            x.shape[along]
        )));
    }
    let mut shape = x.shape.clone();
    shape[along] = count;
    Ok(vec![
        Fact::new(x.dtype, shape.clone())?,
        Fact::new(DType::I64, shape)?,
    ])
}
