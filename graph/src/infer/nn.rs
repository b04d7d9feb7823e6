//! Layers that keep the shape of their operand, recurrent layers, and quantization.

use super::call::{Answer, Attr, Call, InferError, Rule, axis, dim, dtype_of};
use super::fact::{Fact, Value};
use crate::dtype::DType;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op {
        "Softmax"
        | "LogSoftmax"
        | "Hardmax"
        | "LRN"
        | "InstanceNormalization"
        | "GroupNormalization"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "RMSNormalization"
        | "RotaryEmbedding" => same,
        "BatchNormalization" => batch_norm,
        "LayerNormalization" => layer_norm,
        "Dropout" => dropout,
        "LSTM" => |call| recurrent(call, 4),
        "GRU" => |call| recurrent(call, 3),
        "RNN" => |call| recurrent(call, 1),
        "QuantizeLinear" => quantize,
        "DequantizeLinear" => dequantize,
        "DynamicQuantizeLinear" => dynamic_quantize,
        _ => return None,
    })
}

fn same(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    Ok(vec![Fact::new(x.dtype, x.shape.clone())?])
}

fn batch_norm(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let mut facts = vec![Fact::new(x.dtype, x.shape.clone())?];
    for _ in 1..call.outputs {
        let mean = call.input(3)?;
        facts.push(Fact::new(mean.dtype, mean.shape.clone())?);
    }
    Ok(facts)
}

fn layer_norm(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let first = axis(call.attr_int("axis", -1), x.rank())?;
    let mut reduced = x.shape.clone();
    reduced[first..].fill(1);
    let stash = dtype_of(call.attr_int("stash_type", 1)).unwrap_or(DType::F32);
    let stat = Fact::new(stash, reduced)?;
    Ok(vec![
        Fact::new(x.dtype, x.shape.clone())?,
        stat.clone(),
        stat,
    ])
}

/// Inference: the operand as it is, and a mask whose element type changed with version 10.
fn dropout(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    let mask = if call.opset >= 10 {
        DType::Bool
    } else {
        x.dtype
    };
    let off =
        |flag: &Fact| matches!(flag.value.as_deref(), Some(Value::Ints(list)) if list == &[0]);
    let value = x
        .value
        .as_deref()
        .filter(|_| call.optional(2).is_none_or(off));
    let result = Fact::new(x.dtype, x.shape.clone())?.with(value.cloned());
    Ok(vec![result, Fact::new(mask, x.shape.clone())?])
}

fn recurrent(call: &Call<'_>, gates: u64) -> Answer {
    let (x, weight, r) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let ([first, second, _], [directions, rows, _], [_, _, width]) =
        (&x.shape[..], &weight.shape[..], &r.shape[..])
    else {
        return Err(InferError::Mismatch(format!(
            "{:?}, {:?} and {:?} instead of three dimensions each",
            x.shape, weight.shape, r.shape
        )));
    };
    let hidden = match call.attr_int("hidden_size", 0) {
        0 => *width,
        stated => dim(i128::from(stated))?,
    };
    if u128::from(*rows) != u128::from(hidden) * u128::from(gates) {
        return Err(InferError::Mismatch(format!(
            "{gates} gates of {hidden} in {rows} rows"
        )));
    }
    let (all, last) = if call.attr_int("layout", 0) == 0 {
        (
            vec![*first, *directions, *second, hidden],
            vec![*directions, *second, hidden],
        )
    } else {
        (
            vec![*first, *second, *directions, hidden],
            vec![*first, *directions, hidden],
        )
    };
    let last = Fact::new(x.dtype, last)?;
    Ok(vec![Fact::new(x.dtype, all)?, last.clone(), last])
}

fn quantize(call: &Call<'_>) -> Answer {
    let stated = match call.attrs.get("output_dtype") {
        Some(&Attr::Int(code)) => dtype_of(code),
        _ => None,
    };
    let dtype = call
        .optional(2)
        .map(|zero| zero.dtype)
        .or(stated)
        .unwrap_or(DType::U8);
    Ok(vec![Fact::new(dtype, call.input(0)?.shape.clone())?])
}

fn dequantize(call: &Call<'_>) -> Answer {
    Ok(vec![Fact::new(
        call.input(1)?.dtype,
        call.input(0)?.shape.clone(),
    )?])
}

fn dynamic_quantize(call: &Call<'_>) -> Answer {
    Ok(vec![
        Fact::new(DType::U8, call.input(0)?.shape.clone())?,
        Fact::new(DType::F32, Vec::new())?,
        Fact::new(DType::U8, Vec::new())?,
    ])
}
