//! Functions of each element, other types, and what leaves bytes as they are.

use super::bytewise;
use super::quantized;
use super::site::{Answer, Rule, Site, missing};
use crate::dtype::DType;
use crate::kernel::{Cast, Kernel, Map, Part, Target, Unary};

/// The rule for `op`, if it is of this family.
pub(super) fn rule(op: &str) -> Option<Rule> {
    if function(op).is_some() {
        return Some(plain);
    }
    Some(match op {
        "LEAKY_RELU" => leaky,
        "GELU" => gelu,
        "CAST" => cast,
        "QUANTIZE" => quantized::to_bytes,
        "DEQUANTIZE" => dequantize,
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" | "BITCAST" => copy,
        "VAR_HANDLE" => |_| Ok(Vec::new()),
        "READ_VARIABLE" => read,
        "ASSIGN_VARIABLE" => assign,
        _ => return None,
    })
}

/// Functions without options.
fn function(op: &str) -> Option<Unary> {
    Some(match op {
        "LOGISTIC" => Unary::Sigmoid,
        "TANH" => Unary::Tanh,
        "RELU" => Unary::Relu,
        "RELU6" => clip(0.0, 6.0),
        "RELU_N1_TO_1" => clip(-1.0, 1.0),
        "RELU_0_TO_1" => clip(0.0, 1.0),
        "ELU" => Unary::Elu { alpha: 1.0 },
        "HARD_SWISH" => Unary::HardSwish,
        "EXP" => Unary::Exp,
        "LOG" => Unary::Log,
        "SQRT" => Unary::Sqrt,
        "RSQRT" => Unary::Rsqrt,
        "NEG" => Unary::Neg,
        "ABS" => Unary::Abs,
        "SIGN" => Unary::Sign,
        "SQUARE" => Unary::Square,
        "FLOOR" => Unary::Floor,
        "CEIL" => Unary::Ceil,
        "ROUND" => Unary::Round,
        "SIN" => Unary::Sin,
        "COS" => Unary::Cos,
        "LOGICAL_NOT" => Unary::Not,
        _ => return None,
    })
}

fn clip(low: f32, high: f32) -> Unary {
    Unary::Clip { low, high }
}

fn plain(site: &Site<'_>) -> Answer {
    match function(site.op) {
        Some(function) => unary(site, function),
        None => Err(missing("no kernel")),
    }
}

/// The part for a function of each element.
fn unary(site: &Site<'_>, function: Unary) -> Answer {
    let x = site.operand(0)?;
    if x.is_quantized() {
        return bytewise::unary(site, function);
    }
    let dtype = x.dtype()?;
    let meant = match dtype {
        DType::F32 => function != Unary::Not,
        DType::Bool => function == Unary::Not,
        DType::I32 | DType::I64 => matches!(
            function,
            Unary::Abs | Unary::Neg | Unary::Sign | Unary::Square | Unary::Relu
        ),
        _ => false,
    };
    if !meant || site.result()?.dtype()? != dtype {
        return Err(missing(format!("operands of type {dtype}")));
    }
    let map = Map::unary(function, dtype, x.count()?);
    Ok(vec![Part::simple(Kernel::Map(map), 1)])
}

fn leaky(site: &Site<'_>) -> Answer {
    let alpha = site.options(75)?.real(0, "the slope of a LEAKY_RELU")?;
    unary(site, Unary::LeakyRelu { alpha })
}

fn gelu(site: &Site<'_>) -> Answer {
    let options = site.options(116)?;
    let tanh = options.byte(0, "whether a GELU is approximate")? != 0;
    unary(site, Unary::Gelu { tanh })
}

fn cast(site: &Site<'_>) -> Answer {
    let (x, y) = (site.operand(0)?, site.result()?);
    let (from, to) = (x.dtype()?, y.dtype()?);
    if from.bits() < 8 || to.bits() < 8 || from == DType::C64 || to == DType::C64 {
        return Err(missing(format!("from {from} to {to}")));
    }
    let count = x.count()?;
    Ok(vec![Part::simple(
        Kernel::Cast(Cast { from, to, count }),
        1,
    )])
}

fn dequantize(site: &Site<'_>) -> Answer {
    match site.operand(0)?.dtype()? {
        DType::F16 | DType::Bf16 => cast(site),
        _ => quantized::from_bytes(site),
    }
}

/// The result is the first operand.
pub(super) fn copy(site: &Site<'_>) -> Answer {
    let bytes = usize::try_from(site.result()?.bytes);
    let bytes = bytes.map_err(|_| missing("so many bytes"))?;
    if site.operand(0)?.bytes != site.result()?.bytes {
        return Err(missing("a result of another size"));
    }
    Ok(vec![Part::simple(Kernel::Copy { bytes }, 1)])
}

/// The variable is the operand behind the handle.
fn read(site: &Site<'_>) -> Answer {
    let bytes = usize::try_from(site.result()?.bytes).unwrap_or(usize::MAX);
    Ok(vec![Part {
        kernel: Kernel::Copy { bytes },
        reads: vec![site.operands()],
        write: Target::Result(0),
    }])
}

fn assign(site: &Site<'_>) -> Answer {
    let bytes = usize::try_from(site.operand(1)?.bytes).unwrap_or(usize::MAX);
    Ok(vec![Part {
        kernel: Kernel::Copy { bytes },
        reads: vec![1],
        write: Target::State(0),
    }])
}
