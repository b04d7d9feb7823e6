//! Steps of time and half-open lifetimes.
//!
//! A buffer last used at step `t` ends at `t + 1`; one that begins at `t` therefore conflicts with
//! it. Two lifetimes that only touch (`0..3`, `3..5`) do not overlap.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A position in the order of execution.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Step(pub u32);

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The steps `start..end` during which something is live. Half-open; may be empty until a
/// constructor that forbids it has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct Lifetime {
    /// First step at which it is live.
    pub start: Step,
    /// First step at which it is dead again.
    pub end: Step,
}

impl Lifetime {
    /// The lifetime `start..end`.
    pub fn new(start: u32, end: u32) -> Self {
        Self {
            start: Step(start),
            end: Step(end),
        }
    }

    /// Number of steps, 0 when reversed.
    pub fn steps(self) -> u32 {
        self.end.0.saturating_sub(self.start.0)
    }

    /// Whether there is no step in it.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether the two share a step.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Whether `step` lies in it.
    pub fn contains(self, step: Step) -> bool {
        self.start <= step && step < self.end
    }

    /// The smallest lifetime that covers both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl From<Range<u32>> for Lifetime {
    fn from(range: Range<u32>) -> Self {
        Self::new(range.start, range.end)
    }
}

impl From<(u32, u32)> for Lifetime {
    fn from((start, end): (u32, u32)) -> Self {
        Self::new(start, end)
    }
}

impl From<Lifetime> for (u32, u32) {
    fn from(lifetime: Lifetime) -> Self {
        (lifetime.start.0, lifetime.end.0)
    }
}

impl std::fmt::Display for Lifetime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_lifetimes_do_not_overlap() {
        let (a, b) = (Lifetime::new(0, 3), Lifetime::new(3, 5));
        assert!(!a.overlaps(b) && !b.overlaps(a));
        assert!(a.overlaps(Lifetime::new(2, 3)));
        assert!(!a.overlaps(Lifetime::new(1, 1)) || Lifetime::new(1, 1).is_empty());
    }

    #[test]
    fn the_hull_covers_both() {
        assert_eq!(
            Lifetime::new(4, 6).hull(Lifetime::new(1, 2)),
            Lifetime::new(1, 6)
        );
    }
}
