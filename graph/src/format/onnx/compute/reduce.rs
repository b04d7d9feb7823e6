//! Reductions and normalizations.

use super::site::{Parts, Rule, Site, Why, count, dims, elements, one};
use super::window::channels;
use crate::dtype::DType;
use crate::infer::{Fact, axis, gone};
use crate::kernel::{Affine, ArgReduce, Kernel, LayerNorm, Reduce, Reduction, Softmax};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "ReduceSum" => |site| reduce(site, Reduction::Sum),
        "ReduceMean" => |site| reduce(site, Reduction::Mean),
        "ReduceMax" => |site| reduce(site, Reduction::Max),
        "ReduceMin" => |site| reduce(site, Reduction::Min),
        "ReduceProd" => |site| reduce(site, Reduction::Prod),
        "ReduceSumSquare" => |site| reduce(site, Reduction::SumSquare),
        "ReduceL1" => |site| reduce(site, Reduction::L1),
        "ReduceL2" => |site| reduce(site, Reduction::L2),
        "ArgMax" => |site| arg(site, true),
        "ArgMin" => |site| arg(site, false),
        "Softmax" => |site| softmax(site, false),
        "LogSoftmax" => |site| softmax(site, true),
        "LayerNormalization" => layer_norm,
        "BatchNormalization" => batch_norm,
        _ => return None,
    })
}

/// Whether the reduction is meant for elements of this type.
fn fits(reduction: Reduction, dtype: DType) -> bool {
    use Reduction::{Max, Min, Prod, Sum};
    let exact = matches!(reduction, Sum | Max | Min | Prod);
    dtype == DType::F32 || (exact && matches!(dtype, DType::I64 | DType::I32))
}

fn reduce(site: &Site<'_>, reduction: Reduction) -> Parts {
    let gone = gone(&site.call)?;
    let same = matches!(
        reduction,
        Reduction::SumSquare | Reduction::L1 | Reduction::L2
    );
    if same && !gone.contains(&true) && !gone.is_empty() {
        return Err("over no axes, of which runtimes think differently".into());
    }
    over(reduction, site.input(0)?, |axis| gone[axis])
}

/// One part that reduces operand 0 over the axes for which `gone` holds.
pub(super) fn over(reduction: Reduction, x: &Fact, gone: impl Fn(usize) -> bool) -> Parts {
    if !fits(reduction, x.dtype) {
        return Err(elements(x.dtype));
    }
    let shape = dims(x);
    let empty = |(axis, &size): (usize, &usize)| size == 0 && gone(axis);
    if shape.iter().enumerate().any(empty) {
        return Err("a reduction of no elements".into());
    }
    let mut reduce = Reduce::new(reduction, x.dtype, &shape, gone);
    merge(&mut reduce.kept);
    merge(&mut reduce.reduced);
    Ok(one(Kernel::Reduce(reduce), &[0]))
}

/// Joins neighbouring axes that go on.
fn merge(axes: &mut Vec<(usize, usize)>) {
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for &(count, stride) in axes.iter().filter(|axis| axis.0 != 1) {
        match merged.last_mut() {
            Some(outer) if stride.checked_mul(count) == Some(outer.1) => {
                *outer = (outer.0.saturating_mul(count), stride);
            }
            _ => merged.push((count, stride)),
        }
    }
    *axes = merged;
}

/// Elements before an axis, along it, and behind it.
fn along(shape: &[usize], axis: usize) -> [usize; 3] {
    let (before, behind) = (&shape[..axis], &shape[axis + 1..]);
    [count(before), shape[axis], count(behind)]
}

fn arg(site: &Site<'_>, largest: bool) -> Parts {
    let x = site.floats(0)?;
    let place = axis(site.call.attr_int("axis", 0), x.rank())?;
    let [outer, axis, inner] = along(&dims(x), place);
    let arg = ArgReduce {
        largest,
        last: site.flag("select_last_index"),
        outer,
        axis,
        inner,
        dtype: x.dtype,
        index: DType::I64,
    };
    Ok(one(Kernel::ArgReduce(arg), &[0]))
}

/// Before version 13 over all axes from one on, then along that one.
fn softmax(site: &Site<'_>, log: bool) -> Parts {
    let x = site.floats(0)?;
    let shape = dims(x);
    let [outer, axis, inner] = if site.call.opset < 13 {
        let first = match site.call.attr_int("axis", 1) {
            all if usize::try_from(all) == Ok(shape.len()) => shape.len(),
            raw => axis(raw, shape.len())?,
        };
        [count(&shape[..first]), count(&shape[first..]), 1]
    } else {
        along(&shape, axis(site.call.attr_int("axis", -1), shape.len())?)
    };
    let softmax = Softmax {
        outer,
        axis,
        inner,
        beta: 1.0,
        log,
    };
    Ok(one(Kernel::Softmax(softmax), &[0]))
}

fn layer_norm(site: &Site<'_>) -> Parts {
    site.one_result()?;
    let shape = dims(site.floats(0)?);
    let first = axis(site.call.attr_int("axis", -1), shape.len())?;
    let size = count(&shape[first..]);
    let full = |position| -> Result<bool, Why> {
        if site.call.optional(position).is_none() {
            return Ok(false);
        }
        let found = count(&dims(site.floats(position)?));
        let told = || format!("operand {position} has {found} elements instead of {size}");
        (found == size).then_some(true).ok_or_else(|| told().into())
    };
    let (scale, bias) = (full(1)?, full(2)?);
    if site.call.attr_int("stash_type", 1) != 1 {
        return Err("attribute `stash_type` is not 32-bit floats".into());
    }
    let norm = LayerNorm {
        outer: count(&shape[..first]),
        size,
        epsilon: site.float("epsilon", 1e-5),
        scale,
        bias,
    };
    let reads = [Some(0), scale.then_some(1), bias.then_some(2)];
    Ok(one(
        Kernel::LayerNorm(norm),
        &reads.into_iter().flatten().collect::<Vec<_>>(),
    ))
}

fn batch_norm(site: &Site<'_>) -> Parts {
    let trained = match site.call.opset {
        ..7 => !site.flag("is_test"),
        7..14 => false,
        _ => site.flag("training_mode"),
    };
    if trained || site.results.iter().skip(1).flatten().count() > 0 {
        return Err("in training".into());
    }
    if site.call.attr_int("spatial", 1) == 0 {
        return Err("attribute `spatial` is 0".into());
    }
    let x = site.floats(0)?;
    let [outer, channels, inner] = channels(x)?;
    for position in 1..5 {
        let each = count(&dims(site.floats(position)?));
        if each != channels {
            return Err(format!("operand {position} has {each} elements, not {channels}").into());
        }
    }
    let norm = Affine {
        outer,
        channels,
        inner,
        epsilon: site.float("epsilon", 1e-5),
        then: None,
    };
    Ok(one(Kernel::Affine(norm), &[0, 1, 2, 3, 4]))
}
