//! `STRIDED_SLICE`: begins, ends and strides under five masks.
//!
//! Each position of the lists is one of: a cut along the next dimension, a single element of it (the
//! dimension goes), a new dimension of 1, or the ellipsis (all dimensions that are left over).

use super::super::options::{Masks, set};
use super::site::{Answer, Rule, Site, list, mismatch, only};
use crate::infer::{Fact, InferError};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    (op == "STRIDED_SLICE").then_some(strided as Rule)
}

/// What becomes of a dimension after the cuts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Gone,
    New,
}

/// Cuts along the dimensions, and what becomes of each.
#[derive(Default)]
struct Cuts {
    begins: Vec<i64>,
    ends: Vec<i64>,
    steps: Vec<i64>,
    fates: Vec<Fate>,
}

impl Cuts {
    fn push(&mut self, begin: i64, end: i64, step: i64, fate: Fate) {
        self.begins.push(begin);
        self.ends.push(end);
        self.steps.push(step);
        self.fates.push(fate);
    }

    fn whole(&mut self) {
        self.push(0, i64::MAX, 1, Fate::Kept);
    }
}

fn strided(site: &Site<'_>) -> Answer {
    let masks = Masks::new(&site.options(32)?)?;
    let x = site.operand(0)?;
    let lists = [site.ints(1)?, site.ints(2)?, site.ints(3)?];
    let cuts = cuts(x, lists, &masks)?;
    let (begins, ends, steps) = (list(cuts.begins), list(cuts.ends), list(cuts.steps));
    let operands = [Some(x), Some(&begins), Some(&ends), None, Some(&steps)];
    let sliced = only(site.run("Slice", &operands, &[])?)?;
    let mut dims = sliced.shape.iter().copied();
    let mut shape = Vec::with_capacity(cuts.fates.len());
    for fate in cuts.fates {
        match fate {
            Fate::Kept => shape.extend(dims.next()),
            Fate::Gone => drop(dims.next()),
            Fate::New => shape.push(1),
        }
    }
    let value = sliced.value.as_deref().cloned();
    Ok(vec![Fact::new(x.dtype, shape)?.with(value)])
}

fn cuts(x: &Fact, lists: [&[i64]; 3], masks: &Masks) -> Result<Cuts, InferError> {
    let [begins, ends, steps] = lists;
    let count = begins.len();
    if ends.len() != count || steps.len() != count {
        return Err(mismatch("begins, ends and strides differ in length"));
    }
    let ellipsis = (0..count).find(|&i| set(masks.ellipsis, i));
    let special = |&i: &usize| Some(i) == ellipsis || set(masks.new, i);
    let used = count - (0..count).filter(special).count();
    let left = x.rank().checked_sub(used).ok_or_else(|| {
        mismatch(format!(
            "{used} cuts through the dimensions of {:?}",
            x.shape
        ))
    })?;
    let mut cuts = Cuts::default();
    let mut along = 0;
    for i in 0..count {
        if Some(i) == ellipsis {
            (0..left).for_each(|_| cuts.whole());
            along += left;
        } else if set(masks.new, i) {
            cuts.fates.push(Fate::New);
        } else {
            cut(
                &mut cuts,
                x.shape[along],
                (begins[i], ends[i], steps[i]),
                (i, masks),
            )?;
            along += 1;
        }
    }
    (along..x.rank()).for_each(|_| cuts.whole());
    Ok(cuts)
}

/// One cut through a dimension of `size`.
fn cut(
    cuts: &mut Cuts,
    size: u64,
    (begin, end, step): (i64, i64, i64),
    (i, masks): (usize, &Masks),
) -> Result<(), InferError> {
    let end = if masks.offset {
        begin.saturating_add(end)
    } else {
        end
    };
    if set(masks.shrink, i) {
        let begin = if set(masks.begin, i) { 0 } else { begin };
        let size = i128::from(size);
        let place = i128::from(begin) + if begin < 0 { size } else { 0 };
        // Kernels take the nearest element where there is none.
        let place = i64::try_from(place.clamp(0, (size - 1).max(0))).unwrap_or(i64::MAX);
        if size == 0 {
            return Err(mismatch(format!("element {begin} of a dimension of 0")));
        }
        cuts.push(place, place.saturating_add(1), 1, Fate::Gone);
        return Ok(());
    }
    let (first, last) = if step < 0 {
        (i64::MAX, i64::MIN)
    } else {
        (0, i64::MAX)
    };
    let begin = if set(masks.begin, i) { first } else { begin };
    let end = if set(masks.end, i) { last } else { end };
    cuts.push(begin, end, step, Fate::Kept);
    Ok(())
}
