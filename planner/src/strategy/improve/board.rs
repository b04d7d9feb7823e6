//! Items at their places, and the moves: put one where it costs least, pushing out what is in the way.

use super::items::Items;
use super::{NOWHERE, Random};
use crate::occupancy::relax;
use crate::problem::Problem;
use crate::shelf::aligned;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Offsets `from..to` that a placed item forbids.
#[derive(Clone, Copy)]
struct Taken {
    from: u64,
    to: u64,
    item: u32,
}

/// What it costs to push an item out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Bytes × steps counts, not its root.
    pub(super) area: bool,
    /// Who lives at a full step costs more: the inverse of its slack in thousandths, plus this …
    pub(super) soft: u64,
    /// … squared.
    pub(super) steep: bool,
}

/// The cost of what may not move.
const FIXED: u128 = 1 << 100;

/// Where everything is, and what waits for a place.
pub(super) struct Board<'a> {
    problem: &'a Problem,
    items: &'a Items,
    pub(super) offsets: Vec<u64>,
    /// How often an item pushed its way in since the last start.
    hits: Vec<u32>,
    /// Items that were touched since then.
    pub(super) touched: Vec<u32>,
    waiting: BinaryHeap<(u64, Reverse<u32>)>,
    pub(super) work: u64,
    taken: Vec<Taken>,
    ends: Vec<(u64, u64)>,
    candidates: Vec<u64>,
}

impl<'a> Board<'a> {
    pub(super) fn new(problem: &'a Problem, items: &'a Items, offsets: Vec<u64>) -> Self {
        Self {
            problem,
            items,
            hits: vec![0; items.len()],
            offsets,
            touched: Vec::new(),
            waiting: BinaryHeap::new(),
            work: 0,
            taken: Vec::new(),
            ends: Vec::new(),
            candidates: Vec::new(),
        }
    }

    pub(super) fn height(&self) -> u64 {
        let ends = self.offsets.iter().zip(&self.items.size);
        ends.map(|(offset, size)| offset + size).max().unwrap_or(0)
    }

    /// Takes out everything that ends above `capacity`. False if some of that cannot move.
    pub(super) fn cut(&mut self, capacity: u64, style: Style) -> bool {
        self.work += 1 + self.items.len() as u64 / 8;
        for item in 0..self.items.len() {
            if self.offsets[item] + self.items.size[item] > capacity {
                if self.items.fixed[item] || self.items.size[item] > capacity {
                    return false;
                }
                self.push_out(item, style);
            }
        }
        true
    }

    /// Puts everything back as it is in `offsets`, and forgets what waits.
    pub(super) fn restore(&mut self, offsets: &[u64]) {
        for &item in &self.touched {
            self.offsets[item as usize] = offsets[item as usize];
        }
        self.settle();
        self.waiting.clear();
    }

    /// What has been touched is no longer remembered.
    pub(super) fn settle(&mut self) {
        for item in self.touched.drain(..) {
            self.hits[item as usize] = 0;
        }
    }

    /// Places the costliest item that waits. True if none waits any more; nothing if one cannot be placed.
    pub(super) fn step(
        &mut self,
        capacity: u64,
        style: Style,
        random: &mut Random,
    ) -> Option<bool> {
        let Some((_, Reverse(item))) = self.waiting.pop() else {
            return Some(true);
        };
        let item = item as usize;
        self.collect(item);
        let offset = match self.gap(item, capacity) {
            Some(offset) => offset,
            None => self.push_in(item, capacity, style, random)?,
        };
        self.offsets[item] = offset;
        self.touch(item);
        Some(false)
    }

    fn touch(&mut self, item: usize) {
        self.touched.push(u32::try_from(item).expect("ids are u32"));
    }

    fn push_out(&mut self, item: usize, style: Style) {
        self.offsets[item] = NOWHERE;
        self.touch(item);
        let index = u32::try_from(item).expect("ids are u32");
        let weight = self.weight(item, style);
        self.waiting.push((weight, Reverse(index)));
    }

    /// What it costs to push `item` out.
    fn weight(&self, item: usize, style: Style) -> u64 {
        let items = self.items;
        let plain = if style.area {
            items.area[item]
        } else {
            items.root[item]
        };
        let fullness = 1_000_000 / (u64::from(items.slack[item]) + style.soft);
        let fullness = if style.steep {
            fullness * fullness / 1_000_000
        } else {
            fullness
        };
        let hits = 1 + u64::from(self.hits[item]);
        plain.saturating_mul(fullness.max(1)).saturating_mul(hits)
    }

