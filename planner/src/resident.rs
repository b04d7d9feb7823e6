//! Which buffers to keep in a memory that cannot hold all of them.
//!
//! Goes in: buffers with a *worth* (the traffic that a fast memory would save) and a capacity. Comes
//! out: a choice whose sizes fit the capacity at every step, and an upper bound of the worth of any
//! choice. Offsets are not looked at: whether the choice can be packed is asked later.
//!
//! ```text
//! capacity 10      steps  0  1  2
//! a  8 bytes, worth 16    ▓  ▓        a + b exceed step 1: one of them goes
//! b  6 bytes, worth 18       ▓  ▓     kept: b, c (22)
//! c  4 bytes, worth 4           ▓     bound: 38 - 16 · 4/8 = 30
//! ```
//!
//! This is a knapsack problem at every step ("unsplittable flow on a path"). The bound is that of
//! Lagrange: with any price for a byte of each step, no choice is worth more than all bytes sold plus what
//! each buffer gains beyond its price. Prices follow a subgradient (Held, Wolfe & Crowder 1974, step
//! sizes by Polyak). The best bound over all prices equals that of linear programming. Buffers are
//! then taken greedily by worth for the price paid, at several of the prices, single ones exchanged, and
//! at last a branch and bound looks for better choices, or finds that there are none.

use crate::ids::BufferId;
use crate::lifetime::Step;
use crate::problem::Problem;

mod branch;
mod loads;

use loads::Loads;

/// One buffer that may be kept.
struct Item {
    worth: u128,
    /// It has nowhere else to go.
    forced: bool,
    /// Ranges of compressed steps, with bytes.
    spans: Vec<(usize, usize, u64)>,
}

/// What is asked.
pub(crate) struct Question {
    items: Vec<Item>,
    /// Number of compressed steps.
    steps: usize,
    capacity: u64,
    /// Pairs may overlap, so that loads prove nothing.
    blurred: bool,
}

/// What was found.
pub(crate) struct Answer {
    /// By item.
    pub(crate) kept: Vec<bool>,
    /// Worth of what is kept.
    pub(crate) worth: u128,
    /// No choice that holds what is forced is worth more.
    pub(crate) bound: u128,
}

/// Bound and gains at some prices, in parts of 2^[`POINT`].
struct Priced {
    total: i128,
    /// By item, its worth beyond the price of its bytes.
    gains: Vec<i128>,
}

/// Looks at items and steps, in all.
const WORK: usize = 40_000_000;
/// Prices have this many bits after the point.
const POINT: u32 = 16;
/// Exchanges that are tried.
const EXCHANGES: usize = 20_000;

impl Question {
    /// Which of `candidates` (buffer, worth, forced) to keep in `capacity` bytes.
    pub(crate) fn new(
        problem: &Problem,
        candidates: &[(BufferId, u128, bool)],
        capacity: u64,
    ) -> Self {
        let extent = |id: BufferId| &problem.buffers()[id].extent;
        let rects = candidates.iter().flat_map(|&(id, ..)| extent(id));
        let mut edges: Vec<Step> = rects.flat_map(|r| [r.steps.start, r.steps.end]).collect();
        edges.sort_unstable();
        edges.dedup();
        let at = |step: Step| edges.partition_point(|&edge| edge < step);
        let item = |&(id, worth, forced): &(BufferId, u128, bool)| Item {
            worth,
            forced,
            spans: extent(id)
                .iter()
                .map(|r| (at(r.steps.start), at(r.steps.end), r.bytes()))
                .collect(),
        };
        Self {
            items: candidates.iter().map(item).collect(),
            steps: edges.len().saturating_sub(1),
            capacity,
            blurred: !problem.pairs().is_empty(),
        }
    }

