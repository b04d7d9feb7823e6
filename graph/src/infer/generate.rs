//! Operators that make tensors from little: constants, shapes, ranges, positions of elements.

use super::call::{Answer, Attr, Call, InferError, Rule, axis, dim, dtype_name, dtype_of, signed};
use super::fact::{Fact, Value, round, strides};
use super::layout::shape_of;
use crate::dtype::DType;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Constant" => constant,
        "ConstantOfShape" => constant_of_shape,
        "Shape" => shape,
        "Size" => |call| {
            Ok(vec![Fact::scalar(
                DType::I64,
                signed(call.input(0)?.elements()),
            )])
        },
        "Range" => range,
        "NonZero" => non_zero,
        "OneHot" => one_hot,
        "EyeLike" | "RandomNormalLike" | "RandomUniformLike" | "Bernoulli" => like,
        "RandomNormal" | "RandomUniform" => random,
        "NonMaxSuppression" => |_| Err(InferError::NeedsValue { operand: 0 }),
        "Unique" => |_| Err(InferError::NeedsValue { operand: 0 }),
        _ => return None,
    })
}

fn constant(call: &Call<'_>) -> Answer {
    let float = |list: &[f64]| {
        list.iter()
            .map(|&v| round(v, DType::F32))
            .collect::<Vec<_>>()
    };
    let found = call
        .attrs
        .iter()
        .find_map(|(name, attr)| match (&**name, attr) {
            ("value", Attr::Tensor(fact)) => Some(Ok(fact.clone())),
            ("value_int", &Attr::Int(value)) => Some(Ok(Fact::scalar(DType::I64, value))),
            ("value_ints", Attr::Ints(list)) => Some(Ok(Fact::list(DType::I64, list.clone()))),
            ("value_float", &Attr::Float(value)) => Some(
                Fact::new(DType::F32, vec![]).map(|f| f.with(Some(Value::Floats(float(&[value]))))),
            ),
            ("value_floats", Attr::Floats(list)) => Some(
                Fact::new(DType::F32, vec![list.len() as u64])
                    .map(|f| f.with(Some(Value::Floats(float(list))))),
            ),
            ("value_string" | "value_strings", _) => {
                Some(Err(InferError::Unsized { what: "strings" }))
            }
            _ => None,
        });
    let missing = || InferError::Attribute {
        name: "value",
        why: "is missing".into(),
    };
    Ok(vec![found.ok_or_else(missing)??])
}

fn constant_of_shape(call: &Call<'_>) -> Answer {
    let shape = shape_of(call, 0)?;
    let zero = Fact::new(DType::F32, vec![1])?.with(Some(Value::Floats(vec![0.0])));
    let fill = match call.attrs.get("value") {
        Some(Attr::Tensor(fact)) => fact,
        _ => &zero,
    };
    let result = Fact::new(fill.dtype, shape)?;
    let count = usize::try_from(result.elements()).unwrap_or(usize::MAX);
    let small = result.elements() <= call.fold_limit;
    let value = fill.value.as_deref().filter(|v| small && v.len() == 1);
    let value = value.and_then(|value| value.pick(&vec![0; count]));
    Ok(vec![result.with(value)])
}

fn shape(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let rank = signed(x.rank() as u64);
    let bound = |name: &str, default: i64| {
        let raw = call.attr_int(name, default);
        let place = if raw < 0 {
            raw.saturating_add(rank)
        } else {
            raw
        };
        usize::try_from(place.clamp(0, rank)).unwrap_or(0)
    };
    let (start, end) = (bound("start", 0), bound("end", rank));
    let dims = x.shape.get(start..end.max(start)).unwrap_or(&[]);
    Ok(vec![Fact::list(
        DType::I64,
        dims.iter().map(|&d| signed(d)).collect(),
    )])
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a count, and too large ones are refused"
)]
fn range(call: &Call<'_>) -> Answer {
    let dtype = call.input(0)?.dtype;
    let one = |position| {
        let list = call.value(position)?.floats();
        list.first()
            .copied()
            .ok_or(InferError::NeedsValue { operand: position })
    };
    let (start, limit, delta) = (one(0)?, one(1)?, one(2)?);
    if delta == 0.0 {
        return Err(InferError::Mismatch("a range of step 0".into()));
    }
    if let (Value::Ints(start), Value::Ints(limit), Value::Ints(delta)) =
        (call.value(0)?, call.value(1)?, call.value(2)?)
    {
        let (start, limit, delta) = (
            i128::from(start[0]),
            i128::from(limit[0]),
            i128::from(delta[0]),
        );
        let span = if delta > 0 {
            limit - start
        } else {
            start - limit
        };
        let count = dim((span + delta.abs() - 1).max(0) / delta.abs())?;
        let result = Fact::new(dtype, vec![count])?;
        let value = (count <= call.fold_limit).then(|| {
            let numbers = (0..count).map(|i| (start + i128::from(i) * delta) as i64);
            Value::Ints(numbers.collect())
        });
        return Ok(vec![result.with(value)]);
    }
    let count = ((limit - start) / delta).ceil().max(0.0);
    Ok(vec![Fact::new(dtype, vec![dim(count as i128)?])?])
}

fn non_zero(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let flags: Vec<bool> = call.value(0)?.floats().iter().map(|&v| v != 0.0).collect();
    let steps = strides(&x.shape);
    let hits: Vec<u64> = (0_u64..)
        .zip(&flags)
        .filter(|&(_, &hit)| hit)
        .map(|(i, _)| i)
        .collect();
    let mut places = Vec::new();
    for (&step, &size) in steps.iter().zip(&x.shape) {
        places.extend(
            hits.iter()
                .map(|&hit| signed(hit / step.max(1) % size.max(1))),
        );
    }
    let rank = x.rank() as u64;
    let result = Fact::new(DType::I64, vec![rank, hits.len() as u64])?;
    Ok(vec![result.with(Some(Value::Ints(places)))])
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a count; depth may be a float in the file"
)]
fn one_hot(call: &Call<'_>) -> Answer {
    let indices = call.input(0)?;
    let depth = match call.value(1)? {
        Value::Ints(list) => list.first().copied(),
        Value::Floats(list) => list.first().map(|&v| v as i64),
    };
    let depth = depth.ok_or(InferError::NeedsValue { operand: 1 })?;
    let along = axis(call.attr_int("axis", -1), indices.rank() + 1)?;
    let mut shape = indices.shape.clone();
    shape.insert(along, dim(i128::from(depth))?);
    Ok(vec![Fact::new(call.input(2)?.dtype, shape)?])
}

fn stated_type(call: &Call<'_>, default: DType) -> Result<DType, InferError> {
    match call.attrs.get("dtype") {
        Some(&Attr::Int(code)) => dtype_of(code).ok_or_else(|| InferError::Attribute {
            name: "dtype",
            why: format!("asks for elements of type {}", dtype_name(code)),
        }),
        _ => Ok(default),
    }
}

fn like(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    Ok(vec![Fact::new(
        stated_type(call, x.dtype)?,
        x.shape.clone(),
    )?])
}

fn random(call: &Call<'_>) -> Answer {
    let shape = call
        .attr_ints("shape")
        .ok_or_else(|| InferError::Attribute {
            name: "shape",
            why: "is missing".into(),
        })?;
    Ok(vec![Fact::new(
        stated_type(call, DType::F32)?,
        super::call::dims(shape)?,
    )?])
}
