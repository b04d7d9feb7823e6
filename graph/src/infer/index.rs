//! Operators that pick, join, cut and repeat elements.

use super::arithmetic::spread;
use super::call::{Answer, Call, InferError, Rule, axis, broadcast, dim, signed};
use super::fact::{Fact, Value, position, positions, strides};
use super::layout::shape_of;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Concat" => concat,
        "Split" => split,
        "Slice" => slice,
        "Gather" => gather,
        "GatherElements" => |call| {
            let shape = call.input(1)?.shape.clone();
            Ok(vec![Fact::new(call.input(0)?.dtype, shape)?])
        },
        "GatherND" => gather_nd,
        "Expand" => expand,
        "Tile" => tile,
        "Scatter" | "ScatterElements" | "ScatterND" | "ReverseSequence" | "Trilu" | "CumSum" => {
            like_first
        }
        "Compress" => compress,
        _ => return None,
    })
}

fn like_first(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    Ok(vec![Fact::new(x.dtype, x.shape.clone())?])
}

/// `x` in another shape, its elements taken from the places that `source` gives.
fn moved(
    call: &Call<'_>,
    x: &Fact,
    shape: Vec<u64>,
    source: impl Fn(&[u64]) -> u64,
) -> Result<Fact, InferError> {
    let result = Fact::new(x.dtype, shape)?;
    let value = match x.value.as_deref() {
        Some(value) if result.elements() <= call.fold_limit => {
            value.pick(&positions(&result.shape, source))
        }
        _ => None,
    };
    Ok(result.with(value))
}

fn concat(call: &Call<'_>) -> Answer {
    let first = call.input(0)?;
    let along = axis(call.attr_int("axis", 1), first.rank())?;
    let mut shape = first.shape.clone();
    let mut parts = vec![first];
    for place in 1..call.inputs.len() {
        let next = call.input(place)?;
        let fits = next.rank() == shape.len()
            && (0..shape.len()).all(|i| i == along || shape[i] == next.shape[i]);
        if !fits {
            return Err(InferError::Mismatch(format!(
                "shapes {:?} and {:?} do not join along axis {along}",
                first.shape, next.shape
            )));
        }
        shape[along] = dim(i128::from(shape[along]) + i128::from(next.shape[along]))?;
        parts.push(next);
    }
    let result = Fact::new(first.dtype, shape)?;
    let value = call
        .folds(result.elements())
        .then(|| joined(&parts, along))
        .flatten();
    Ok(vec![result.with(value)])
}

fn joined(parts: &[&Fact], along: usize) -> Option<Value> {
    let outer = super::fact::elements(&parts[0].shape[..along])?;
    let mut ints = Vec::new();
    let mut floats = Vec::new();
    for row in 0..usize::try_from(outer).ok()? {
        for part in parts {
            let run = usize::try_from(super::fact::elements(&part.shape[along..])?).ok()?;
            match part.value.as_deref()? {
                Value::Ints(list) => ints.extend_from_slice(list.get(row * run..(row + 1) * run)?),
                Value::Floats(list) => {
                    floats.extend_from_slice(list.get(row * run..(row + 1) * run)?);
                }
            }
        }
    }
    match (ints.is_empty(), floats.is_empty()) {
        (_, true) => Some(Value::Ints(ints)),
        (true, false) => Some(Value::Floats(floats)),
        (false, false) => None,
    }
}

/// The axis that a `Split` cuts, and the sizes of its parts.
pub(crate) fn parts(call: &Call<'_>) -> Result<(usize, Vec<u64>), InferError> {
    let x = call.input(0)?;
    let along = axis(call.attr_int("axis", 0), x.rank())?;
    let sizes = match call.ints_or(1, "split")? {
        Some(list) => super::call::dims(list)?,
        None => even_parts(x.shape[along], call)?,
    };
    Ok((along, sizes))
}

