//! Rectangles too thin to be seen, merged into what they cover on a grid of pixels.

use super::area::Area;
use std::fmt::Write;

/// How much of each pixel is covered. Cells are one pixel, rows from the top.
#[derive(Debug)]
pub(super) struct Dust {
    columns: usize,
    rows: usize,
    /// Allocated with the first rectangle.
    covered: Vec<f32>,
}

/// A pixel is drawn once this much of it is covered.
const SEEN: f32 = 0.12;

impl Dust {
    /// An empty grid.
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self {
            columns: cell(width, usize::MAX).max(1),
            rows: cell(height, usize::MAX).max(1),
            covered: Vec::new(),
        }
    }

    /// Adds a rectangle's share of every pixel that it touches.
    pub(super) fn add(&mut self, area: &Area) {
        if self.covered.is_empty() {
            self.covered = vec![0.0; self.columns * self.rows];
        }
        let (left, right) = (area.x, area.x + area.w);
        let (top, bottom) = (area.y, area.y + area.h);
        for row in cell(top, self.rows - 1)..=cell(bottom, self.rows - 1) {
            let tall = shared(row, top, bottom);
            for column in cell(left, self.columns - 1)..=cell(right, self.columns - 1) {
                self.covered[row * self.columns + column] += tall * shared(column, left, right);
            }
        }
    }

    /// An SVG path over the pixels that are covered, one box for each run in a row.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for (row, cells) in self.covered.chunks(self.columns).enumerate() {
            let mut start = None;
            for column in 0..=cells.len() {
                let seen = cells.get(column).is_some_and(|&c| c >= SEEN);
                match (seen, start) {
                    (true, None) => start = Some(column),
                    (false, Some(from)) => {
                        let _ = write!(path, "M{from} {row}h{}v1h-{0}z", column - from);
                        start = None;
                    }
                    _ => {}
                }
            }
        }
        path
    }
}

/// The part of `cell..cell + 1` that lies in `from..to`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a share between 0 and 1, where f32 is plenty"
)]
fn shared(cell: usize, from: f64, to: f64) -> f32 {
    let cell = cell as f64;
    (to.min(cell + 1.0) - from.max(cell)).max(0.0) as f32
}

/// The cell of a coordinate, within the grid.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate, and the result is clamped"
)]
fn cell(at: f64, last: usize) -> usize {
    (at as usize).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sliver(x: f64) -> Area {
        Area {
            x,
            y: 1.0,
            w: 0.1,
            h: 2.0,
        }
    }

    #[test]
    fn many_thin_ones_make_a_pixel_and_one_does_not() {
        let mut dust = Dust::new(10.0, 5.0);
        assert_eq!(dust.path(), "");
        dust.add(&sliver(3.0));
        assert_eq!(dust.path(), "");
        dust.add(&sliver(3.2));
        dust.add(&sliver(3.4));
        assert_eq!(dust.path(), "M3 1h1v1h-1zM3 2h1v1h-1z");
    }

    #[test]
    fn what_lies_beyond_the_edge_is_harmless() {
        let mut dust = Dust::new(2.0, 2.0);
        dust.add(&Area {
            x: 1.0,
            y: -3.0,
            w: 50.0,
            h: 90.0,
        });
        assert_eq!(dust.path(), "M1 0h1v1h-1zM1 1h1v1h-1z");
    }
}
