//! Padding.

use super::encode::encoded;
use super::site::{Parts, Rule, Site, Why, dims, element};
use super::tidy::rearranged;
use crate::infer::{Value, paddings};
use crate::kernel::{Index, row_strides};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    match op {
        "Pad" => Some(pad),
        _ => None,
    }
}

/// What stands outside of the operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Fill,
    Edge,
    Reflect,
    Wrap,
}

impl Outside {
    fn of(site: &Site<'_>) -> Result<Self, Why> {
        Ok(match site.call.attr_text("mode", "constant") {
            "constant" => Self::Fill,
            "edge" => Self::Edge,
            "reflect" => Self::Reflect,
            "wrap" => Self::Wrap,
            other => return Err(format!("attribute `mode` is `{other}`").into()),
        })
    }

    /// Which element of `size` stands at position `at`; an error where there is none.
    fn element(self, at: i128, size: i128) -> Result<Option<i128>, Why> {
        if (0..size).contains(&at) {
            return Ok(Some(at));
        }
        let last = size - 1;
        let found = match self {
            Self::Fill => return Ok(None),
            Self::Edge => at.clamp(0, last.max(0)),
            Self::Reflect if at < 0 => -at,
            Self::Reflect => 2 * last - at,
            Self::Wrap => at.rem_euclid(size.max(1)),
        };
        let inside = (0..size).contains(&found);
        inside
            .then_some(Some(found))
            .ok_or_else(|| "a padding longer than its operand".into())
    }
}

fn pad(site: &Site<'_>) -> Parts {
    let (x, result) = (site.input(0)?, dims(site.result()?));
    let outside = Outside::of(site)?;
    let shape = dims(x);
    let mut from = Vec::new();
    let axes = shape.iter().zip(&result).zip(paddings(&site.call)?);
    for (((&size, &count), [begin, end]), row) in axes.zip(row_strides(&shape)) {
        if begin == 0 && end == 0 {
            from.push(Index::Stride(isize::try_from(row).unwrap_or(isize::MAX)));
            continue;
        }
        site.table(count)?;
        let mut table = Vec::with_capacity(count);
        for position in 0..count {
            let at = outside.element(position as i128 - begin, size as i128)?;
            let at = at.map(|at| usize::try_from(at).unwrap_or(0).saturating_mul(row));
            table.push(at);
        }
        from.push(Index::Table(table));
    }
    let fill = match outside {
        Outside::Fill => Some(fill(site)?),
        _ => None,
    };
    Ok(rearranged(element(x)?, &result, from, 0, fill))
}

/// The bytes of the element that stands outside: 0, an attribute, or from version 11 on an operand.
fn fill(site: &Site<'_>) -> Result<[u8; 8], Why> {
    let dtype = site.input(0)?.dtype;
    let value = match site.call.optional(2) {
        Some(fact) if fact.elements() > 0 => site.call.value(2)?.clone(),
        _ => Value::Floats(vec![f64::from(site.float("value", 0.0))]).cast(dtype),
    };
    let bytes = encoded(&value, dtype).ok_or("a padding that has no bytes")?;
    let mut fill = [0; 8];
    let element = usize::try_from(dtype.bits() / 8).unwrap_or(0);
    let bytes = bytes.get(..element).ok_or("a padding that has no bytes")?;
    fill[..element].copy_from_slice(bytes);
    Ok(fill)
}
