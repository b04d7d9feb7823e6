//! Operators that move elements without looking at them.

use super::site::{Answer, Known, Rule, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::{Axis, Index, Kernel, Part, Rearrange, Take, Target, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "CONCATENATION" => concatenation,
        "PACK" => pack,
        "UNPACK" => unpack,
        "TRANSPOSE" => transpose,
        "TILE" => tile,
        "BROADCAST_TO" => broadcast_to,
        "DEPTH_TO_SPACE" | "SPACE_TO_DEPTH" => blocks,
        "GATHER" => gather,
        "REVERSE_V2" => reverse,
        "SHAPE" => shape,
        _ => return None,
    })
}

/// A dimension by number; below 0 from the end.
pub(super) fn axis(number: i64, rank: usize) -> Result<usize, Trouble> {
    let rank_here = i64::try_from(rank).unwrap_or(i64::MAX);
    let place = if number < 0 {
        number + rank_here
    } else {
        number
    };
    let place = usize::try_from(place).ok().filter(|&place| place < rank);
    place.ok_or_else(|| missing(format!("dimension {number} of {rank}")))
}

/// An offset as a stride.
pub(super) fn signed(stride: usize) -> Result<isize, Trouble> {
    isize::try_from(stride).map_err(|_| missing("so many elements"))
}

/// Dimensions are short enough for tables of their places.
pub(super) fn tabled(shape: &[usize]) -> Result<(), Trouble> {
    const MOST: usize = 1 << 20;
    match shape.iter().find(|&&size| size > MOST) {
        Some(size) => Err(missing(format!("a dimension of {size}"))),
        None => Ok(()),
    }
}

/// What is moved keeps its meaning: types are equal, and so are scales.
pub(super) fn same_meaning(from: &Known<'_>, to: &Known<'_>) -> Result<(), Trouble> {
    if from.dtype()? != to.dtype()? {
        return Err(missing("a result of another type"));
    }
    if from.is_quantized() && from.scales != to.scales {
        return Err(missing("a result of another scale"));
    }
    Ok(())
}

/// Elements of the whole of an operand, row by row, to a result with these strides, from `to` on.
fn placed(element: usize, shape: &[usize], to: (&[usize], usize)) -> Result<Rearrange, Trouble> {
    let rows = row_strides(shape);
    let axes = shape.iter().zip(rows).zip(to.0);
    let axis = |((&count, from), &to): ((&usize, usize), &usize)| {
        let from = Index::Stride(signed(from)?);
        Ok(Axis { count, to, from })
    };
    Ok(Rearrange {
        element,
        axes: axes.map(axis).collect::<Result<_, Trouble>>()?,
        to: to.1,
        from: 0,
        fill: None,
    })
}

pub(super) fn part(kernel: Rearrange, operand: usize, result: usize) -> Part {
    Part {
        kernel: Kernel::Rearrange(kernel),
        reads: vec![operand],
        write: Target::Result(result),
    }
}

fn concatenation(site: &Site<'_>) -> Answer {
    let options = site.options(10)?;
    if options.activation(1)?.function().is_some() {
        return Err(missing("a fused activation"));
    }
    let result = site.result()?;
    let along = axis(
        options.int(0, "the axis of a CONCATENATION", 0)?,
        result.shape.len(),
    )?;
    let strides = row_strides(&result.shape);
    let mut parts = Vec::with_capacity(site.operands());
    let mut begin = 0_usize;
    for operand in 0..site.operands() {
        let x = site.operand(operand)?;
        same_meaning(x, result)?;
        let mut shape = x.shape.clone();
        let Some(size) = shape.get_mut(along) else {
            return Err(missing("operands of other dimensions"));
        };
        let size = std::mem::replace(size, result.shape[along]);
        if shape != result.shape {
            return Err(missing("operands of other shapes"));
        }
        if size > 0 && x.bytes > 0 {
            let to = (&strides[..], begin.saturating_mul(strides[along]));
            parts.push(part(placed(result.element()?, &x.shape, to)?, operand, 0));
        }
        begin = begin.saturating_add(size);
    }
    if begin != result.shape[along] {
        return Err(missing("a result of another shape"));
    }
    Ok(parts)
}

