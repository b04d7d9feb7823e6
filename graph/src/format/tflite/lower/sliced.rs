//! Parts of an operand.

use super::super::options::{Masks, set};
use super::moved::{axis, same_meaning, signed};
use super::site::{Answer, Known, Rule, Site, Trouble, missing};
use crate::kernel::{Kernel, Part, Rearrange, Target, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "STRIDED_SLICE" => strided,
        "SLICE" => slice,
        "SPLIT" => split,
        "SPLIT_V" => split_at,
        _ => return None,
    })
}

/// A cut through one dimension: first place, step, places, and whether the dimension stays.
struct Cut {
    first: usize,
    step: isize,
    count: usize,
    stays: bool,
}

impl Cut {
    fn whole(size: usize) -> Self {
        Self {
            first: 0,
            step: 1,
            count: size,
            stays: true,
        }
    }
}

fn strided(site: &Site<'_>) -> Answer {
    let masks = Masks::new(&site.options(32)?)?;
    let (x, result) = (site.operand(0)?, site.result()?);
    let lists = [site.ints(1)?, site.ints(2)?, site.ints(3)?];
    let cuts = cuts(&x.shape, &lists, &masks)?;
    let shape: Vec<usize> = cuts
        .iter()
        .filter(|cut| cut.stays)
        .map(|cut| cut.count)
        .collect();
    // New dimensions of 1 change nothing but the shape.
    let ones = |shape: &[usize]| {
        shape
            .iter()
            .copied()
            .filter(|&n| n != 1)
            .collect::<Vec<_>>()
    };
    if ones(&shape) != ones(&result.shape) {
        return Err(missing("a result of another shape"));
    }
    Ok(vec![taken(x, result, &cuts, (0, 0))?])
}

/// The part that takes what the cuts leave.
fn taken(
    x: &Known<'_>,
    result: &Known<'_>,
    cuts: &[Cut],
    (operand, index): (usize, usize),
) -> Result<Part, Trouble> {
    same_meaning(x, result)?;
    let rows = row_strides(&x.shape);
    let mut from = 0_usize;
    let mut strides = Vec::with_capacity(rows.len());
    for (cut, &row) in cuts.iter().zip(&rows) {
        from = from.saturating_add(cut.first.saturating_mul(row));
        let stride = signed(row)?.checked_mul(cut.step);
        strides.push(stride.ok_or_else(|| missing("such strides"))?);
    }
    let counts: Vec<usize> = cuts.iter().map(|cut| cut.count).collect();
    let moved = Rearrange::strided(result.element()?, &counts, &strides, from);
    Ok(Part {
        kernel: Kernel::Rearrange(moved),
        reads: vec![operand],
        write: Target::Result(index),
    })
}

fn cuts(shape: &[usize], lists: &[Vec<i64>; 3], masks: &Masks) -> Result<Vec<Cut>, Trouble> {
    let [begins, ends, steps] = lists;
    let count = begins.len();
    if ends.len() != count || steps.len() != count {
        return Err(missing("begins, ends and strides of different lengths"));
    }
    let ellipsis = (0..count).find(|&i| set(masks.ellipsis, i));
    let special = |&i: &usize| Some(i) == ellipsis || set(masks.new, i);
    let used = count - (0..count).filter(special).count();
    let left = shape.len().checked_sub(used);
    let left = left.ok_or_else(|| missing(format!("{used} cuts through {shape:?}")))?;
    let mut cuts = Vec::with_capacity(shape.len());
    let mut sizes = shape.iter().copied();
    for i in 0..count {
        if Some(i) == ellipsis {
            cuts.extend(sizes.by_ref().take(left).map(Cut::whole));
        } else if !set(masks.new, i) {
            let size = sizes.next().unwrap_or(0);
            cuts.push(cut(size, (begins[i], ends[i], steps[i]), (i, masks))?);
        }
    }
    cuts.extend(sizes.map(Cut::whole));
    Ok(cuts)
}

/// One cut through a dimension of `size`.
fn cut(
    size: usize,
    (begin, end, step): (i64, i64, i64),
    (i, masks): (usize, &Masks),
) -> Result<Cut, Trouble> {
    let far = i64::try_from(size).map_err(|_| missing("so many elements"))?;
    let end = if masks.offset {
        begin.saturating_add(end)
    } else {
        end
    };
    let from_end = |place: i64| {
        if place < 0 {
            place.saturating_add(far)
        } else {
            place
        }
    };
    let place = |place: i64| usize::try_from(place).unwrap_or(0);
    if set(masks.shrink, i) {
        let begin = if set(masks.begin, i) { 0 } else { begin };
        if size == 0 {
            return Err(missing(format!("element {begin} of nothing")));
        }
        return Ok(Cut {
            // The stock kernels take the nearest element where there is none.
            first: place(from_end(begin).clamp(0, far - 1)),
            step: 1,
            count: 1,
            stays: false,
        });
    }
    if step == 0 {
        return Err(missing("a stride of 0"));
    }
    let (low, high) = if step < 0 { (-1, far - 1) } else { (0, far) };
    let (first, last) = if step < 0 { (far - 1, -1) } else { (0, far) };
    let begin = if set(masks.begin, i) {
        first
    } else {
        from_end(begin).clamp(low, high)
    };
    let end = if set(masks.end, i) {
        last
    } else {
        from_end(end).clamp(low, high)
    };
    let span = if step < 0 { begin - end } else { end - begin };
    let count = usize::try_from(span).unwrap_or(0);
    let stride = usize::try_from(step.unsigned_abs()).unwrap_or(usize::MAX);
    let count = count.div_ceil(stride);
    Ok(Cut {
        first: if count == 0 { 0 } else { place(begin) },
        step: isize::try_from(step).map_err(|_| missing("such strides"))?,
        count,
        stays: true,
    })
}

