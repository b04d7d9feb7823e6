//! Convolution of bytes.

use super::super::Operand;
use super::super::conv::{Strides, pairs, weight_strides};
use super::bias;
use bayplan_graph::kernel::quantized::QuantizedConv;

pub(super) fn run(kernel: &QuantizedConv, operands: &[Operand<'_>], result: &mut [u8]) {
    let conv = &kernel.geometry;
    let [h, w] = conv.slides;
    let (ins, outs) = (conv.groups * conv.operands, conv.groups * conv.results);
    let from = Strides::new(conv.layout, ins, h.input, w.input);
    let to = Strides::new(conv.layout, outs, h.output, w.output);
    let summands = conv.bias.then(|| operands[2].apart());
    let job = Job {
        kernel,
        image: operands[0].apart(),
        weight: operands[1].apart(),
        from,
        weights: weight_strides(conv),
    };
    for (batch, y) in pairs(conv.batch, h.output) {
        for (x, channel) in pairs(w.output, outs) {
            let sum = job.sum(batch * from.batch, (y, x), channel);
            let sum = sum.wrapping_add(bias(summands, channel));
            let place = batch * to.batch + channel * to.channel + y * to.y + x * to.x;
            result[place] = kernel.result.byte(channel, sum);
        }
    }
}

struct Job<'a> {
    kernel: &'a QuantizedConv,
    image: &'a [u8],
    weight: &'a [u8],
    from: Strides,
    /// Result, operand, height, width.
    weights: [usize; 4],
}

impl Job<'_> {
    /// The products under the window at `(y, x)`, for one channel of the result.
    fn sum(&self, image: usize, (y, x): (usize, usize), channel: usize) -> i32 {
        let conv = &self.kernel.geometry;
        let [h, w] = conv.slides;
        let [to_result, to_operand, to_y, to_x] = self.weights;
        let group = channel / conv.results;
        let first = image + group * conv.operands * self.from.channel;
        let mut sum = 0_i32;
        for ky in h.inside(y) {
            let row = first + (y * h.stride + ky * h.dilation - h.pad) * self.from.y;
            for kx in w.inside(x) {
                let image = row + (x * w.stride + kx * w.dilation - w.pad) * self.from.x;
                let weight = channel * to_result + ky * to_y + kx * to_x;
                let products = self.products((image, weight), (self.from.channel, to_operand));
                sum = sum.wrapping_add(products);
            }
        }
        sum
    }

    /// Products along the operands of a group, from these elements on, so far apart.
    #[inline]
    fn products(&self, first: (usize, usize), steps: (usize, usize)) -> i32 {
        let count = self.kernel.geometry.operands;
        let product = |(&a, &b): (&u8, &u8)| {
            let (image, weight) = (self.kernel.image.of(a), self.kernel.weight.of(b));
            image.wrapping_mul(weight)
        };
        if steps == (1, 1) {
            let image = &self.image[first.0..first.0 + count];
            let weight = &self.weight[first.1..first.1 + count];
            return image
                .iter()
                .zip(weight)
                .map(product)
                .fold(0, i32::wrapping_add);
        }
        let mut sum = 0_i32;
        for at in 0..count {
            let pair = (
                &self.image[first.0 + at * steps.0],
                &self.weight[first.1 + at * steps.1],
            );
            sum = sum.wrapping_add(product(pair));
        }
        sum
    }
}
