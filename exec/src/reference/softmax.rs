//! Softmax.

use super::Operand;
use super::elements::{floats, floats_mut, get, put};
use bayplan_graph::kernel::Softmax;

/// Along an axis: the largest is taken off, exponentials are added up in order, then divided by.
pub(super) fn run(softmax: Softmax, operands: &[Operand<'_>], result: &mut [u8]) {
    let count = softmax.outer * softmax.axis * softmax.inner;
    let result = &mut floats_mut(result)[..count];
    if let Operand::Apart(from) = operands[0] {
        result.copy_from_slice(&floats(from)[..count]);
    }
    for outer in 0..softmax.outer {
        for inner in 0..softmax.inner {
            let place = |at: usize| (outer * softmax.axis + at) * softmax.inner + inner;
            let mut largest = f32::NEG_INFINITY;
            for at in 0..softmax.axis {
                let x = get(result, place(at)) * softmax.beta;
                if largest < x || x.is_nan() {
                    largest = x;
                }
            }
            let mut sum = 0.0;
            for at in 0..softmax.axis {
                let x = get(result, place(at)) * softmax.beta - largest;
                let power = libm::expf(x);
                sum += power;
                put(result, place(at), if softmax.log { x } else { power });
            }
            let log = libm::logf(sum);
            for at in 0..softmax.axis {
                let x = get(result, place(at));
                put(
                    result,
                    place(at),
                    if softmax.log { x - log } else { x / sum },
                );
            }
        }
    }
}
