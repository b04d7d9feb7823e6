//! Element by element, where operands are dense or repeated as a whole.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::{copied, functions};
use crate::reference::{self, Operand};
use crate::vector::wide;
use bayplan_graph::DType;
use bayplan_graph::kernel::{Binary, Map};

/// Nothing where the reference has to do it. Joins are those of the reference; functions are polynomials.
pub(super) fn run(map: &Map, operands: &[Operand<'_>], result: &mut [u8]) -> Option<()> {
    if map.dtype != DType::F32 || map.then.is_empty() || map.join.is_some_and(Binary::compares) {
        return None;
    }
    let count = map.broadcast.count();
    // Axes are joined as far as they can be: what has another stride is stretched.
    let plain = map
        .broadcast
        .strides
        .first()
        .is_some_and(|strides| strides[..] == [1]);
    if map.join.is_some() || !plain {
        reference::join(map, operands, result);
        apply(map, super::floats_mut(result)?.get_mut(..count)?);
        return Some(());
    }
    apply(map, copied(operands, result, count)?);
    Some(())
}

/// The functions, one after the other; those without a polynomial are the reference's.
fn apply(map: &Map, list: &mut [f32]) {
    for &function in &map.then {
        if !wide(|| each(function, list)) {
            for x in &mut *list {
                *x = reference::unary(function, *x);
            }
        }
    }
}

#[inline(always)]
fn each(function: bayplan_graph::kernel::Unary, list: &mut [f32]) -> bool {
    functions::each(function, list)
}