fn split(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let (along, sizes) = parts(call)?;
    let total: u128 = sizes.iter().map(|&s| u128::from(s)).sum();
    if total != u128::from(x.shape[along]) {
        return Err(InferError::Mismatch(format!(
            "parts {sizes:?} of a dimension of {}",
            x.shape[along]
        )));
    }
    let steps = strides(&x.shape);
    let mut begin = 0;
    let mut results = Vec::new();
    for size in sizes {
        let mut shape = x.shape.clone();
        shape[along] = size;
        let skip = steps[along].saturating_mul(begin);
        results.push(moved(call, x, shape, |index| {
            skip + position(index, &steps)
        })?);
        begin += size;
    }
    Ok(results)
}

fn even_parts(size: u64, call: &Call<'_>) -> Result<Vec<u64>, InferError> {
    let stated = call.attr_int("num_outputs", 0);
    let count = if stated > 0 {
        stated.unsigned_abs()
    } else {
        call.outputs as u64
    };
    if count == 0 || count > call.outputs as u64 {
        let why = format!("is {count}, but the node has {} results", call.outputs);
        return Err(InferError::Attribute {
            name: "num_outputs",
            why,
        });
    }
    let part = size.div_ceil(count);
    Ok((0..count)
        .map(|i| part.min(size.saturating_sub(i.saturating_mul(part))))
        .collect())
}

/// Where a slice begins and steps along one axis, and how many elements it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) begin: i128,
    pub(crate) step: i128,
    pub(crate) count: u64,
}

impl Cut {
    fn new(size: u64, start: i64, end: i64, step: i64) -> Result<Self, InferError> {
        let (size, step) = (i128::from(size), i128::from(step));
        let from_end = |v: i64| {
            if v < 0 {
                i128::from(v) + size
            } else {
                i128::from(v)
            }
        };
        let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
        if step == 0 {
            return Err(InferError::Mismatch("a slice of step 0".into()));
        }
        let begin = from_end(start).clamp(
            if step > 0 { 0 } else { low.max(0).min(high) },
            high.max(low),
        );
        let end = from_end(end).clamp(low, high.max(low));
        let span = if step > 0 { end - begin } else { begin - end };
        let count = dim((span + step.abs() - 1).max(0) / step.abs())?;
        Ok(Self { begin, step, count })
    }
}

/// What a `Slice` takes along each axis.
pub(crate) fn cuts(call: &Call<'_>) -> Result<Vec<Cut>, InferError> {
    let x = call.input(0)?;
    let starts = call
        .ints_or(1, "starts")?
        .ok_or(InferError::Missing { operand: 1 })?;
    let ends = call
        .ints_or(2, "ends")?
        .ok_or(InferError::Missing { operand: 2 })?;
    let all: Vec<i64> = (0..signed(starts.len() as u64)).collect();
    let axes = call.ints_or(3, "axes")?.unwrap_or(&all);
    let ones = vec![1; starts.len()];
    let by = call.ints_or(4, "steps")?.unwrap_or(&ones);
    if ends.len() != starts.len() || axes.len() != starts.len() || by.len() != starts.len() {
        return Err(InferError::Mismatch(
            "starts, ends, axes and steps differ in length".into(),
        ));
    }
    let mut cuts: Vec<Cut> = x
        .shape
        .iter()
        .map(|&count| Cut {
            begin: 0,
            step: 1,
            count,
        })
        .collect();
    for (place, &raw) in axes.iter().enumerate() {
        let along = axis(raw, x.rank())?;
        cuts[along] = Cut::new(x.shape[along], starts[place], ends[place], by[place])?;
    }
    Ok(cuts)
}

fn slice(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let cuts = cuts(call)?;
    let steps = strides(&x.shape);
    let shape = cuts.iter().map(|cut| cut.count).collect();
    let source = |index: &[u64]| {
        let places = index.iter().zip(&cuts).zip(&steps);
        let sum: i128 = places
            .map(|((&i, cut), &step)| (cut.begin + i128::from(i) * cut.step) * i128::from(step))
            .sum();
        u64::try_from(sum).unwrap_or(u64::MAX)
    };
    Ok(vec![moved(call, x, shape, source)?])
}

