//! Functions of one or two floats, equal on every machine.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use bayplan_graph::kernel::{Binary, Unary};

/// A function of one float.
#[inline(always)]
pub(super) fn unary(function: Unary, x: f32) -> f32 {
    match function {
        Unary::Abs => x.abs(),
        Unary::Neg => -x,
        Unary::Sign if x > 0.0 => 1.0,
        Unary::Sign if x < 0.0 => -1.0,
        Unary::Sign if x.is_nan() => x,
        Unary::Sign => 0.0,
        Unary::Relu => larger(x, 0.0),
        Unary::Clip { low, high } => smaller(larger(x, low), high),
        Unary::LeakyRelu { alpha } if x < 0.0 => alpha * x,
        Unary::Elu { alpha } if x < 0.0 => alpha * libm::expm1f(x),
        Unary::LeakyRelu { .. } | Unary::Elu { .. } => x,
        Unary::Sigmoid => sigmoid(x),
        Unary::HardSigmoid { alpha, beta } => (alpha * x + beta).clamp(0.0, 1.0),
        Unary::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Unary::Tanh => libm::tanhf(x),
        Unary::Exp => libm::expf(x),
        Unary::Log => libm::logf(x),
        Unary::Sqrt => libm::sqrtf(x),
        Unary::Rsqrt => 1.0 / libm::sqrtf(x),
        Unary::Reciprocal => 1.0 / x,
        Unary::Square => x * x,
        Unary::Scale { by } => x * by,
        Unary::Erf => libm::erff(x),
        Unary::Gelu { tanh } => gelu(x, tanh),
        Unary::Softplus => larger(x, 0.0) + libm::log1pf(libm::expf(-x.abs())),
        Unary::Softsign => x / (1.0 + x.abs()),
        Unary::Floor => libm::floorf(x),
        Unary::Ceil => libm::ceilf(x),
        Unary::Round => libm::rintf(x),
        Unary::Sin => libm::sinf(x),
        Unary::Cos => libm::cosf(x),
        _ => f32::NAN, // not a function of floats
    }
}

/// The larger; what is no number stays.
#[inline(always)]
fn larger(x: f32, y: f32) -> f32 {
    if x < y { y } else { x }
}

/// The smaller; what is no number stays.
#[inline(always)]
fn smaller(x: f32, y: f32) -> f32 {
    if x > y { y } else { x }
}

fn sigmoid(x: f32) -> f32 {
    if x >= 0.0 {
        1.0 / (1.0 + libm::expf(-x))
    } else {
        let power = libm::expf(x);
        power / (1.0 + power)
    }
}

fn gelu(x: f32, tanh: bool) -> f32 {
    const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    const ROOT_2_PI: f32 = 0.797_884_6; // √(2 / π)
    if tanh {
        let inner = ROOT_2_PI * (x + 0.044_715 * x * x * x);
        0.5 * x * (1.0 + libm::tanhf(inner))
    } else {
        0.5 * x * (1.0 + libm::erff(x * ROOT_HALF))
    }
}

/// A function of two floats whose result is one.
#[inline(always)]
pub(super) fn binary(function: Binary, x: f32, y: f32) -> f32 {
    match function {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Pow if y.to_bits() == 2.0_f32.to_bits() => x * x,
        Binary::Pow => libm::powf(x, y),
        Binary::Max => larger(x, y),
        Binary::Min => smaller(x, y),
        Binary::SquaredDifference => (x - y) * (x - y),
        Binary::PRelu if x < 0.0 => x * y,
        Binary::PRelu => x,
        _ => f32::NAN, // a comparison, or of truth values
    }
}
