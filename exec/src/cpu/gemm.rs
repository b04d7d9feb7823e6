//! Matrix products.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::functions::{self, dot};
use super::kernel::{Panels, Sizes, Tile, pack, packed};
use super::packed::{Packed, Shape};
use super::{floats, floats_mut};
use crate::reference::Operand;
use crate::vector::wide;
use bayplan_graph::kernel::{Bias, MatMul, Unary};
use pulp::Arch;

/// Elements of the left operand that are laid out at a time, about: they stay in the cache.
const BLOCK: usize = 1 << 18;

/// Rows that are laid out at a time: whole panels.
fn block(product: &MatMul, sizes: Sizes) -> usize {
    let panels = BLOCK / (product.k * sizes.rows).max(1);
    panels.clamp(1, product.m.div_ceil(sizes.rows).max(1)) * sizes.rows
}

/// Elements of a block of rows.
fn block_elements(product: &MatMul, sizes: Sizes) -> usize {
    block(product, sizes).saturating_mul(product.k)
}

/// Elements that are needed beside operands and result: a block of rows, and the columns where they are no constant.
pub(super) fn workspace(product: &MatMul, sizes: Sizes, made: bool) -> usize {
    if product.m <= 1 {
        return 0;
    }
    let columns = if made {
        0
    } else {
        packed(product.n, product.k, sizes.width)
    };
    block_elements(product, sizes).saturating_add(columns)
}

/// Nothing where the reference has to do it.
pub(super) fn run(
    product: &MatMul,
    operands: &[Operand<'_>],
    result: &mut [u8],
    (made, workspace, sizes): (&Packed, &mut [f32], Sizes),
) -> Option<()> {
    let a = floats(operands, 0)?;
    let bias = match product.bias {
        Some(strides) => Some((strides, floats(operands, 2)?)),
        None => None,
    };
    let (m, n) = (product.m, product.n);
    let result = floats_mut(result)?;
    if product.k == 0 || functions::is_missing(product.then) {
        return None;
    }
    let shape = Shape::of_product(product, sizes);
    let constant = shape.and_then(|shape| made.get(&shape, operands[1]));
    if self::workspace(product, sizes, constant.is_some()) > workspace.len() {
        return None;
    }
    let rows = if m > 1 {
        block_elements(product, sizes)
    } else {
        0
    };
    let (rows, columns) = workspace.split_at_mut(rows);
    for one in 0..product.count()? {
        let (from_a, from_b) = origin(product, one);
        let c = &mut result[one * m * n..][..m * n];
        if m == 1 && product.b.0 == 1 && product.a.1 == 1 {
            let b = floats(operands, 1)?;
            let row = &a[from_a..][..product.k];
            wide(|| one_row(product, row, &b[from_b..], bias, c));
            continue;
        }
        if m <= 1 {
            return None;
        }
        let panels = if let Some(panels) = constant {
            panels
        } else {
            let b = &floats(operands, 1)?[from_b..];
            let columns = &mut columns[..packed(n, product.k, sizes.width)];
            wide(|| pack_columns(product, b, columns, sizes.width));
            &*columns
        };
        blocks(product, &a[from_a..], panels, bias, (rows, c, sizes));
    }
    Some(())
}

/// Where the operands of one product of the batch begin.
fn origin(product: &MatMul, one: usize) -> (usize, usize) {
    let (mut rest, mut a, mut b) = (one, 0, 0);
    for axis in product.batch.iter().rev() {
        let at = rest % axis.count;
        rest /= axis.count;
        a += at * axis.a;
        b += at * axis.b;
    }
    (a, b)
}

#[inline(always)]
fn pack_columns(product: &MatMul, b: &[f32], columns: &mut [f32], width: usize) {
    let (along_k, along_n) = product.b;
    if along_n == 1 {
        // Whole pieces of a row.
        for (panel, to) in columns.chunks_exact_mut(product.k * width).enumerate() {
            let first = panel * width;
            let count = width.min(product.n - first);
            for (k, to) in to.chunks_exact_mut(width).enumerate() {
                to[..count].copy_from_slice(&b[k * along_k + first..][..count]);
                to[count..].fill(0.0);
            }
        }
        return;
    }
    pack((product.n, product.k, width), columns, |n, k| {
        b[k * along_k + n * along_n]
    });
}

/// Block by block of rows.
fn blocks(
    product: &MatMul,
    a: &[f32],
    panels: &[f32],
    bias: Option<(Bias, &[f32])>,
    (rows, c, sizes): (&mut [f32], &mut [f32], Sizes),
) {
    let n = product.n;
    let block = block(product, sizes);
    for first in (0..product.m).step_by(block) {
        let count = block.min(product.m - first);
        let rows = &mut rows[..packed(count, product.k, sizes.rows)];
        wide(|| {
            pack((count, product.k, sizes.rows), rows, |m, k| {
                a[(first + m) * product.a.0 + k * product.a.1]
            });
        });
        Arch::new().dispatch(Panels {
            depth: product.k,
            sizes,
            rows,
            columns: panels,
            rows_first: false,
            end: |row: usize, column: usize, tile: &Tile| {
                let (top, left) = (first + row * sizes.rows, column * sizes.width);
                let columns = sizes.width.min(n - left);
                for (r, sums) in tile
                    .iter()
                    .enumerate()
                    .take((first + count - top).min(sizes.rows))
                {
                    let to = &mut c[(top + r) * n + left..][..columns];
                    ended_row(product, &sums[..columns], bias, (top + r, left), to);
                }
            },
        });
    }
}

/// Factors, bias and activation of a piece of a row.
#[inline(always)]
fn ended_row(
    product: &MatMul,
    sums: &[f32],
    bias: Option<(Bias, &[f32])>,
    (row, column): (usize, usize),
    to: &mut [f32],
) {
    for (to, sum) in to.iter_mut().zip(sums) {
        *to = product.alpha * sum;
    }
    if let Some((strides, bias)) = bias {
        let bias = &bias[row * strides.row + column * strides.column..];
        if strides.column == 1 {
            for (to, bias) in to.iter_mut().zip(bias) {
                *to += product.beta * bias;
            }
        } else {
            for (at, to) in to.iter_mut().enumerate() {
                *to += product.beta * bias[at * strides.column];
            }
        }
    }
    ended(product.then, to);
}

/// One row times a matrix whose columns lie in one piece each.
#[inline(always)]
fn one_row(product: &MatMul, row: &[f32], b: &[f32], bias: Option<(Bias, &[f32])>, c: &mut [f32]) {
    for (column, c) in c.iter_mut().enumerate() {
        *c = product.alpha * dot(row, &b[column * product.b.1..][..product.k]);
        if let Some((strides, bias)) = bias {
            *c += product.beta * bias[column * strides.column];
        }
    }
    ended(product.then, c);
}

/// The activation, which has a polynomial ([`functions::is_missing`]).
#[inline(always)]
pub(super) fn ended(then: Option<Unary>, list: &mut [f32]) {
    if let Some(then) = then {
        functions::each(then, list);
    }
}
