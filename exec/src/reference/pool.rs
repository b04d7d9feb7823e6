//! Pooling.

use super::Operand;
use super::conv::{Strides, pairs};
use super::elements::{floats_mut, get, operand, put};
use super::functions;
use bayplan_graph::kernel::{Pool, Pooling, Slide};

pub(super) fn run(pool: &Pool, operands: &[Operand<'_>], result: &mut [u8]) {
    let [h, w] = pool.slides;
    let from = Strides::new(pool.layout, pool.channels, h.input, w.input);
    let to = Strides::new(pool.layout, pool.channels, h.output, w.output);
    let image = operand(operands, 0);
    let result = floats_mut(result);
    for (batch, channel) in pairs(pool.batch, pool.channels) {
        let base = batch * from.batch + channel * from.channel;
        for (y, x) in pairs(h.output, w.output) {
            let mut kept = match pool.pooling {
                Pooling::Max => f32::NEG_INFINITY,
                _ => 0.0,
            };
            for ky in h.inside(y) {
                for kx in w.inside(x) {
                    let iy = y * h.stride + ky * h.dilation - h.pad;
                    let ix = x * w.stride + kx * w.dilation - w.pad;
                    let value = get(image, base + iy * from.y + ix * from.x);
                    match pool.pooling {
                        Pooling::Max if kept < value || value.is_nan() => kept = value,
                        Pooling::Max => {}
                        _ => kept += value,
                    }
                }
            }
            let kept = kept / divisor(pool, y, x);
            let kept = pool.then.map_or(kept, |then| functions::unary(then, kept));
            let place = batch * to.batch + channel * to.channel + y * to.y + x * to.x;
            put(result, place, kept);
        }
    }
}

/// By how much the sum of a window is divided.
fn divisor(pool: &Pool, y: usize, x: usize) -> f32 {
    let [h, w] = pool.slides;
    let count = match pool.pooling {
        Pooling::Max => return 1.0,
        Pooling::Average => h.inside(y).len() * w.inside(x).len(),
        Pooling::AveragePadded { end } => padded(h, end[0], y) * padded(w, end[1], x),
    };
    count.max(1) as f32
}

/// Elements of the window as far as image and padding reach.
fn padded(slide: Slide, end: usize, at: usize) -> usize {
    let all = slide.pad + slide.input + end;
    let room = all.saturating_sub(at * slide.stride);
    room.div_ceil(slide.dilation).min(slide.kernel)
}