fn gather(call: &Call<'_>) -> Answer {
    let (x, indices) = (call.input(0)?, call.input(1)?);
    let along = axis(call.attr_int("axis", 0), x.rank())?;
    let mut shape = x.shape[..along].to_vec();
    shape.extend(&indices.shape);
    shape.extend(&x.shape[along + 1..]);
    let Some(Value::Ints(wanted)) = indices.value.as_deref() else {
        return Ok(vec![Fact::new(x.dtype, shape)?]);
    };
    let size = i128::from(x.shape[along]);
    let place = |raw: i64| {
        if raw < 0 {
            i128::from(raw) + size
        } else {
            i128::from(raw)
        }
    };
    if let Some(raw) = wanted.iter().find(|&&raw| !(0..size).contains(&place(raw))) {
        return Err(InferError::Mismatch(format!(
            "index {raw} into a dimension of {size}"
        )));
    }
    let (steps, inner) = (strides(&x.shape), strides(&indices.shape));
    let middle = along + indices.rank();
    let source = |index: &[u64]| {
        let at = usize::try_from(position(&index[along..middle], &inner)).unwrap_or(usize::MAX);
        let at = wanted
            .get(at)
            .and_then(|&raw| u64::try_from(place(raw)).ok());
        let at = at.unwrap_or(0);
        position(&index[..along], &steps)
            + at * steps[along]
            + position(&index[middle..], &steps[along + 1..])
    };
    Ok(vec![moved(call, x, shape, source)?])
}

fn gather_nd(call: &Call<'_>) -> Answer {
    let (x, indices) = (call.input(0)?, call.input(1)?);
    let batch = usize::try_from(call.attr_int("batch_dims", 0)).unwrap_or(usize::MAX);
    let (&depth, lead) = indices
        .shape
        .split_last()
        .ok_or_else(|| InferError::Mismatch("indices without dimensions".into()))?;
    let used = usize::try_from(depth)
        .ok()
        .and_then(|d| d.checked_add(batch));
    let rest = used.and_then(|used| x.shape.get(used..));
    let rest = rest.ok_or_else(|| {
        InferError::Mismatch(format!("indices {:?} into {:?}", indices.shape, x.shape))
    })?;
    let shape = lead.iter().chain(rest).copied().collect();
    Ok(vec![Fact::new(x.dtype, shape)?])
}

fn expand(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let shape = broadcast(&x.shape, &shape_of(call, 1)?)?;
    let result = Fact::new(x.dtype, shape)?;
    let small = result.elements() <= call.fold_limit;
    let value = small.then(|| spread(x, &result.shape)).flatten();
    Ok(vec![result.with(value)])
}

fn tile(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let repeats = shape_of(call, 1)?;
    if repeats.len() != x.rank() {
        return Err(InferError::Mismatch(format!(
            "{} repeats of {:?}",
            repeats.len(),
            x.shape
        )));
    }
    let pairs = x.shape.iter().zip(&repeats);
    let shape = pairs
        .map(|(&d, &r)| dim(i128::from(d) * i128::from(r)))
        .collect::<Result<Vec<_>, _>>()?;
    let steps = strides(&x.shape);
    let source = |index: &[u64]| {
        let places = index.iter().zip(&x.shape).zip(&steps);
        places.map(|((&i, &d), &step)| (i % d.max(1)) * step).sum()
    };
    Ok(vec![moved(call, x, shape, source)?])
}

fn compress(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let taken = call.ints(1)?.iter().filter(|&&flag| flag != 0).count() as u64;
    let shape = match call.attrs.get("axis") {
        Some(_) => {
            let along = axis(call.attr_int("axis", 0), x.rank())?;
            let mut shape = x.shape.clone();
            shape[along] = taken;
            shape
        }
        None => vec![taken],
    };
    Ok(vec![Fact::new(x.dtype, shape)?])
}
