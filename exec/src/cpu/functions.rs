//! Functions of floats as short polynomials, which vectors can compute.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use bayplan_graph::kernel::Unary;

/// eˣ to about a millionth, and 0 below e⁻⁸⁰ (what is smaller would soon be too small for whole floats, with which processors
/// take their time): x = n·ln 2 + r with |r| ≤ ln 2 / 2; 2ⁿ by its exponent, eʳ by its series.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// Adding it rounds to a whole number, in the last bits.
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³
    let none = x < -80.0;
    let x = x.clamp(-80.0, 88.7);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first with few bits: the product is exact.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = series * r + 1.0 / 120.0;
    let series = series * r + 1.0 / 24.0;
    let series = series * r + 1.0 / 6.0;
    let series = series * r + 0.5;
    let series = (series * r + 1.0) * r + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    if none { 0.0 } else { series * power }
}

/// The error function (Abramowitz and Stegun, 7.1.26), to 1.5e-7.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let series = 1.061_405_4;
    let series = series * t - 1.453_152;
    let series = series * t + 1.421_413_8;
    let series = series * t - 0.284_496_72;
    let series = (series * t + 0.254_829_6) * t;
    (1.0 - series * exp(-size * size)).copysign(x)
}

#[inline(always)]
fn tanh(x: f32) -> f32 {
    // Near 0 the difference below would lose its bits.
    let near = x * (1.0 - x * x * (1.0 / 3.0 - x * x * (2.0 / 15.0)));
    let far = 1.0 - 2.0 / (exp(2.0 * x) + 1.0);
    if x.abs() < 0.1 { near } else { far }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// Applies a function to every element; false: it has no polynomial here.
#[inline(always)]
pub(super) fn each(function: Unary, list: &mut [f32]) -> bool {
    match function {
        Unary::Relu => map(list, |x| if x < 0.0 { 0.0 } else { x }),
        Unary::Clip { low, high } => map(list, |x| {
            let x = if x < low { low } else { x };
            if x > high { high } else { x }
        }),
        Unary::LeakyRelu { alpha } => map(list, |x| if x < 0.0 { alpha * x } else { x }),
        Unary::Sigmoid => map(list, sigmoid),
        Unary::Tanh => map(list, tanh),
        Unary::Erf => map(list, erf),
        Unary::Exp => map(list, exp),
        Unary::Gelu { tanh: false } => map(list, |x| {
            0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
        }),
        Unary::Gelu { tanh: true } => map(list, |x| {
            0.5 * x * (1.0 + tanh(0.797_884_6 * (x + 0.044_715 * x * x * x)))
        }),
        Unary::HardSwish => map(list, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        Unary::HardSigmoid { alpha, beta } => map(list, |x| (alpha * x + beta).clamp(0.0, 1.0)),
        Unary::Sqrt => map(list, f32::sqrt),
        Unary::Square => map(list, |x| x * x),
        Unary::Neg => map(list, |x| -x),
        Unary::Abs => map(list, f32::abs),
        Unary::Reciprocal => map(list, |x| 1.0 / x),
        _ => return false,
    }
    true
}

/// Whether there is a function without a polynomial.
pub(super) fn is_missing(then: Option<Unary>) -> bool {
    then.is_some_and(|then| !each(then, &mut []))
}

#[inline(always)]
fn map(list: &mut [f32], function: impl Fn(f32) -> f32) {
    for x in list {
        *x = function(*x);
    }
}

/// The sum, in sixteen lanes.
#[inline(always)]
pub(super) fn sum(list: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = list.as_chunks::<16>();
    let mut lanes = [0.0; 16];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += of(x);
        }
    }
    let rest: f32 = rest.iter().map(|&x| of(x)).sum();
    lanes.iter().sum::<f32>() + rest
}

/// The sum of products, in sixteen lanes.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut lanes = [0.0; 16];
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}
