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

/// Rows of a panel, at most.
pub(super) const MAX_ROWS: usize = 12;
/// Columns of a panel, at most.
pub(super) const MAX_WIDTH: usize = 32;
/// Sums stay in registers where there are 32 of them, with vectors of so many floats; otherwise half as many rows do.
const WIDE: usize = 16;

/// Sums of a tile, row by row.
pub(super) type Tile = [[f32; MAX_WIDTH]; MAX_ROWS];

/// Sizes of panels on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Rows of a panel.
    pub(super) rows: usize,
    /// Columns of a panel: two vectors.
    pub(super) width: usize,
}

impl Sizes {
    pub(super) fn here() -> Self {
        struct Lanes;
        impl WithSimd for Lanes {
            type Output = usize;
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> usize {
                S::F32_LANES
            }
        }
        let lanes = Arch::new().dispatch(Lanes).min(WIDE);
        Self {
            rows: if lanes == WIDE {
                MAX_ROWS
            } else {
                MAX_ROWS / 2
            },
            width: 2 * lanes,
        }
    }
}

/// All products of some panels of rows with some panels of columns, each handed to `end`.
pub(super) struct Panels<'a, F> {
    pub(super) depth: usize,
    pub(super) sizes: Sizes,
    /// `[panel][k][rows]`.
    pub(super) rows: &'a [f32],
    /// `[panel][k][width]`.
    pub(super) columns: &'a [f32],
    /// Whether each panel of rows meets all columns before the next one does; otherwise each panel of columns meets
    /// all rows. What is met again and again should fit in a cache.
    pub(super) rows_first: bool,
    /// Takes the panel of rows, the panel of columns, and their product.
    pub(super) end: F,
}

impl<F: FnMut(usize, usize, &Tile)> WithSimd for Panels<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::F32_LANES >= WIDE {
            self.all::<S, MAX_ROWS>(simd);
        } else {
            self.all::<S, { MAX_ROWS / 2 }>(simd);
        }
    }
}

impl<F: FnMut(usize, usize, &Tile)> Panels<'_, F> {
    #[inline(always)]
    fn all<S: Simd, const R: usize>(mut self, simd: S) {
        let mut tile = [[0.0; MAX_WIDTH]; MAX_ROWS];
        let (tall, broad) = (self.depth * R, self.depth * self.sizes.width);
        if self.rows_first {
            for (row, rows) in self.rows.chunks_exact(tall).enumerate() {
                for (column, columns) in self.columns.chunks_exact(broad).enumerate() {
                    product::<S, R>(simd, rows, columns, &mut tile);
                    (self.end)(row, column, &tile);
                }
            }
        } else {
            for (column, columns) in self.columns.chunks_exact(broad).enumerate() {
                for (row, rows) in self.rows.chunks_exact(tall).enumerate() {
                    product::<S, R>(simd, rows, columns, &mut tile);
                    (self.end)(row, column, &tile);
                }
            }
        }
    }
}

/// One tile.
#[inline(always)]
fn product<S: Simd, const R: usize>(simd: S, rows: &[f32], columns: &[f32], tile: &mut Tile) {
    let mut sums = [[simd.splat_f32s(0.0); 2]; R];
    let (columns, _) = S::as_simd_f32s(columns);
    let steps = rows.as_chunks::<R>().0.iter();
    for (rows, columns) in steps.zip(columns.as_chunks::<2>().0) {
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

/// Floats that begin at the start of a line of the cache, so that no vector lies across two.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    list: Vec<f32>,
    from: usize,
    count: usize,
}

impl Lines {
    /// So many zeros.
    pub(super) fn new(count: usize) -> Self {
        /// Floats in a line.
        const LINE: usize = 16;
        let list = vec![0.0_f32; count.saturating_add(LINE)];
        let beyond = list.as_ptr().addr() / 4 % LINE;
        Self {
            list,
            from: (LINE - beyond) % LINE,
            count,
        }
    }

    pub(super) fn all(&self) -> &[f32] {
        &self.list[self.from..][..self.count]
    }

    pub(super) fn all_mut(&mut self) -> &mut [f32] {
        &mut self.list[self.from..][..self.count]
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
