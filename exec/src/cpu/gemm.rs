//! Matrix products.

use super::functions::{self, dot};
use super::{floats, floats_mut};
use crate::reference::Operand;
use crate::vector::wide;
use bayplan_graph::kernel::{MatMul, Unary};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};

/// A matrix within a list: first element, rows and columns, strides.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) at: usize,
    pub(super) size: (usize, usize),
    pub(super) strides: (usize, usize),
}

impl Matrix {
    pub(super) fn view(self, list: &[f32]) -> Option<ArrayView2<'_, f32>> {
        ArrayView2::from_shape(self.size.strides(self.strides), list.get(self.at..)?).ok()
    }

    pub(super) fn view_mut(self, list: &mut [f32]) -> Option<ArrayViewMut2<'_, f32>> {
        ArrayViewMut2::from_shape(self.size.strides(self.strides), list.get_mut(self.at..)?).ok()
    }
}

/// `c = alpha · a · b + beta · c`.
pub(super) fn product(
    alpha: f32,
    a: &ArrayView2<'_, f32>,
    b: &ArrayView2<'_, f32>,
    beta: f32,
    mut c: ArrayViewMut2<'_, f32>,
) {
    general_mat_mul(alpha, a, b, beta, &mut c);
}

pub(super) fn run(kernel: &MatMul, operands: &[Operand<'_>], result: &mut [u8]) -> Option<()> {
    let (a, b) = (floats(operands, 0)?, floats(operands, 1)?);
    let bias = match kernel.bias {
        Some(strides) => Some((strides, floats(operands, 2)?)),
        None => None,
    };
    let (m, n) = (kernel.m, kernel.n);
    let result = floats_mut(result)?;
    for one in 0..kernel.count()? {
        let (mut rest, mut from_a, mut from_b) = (one, 0, 0);
        for axis in kernel.batch.iter().rev() {
            let at = rest % axis.count;
            rest /= axis.count;
            from_a += at * axis.a;
            from_b += at * axis.b;
        }
        let c = &mut result[one * m * n..][..m * n];
        if let Some((strides, bias)) = bias {
            for (at, c) in c.iter_mut().enumerate() {
                *c = kernel.beta * bias[at / n * strides.row + at % n * strides.column];
            }
        } else {
            c.fill(0.0);
        }
        if m == 1 && kernel.b.0 == 1 && kernel.a.1 == 1 {
            let row = &a[from_a..][..kernel.k];
            wide(|| rows(kernel, row, &b[from_b..], c));
        } else if m * n * kernel.k > 0 {
            let a_matrix = Matrix {
                at: from_a,
                size: (m, kernel.k),
                strides: kernel.a,
            };
            let b_matrix = Matrix {
                at: from_b,
                size: (kernel.k, n),
                strides: kernel.b,
            };
            let c_matrix = Matrix {
                at: 0,
                size: (m, n),
                strides: (n, 1),
            };
            product(
                kernel.alpha,
                &a_matrix.view(a)?,
                &b_matrix.view(b)?,
                1.0,
                c_matrix.view_mut(c)?,
            );
        }
        wide(|| ended(kernel.then, c))?;
    }
    Some(())
}

/// One row times a matrix whose columns lie in one piece each.
#[expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]
#[inline(always)]
fn rows(kernel: &MatMul, row: &[f32], b: &[f32], c: &mut [f32]) {
    for (column, c) in c.iter_mut().enumerate() {
        *c += kernel.alpha * dot(row, &b[column * kernel.b.1..][..kernel.k]);
    }
}

/// The activation; nothing where it has no polynomial.
#[expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]
#[inline(always)]
pub(super) fn ended(then: Option<Unary>, list: &mut [f32]) -> Option<()> {
    match then {
        Some(then) => functions::each(then, list).then_some(()),
        None => Some(()),
    }
}
