//! Pooling of bytes.

use super::super::Operand;
use super::super::conv::{Strides, pairs};
use bayplan_graph::kernel::Pooling;
use bayplan_graph::kernel::quantized::{Level, QuantizedPool};

pub(super) fn run(kernel: &QuantizedPool, operands: &[Operand<'_>], result: &mut [u8]) {
    let pool = &kernel.geometry;
    let [h, w] = pool.slides;
    let from = Strides::new(pool.layout, pool.channels, h.input, w.input);
    let to = Strides::new(pool.layout, pool.channels, h.output, w.output);
    let (image, signed) = (operands[0].apart(), kernel.signed);
    let level = Level { signed, zero: 0 };
    for (batch, channel) in pairs(pool.batch, pool.channels) {
        let base = batch * from.batch + channel * from.channel;
        for (y, x) in pairs(h.output, w.output) {
            let (mut sum, mut largest, mut count) = (0_i32, i32::MIN, 0_i32);
            for ky in h.inside(y) {
                for kx in w.inside(x) {
                    let iy = y * h.stride + ky * h.dilation - h.pad;
                    let ix = x * w.stride + kx * w.dilation - w.pad;
                    let number = level.of(image[base + iy * from.y + ix * from.x]);
                    sum = sum.wrapping_add(number);
                    largest = largest.max(number);
                    count = count.wrapping_add(1);
                }
            }
            let kept = match pool.pooling {
                Pooling::Max => largest,
                _ => mean(sum, count.max(1)),
            };
            let place = batch * to.batch + channel * to.channel + y * to.y + x * to.x;
            result[place] = kept.max(kernel.low).min(kernel.high).to_le_bytes()[0];
        }
    }
}

/// Rounded, halves away from 0.
fn mean(sum: i32, count: i32) -> i32 {
    let half = count / 2;
    let nudged = if sum > 0 {
        sum.wrapping_add(half)
    } else {
        sum.wrapping_sub(half)
    };
    nudged / count
}