fn pack(site: &Site<'_>) -> Answer {
    let along = site.options(59)?.int(1, "the axis of a PACK", 0)?;
    let result = site.result()?;
    let along = axis(along, result.shape.len())?;
    let strides = row_strides(&result.shape);
    let mut kept = strides.clone();
    kept.remove(along);
    let mut shape = result.shape.clone();
    if shape.remove(along) != site.operands() {
        return Err(missing("a result of another shape"));
    }
    let operand = |operand: usize| {
        let x = site.operand(operand)?;
        same_meaning(x, result)?;
        if x.shape != shape {
            return Err(missing("operands of other shapes"));
        }
        let to = (&kept[..], operand.saturating_mul(strides[along]));
        Ok(part(placed(result.element()?, &shape, to)?, operand, 0))
    };
    (0..site.operands()).map(operand).collect()
}

fn unpack(site: &Site<'_>) -> Answer {
    let along = site.options(64)?.int(1, "the axis of an UNPACK", 0)?;
    let x = site.operand(0)?;
    let along = axis(along, x.shape.len())?;
    let strides = row_strides(&x.shape);
    let mut kept = Vec::with_capacity(strides.len());
    for (axis, &stride) in strides.iter().enumerate() {
        if axis != along {
            kept.push(signed(stride)?);
        }
    }
    let mut shape = x.shape.clone();
    if shape.remove(along) != site.results.len() {
        return Err(missing("another number of results"));
    }
    let result = |(index, result): (usize, &Known<'_>)| {
        same_meaning(x, result)?;
        let from = index.saturating_mul(strides[along]);
        let moved = Rearrange::strided(x.element()?, &shape, &kept, from);
        Ok(part(moved, 0, index))
    };
    site.results.iter().enumerate().map(result).collect()
}

fn transpose(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    let rank = x.shape.len();
    let order: Result<Vec<usize>, Trouble> =
        site.ints(1)?.iter().map(|&at| axis(at, rank)).collect();
    let order = order?;
    let expected: Vec<usize> = order.iter().map(|&at| x.shape[at]).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if expected != result.shape || sorted.iter().copied().ne(0..rank) {
        return Err(missing("a result of another shape"));
    }
    let strides = row_strides(&x.shape);
    let strides: Result<Vec<isize>, _> = order.iter().map(|&at| signed(strides[at])).collect();
    let moved = Rearrange::strided(result.element()?, &result.shape, &strides?, 0);
    Ok(vec![part(moved, 0, 0)])
}

fn reverse(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    let rows = row_strides(&x.shape);
    let mut strides = Vec::with_capacity(rows.len());
    for &row in &rows {
        strides.push(signed(row)?);
    }
    let mut from = 0_usize;
    for number in site.ints(1)? {
        let along = axis(number, rows.len())?;
        if strides[along] < 0 {
            return Err(missing("an axis that is turned twice"));
        }
        strides[along] = -strides[along];
        let last = x.shape[along].saturating_sub(1);
        from = from.saturating_add(last.saturating_mul(rows[along]));
    }
    let moved = Rearrange::strided(result.element()?, &result.shape, &strides, from);
    Ok(vec![part(moved, 0, 0)])
}

fn tile(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    let (from, to) = (row_strides(&x.shape), row_strides(&result.shape));
    if from.len() != to.len() {
        return Err(missing("a result of other dimensions"));
    }
    let mut axes = Vec::with_capacity(2 * to.len());
    for (along, (&size, &all)) in x.shape.iter().zip(&result.shape).enumerate() {
        let times = all.checked_div(size).unwrap_or(0);
        if times.checked_mul(size) != Some(all) {
            return Err(missing("a result of another shape"));
        }
        axes.push(Axis {
            count: times,
            to: to[along].saturating_mul(size),
            from: Index::Stride(0),
        });
        axes.push(Axis {
            count: size,
            to: to[along],
            from: Index::Stride(signed(from[along])?),
        });
    }
    let moved = Rearrange::along(result.element()?, axes);
    Ok(vec![part(moved, 0, 0)])
}

fn broadcast_to(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    let stretched = super::joined::broadcast(result, &[x])?;
    let strides: Result<Vec<isize>, _> = stretched.strides[0].iter().map(|&s| signed(s)).collect();
    let moved = Rearrange::strided(result.element()?, &stretched.shape, &strides?, 0);
    Ok(vec![part(moved, 0, 0)])
}

