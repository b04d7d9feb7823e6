//! Operators that treat each element alone: results have the shape of the operand, or of operands
//! broadcast against each other.

use super::arithmetic::evaluate;
use super::call::{Answer, Attr, Call, InferError, Rule, broadcast, dtype_name, dtype_of};
use super::fact::Fact;
use crate::dtype::DType;

/// One operand, result of the same type and shape.
const UNARY: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
];

/// Operands broadcast, result of the first operand's type.
const BROADCAST: &[&str] = &[
    "Add",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "PRelu",
    "Pow",
    "Sub",
    "Sum",
];

/// Operands broadcast, result of truth values.
const COMPARE: &[&str] = &[
    "And",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Or",
    "Xor",
];

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        _ if UNARY.contains(&op) => unary,
        _ if BROADCAST.contains(&op) => broadcasting,
        _ if COMPARE.contains(&op) => broadcasting,
        "IsNaN" | "IsInf" => unary,
        "Where" => where_,
        "Cast" => cast,
        "CastLike" => cast_like,
        "Clip" => clip,
        _ => return None,
    })
}

fn unary(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let dtype = if matches!(call.op, "IsNaN" | "IsInf") {
        DType::Bool
    } else {
        x.dtype
    };
    let result = Fact::new(dtype, x.shape.clone())?;
    let value = call
        .folds(x.elements())
        .then(|| evaluate(call.op, &[x], &result))
        .flatten();
    Ok(vec![result.with(value)])
}

fn broadcasting(call: &Call<'_>) -> Answer {
    let first = call.input(0)?;
    let mut shape = first.shape.clone();
    let mut operands = vec![first];
    for position in 1..call.inputs.len() {
        let next = call.input(position)?;
        // Before version 7 the second operand was fitted to the first.
        if call.opset >= 7 {
            shape = broadcast(&shape, &next.shape)?;
        }
        operands.push(next);
    }
    let dtype = if COMPARE.contains(&call.op) {
        DType::Bool
    } else {
        first.dtype
    };
    let result = Fact::new(dtype, shape)?;
    let op = if call.op == "Mod" && call.attr_int("fmod", 0) != 0 {
        "FMod"
    } else {
        call.op
    };
    let value = (call.opset >= 7 && call.folds(result.elements()))
        .then(|| evaluate(op, &operands, &result))
        .flatten();
    Ok(vec![result.with(value)])
}

fn where_(call: &Call<'_>) -> Answer {
    let (which, a, b) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let shape = broadcast(&broadcast(&which.shape, &a.shape)?, &b.shape)?;
    let result = Fact::new(a.dtype, shape)?;
    let value = call
        .folds(result.elements())
        .then(|| evaluate("Where", &[which, a, b], &result))
        .flatten();
    Ok(vec![result.with(value)])
}

fn cast(call: &Call<'_>) -> Answer {
    let code = match call.attrs.get("to") {
        Some(&Attr::Int(code)) => code,
        Some(Attr::Text(name)) => old_name(name),
        _ => 0,
    };
    let dtype = dtype_of(code).ok_or_else(|| InferError::Attribute {
        name: "to",
        why: format!("asks for elements of type {}", dtype_name(code)),
    })?;
    convert(call, dtype)
}

/// Before version 6 the type was spelled.
fn old_name(name: &str) -> i64 {
    match name {
        "FLOAT" => 1,
        "UINT8" => 2,
        "INT8" => 3,
        "INT32" => 6,
        "INT64" => 7,
        "BOOL" => 9,
        "FLOAT16" => 10,
        "DOUBLE" => 11,
        _ => 0,
    }
}

fn cast_like(call: &Call<'_>) -> Answer {
    convert(call, call.input(1)?.dtype)
}

fn convert(call: &Call<'_>, dtype: DType) -> Answer {
    let x = call.input(0)?;
    let value = x.value.as_ref().map(|value| value.cast(dtype));
    Ok(vec![Fact::new(dtype, x.shape.clone())?.with(value)])
}

fn clip(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let result = Fact::new(x.dtype, x.shape.clone())?;
    let mut value = x.value.as_deref().cloned();
    for (position, op) in [(1, "Max"), (2, "Min")] {
        if let Some(limit) = call.optional(position) {
            let so_far = result.clone().with(value);
            value = evaluate(op, &[&so_far, limit], &result);
        }
    }
    let by_attribute = call.attrs.contains_key("min") || call.attrs.contains_key("max");
    Ok(vec![result.with(value.filter(|_| !by_attribute))])
}