    /// The best choice found and a bound of all; less good ones once `stop` says so.
    pub(crate) fn answer(&self, stop: &dyn Fn() -> bool) -> Answer {
        let all = self
            .items
            .iter()
            .fold(0_u128, |sum, i| sum.saturating_add(i.worth));
        let mut prices = vec![0.0; self.steps];
        let mut best = self.greedy(&prices, all);
        if self.blurred {
            return self.exchanged(best);
        }
        let size = 1 + self.steps + self.items.iter().map(|i| i.spans.len()).sum::<usize>();
        let mut least: Option<Priced> = None;
        for round in 0..(WORK / (4 * size)).clamp(8, 160) {
            if best.worth == best.bound || stop() {
                break;
            }
            if let Some(now) = self.priced(&prices)
                && least.as_ref().is_none_or(|least| now.total < least.total)
            {
                let bound = u128::try_from(now.total >> POINT).unwrap_or(0);
                best.bound = best.bound.min(bound.max(best.worth));
                least = Some(now);
            }
            if round % 8 == 7 {
                let other = self.greedy(&prices, best.bound);
                if other.worth > best.worth {
                    best = other;
                }
            }
            self.adjust(&mut prices, best.worth);
        }
        if stop() {
            return best;
        }
        let best = self.exchanged(best);
        match least {
            Some(least) => branch::improve(self, &least, best),
            None => best,
        }
    }

    /// Sum over the spans of an item of bytes × price.
    fn cost(item: &Item, sums: &[f64]) -> f64 {
        let spans = item.spans.iter();
        spans
            .map(|&(from, to, bytes)| bytes as f64 * (sums[to] - sums[from]))
            .sum()
    }

    /// One step along the subgradient: dearer where too much would be kept, cheaper elsewhere.
    fn adjust(&self, prices: &mut [f64], known: u128) {
        let sums = running(prices);
        let capacity = self.capacity as f64;
        let mut value: f64 = sums[self.steps] * capacity;
        let mut change = vec![0.0; self.steps + 1];
        for item in &self.items {
            let gain = item.worth as f64 - Self::cost(item, &sums);
            if gain > 0.0 || item.forced {
                value += gain;
                for &(from, to, bytes) in &item.spans {
                    change[from] += bytes as f64;
                    change[to] -= bytes as f64;
                }
            }
        }
        let mut used = 0.0;
        let mut slopes = Vec::with_capacity(self.steps);
        for (price, change) in prices.iter().zip(&change) {
            used += change;
            let slope: f64 = used - capacity;
            slopes.push(if *price > 0.0 || slope > 0.0 {
                slope
            } else {
                0.0
            });
        }
        let norm: f64 = slopes.iter().map(|slope| slope * slope).sum();
        if norm > 0.0 {
            let step = (value - known as f64).max(0.0) / norm;
            for (price, slope) in prices.iter_mut().zip(&slopes) {
                *price = (*price + step * slope).max(0.0);
            }
        }
    }

