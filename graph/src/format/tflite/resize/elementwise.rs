//! Operators that treat each element alone, and those whose result has the shape of an operand.

use super::site::{Answer, Rule, Site, mismatch, only};
use crate::infer::{self, Fact};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    if shared(op).is_some() {
        return Some(evaluated);
    }
    Some(match op {
        "LOGISTIC"
        | "TANH"
        | "RELU"
        | "RELU6"
        | "RELU_N1_TO_1"
        | "RELU_0_TO_1"
        | "ELU"
        | "GELU"
        | "HARD_SWISH"
        | "LEAKY_RELU"
        | "SOFTMAX"
        | "LOG_SOFTMAX"
        | "L2_NORMALIZATION"
        | "LOCAL_RESPONSE_NORMALIZATION"
        | "RSQRT"
        | "SIN"
        | "COS"
        | "QUANTIZE"
        | "DEQUANTIZE"
        | "DENSIFY"
        | "FAKE_QUANT"
        | "CUMSUM"
        | "REVERSE_SEQUENCE"
        | "MATRIX_SET_DIAG"
        | "BUCKETIZE"
        | "DYNAMIC_UPDATE_SLICE"
        | "IMAG"
        | "REAL"
        | "COMPLEX_ABS"
        | "ZEROS_LIKE" => like_first,
        "ADD_N" | "ATAN2" => alike,
        "CAST" => cast,
        "SQUARE" => square,
        "NOT_EQUAL" => not_equal,
        "FLOOR_DIV" => floor_div,
        "SQUARED_DIFFERENCE" | "BITWISE_XOR" | "RIGHT_SHIFT" | "PRELU" => broadcast,
        // One shape for all, but for a condition that chooses whole rows.
        "SELECT" => |site| site.one(site.operand(1)?.shape.clone()),
        _ => return stable(op).then_some(alike as Rule),
    })
}

/// The operator of [`crate::infer`] that means the same, values included.
fn shared(op: &str) -> Option<&'static str> {
    Some(match op {
        "ADD" => "Add",
        "SUB" => "Sub",
        "MUL" => "Mul",
        "DIV" => "Div",
        "POW" => "Pow",
        "MAXIMUM" => "Max",
        "MINIMUM" => "Min",
        "FLOOR_MOD" => "Mod",
        "EQUAL" => "Equal",
        "LESS" => "Less",
        "LESS_EQUAL" => "LessOrEqual",
        "GREATER" => "Greater",
        "GREATER_EQUAL" => "GreaterOrEqual",
        "LOGICAL_AND" => "And",
        "LOGICAL_OR" => "Or",
        "LOGICAL_NOT" => "Not",
        "SELECT_V2" => "Where",
        "NEG" => "Neg",
        "ABS" => "Abs",
        "SIGN" => "Sign",
        "FLOOR" => "Floor",
        "CEIL" => "Ceil",
        "ROUND" => "Round",
        "SQRT" => "Sqrt",
        "EXP" => "Exp",
        "LOG" => "Log",
        _ => return None,
    })
}

/// Operators of the `StableHLO` dialect whose operands all have the shape of the result.
fn stable(op: &str) -> bool {
    matches!(
        op.strip_prefix("STABLEHLO_").unwrap_or_default(),
        "LOGISTIC"
            | "ADD"
            | "DIVIDE"
            | "MULTIPLY"
            | "MAXIMUM"
            | "ABS"
            | "AND"
            | "COSINE"
            | "EXPONENTIAL"
            | "FLOOR"
            | "LOG"
            | "MINIMUM"
            | "NEGATE"
            | "OR"
            | "POWER"
            | "REMAINDER"
            | "RSQRT"
            | "SUBTRACT"
            | "TANH"
            | "COMPARE"
            | "CONVERT"
            | "SHIFT_LEFT"
            | "CBRT"
    )
}

fn like_first(site: &Site<'_>) -> Answer {
    site.one(site.operand(0)?.shape.clone())
}

/// All operands have the shape of the result.
fn alike(site: &Site<'_>) -> Answer {
    let first = &site.operand(0)?.shape;
    let other = site
        .call
        .inputs
        .iter()
        .flatten()
        .find(|x| x.shape != *first);
    if let Some(other) = other {
        let why = format!("shapes {first:?} and {:?} differ", other.shape);
        return Err(mismatch(why).into());
    }
    like_first(site)
}

/// Numbers of the options of operators that may apply an activation to their result.
fn activation(op: &str) -> Option<u8> {
    match op {
        "ADD" => Some(11),
        "MUL" => Some(21),
        "SUB" => Some(28),
        "DIV" => Some(29),
        _ => None,
    }
}

fn evaluated(site: &Site<'_>) -> Answer {
    let op = shared(site.call.op).unwrap_or_default();
    let mut facts = site.run(op, site.call.inputs, &[])?;
    if let Some(kind) = activation(site.call.op)
        && site.options(kind)?.byte(0, "a fused activation")? != 0
    {
        for fact in &mut facts {
            fact.value = None;
        }
    }
    Ok(facts)
}

fn cast(site: &Site<'_>) -> Answer {
    let x = site.operand(0)?;
    let value = x.value.as_ref().map(|value| value.cast(site.dtype()));
    Ok(vec![Fact::new(site.dtype(), x.shape.clone())?.with(value)])
}

fn square(site: &Site<'_>) -> Answer {
    let x = Some(site.operand(0)?);
    Ok(site.run("Mul", &[x, x], &[])?)
}

fn not_equal(site: &Site<'_>) -> Answer {
    let equal = only(site.run("Equal", site.call.inputs, &[])?)?;
    Ok(site.run("Not", &[Some(&equal)], &[])?)
}

fn broadcast(site: &Site<'_>) -> Answer {
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    site.one(infer::broadcast(&a.shape, &b.shape)?)
}

fn floor_div(site: &Site<'_>) -> Answer {
    let result = only(broadcast(site)?)?;
    let (a, b) = (site.operand(0)?, site.operand(1)?);
    let value = site.call.folds(result.elements());
    let value = value.then(|| infer::evaluate("FloorDiv", &[a, b], &result));
    Ok(vec![result.with(value.flatten())])
}
