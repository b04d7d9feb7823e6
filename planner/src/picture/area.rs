//! Rectangles in pixels.

/// Thinner than this in either direction is not drawn by itself.
const THIN: f64 = 0.3;
/// What is drawn one by one in any case is at least this wide and high, in pixels.
const VISIBLE: f64 = 0.8;

/// A rectangle in pixels, from the upper left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

impl Area {
    /// Whether the two share more than an edge.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }

    /// Its size in square pixels.
    pub(super) fn pixels(&self) -> f64 {
        self.w * self.h
    }

    /// The same, large enough to be seen, still inside a plot of this size.
    pub(super) fn visible(self, width: f64, height: f64) -> Self {
        let (w, h) = (self.w.max(VISIBLE), self.h.max(VISIBLE));
        let (x, y) = (self.x.min(width - w), self.y.min(height - h));
        Self { x, y, w, h }
    }

    /// Whether it is too thin to be drawn by itself.
    pub(super) fn is_thin(&self) -> bool {
        self.w < THIN || self.h < THIN
    }
}