/// Squares of an image to channels, and back.
fn blocks(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    same_meaning(x, result)?;
    let apart = site.op == "DEPTH_TO_SPACE";
    let options = site.options(if apart { 94 } else { 19 })?;
    let block = usize::try_from(options.int(0, "the size of a block", 0)?).unwrap_or(0);
    let (deep, wide) = if apart { (x, result) } else { (result, x) };
    let (&[n, h, w, c], &[n2, h2, w2, c2]) = (&deep.shape[..], &wide.shape[..]) else {
        return Err(missing("operands that are no images"));
    };
    let fits = [
        h.checked_mul(block),
        w.checked_mul(block),
        c2.checked_mul(block * block),
    ];
    if n != n2 || fits != [Some(h2), Some(w2), Some(c)] {
        return Err(missing("a result of another shape"));
    }
    // Both as [n, h, block, w, block, channels]: in the wide image as it lies, in the deep one with
    // blocks before the channels.
    let shape = [n, h, block, w, block, c2];
    let lies_wide = row_strides(&shape);
    let deep = row_strides(&[n, h, w, block, block, c2]);
    let lies_deep = [deep[0], deep[1], deep[3], deep[2], deep[4], deep[5]];
    let (from, to) = if apart {
        (&lies_deep[..], &lies_wide[..])
    } else {
        (&lies_wide[..], &lies_deep[..])
    };
    let mut axes = Vec::with_capacity(6);
    for (along, &count) in shape.iter().enumerate() {
        axes.push(Axis {
            count,
            to: to[along],
            from: Index::Stride(signed(from[along])?),
        });
    }
    let moved = Rearrange::along(result.element()?, axes);
    Ok(vec![part(moved, 0, 0)])
}

fn gather(site: &Site<'_>) -> Answer {
    let options = site.options(23)?;
    if options.int(1, "the batch dimensions of a GATHER", 0)? != 0 {
        return Err(missing("batch dimensions"));
    }
    let (x, indices, result) = (site.operand(0)?, site.operand(1)?, site.result()?);
    same_meaning(x, result)?;
    let along = axis(options.int(0, "the axis of a GATHER", 0)?, x.shape.len())?;
    let expected = [&x.shape[..along], &indices.shape[..], &x.shape[along + 1..]].concat();
    if expected != result.shape {
        return Err(missing("a result of another shape"));
    }
    let index = indices.dtype()?;
    if !matches!(index, DType::I32 | DType::I64) {
        return Err(missing(format!("indices of type {index}")));
    }
    let kernel = Take {
        element: x.element()?,
        outer: super::site::count(&x.shape[..along])?,
        axis: x.shape[along],
        inner: super::site::count(&x.shape[along + 1..])?,
        count: indices.count()?,
        index,
    };
    Ok(vec![Part::simple(Kernel::Take(kernel), 2)])
}

/// The shape of the operand, as integers of the result's type.
pub(super) fn spelt(site: &Site<'_>) -> Result<Vec<u8>, Trouble> {
    let (x, result) = (site.operand(0)?, site.result()?);
    let wrong = |_| missing("such long dimensions");
    let mut bytes = Vec::with_capacity(8 * x.shape.len());
    for &size in &x.shape {
        match result.dtype()? {
            DType::I32 => bytes.extend(i32::try_from(size).map_err(wrong)?.to_le_bytes()),
            DType::I64 => bytes.extend(i64::try_from(size).map_err(wrong)?.to_le_bytes()),
            other => return Err(missing(format!("a result of type {other}"))),
        }
    }
    if bytes.len() as u64 != result.bytes {
        return Err(missing("a result of another shape"));
    }
    Ok(bytes)
}

/// A part for each dimension: shapes are known, whatever the run makes.
fn shape(site: &Site<'_>) -> Answer {
    let element = site.result()?.element()?;
    let numbers = spelt(site)?;
    let numbers = numbers.chunks_exact(element).enumerate();
    let written = |(to, number): (usize, &[u8])| {
        let mut fill = [0; 8];
        fill[..element].copy_from_slice(number);
        let axis = Axis {
            count: 1,
            to: 1,
            from: Index::Table(vec![None]),
        };
        let moved = Rearrange {
            element,
            axes: vec![axis],
            to,
            from: 0,
            fill: Some(fill),
        };
        part(moved, 0, 0)
    };
    Ok(numbers.map(written).collect())
}