    /// Bound and gains at these prices, in whole numbers; nothing where they would not fit.
    fn priced(&self, prices: &[f64]) -> Option<Priced> {
        let mut sums = vec![0_i128];
        for price in prices {
            let price = price * f64::from(1_u32 << POINT);
            if price >= 1e18 {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "it was compared just now")]
            let price = price as i128;
            sums.push(sums.last()?.checked_add(price)?);
        }
        let mut total = sums.last()?.checked_mul(i128::from(self.capacity))?;
        let mut gains = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let mut gain = i128::try_from(item.worth).ok()?.checked_mul(1 << POINT)?;
            for &(from, to, bytes) in &item.spans {
                let cost = (sums[to] - sums[from]).checked_mul(i128::from(bytes))?;
                gain = gain.checked_sub(cost)?;
            }
            if gain > 0 || item.forced {
                total = total.checked_add(gain)?;
            }
            gains.push(gain);
        }
        Some(Priced { total, gains })
    }

    /// Takes items by worth for the price paid, the most first, as long as they fit.
    fn greedy(&self, prices: &[f64], bound: u128) -> Answer {
        // A little on top of every price makes room count where it is free, too.
        let floor = prices.iter().sum::<f64>() / (prices.len().max(1) as f64) * 1e-3 + 1e-12;
        let sums = running(&prices.iter().map(|price| price + floor).collect::<Vec<_>>());
        let key = |item: &Item| item.worth as f64 / Self::cost(item, &sums).max(1e-30);
        let mut order: Vec<(bool, f64, usize)> = (self.items.iter().enumerate())
            .map(|(index, item)| (!item.forced, key(item), index))
            .collect();
        order.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let mut loads = Loads::new(self.steps);
        let mut kept = vec![false; self.items.len()];
        for (_, _, index) in order {
            kept[index] = self.take(&mut loads, index);
        }
        let worth = self.worth(&kept);
        Answer {
            kept,
            worth,
            bound: bound.max(worth),
        }
    }

    fn worth(&self, kept: &[bool]) -> u128 {
        let kept = self.items.iter().zip(kept).filter(|(_, kept)| **kept);
        kept.fold(0, |sum, (item, _)| sum.saturating_add(item.worth))
    }

    /// Adds an item if it fits, or is forced.
    fn take(&self, loads: &mut Loads, index: usize) -> bool {
        let item = &self.items[index];
        for &(from, to, bytes) in &item.spans {
            loads.add(from, to, bytes);
        }
        let over = |&(from, to, _): &(usize, usize, u64)| loads.max(from, to) > self.capacity;
        if item.forced || !item.spans.iter().any(over) {
            return true;
        }
        self.leave(loads, index);
        false
    }

    fn leave(&self, loads: &mut Loads, index: usize) {
        for &(from, to, bytes) in &self.items[index].spans {
            loads.remove(from, to, bytes);
        }
    }

    /// Exchanges one kept item for one that is worth more, as long as that helps.
    fn exchanged(&self, mut answer: Answer) -> Answer {
        let mut loads = Loads::new(self.steps);
        let kept: Vec<usize> = (0..self.items.len()).filter(|&i| answer.kept[i]).collect();
        for index in kept {
            for &(from, to, bytes) in &self.items[index].spans {
                loads.add(from, to, bytes);
            }
        }
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(self.items[i].worth), i));
        let mut tried = 0;
        for &wanted in &order {
            if answer.kept[wanted] || tried >= EXCHANGES {
                continue;
            }
            if self.take(&mut loads, wanted) {
                answer.kept[wanted] = true;
                continue;
            }
            for &victim in order.iter().rev() {
                let cheaper = self.items[victim].worth < self.items[wanted].worth;
                if !answer.kept[victim] || self.items[victim].forced || !cheaper {
                    continue;
                }
                tried += 1;
                self.leave(&mut loads, victim);
                if self.take(&mut loads, wanted) {
                    (answer.kept[wanted], answer.kept[victim]) = (true, false);
                    break;
                }
                self.take_back(&mut loads, victim);
                if tried >= EXCHANGES {
                    break;
                }
            }
        }
        answer.worth = self.worth(&answer.kept);
        answer.bound = answer.bound.max(answer.worth);
        answer
    }

    fn take_back(&self, loads: &mut Loads, index: usize) {
        for &(from, to, bytes) in &self.items[index].spans {
            loads.add(from, to, bytes);
        }
    }
}

/// Sums of all before each position; one more than there are.
fn running(prices: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; prices.len() + 1];
    for (index, price) in prices.iter().enumerate() {
        sums[index + 1] = sums[index] + price;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::problem::Buffer;

    #[test]
    fn the_picture_of_the_module() {
        let problem = Problem::single(vec![
            Buffer::new("a", 0..2, 8),
            Buffer::new("b", 1..3, 6),
            Buffer::new("c", 2..3, 4),
        ]);
        let worths = [16, 18, 4];
        let candidates: Vec<_> = (worths.iter().enumerate())
            .map(|(index, &worth)| (BufferId::from_index(index), worth, false))
            .collect();
        let answer = Question::new(&problem.unwrap(), &candidates, 10).answer(&|| false);
        assert_eq!((answer.kept, answer.worth), (vec![false, true, true], 22));
        assert_eq!(answer.bound, 22); // all choices were gone through
    }
}
