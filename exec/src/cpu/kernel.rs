//! The innermost product: some rows times some columns, in registers.
//!
//! Goes in: a panel of rows (`[k][ROWS]`) and a panel of columns (`[k][width]`), both dense. Comes out: their product.
//! The tile is the one of Goto and van de Geijn (2008), with both panels at full depth: sums stay in registers from
//! the first product to the last.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use pulp::{Arch, Simd, WithSimd};

/// Rows of a panel.
pub(super) const ROWS: usize = 6;
/// Columns of a panel, at most.
pub(super) const MAX_WIDTH: usize = 32;

/// Sums of a tile, row by row.
pub(super) type Tile = [[f32; MAX_WIDTH]; ROWS];

/// Columns of a panel on this machine: two vectors.
pub(super) fn width() -> usize {
    struct Lanes;
    impl WithSimd for Lanes {
        type Output = usize;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            2 * S::F32_LANES
        }
    }
    Arch::new().dispatch(Lanes).min(MAX_WIDTH)
}

/// All products of some panels of rows with some panels of columns, each handed to `end`.
pub(super) struct Panels<'a, F> {
    pub(super) depth: usize,
    pub(super) width: usize,
    /// `[panel][k][ROWS]`.
    pub(super) rows: &'a [f32],
    /// `[panel][k][width]`.
    pub(super) columns: &'a [f32],
    /// Takes the panel of rows, the panel of columns, and their product.
    pub(super) end: F,
}

impl<F: FnMut(usize, usize, &Tile)> WithSimd for Panels<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut tile = [[0.0; MAX_WIDTH]; ROWS];
        for (row, rows) in self.rows.chunks_exact(self.depth * ROWS).enumerate() {
            let panels = self.columns.chunks_exact(self.depth * self.width);
            for (column, columns) in panels.enumerate() {
                product(simd, rows, columns, &mut tile);
                (self.end)(row, column, &tile);
            }
        }
    }
}

/// One tile.
#[inline(always)]
fn product<S: Simd>(simd: S, rows: &[f32], columns: &[f32], tile: &mut Tile) {
    let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
    let (columns, _) = S::as_simd_f32s(columns);
    for (rows, columns) in rows
        .as_chunks::<ROWS>()
        .0
        .iter()
        .zip(columns.as_chunks::<2>().0)
    {
        for (sums, &x) in sums.iter_mut().zip(rows) {
            let x = simd.splat_f32s(x);
            sums[0] = simd.mul_add_f32s(x, columns[0], sums[0]);
            sums[1] = simd.mul_add_f32s(x, columns[1], sums[1]);
        }
    }
    for (to, from) in tile.iter_mut().zip(sums) {
        let (to, _) = S::as_mut_simd_f32s(&mut to[..]);
        to[..2].copy_from_slice(&from);
    }
}

/// Panels of a matrix with so many rows (or columns): each takes `size` of them, the last one padded with 0.
/// `element(one, k)`.
#[inline(always)]
pub(super) fn pack(
    (count, depth, size): (usize, usize, usize),
    to: &mut [f32],
    element: impl Fn(usize, usize) -> f32,
) {
    for (panel, to) in to.chunks_exact_mut((depth * size).max(1)).enumerate() {
        for (k, to) in to.chunks_exact_mut(size).enumerate() {
            for (one, to) in to.iter_mut().enumerate() {
                let one = panel * size + one;
                *to = if one < count { element(one, k) } else { 0.0 };
            }
        }
    }
}

/// Elements of the panels of so many rows or columns.
pub(super) fn packed(count: usize, depth: usize, size: usize) -> usize {
    count
        .div_ceil(size)
        .saturating_mul(size)
        .saturating_mul(depth)
}
