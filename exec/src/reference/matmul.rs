//! Matrix products.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::Operand;
use super::elements::{Float, floats_mut, get, operand, put};
use super::functions;
use crate::vector::wide;
use bayplan_graph::kernel::MatMul;

/// Rows of the result that are computed side by side.
const ROWS: usize = 4;
/// Columns.
const COLUMNS: usize = 16;

pub(super) fn run(product: &MatMul, operands: &[Operand<'_>], result: &mut [u8]) {
    wide(|| all(product, operands, result));
}

#[inline(always)]
fn all(product: &MatMul, operands: &[Operand<'_>], result: &mut [u8]) {
    let (a, b) = (operand(operands, 0), operand(operands, 1));
    let bias = product.bias.map(|bias| (bias, operand(operands, 2)));
    let result = floats_mut(result);
    let (m, n) = (product.m, product.n);
    let count = product.count().unwrap_or(0);
    for one in 0..count {
        let (mut rest, mut from_a, mut from_b) = (one, 0, 0);
        for axis in product.batch.iter().rev() {
            let at = rest % axis.count;
            rest /= axis.count;
            from_a += at * axis.a;
            from_b += at * axis.b;
        }
        for row in (0..m).step_by(ROWS) {
            for column in (0..n).step_by(COLUMNS) {
                let size = (ROWS.min(m - row), COLUMNS.min(n - column));
                let begin = (from_a + row * product.a.0, from_b + column * product.b.1);
                let tile = tile(product, a, b, begin, size);
                for (r, sums) in tile.iter().enumerate().take(size.0) {
                    for (c, &sum) in sums.iter().enumerate().take(size.1) {
                        let mut sum = product.alpha * sum;
                        if let Some((strides, bias)) = bias {
                            let at = (row + r) * strides.row + (column + c) * strides.column;
                            sum += product.beta * get(bias, at);
                        }
                        let sum = product.then.map_or(sum, |then| functions::unary(then, sum));
                        put(result, (one * m + row + r) * n + column + c, sum);
                    }
                }
            }
        }
    }
}

/// Sums of a tile, k ascending.
#[inline(always)]
fn tile(
    product: &MatMul,
    a: &[Float],
    b: &[Float],
    (from_a, from_b): (usize, usize),
    (rows, columns): (usize, usize),
) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[0.0_f32; COLUMNS]; ROWS];
    let dense = columns == COLUMNS && product.b.1 == 1;
    for k in 0..product.k {
        let (at_a, at_b) = (from_a + k * product.a.1, from_b + k * product.b.0);
        let left: [f32; ROWS] =
            std::array::from_fn(|row| get(a, at_a + row.min(rows - 1) * product.a.0));
        let right: [f32; COLUMNS] = if dense {
            let list = &b[at_b..at_b + COLUMNS];
            std::array::from_fn(|column| f32::from_le_bytes(list[column]))
        } else {
            std::array::from_fn(|column| get(b, at_b + column.min(columns - 1) * product.b.1))
        };
        for (sums, left) in sums.iter_mut().zip(left) {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum += left * right;
            }
        }
    }
    sums
}
