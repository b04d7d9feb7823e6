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
        let live = live.into_iter().filter(|(steps, _)| !steps.is_empty());
        let live: Vec<(Lifetime, u64)> = live.collect();
        let begin = live.iter().map(|(steps, _)| steps.start.0).min();
        let end = live.iter().map(|(steps, _)| steps.end.0).max();
        let (begin, end) = (begin.unwrap_or(0), end.unwrap_or(0));
        let points = if (end - begin) as usize <= DENSE * live.len() {
            step_by_step(&live, begin, end)
        } else {
            change_by_change(&live)
        };
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

    /// The largest load during `steps`, by a look at all points of them.
    pub fn max_during(&self, steps: Lifetime) -> u64 {
        let first = self
            .points
            .partition_point(|&(start, _)| start <= steps.start);
        let points = self.points[first.saturating_sub(1)..].iter();
        let during = points.take_while(|&&(start, _)| start < steps.end);
        during.map(|&(_, load)| load).max().unwrap_or(0)
    }

    /// The largest load in `steps` for many ranges at once: prepare once, ask in O(1).
    pub fn range_max(&self) -> RangeMax<'_> {
        let blocks = self.points.chunks(BLOCK).map(highest);
        let mut levels = vec![blocks.collect::<Vec<u64>>()];
        let mut width = 1;
        while 2 * width <= levels[0].len() {
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

/// With at most so many steps for each rectangle, one pass over the steps is quicker than sorting.
const DENSE: usize = 8;

/// The points, by adding up what changes at each step of `begin..=end`.
fn step_by_step(live: &[(Lifetime, u64)], begin: u32, end: u32) -> Vec<(Step, u64)> {
    let mut changes = vec![0_i128; (end - begin) as usize + 1];
    for &(steps, bytes) in live {
        changes[(steps.start.0 - begin) as usize] += i128::from(bytes);
        changes[(steps.end.0 - begin) as usize] -= i128::from(bytes);
    }
    let mut points = Vec::new();
    let (mut load, mut before) = (0_i128, 0);
    for (step, change) in (begin..=end).zip(changes) {
        load += change;
        if load != before {
            points.push((Step(step), whole(load)));
            before = load;
        }
    }
    points
}

/// The points, by sorting starts and ends.
fn change_by_change(live: &[(Lifetime, u64)]) -> Vec<(Step, u64)> {
    let mut changes: Vec<(Step, i128)> = Vec::with_capacity(2 * live.len());
    for &(steps, bytes) in live {
        changes.push((steps.start, i128::from(bytes)));
        changes.push((steps.end, -i128::from(bytes)));
    }
    // What happens at one step is summed up in any order.
    changes.sort_unstable_by_key(|&(step, _)| step);
    let mut points = Vec::new();
    let (mut load, mut before) = (0_i128, 0);
    for together in changes.chunk_by(|a, b| a.0 == b.0) {
        load += together.iter().map(|&(_, change)| change).sum::<i128>();
        if load != before {
            points.push((together[0].0, whole(load)));
            before = load;
        }
    }
    points
}

fn whole(load: i128) -> u64 {
    u64::try_from(load).expect("sums were validated to fit u64")
}

/// Points that [`RangeMax`] looks at together.
const BLOCK: usize = 16;

/// The largest load of these points.
fn highest(points: &[(Step, u64)]) -> u64 {
    points.iter().map(|&(_, load)| load).max().unwrap_or(0)
}

/// Answers "largest load during these steps" from a sparse table of blocks of points.
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
        let (from, to) = (first.div_ceil(BLOCK), last / BLOCK);
        if from >= to {
            return highest(&points[first..last]);
        }
        let level = (to - from).ilog2() as usize;
        let row = &self.levels[level];
        let whole = row[from].max(row[to - (1 << level)]);
        let (before, behind) = (&points[first..from * BLOCK], &points[to * BLOCK..last]);
        whole.max(highest(before)).max(highest(behind))
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
        let (live, end) = drawn();
        agree(&profile(), 9);
        agree(&Profile::new(live), end + 2);
    }

    fn agree(profile: &Profile, all: u32) {
        let table = profile.range_max();
        for start in 0..all - 1 {
            for end in start + 1..all {
                let scan = (start..end).map(|s| profile.at(Step(s))).max();
                let steps = Lifetime::new(start, end);
                assert_eq!(Some(table.max(steps)), scan, "{start}..{end}");
                assert_eq!(Some(profile.max_during(steps)), scan, "{start}..{end}");
            }
        }
    }

    /// Some hundreds of rectangles, and the last step of all.
    fn drawn() -> (Vec<(Lifetime, u64)>, u32) {
        let mut state = 9_u32;
        let mut draw = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % limit
        };
        let live: Vec<(Lifetime, u64)> = (0..300)
            .map(|_| {
                let start = 7 + draw(200);
                (
                    Lifetime::new(start, start + 1 + draw(9)),
                    u64::from(draw(3)),
                )
            })
            .collect();
        let end = live.iter().map(|(steps, _)| steps.end.0).max().unwrap();
        (live, end)
    }

    #[test]
    fn dense_and_sparse_steps_give_the_same_points() {
        let (live, end) = drawn();
        assert_eq!(step_by_step(&live, 3, end), change_by_change(&live));
        assert!(!change_by_change(&live).is_empty());
    }

    #[test]
    fn nothing_live_is_no_load() {
        assert_eq!(Profile::new([]).max(), (0, Step(0)));
        assert_eq!(Profile::new([]).range_max().max(Lifetime::new(0, 4)), 0);
    }
}
