//! Kernels on 8-bit integers. Sums are of whole numbers: their order does not matter, and they are the same to
//! the bit as those of the runtimes that the models were made for.

mod conv;
mod pool;

use super::Operand;
use super::elements::{floats, floats_mut, get, put, rows};
use crate::run::KernelFault;
use bayplan_graph::DType;
use bayplan_graph::kernel::Quantized;
use bayplan_graph::kernel::fixed::{halved, high_product};
use bayplan_graph::kernel::quantized::{
    Join, Lookup, QuantizedJoin, QuantizedMatMul, QuantizedReduce, QuantizedSoftmax,
};

pub(super) fn run(
    kernel: &Quantized,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    match kernel {
        Quantized::Conv(conv) => conv::run(conv, operands, result),
        Quantized::MatMul(product) => matmul(product, operands, result),
        Quantized::Pool(pool) => pool::run(pool, operands, result),
        Quantized::Join(join) => joined(join, operands, result),
        Quantized::Lookup(lookup) => looked_up(lookup, operands, result),
        Quantized::Softmax(softmax) => soft(softmax, operands, result),
        Quantized::Reduce(reduce) => reduced(reduce, operands, result),
        Quantized::ToBytes(to) => {
            let from = &floats(operands[0].apart())[..to.count];
            for (place, result) in result[..to.count].iter_mut().enumerate() {
                *result = to.byte(get(from, place));
            }
        }
        Quantized::FromBytes(from) => {
            let result = floats_mut(result);
            for (place, &byte) in operands[0].apart()[..from.count].iter().enumerate() {
                put(result, place, from.number(place, byte));
            }
        }
        other => {
            let (kernel, dtype) = (other.name(), DType::I8);
            return Err(KernelFault::Type { kernel, dtype });
        }
    }
    Ok(())
}

/// The whole number at a place of a bias; 0 without one.
fn bias(list: Option<&[u8]>, at: usize) -> i32 {
    list.map_or(0, |list| i32::from_le_bytes(list.as_chunks::<4>().0[at]))
}

fn matmul(product: &QuantizedMatMul, operands: &[Operand<'_>], result: &mut [u8]) {
    let QuantizedMatMul { m, n, k, .. } = *product;
    let (a, b) = (operands[0].apart(), operands[1].apart());
    let summands = product.bias.then(|| operands[2].apart());
    for row in 0..m {
        let a = &a[row * k..(row + 1) * k];
        for column in 0..n {
            let b = &b[column * k..(column + 1) * k];
            let products = a.iter().zip(b);
            let products = products.map(|(&a, &b)| product.a.of(a).wrapping_mul(product.b.of(b)));
            let sum = products.fold(0_i32, i32::wrapping_add);
            let sum = sum.wrapping_add(bias(summands, column));
            result[row * n + column] = product.result.byte(column, sum);
        }
    }
}

fn joined(kernel: &QuantizedJoin, operands: &[Operand<'_>], result: &mut [u8]) {
    let shape = &kernel.broadcast.shape[..];
    let inner = shape.last().copied().unwrap_or(1);
    let step = |operand: usize| {
        let strides = kernel.broadcast.strides[operand].last();
        strides.copied().unwrap_or(0)
    };
    let steps = [step(0), step(1)];
    rows::<2>(shape, &kernel.broadcast.strides, |row, offsets| {
        for at in 0..inner {
            let place = row * inner + at;
            let byte = |operand: usize, result: &[u8]| match operands[operand] {
                Operand::Apart(bytes) => bytes[offsets[operand] + at * steps[operand]],
                Operand::Result => result[place],
            };
            let (a, b) = (byte(0, result), byte(1, result));
            let number = match &kernel.join {
                Join::Sum(tables) => {
                    tables[0][usize::from(a)].wrapping_add(tables[1][usize::from(b)])
                }
                Join::Product(levels) => levels[0].of(a).wrapping_mul(levels[1].of(b)),
                _ => 0,
            };
            result[place] = kernel.result.byte(0, number);
        }
    });
}

fn looked_up(lookup: &Lookup, operands: &[Operand<'_>], result: &mut [u8]) {
    let result = &mut result[..lookup.count];
    if let Operand::Apart(from) = operands[0] {
        result.copy_from_slice(&from[..lookup.count]);
    }
    for byte in result {
        *byte = lookup.table[usize::from(*byte)];
    }
}

fn soft(softmax: &QuantizedSoftmax, operands: &[Operand<'_>], result: &mut [u8]) {
    let count = softmax.outer * softmax.axis;
    let result = &mut result[..count];
    if let Operand::Apart(from) = operands[0] {
        result.copy_from_slice(&from[..count]);
    }
    if softmax.axis == 0 {
        return;
    }
    // Signed bytes with their order turned into that of unsigned ones.
    let flip = if softmax.signed { 0x80 } else { 0 };
    for row in result.chunks_exact_mut(softmax.axis) {
        let largest = row.iter().map(|&byte| byte ^ flip).max().unwrap_or(0);
        let exp = |byte: u8| softmax.exps[usize::from(largest - (byte ^ flip))];
        let parts = row.iter().map(|&byte| halved(exp(byte), 12));
        let (factor, bits) = QuantizedSoftmax::share(parts.fold(0_i32, i32::wrapping_add));
        for byte in row {
            let share = halved(high_product(factor, exp(*byte)), bits).clamp(0, 255);
            *byte = share.to_le_bytes()[0] ^ flip;
        }
    }
}

fn reduced(reduce: &QuantizedReduce, operands: &[Operand<'_>], result: &mut [u8]) {
    let from = operands[0].apart();
    let kept: usize = reduce.kept.iter().map(|axis| axis.0).product();
    let gone: usize = reduce.reduced.iter().map(|axis| axis.0).product();
    for (place, result) in result[..kept].iter_mut().enumerate() {
        let base = offset(&reduce.kept, place);
        let numbers =
            (0..gone).map(|at| reduce.operand.of(from[base + offset(&reduce.reduced, at)]));
        *result = reduce
            .result
            .byte(0, numbers.fold(0_i32, i32::wrapping_add));
    }
}

/// Where a position of these axes (count and stride, outermost first) is.
fn offset(axes: &[(usize, usize)], position: usize) -> usize {
    let (mut rest, mut offset) = (position, 0);
    for &(count, stride) in axes.iter().rev() {
        offset += rest % count * stride;
        rest /= count;
    }
    offset
}

#[cfg(test)]
mod tests;
