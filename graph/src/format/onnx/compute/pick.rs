//! Picking slices by their numbers.

use super::site::{Parts, Rule, Site, Why, count, dims, element, elements, number, one};
use super::tidy::{strided, tidy};
use crate::dtype::DType;
use crate::infer::{Value, axis};
use crate::kernel::{Axis, Index, Kernel, Rearrange, Take};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    match op {
        "Gather" => Some(gather),
        _ => None,
    }
}

fn gather(site: &Site<'_>) -> Parts {
    let (x, indices) = (site.input(0)?, site.input(1)?);
    let shape = dims(x);
    let along = axis(site.call.attr_int("axis", 0), shape.len())?;
    let (outer, inner) = (count(&shape[..along]), count(&shape[along + 1..]));
    let (element, size) = (element(x)?, shape[along]);
    if let Some(Value::Ints(list)) = indices.value.as_deref() {
        let moves = Rearrange {
            element,
            axes: vec![
                strided(
                    outer,
                    list.len().saturating_mul(inner),
                    count(&shape[along..]),
                ),
                Axis {
                    count: list.len(),
                    to: inner,
                    from: Index::Table(offsets(site, list, size, inner)?),
                },
                strided(inner, 1, 1),
            ],
            to: 0,
            from: 0,
            fill: None,
        };
        return Ok(one(tidy(moves), &[0]));
    }
    if !matches!(indices.dtype, DType::I64 | DType::I32) {
        return Err(elements(indices.dtype));
    }
    let take = Take {
        element,
        outer,
        axis: size,
        inner,
        count: number(indices.elements()),
        index: indices.dtype,
    };
    Ok(one(Kernel::Take(take), &[0, 1]))
}

/// Where the slices with these numbers begin.
fn offsets(
    site: &Site<'_>,
    list: &[i64],
    size: usize,
    inner: usize,
) -> Result<Vec<Option<usize>>, Why> {
    site.table(list.len())?;
    let offset = |&raw: &i64| {
        let back = i64::try_from(size).ok().filter(|_| raw < 0).unwrap_or(0);
        let place = usize::try_from(raw.checked_add(back)?).ok()?;
        (place < size).then_some(place)?.checked_mul(inner)
    };
    let found = list.iter().map(|raw| Some(Some(offset(raw)?)));
    let found: Option<Vec<_>> = found.collect();
    found.ok_or_else(|| "an index outside of its operand".into())
}
