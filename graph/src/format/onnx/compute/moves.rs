//! Operators that give elements another shape, place or number.

use super::site::{Parts, Rule, Site, Why, count, dims, element, number, one, sizes};
use super::tidy::{dense, rearranged, tidy};
use crate::infer::{Fact, Value, axis, block, cuts, order, parts};
use crate::kernel::{Index, Kernel, Part, Rearrange, Target, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Identity" | "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => {
            |site| Ok(copied(site.input(0)?))
        }
        "Dropout" => dropout,
        "Transpose" => transpose,
        "Slice" => slice,
        "Split" => split,
        "Concat" => concat,
        "Expand" => expand,
        "Tile" => tile,
        "DepthToSpace" => depth_to_space,
        "SpaceToDepth" => space_to_depth,
        _ => return None,
    })
}

/// One part that copies operand 0.
pub(super) fn copied(x: &Fact) -> Vec<Part> {
    let bytes = number(x.bytes());
    one(Kernel::Copy { bytes }, &[0])
}

fn dropout(site: &Site<'_>) -> Parts {
    let told = site.call.optional(2);
    let off =
        |flag: &Fact| matches!(flag.value.as_deref(), Some(Value::Ints(list)) if list == &[0]);
    let trained = match site.call.opset {
        ..7 => !site.flag("is_test"),
        _ => told.is_some_and(|flag| !off(flag)),
    };
    if trained {
        return Err("in training".into());
    }
    site.one_result()?;
    Ok(copied(site.input(0)?))
}

fn stride(elements: usize) -> Index {
    Index::Stride(isize::try_from(elements).unwrap_or(isize::MAX))
}

fn transpose(site: &Site<'_>) -> Parts {
    let (x, order) = (site.input(0)?, order(&site.call)?);
    let (shape, rows) = (dims(x), row_strides(&dims(x)));
    let result: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let from = order.iter().map(|&axis| stride(rows[axis]));
    Ok(rearranged(element(x)?, &result, from, 0, None))
}

fn slice(site: &Site<'_>) -> Parts {
    let x = site.input(0)?;
    let rows = row_strides(&dims(x));
    let (mut shape, mut from, mut first) = (Vec::new(), Vec::new(), 0_usize);
    for (cut, row) in cuts(&site.call)?.into_iter().zip(rows) {
        let begin = usize::try_from(cut.begin).unwrap_or(0);
        first = first.saturating_add(begin.saturating_mul(row));
        let step = isize::try_from(cut.step).ok();
        let step = step.and_then(|step| step.checked_mul(isize::try_from(row).ok()?));
        from.push(Index::Stride(step.ok_or("a step beyond its operand")?));
        shape.push(number(cut.count));
    }
    Ok(rearranged(
        element(x)?,
        &shape,
        one_step(&shape, from),
        first,
        None,
    ))
}

/// Along an axis of one position nobody steps, however far that would be.
fn one_step(shape: &[usize], from: Vec<Index>) -> Vec<Index> {
    let pairs = shape.iter().zip(from);
    pairs
        .map(|(&count, from)| if count == 1 { Index::Stride(0) } else { from })
        .collect()
}

fn split(site: &Site<'_>) -> Parts {
    let x = site.input(0)?;
    let (along, parts) = parts(&site.call)?;
    let rows = row_strides(&dims(x));
    let mut begin = 0_usize;
    let mut made = Vec::new();
    for (position, &size) in parts.iter().enumerate() {
        let mut shape = dims(x);
        shape[along] = number(size);
        let moves = Rearrange {
            element: element(x)?,
            axes: dense(&shape, rows.iter().map(|&row| stride(row))),
            to: 0,
            from: begin.saturating_mul(rows[along]),
            fill: None,
        };
        begin = begin.saturating_add(number(size));
        let result = site.results.get(position).copied().flatten();
        if let Some(result) = result.filter(|result| result.read && size > 0) {
            made.push(Part {
                kernel: tidy(moves),
                reads: vec![0],
                write: Target::Result(result.at),
            });
        }
    }
    Ok(made)
}

