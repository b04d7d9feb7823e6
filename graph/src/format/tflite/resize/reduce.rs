//! Operators that take dimensions away: sums, maxima, positions of the largest.

use super::site::{Answer, Rule, Site, only};
use crate::infer::Attr;

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "ARG_MAX" | "ARG_MIN" => arg,
        "TOPK_V2" => |site| Ok(site.run("TopK", site.call.inputs, &[])?),
        _ => return shared(op).map(|_| reduce as Rule),
    })
}

/// The operator of [`crate::infer`] that means the same; truth values are 0 and 1.
fn shared(op: &str) -> Option<&'static str> {
    Some(match op {
        "MEAN" => "ReduceMean",
        "SUM" => "ReduceSum",
        "REDUCE_PROD" => "ReduceProd",
        "REDUCE_MAX" | "REDUCE_ANY" => "ReduceMax",
        "REDUCE_MIN" | "REDUCE_ALL" => "ReduceMin",
        _ => return None,
    })
}

/// Operand 1 lists the axes; none of them is none, not all.
fn reduce(site: &Site<'_>) -> Answer {
    let keep = site.options(27)?.byte(0, "whether dimensions are kept")? != 0;
    let op = shared(site.call.op).unwrap_or_default();
    let attrs = [
        ("keepdims", Attr::Int(i64::from(keep))),
        ("noop_with_empty_axes", Attr::Int(1)),
    ];
    Ok(site.run(op, site.call.inputs, &attrs)?)
}

/// Operand 1 is the axis, which goes.
fn arg(site: &Site<'_>) -> Answer {
    let attrs = [
        ("axis", Attr::Int(site.call.int(1)?)),
        ("keepdims", Attr::Int(0)),
    ];
    let result = only(site.run("ArgMax", &[Some(site.operand(0)?)], &attrs)?)?;
    site.one(result.shape)
}
