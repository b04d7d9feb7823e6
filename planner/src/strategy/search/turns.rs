//! Turns: which shape, which order, which capacity, how long.
//!
//! Where many items fit each other (rows and stacks, see `fold`), a second, smaller shape takes turns with
//! the first. What is found in it is a plan; what is ruled out in it proves nothing.

use super::dfs::{Outcome, Search};
use super::failed::Failed;
use super::keys::{CYCLE, Order};
use super::shape::Shape;
use super::state::State;
use super::{Limits, Spent};

/// Work of the first turns, by item.
const FIRST: u64 = 1 << 12;

/// What a search of one arena found.
pub(super) struct Found {
    /// Better offsets, in units, if there are any, and the shape that they are of.
    pub(super) offsets: Option<(usize, Vec<i32>)>,
    pub(super) height: u64,
    pub(super) bound: u64,
    pub(super) spent: Spent,
}

/// The shape of the arena itself, and the one in which what fits each other is joined.
const WHOLE: usize = 0;
pub(super) const FOLDED: usize = 1;

/// One shape on its way.
struct Lane<'a> {
    shape: &'a Shape,
    /// The lowest capacity that was not tried out. For the whole, if it is exact, it is the bound.
    lowest: u64,
    failed: Failed,
    /// Searches between the lowest and the best so far.
    restarts: u64,
}

/// The turns of one arena.
pub(super) struct Turns<'a> {
    lanes: Vec<Lane<'a>>,
    limits: &'a Limits<'a>,
    best: Found,
    /// Nothing as low as would be enough was found, whatever was tried.
    denied: bool,
}

impl<'a> Turns<'a> {
    pub(super) fn new(
        (whole, folded): (&'a Shape, Option<&'a Shape>),
        height: u64,
        bound: u64,
        limits: &'a Limits<'a>,
    ) -> Self {
        let best = Found {
            offsets: None,
            height,
            bound,
            spent: Spent::default(),
        };
        let lane = |shape| Lane {
            shape,
            lowest: bound.max(limits.enough.unwrap_or(0)),
            failed: Failed::new(),
            restarts: 0,
        };
        Self {
            lanes: std::iter::once(whole).chain(folded).map(lane).collect(),
            limits,
            best,
            denied: false,
        }
    }

    fn done(&self) -> bool {
        let Limits { cancel, enough, .. } = *self.limits;
        // Nothing is as low as would be enough.
        self.denied
            || enough.is_some_and(|enough| enough < self.best.bound)
            || self.best.height <= self.lanes[WHOLE].lowest
            || self.best.spent.work >= self.limits.work
            || self.best.spent.nodes >= self.limits.nodes
            || cancel.is_some_and(|cancel| cancel())
    }

    pub(super) fn run(mut self) -> Found {
        let mut turn = 0;
        while !self.done() {
            // What is folded is smaller: it comes first.
            for lane in (0..self.lanes.len()).rev() {
                if !self.done() && self.best.height > self.lanes[lane].lowest {
                    self.turn(lane, turn);
                }
            }
            let Found {
                height,
                bound,
                spent,
                ..
            } = self.best;
            self.limits.tell(height, bound, spent.nodes);
            turn += 1;
        }
        self.best
    }

    fn turn(&mut self, lane: usize, turn: u64) {
        let before = self.best.spent.work;
        let first = FIRST * self.lanes[lane].shape.len() as u64;
        let doublings = u32::try_from(turn / CYCLE).unwrap_or(u32::MAX).min(40);
        let order = Order::of_turn(turn, self.limits.seed);
        let limit = first.saturating_mul(1 << doublings);
        self.search(lane, self.lanes[lane].lowest, order, limit);
        let asked = self.limits.enough.is_some() && turn < CYCLE;
        let until = self.best.spent.work + (self.best.spent.work - before);
        while !asked && self.best.spent.work < until && !self.done() {
            let Some(between) = self.between(lane) else {
                break;
            };
            let restarts = self.lanes[lane].restarts;
            let order = Order::of_restart(restarts, self.limits.seed);
            self.search(lane, between, order, first * luby(restarts + 1));
            self.lanes[lane].restarts += 1;
        }
    }

