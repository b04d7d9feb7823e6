//! Sums, means, extremes, and where those are.

use super::moved::axis;
use super::quantized;
use super::site::{Answer, Rule, Site, Trouble, missing};
use crate::dtype::DType;
use crate::kernel::{ArgReduce, Kernel, Part, Reduce, Reduction};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    if reduction(op).is_some() {
        return Some(reduce);
    }
    matches!(op, "ARG_MAX" | "ARG_MIN").then_some(place as Rule)
}

fn reduction(op: &str) -> Option<Reduction> {
    Some(match op {
        "MEAN" => Reduction::Mean,
        "SUM" => Reduction::Sum,
        "REDUCE_MAX" => Reduction::Max,
        "REDUCE_MIN" => Reduction::Min,
        "REDUCE_PROD" => Reduction::Prod,
        _ => return None,
    })
}

/// By dimension: whether it goes.
fn gone(site: &Site<'_>) -> Result<Vec<bool>, Trouble> {
    let rank = site.operand(0)?.shape.len();
    let mut gone = vec![false; rank];
    for number in site.ints(1)? {
        gone[axis(number, rank)?] = true;
    }
    Ok(gone)
}

fn reduce(site: &Site<'_>) -> Answer {
    let Some(reduction) = reduction(site.op) else {
        return Err(missing("no kernel"));
    };
    let (x, result) = (site.operand(0)?, site.result()?);
    let gone = gone(site)?;
    let dtype = x.dtype()?;
    let kernel = Reduce::new(reduction, dtype, &x.shape, |along| gone[along]);
    let kept: Vec<usize> = kernel.kept.iter().map(|axis| axis.0).collect();
    if super::site::count(&kept)? != result.count()? {
        return Err(missing("a result of another shape"));
    }
    if x.is_quantized() {
        return quantized::reduce(site, kernel);
    }
    let exact = matches!(reduction, Reduction::Max | Reduction::Min | Reduction::Sum);
    let meant = dtype == DType::F32 || (exact && matches!(dtype, DType::I32 | DType::I64));
    if !meant || result.dtype()? != dtype {
        return Err(missing(format!("operands of type {dtype}")));
    }
    if x.count()? == 0 {
        return Err(missing("a reduction of nothing"));
    }
    Ok(vec![Part::simple(Kernel::Reduce(kernel), 1)])
}

fn place(site: &Site<'_>) -> Answer {
    let (x, result) = (site.operand(0)?, site.result()?);
    let along = axis(site.int(1)?, x.shape.len())?;
    let (dtype, index) = (x.dtype()?, result.dtype()?);
    if !matches!(index, DType::I32 | DType::I64) || dtype != DType::F32 {
        return Err(missing(format!("operands of type {dtype} to {index}")));
    }
    let kernel = ArgReduce {
        largest: site.op == "ARG_MAX",
        last: false,
        outer: super::site::count(&x.shape[..along])?,
        axis: x.shape[along],
        inner: super::site::count(&x.shape[along + 1..])?,
        dtype,
        index,
    };
    Ok(vec![Part::simple(Kernel::ArgReduce(kernel), 1)])
}