    /// The offsets that are forbidden to `item`, sorted.
    fn collect(&mut self, item: usize) {
        let Self {
            problem,
            items,
            offsets,
            taken,
            ..
        } = self;
        taken.clear();
        let mut looked = 0;
        for strip in items.strips(item) {
            let own = items.strips[strip];
            looked += items.near.each(strip, |other| {
                let other = items.strips[other];
                let offset = offsets[other.item as usize];
                if offset == NOWHERE || other.item as usize == item {
                    return;
                }
                let top = offset + other.hi;
                if top <= own.lo {
                    return;
                }
                let below = (offset + other.lo).checked_sub(own.hi);
                let mut range = (below.map_or(0, |lowest| lowest + 1), top - own.lo);
                let ends = (items.ids[item], items.ids[other.item as usize]);
                if let Some(pair) = problem.pair(ends.0, ends.1) {
                    relax(&mut range, pair, ends.0, offset);
                }
                if range.0 < range.1 {
                    let (from, to) = range;
                    taken.push(Taken {
                        from,
                        to,
                        item: other.item,
                    });
                }
            });
        }
        taken.sort_unstable_by_key(|t| (t.from, t.to, t.item));
        self.work += (looked + 4 * self.taken.len()) as u64 + 16;
    }

    /// The narrowest gap that is free.
    fn gap(&self, item: usize, capacity: u64) -> Option<u64> {
        let align = self.items.align[item];
        let mut cursor = 0_u64;
        let mut best: Option<(u64, u64)> = None;
        for taken in &self.taken {
            if cursor < taken.from {
                let slack = taken.from - 1 - cursor;
                if best.is_none_or(|(least, _)| slack < least) {
                    best = Some((slack, cursor));
                }
            }
            if taken.to > cursor {
                cursor = aligned(taken.to, align);
            }
        }
        let top = capacity - self.items.size[item];
        let best = best
            .map(|(_, offset)| offset)
            .filter(|&offset| offset <= top);
        best.or((cursor <= top).then_some(cursor))
    }

    /// The offset at which the least has to be pushed out, which is done.
    fn push_in(
        &mut self,
        item: usize,
        capacity: u64,
        style: Style,
        random: &mut Random,
    ) -> Option<u64> {
        let (offset, cost) = self.cheapest(item, capacity, style, random);
        if cost >= FIXED {
            return None;
        }
        self.hits[item] += 1;
        let mut taken = std::mem::take(&mut self.taken);
        for other in taken.drain(..) {
            let here = other.from <= offset && offset < other.to;
            if here && self.offsets[other.item as usize] != NOWHERE {
                self.push_out(other.item as usize, style);
            }
        }
        self.taken = taken;
        Some(offset)
    }

    /// Sweeps over all offsets at which something begins or ends to be in the way.
    fn cheapest(
        &mut self,
        item: usize,
        capacity: u64,
        style: Style,
        random: &mut Random,
    ) -> (u64, u128) {
        let (align, top) = (self.items.align[item], capacity - self.items.size[item]);
        let top = top - top % align;
        let mut ends = std::mem::take(&mut self.ends);
        let mut candidates = std::mem::take(&mut self.candidates);
        ends.clear();
        candidates.clear();
        candidates.extend([0, top]);
        let mut weights = Vec::with_capacity(self.taken.len());
        for (index, taken) in self.taken.iter().enumerate() {
            let other = taken.item as usize;
            let noise = 230 + u128::from(random.next() >> 32) % 52;
            let weight = if self.items.fixed[other] {
                FIXED
            } else {
                (u128::from(self.weight(other, style)) * noise) >> 8
            };
            weights.push(weight.max(1));
            ends.push((taken.to, index as u64));
            let below = taken.from.saturating_sub(1);
            let beside = [aligned(taken.to, align), below - below % align];
            candidates.extend(beside.into_iter().filter(|&offset| offset <= top));
        }
        self.work += 8 * weights.len() as u64;
        ends.sort_unstable();
        candidates.sort_unstable();
        let (mut opened, mut closed, mut cost) = (0, 0, 0_u128);
        let mut best = (0, u128::MAX);
        for &offset in &candidates {
            while self.taken.get(opened).is_some_and(|t| t.from <= offset) {
                cost += weights[opened];
                opened += 1;
            }
            while ends.get(closed).is_some_and(|&(to, _)| to <= offset) {
                cost -= weights[usize::try_from(ends[closed].1).expect("an index")];
                closed += 1;
            }
            if cost < best.1 {
                best = (offset, cost);
            }
        }
        (self.ends, self.candidates) = (ends, candidates);
        best
    }
}
