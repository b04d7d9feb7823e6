//! Loads over time: how many bytes are live at each step.
//!
//! Goes in: rectangles. Comes out: a [`Profile`], the load as a step function with one point for
//! each change. The largest load is a lower bound of every plan's height.
//!
//! ```text
//! a 0..2 × 10, b 1..3 × 5      load 15 ┤  ┌──┐
//!                                   10 ┤──┘  │
//! points (0,10) (1,15) (2,5) (3,0)   5 ┤     └──┐
//!                                      0  1  2  3
//! ```

use crate::lifetime::{Lifetime, Step};

/// A load as a function of the step: `points[i].1` bytes from `points[i].0` until the next point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    points: Vec<(Step, u64)>,
}

impl Profile {
    /// Sums the weights of everything live at each step. The sums must fit `u64`, which
    /// [`crate::Problem::new`] guarantees for sizes.
    pub fn new(live: impl IntoIterator<Item = (Lifetime, u64)>) -> Self {
        let mut events = Vec::new();
        for (steps, bytes) in live {
            events.push((steps.start, true, bytes));
            events.push((steps.end, false, bytes));
        }
        // What happens at one step is summed up in any order.
        events.sort_unstable_by_key(|&(step, ..)| step);
        let mut points: Vec<(Step, u64)> = Vec::new();
        let mut load = 0_i128;
        let mut at = 0;
        while at < events.len() {
            let step = events[at].0;
            while at < events.len() && events[at].0 == step {
                let (_, begins, bytes) = events[at];
                let bytes = i128::from(bytes);
                load += if begins { bytes } else { -bytes };
                at += 1;
            }
            let load = u64::try_from(load).expect("sums were validated to fit u64");
            if points.last().is_none_or(|&(_, before)| before != load) {
                points.push((step, load));
            }
        }
        Self { points }
    }

    /// The points: load from each step until the next point's.
    pub fn points(&self) -> &[(Step, u64)] {
        &self.points
    }

    /// The largest load and the first step that has it; `(0, Step(0))` when nothing lives.
    pub fn max(&self) -> (u64, Step) {
        let mut best = (0, Step(0));
        for &(step, load) in &self.points {
            if load > best.0 {
                best = (load, step);
            }
        }
        best
    }

    /// The load at `step`.
    pub fn at(&self, step: Step) -> u64 {
        let after = self.points.partition_point(|&(start, _)| start <= step);
        after.checked_sub(1).map_or(0, |index| self.points[index].1)
    }

    /// The largest load in `steps` for many ranges at once: prepare once, ask in O(1).
    pub fn range_max(&self) -> RangeMax<'_> {
        let mut levels = vec![
            self.points
                .iter()
                .map(|&(_, load)| load)
                .collect::<Vec<u64>>(),
        ];
        let mut width = 1;
        while 2 * width <= self.points.len() {
            let below = levels.last().expect("one level at least");
            let pairs = below.iter().zip(&below[width..]);
            levels.push(pairs.map(|(&a, &b)| a.max(b)).collect());
            width *= 2;
        }
        RangeMax {
            profile: self,
            levels,
        }
    }
}

/// Answers "largest load during these steps" from a sparse table.
pub struct RangeMax<'a> {
    profile: &'a Profile,
    levels: Vec<Vec<u64>>,
}

impl RangeMax<'_> {
    /// The largest load during `steps`.
    pub fn max(&self, steps: Lifetime) -> u64 {
        let points = &self.profile.points;
        let first = points.partition_point(|&(start, _)| start <= steps.start);
        let first = first.saturating_sub(1);
        let last = points.partition_point(|&(start, _)| start < steps.end);
        if last <= first {
            return 0;
        }
        let level = (last - first).ilog2() as usize;
        let row = &self.levels[level];
        row[first].max(row[last - (1 << level)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let live = [(0, 2, 10), (1, 3, 5), (6, 7, 12)];
        Profile::new(live.map(|(start, end, bytes)| (Lifetime::new(start, end), bytes)))
    }

    #[test]
    fn points_change_where_the_load_changes() {
        let points: Vec<_> = profile().points().iter().map(|p| (p.0.0, p.1)).collect();
        assert_eq!(points, [(0, 10), (1, 15), (2, 5), (3, 0), (6, 12), (7, 0)]);
        assert_eq!(profile().max(), (15, Step(1)));
        let loads: Vec<u64> = (0..8).map(|s| profile().at(Step(s))).collect();
        assert_eq!(loads, [10, 15, 5, 0, 0, 0, 12, 0]);
    }

    #[test]
    fn range_max_agrees_with_a_scan() {
        let profile = profile();
        let table = profile.range_max();
        for start in 0..8 {
            for end in start + 1..9 {
                let scan = (start..end).map(|s| profile.at(Step(s))).max();
                assert_eq!(
                    Some(table.max(Lifetime::new(start, end))),
                    scan,
                    "{start}..{end}"
                );
            }
        }
    }

    #[test]
    fn nothing_live_is_no_load() {
        assert_eq!(Profile::new([]).max(), (0, Step(0)));
        assert_eq!(Profile::new([]).range_max().max(Lifetime::new(0, 4)), 0);
    }
}
