//! Operators of one operand that treat each element alone.

use super::site::{Parts, Rule, Site, Why, count, dims, elements, one};
use crate::dtype::DType;
use crate::infer::{Fact, Value};
use crate::kernel::{Cast, Kernel, Map, Unary};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Clip" => clip,
        "Cast" | "CastLike" => cast,
        "Abs"
        | "Neg"
        | "Sign"
        | "Relu"
        | "LeakyRelu"
        | "Elu"
        | "Sigmoid"
        | "HardSigmoid"
        | "HardSwish"
        | "Tanh"
        | "Exp"
        | "Log"
        | "Sqrt"
        | "Reciprocal"
        | "Erf"
        | "Gelu"
        | "com.microsoft.Gelu"
        | "com.microsoft.FastGelu"
        | "Softplus"
        | "Softsign"
        | "Floor"
        | "Ceil"
        | "Round"
        | "Sin"
        | "Cos"
        | "Not" => unary,
        _ => return None,
    })
}

fn function(site: &Site<'_>) -> Result<Unary, Why> {
    Ok(match site.call.op {
        "Abs" => Unary::Abs,
        "Neg" => Unary::Neg,
        "Sign" => Unary::Sign,
        "Relu" => Unary::Relu,
        "LeakyRelu" => Unary::LeakyRelu {
            alpha: site.float("alpha", 0.01),
        },
        "Elu" => Unary::Elu {
            alpha: site.float("alpha", 1.0),
        },
        "Sigmoid" => Unary::Sigmoid,
        "HardSigmoid" => Unary::HardSigmoid {
            alpha: site.float("alpha", 0.2),
            beta: site.float("beta", 0.5),
        },
        "HardSwish" => Unary::HardSwish,
        "Tanh" => Unary::Tanh,
        "Exp" => Unary::Exp,
        "Log" => Unary::Log,
        "Sqrt" => Unary::Sqrt,
        "Reciprocal" => Unary::Reciprocal,
        "Erf" => Unary::Erf,
        "Gelu" => gelu(site)?,
        "com.microsoft.Gelu" => Unary::Gelu { tanh: false },
        "com.microsoft.FastGelu" if site.call.optional(1).is_none() => Unary::Gelu { tanh: true },
        "com.microsoft.FastGelu" => return Err("with a bias".into()),
        "Softplus" => Unary::Softplus,
        "Softsign" => Unary::Softsign,
        "Floor" => Unary::Floor,
        "Ceil" => Unary::Ceil,
        "Round" => Unary::Round,
        "Sin" => Unary::Sin,
        "Cos" => Unary::Cos,
        "Not" => Unary::Not,
        _ => return Err("no kernel".into()),
    })
}

fn gelu(site: &Site<'_>) -> Result<Unary, Why> {
    match site.call.attr_text("approximate", "none") {
        "none" => Ok(Unary::Gelu { tanh: false }),
        "tanh" => Ok(Unary::Gelu { tanh: true }),
        other => Err(format!("attribute `approximate` is `{other}`").into()),
    }
}

/// Whether the function is meant for elements of this type.
fn fits(function: Unary, dtype: DType) -> bool {
    match dtype {
        DType::F32 => function != Unary::Not,
        DType::I64 | DType::I32 => matches!(
            function,
            Unary::Abs | Unary::Neg | Unary::Sign | Unary::Relu | Unary::Clip { .. }
        ),
        DType::Bool => function == Unary::Not,
        _ => false,
    }
}

/// One part that applies the function to operand 0.
pub(super) fn applied(site: &Site<'_>, function: Unary) -> Parts {
    let x = site.input(0)?;
    if !fits(function, x.dtype) {
        return Err(elements(x.dtype));
    }
    let map = Map::unary(function, x.dtype, count(&dims(x)));
    Ok(one(Kernel::Map(map), &[0]))
}

fn unary(site: &Site<'_>) -> Parts {
    applied(site, function(site)?)
}

fn clip(site: &Site<'_>) -> Parts {
    let low = bound(site, 1, "min")?.unwrap_or(f32::NEG_INFINITY);
    let high = bound(site, 2, "max")?.unwrap_or(f32::INFINITY);
    applied(site, Unary::Clip { low, high })
}

/// A bound: before version 11 an attribute, then an operand.
fn bound(site: &Site<'_>, position: usize, name: &str) -> Result<Option<f32>, Why> {
    if site.call.optional(position).is_some() {
        return Ok(Some(single(site, position)?));
    }
    let stated = site.call.attrs.contains_key(name);
    Ok(stated.then(|| site.float(name, 0.0)))
}

/// The one number that an operand is known to hold.
#[expect(clippy::cast_possible_truncation, reason = "it is compared afterwards")]
fn single(site: &Site<'_>, position: usize) -> Result<f32, Why> {
    match site.call.value(position)? {
        Value::Floats(list) if list.len() == 1 => Ok(list[0] as f32),
        Value::Ints(list) if list.len() == 1 => {
            let near = list[0] as f32;
            let exact = near as i64 == list[0];
            exact
                .then_some(near)
                .ok_or_else(|| format!("the bound {} has no 32-bit float", list[0]).into())
        }
        value => Err(format!("operand {position} holds {} numbers", value.len()).into()),
    }
}

fn cast(site: &Site<'_>) -> Parts {
    let (x, result) = (site.input(0)?, site.result()?);
    converted(x, result.dtype)
}

/// One part that converts operand 0.
fn converted(x: &Fact, to: DType) -> Parts {
    if x.dtype == to {
        return Ok(super::moves::copied(x));
    }
    for dtype in [x.dtype, to] {
        if matches!(dtype, DType::C64 | DType::I4 | DType::U4) {
            return Err(elements(dtype));
        }
    }
    let cast = Cast {
        from: x.dtype,
        to,
        count: count(&dims(x)),
    };
    Ok(one(Kernel::Cast(cast), &[0]))
}
