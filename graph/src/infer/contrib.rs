//! Operators of ONNX Runtime's own set that quantizing and fusing exporters write. Their kinds carry
//! the set's name: `com.microsoft.Gelu`.

use super::call::{Answer, Call, InferError, Rule, broadcast, dim};
use super::fact::Fact;
use super::matmul::matmul;
use crate::dtype::DType;

/// The rule for `op`, if it is of this family.
pub(crate) fn rule(op: &str) -> Option<Rule> {
    Some(match op.strip_prefix("com.microsoft.")? {
        "Gelu" | "FastGelu" | "QuickGelu" | "BiasGelu" | "QLinearSigmoid" | "QLinearLeakyRelu" => {
            same
        }
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => same,
        "QLinearAdd" | "QLinearMul" => qlinear_binary,
        "DynamicQuantizeMatMul" => |call| matmul(call, 1, call.input(0)?.dtype),
        "MatMulIntegerToFloat" => |call| matmul(call, 1, call.input(2)?.dtype),
        "DynamicQuantizeLSTM" => quantized_lstm,
        "QuantizeLinear" => |call| {
            let dtype = call.optional(2).map_or(DType::U8, |zero| zero.dtype);
            Ok(vec![Fact::new(dtype, call.input(0)?.shape.clone())?])
        },
        "DequantizeLinear" => |call| {
            Ok(vec![Fact::new(
                call.input(1)?.dtype,
                call.input(0)?.shape.clone(),
            )?])
        },
        _ => return None,
    })
}

fn same(call: &Call<'_>) -> Answer {
    let x = call.input(0)?;
    Ok(vec![Fact::new(x.dtype, x.shape.clone())?])
}

/// Both operands come with a scale and a zero point.
fn qlinear_binary(call: &Call<'_>) -> Answer {
    let (a, b) = (call.input(0)?, call.input(3)?);
    Ok(vec![Fact::new(a.dtype, broadcast(&a.shape, &b.shape)?)?])
}

/// Like `LSTM`, weights transposed.
fn quantized_lstm(call: &Call<'_>) -> Answer {
    let (x, recurrence) = (call.input(0)?, call.input(2)?);
    let (&[length, batch, _], &[directions, hidden, columns]) =
        (&x.shape[..], &recurrence.shape[..])
    else {
        let found = (&x.shape, &recurrence.shape);
        return Err(InferError::Mismatch(format!(
            "{found:?} instead of three dimensions each"
        )));
    };
    if columns != dim(i128::from(hidden) * 4)? {
        return Err(InferError::Mismatch(format!(
            "4 gates of {hidden} in {columns} columns"
        )));
    }
    let last = Fact::new(x.dtype, vec![directions, batch, hidden])?;
    let all = Fact::new(x.dtype, vec![length, directions, batch, hidden])?;
    Ok(vec![all, last.clone(), last])
}