    /// A capacity between the lowest and the best: anywhere between and in the upper half in turn, by van
    /// der Corput's sequence (1/2, 1/4, 3/4, 1/8 ...).
    fn between(&self, lane: usize) -> Option<u64> {
        let Lane {
            shape,
            lowest,
            restarts,
            ..
        } = self.lanes[lane];
        let gap = self.best.height.checked_sub(lowest)?;
        let steps = gap.checked_sub(1)? / shape.unit;
        let fraction = u128::from((restarts + 1).reverse_bits());
        let step = (u128::from(steps) * fraction) >> 64;
        let step = u64::try_from(step).expect("less than the steps") >> (1 - restarts % 2);
        (steps > 0).then(|| self.best.height - (step + 1) * shape.unit)
    }

    /// One depth-first search within `capacity`; a plan that it finds becomes the best.
    fn search(&mut self, lane: usize, capacity: u64, order: Order, limit: u64) {
        let limits = self.limits;
        let Found {
            height,
            bound,
            spent,
            ..
        } = self.best;
        let asked = |nodes: u64| {
            let nodes = spent.nodes + nodes;
            limits.tell(height, bound, nodes);
            nodes >= limits.nodes || limits.cancel.is_some_and(|cancel| cancel())
        };
        let limit = limit.min(limits.work.saturating_sub(spent.work));
        let Lane { shape, failed, .. } = &mut self.lanes[lane];
        let state = State::new(shape, capacity);
        let mut search = Search::new(state, order, limits.rules, failed, limit, &asked);
        let outcome = search.run();
        self.best.spent.add(Spent {
            nodes: search.nodes,
            work: search.state.work,
        });
        match outcome {
            Outcome::Found => {
                let offsets = search.state.offset;
                self.lower(lane, offsets);
            }
            Outcome::Exhausted => self.ruled_out(lane, capacity),
            Outcome::Stopped => {}
        }
    }

    fn lower(&mut self, lane: usize, offsets: Vec<i32>) {
        let shape = self.lanes[lane].shape;
        let ends = offsets.iter().zip(&shape.bytes);
        let ends = ends.map(|(&at, bytes)| u64::from(at.unsigned_abs()) * shape.unit + bytes);
        let height = ends.max().unwrap_or(0);
        if height < self.best.height {
            self.best.height = height;
            self.best.offsets = Some((lane, offsets));
        }
    }

    /// Nothing was found in `capacity`, whatever was tried.
    fn ruled_out(&mut self, lane: usize, capacity: u64) {
        let tried = &mut self.lanes[lane];
        tried.lowest = tried.shape.next_capacity(capacity).max(tried.lowest);
        if lane != WHOLE {
            return; // another plan may not be of this kind
        }
        let lowest = tried.lowest;
        let exact = tried.shape.exact;
        if exact {
            self.best.bound = lowest.min(self.best.height).max(self.best.bound);
        }
        if self.limits.enough.is_some_and(|enough| enough <= capacity) {
            self.denied = true;
        }
        for other in self.lanes.iter_mut().filter(|_| exact) {
            other.lowest = other.lowest.max(lowest);
        }
    }
}

/// Luby's sequence 1 1 2 1 1 2 4 ...: within a constant factor the best lengths of restarts (Luby,
/// Sinclair, Zuckerman 1993).
fn luby(index: u64) -> u64 {
    let mut index = index;
    loop {
        let bits = u64::BITS - index.leading_zeros();
        if index + 1 == 1 << bits {
            return 1 << (bits - 1);
        }
        index -= (1 << (bits - 1)) - 1;
    }
}