fn concat(site: &Site<'_>) -> Parts {
    let result = site.result()?;
    let along = axis(site.call.attr_int("axis", 1), result.rank())?;
    let rows = row_strides(&dims(result));
    let mut begin = 0_usize;
    let mut made = Vec::new();
    for position in 0..site.call.inputs.len() {
        let x = site.input(position)?;
        let shape = dims(x);
        let mut axes = dense(&shape, row_strides(&shape).into_iter().map(stride));
        for (axis, &row) in axes.iter_mut().zip(&rows) {
            axis.to = row;
        }
        let moves = Rearrange {
            element: element(x)?,
            axes,
            to: begin.saturating_mul(rows[along]),
            from: 0,
            fill: None,
        };
        begin = begin.saturating_add(shape[along]);
        if x.elements() > 0 {
            made.push(Part {
                kernel: tidy(moves),
                reads: vec![position],
                write: Target::Result(0),
            });
        }
    }
    Ok(made)
}

fn expand(site: &Site<'_>) -> Parts {
    let (x, result) = (site.input(0)?, dims(site.result()?));
    let shape = dims(x);
    let lead = result.len().checked_sub(shape.len());
    let lead = lead.ok_or("its result has fewer axes than its operand")?;
    let stretches = shape.iter().zip(&result[lead..]);
    if !stretches.clone().all(|(&own, &all)| own == 1 || own == all) {
        return Err("its operand does not stretch".into());
    }
    let rows = row_strides(&shape);
    let own = shape.iter().zip(rows);
    let own = own.map(|(&size, row)| if size == 1 { 0 } else { row });
    let from = std::iter::repeat_n(0, lead).chain(own).map(stride);
    Ok(rearranged(element(x)?, &result, from, 0, None))
}

fn tile(site: &Site<'_>) -> Parts {
    let x = site.input(0)?;
    let shape = dims(x);
    let repeats = sizes(&crate::infer::dims(site.call.ints(1)?)?);
    let (mut split, mut from) = (Vec::new(), Vec::new());
    for ((&size, repeat), row) in shape.iter().zip(repeats).zip(row_strides(&shape)) {
        split.extend([repeat, size]);
        from.extend([stride(0), stride(row)]);
    }
    Ok(rearranged(element(x)?, &split, from, 0, None))
}

/// Operand 0 as if it had `shape`, its axes in another order.
fn permuted(x: &Fact, shape: &[usize; 6], order: [usize; 6]) -> Parts {
    if count(shape) != count(&dims(x)) {
        return Err(Why("blocks that do not fill the image".into()));
    }
    let rows = row_strides(shape);
    let result = order.map(|axis| shape[axis]);
    let from = order.map(|axis| stride(rows[axis]));
    Ok(rearranged(element(x)?, &result, from, 0, None))
}

fn depth_to_space(site: &Site<'_>) -> Parts {
    let (x, size) = block(&site.call)?;
    let [n, c, h, w] = four(x)?;
    let b = number(size);
    let c = c / b / b;
    match site.call.attr_text("mode", "DCR") {
        "DCR" => permuted(x, &[n, b, b, c, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => permuted(x, &[n, c, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => Err(format!("attribute `mode` is `{other}`").into()),
    }
}

fn space_to_depth(site: &Site<'_>) -> Parts {
    let (x, size) = block(&site.call)?;
    let [n, c, h, w] = four(x)?;
    let b = number(size);
    let blocks = [n, c, h / b, b, w / b, b];
    match site.call.attr_text("mode", "DCR") {
        "DCR" => permuted(x, &blocks, [0, 3, 5, 1, 2, 4]),
        "CRD" => permuted(x, &blocks, [0, 1, 3, 5, 2, 4]),
        other => Err(format!("attribute `mode` is `{other}`").into()),
    }
}

fn four(x: &Fact) -> Result<[usize; 4], Why> {
    dims(x).try_into().map_err(|_| "no image".into())
}