fn slice(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    let begins = site.ints(1)?;
    if begins.len() != x.shape.len() || result.shape.len() != x.shape.len() {
        return Err(missing("begins of other dimensions"));
    }
    let mut cuts = Vec::with_capacity(begins.len());
    for (&begin, &count) in begins.iter().zip(&result.shape) {
        let first = usize::try_from(begin).map_err(|_| missing("a begin below 0"))?;
        cuts.push(Cut {
            first,
            count,
            ..Cut::whole(count)
        });
    }
    within(x, &cuts)?;
    Ok(vec![taken(x, result, &cuts, (0, 0))?])
}

/// The cuts stay in their dimensions.
fn within(x: &Known<'_>, cuts: &[Cut]) -> Result<(), Trouble> {
    let fits = |(cut, &size): (&Cut, &usize)| {
        let end = cut.first.checked_add(cut.count);
        end.is_some_and(|end| end <= size)
    };
    if cuts.iter().zip(&x.shape).all(fits) {
        return Ok(());
    }
    Err(missing("parts beyond the operand"))
}

/// Operands: axis, x.
fn split(site: &Site<'_>) -> Answer {
    parted(site, site.int(0)?, 1)
}

/// Operands: x, sizes, axis. The sizes are those of the results.
fn split_at(site: &Site<'_>) -> Answer {
    parted(site, site.int(2)?, 0)
}

/// The operand cut into the results along an axis.
fn parted(site: &Site<'_>, number: i64, operand: usize) -> Answer {
    let x = site.operand(operand)?;
    let along = axis(number, x.shape.len())?;
    let mut begin = 0;
    let mut parts = Vec::with_capacity(site.results.len());
    for (index, result) in site.results.iter().enumerate() {
        let mut cuts: Vec<Cut> = x.shape.iter().map(|&size| Cut::whole(size)).collect();
        let Some(&count) = result.shape.get(along) else {
            return Err(missing("results of other dimensions"));
        };
        cuts[along] = Cut {
            first: begin,
            ..Cut::whole(count)
        };
        let shape: Vec<usize> = cuts.iter().map(|cut| cut.count).collect();
        if shape != result.shape {
            return Err(missing("results of other shapes"));
        }
        within(x, &cuts)?;
        if result.bytes > 0 {
            parts.push(taken(x, result, &cuts, (operand, index))?);
        }
        begin += count;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First place, step, places.
    fn found(size: usize, cut_at: (i64, i64, i64), masks: [i64; 5]) -> (usize, isize, usize) {
        let [begin, end, ellipsis, new, shrink] = masks;
        let offset = false;
        let masks = Masks {
            begin,
            end,
            ellipsis,
            new,
            shrink,
            offset,
        };
        let found = cut(size, cut_at, (0, &masks)).unwrap();
        (found.first, found.step, found.count)
    }

    #[test]
    fn cuts_count_from_both_ends() {
        let none = [0; 5];
        for (size, at, masks, expected) in [
            (6, (1, 5, 1), none, (1, 1, 4)),
            (6, (1, 6, 2), none, (1, 2, 3)),
            (6, (-2, 6, 1), none, (4, 1, 2)),
            (6, (-100, 100, 1), none, (0, 1, 6)),
            (6, (4, 2, 1), none, (0, 1, 0)),
            (6, (5, 0, -1), none, (5, -1, 5)),
            (6, (5, 0, -1), [0, 1, 0, 0, 0], (5, -1, 6)),
            (6, (0, 0, -2), [1, 1, 0, 0, 0], (5, -2, 3)),
            (6, (3, 0, 1), [0, 1, 0, 0, 0], (3, 1, 3)),
            (6, (3, 9, 1), [1, 0, 0, 0, 0], (0, 1, 6)),
            (6, (-1, 0, 1), [0, 0, 0, 0, 1], (5, 1, 1)),
            (6, (77, 0, 1), [0, 0, 0, 0, 1], (5, 1, 1)),
        ] {
            assert_eq!(found(size, at, masks), expected, "{size} {at:?} {masks:?}");
        }
    }
}
