//! Resampling.

use super::Operand;
use super::elements::{Float, floats_mut, get, operand, put};
use bayplan_graph::kernel::{Interpolate, TapAxis};

/// Sums over the taps of all axes, the innermost axis first.
pub(super) fn run(kernel: &Interpolate, operands: &[Operand<'_>], result: &mut [u8]) {
    let from = operand(operands, 0);
    let result = floats_mut(result);
    let count: usize = kernel.axes.iter().map(|axis| axis.count).product();
    for position in 0..count {
        put(
            result,
            position,
            mixed(&kernel.axes, from, position, count, 0),
        );
    }
}

/// `position` counts within the remaining `axes`, which have `count` positions together.
fn mixed(axes: &[TapAxis], from: &[Float], position: usize, count: usize, offset: usize) -> f32 {
    let Some((axis, rest)) = axes.split_first() else {
        return get(from, offset);
    };
    let inner = count / axis.count;
    let at = position / inner;
    let taps = &axis.table[at * axis.taps..(at + 1) * axis.taps];
    if let [(further, weight)] = taps
        && weight.to_bits() == 1.0_f32.to_bits()
    {
        return mixed(rest, from, position % inner, inner, offset + further);
    }
    let each = taps.iter().map(|&(further, weight)| {
        weight * mixed(rest, from, position % inner, inner, offset + further)
    });
    each.fold(0.0, |sum, x| sum + x)
}
