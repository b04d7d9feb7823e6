//! Exact search: better plans than the greedies, proofs that there are none, at any time the best so
//! far.
//!
//! Goes in: a problem, a plan of it, its bounds. Comes out: for each arena a plan that is as low or lower,
//! and a bound that is as high or higher. An arena is searched in *turns*: each is one depth-first
//! search (`dfs`) for a plan within a capacity, in an order of its own (`keys`), up to a limit of work that
//! doubles with every round of orders. In each turn two capacities are tried: the bound, which ends
//! everything if it is reached and rises if it is ruled out; and one between the bound and the
//! best plan, another one each time.
//!
//! Work is counted in steps of inner loops, so results depend on limits and seed alone, not on
//! the machine or the number of threads; only a cancelled search may differ.

mod dfs;
mod failed;
mod keys;
mod shape;
mod state;

pub use dfs::Rules;

use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::{Place, Plan};
use crate::problem::Problem;
use crate::witness::{Bound, Witness};
use dfs::{Outcome, Search};
use failed::Failed;
use keys::{CYCLE, Order};
use shape::Shape;
use state::State;

/// Called now and then with the best height, the bound and the nodes so far.
pub(super) type Watcher<'a> = dyn Fn(Progress) + Sync + 'a;

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Best height so far, in bytes.
    pub(super) height: u64,
    /// Bound so far, in bytes.
    pub(super) bound: u64,
    /// Nodes so far.
    pub(super) nodes: u64,
}

/// How long and how to search.
#[derive(Clone)]
pub(super) struct Limits<'a> {
    /// Steps of inner loops, for each arena; 0: no search.
    pub(super) work: u64,
    /// Nodes, over all arenas; 0: no search.
    pub(super) nodes: u64,
    /// Seed of the noise in later turns.
    pub(super) seed: u64,
    /// A height that is good enough; none: as low as can be.
    pub(super) enough: Option<u64>,
    /// Prunings in force.
    pub(super) rules: Rules,
    /// Asked now and then; true ends the search with the best so far.
    pub(super) cancel: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// Told now and then.
    pub(super) watcher: Option<&'a Watcher<'a>>,
}

impl Limits<'_> {
    fn tell(&self, height: u64, bound: u64, nodes: u64) {
        if let Some(watcher) = self.watcher {
            watcher(Progress {
                height,
                bound,
                nodes,
            });
        }
    }
}

/// Stack of a search: a node needs some hundred bytes, and is as deep as there are buffers.
const STACK: usize = 64 << 20;
/// Work of the first turns, by item.
const FIRST: u64 = 1 << 12;

/// What searches took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Nodes.
    pub(super) nodes: u64,
    /// Steps of inner loops.
    pub(super) work: u64,
}

/// Lowers `plan` where it can, and raises `bounds`; returns what that took.
pub(super) fn improve(
    problem: &Problem,
    plan: &mut Plan,
    bounds: &mut Bounds,
    limits: &Limits<'_>,
) -> Spent {
    let mut spent = Spent::default();
    for arena in problem.arenas().ids() {
        let bound = bounds.arenas[arena];
        if limits.work == 0 || spent.nodes >= limits.nodes || plan.heights[arena] <= bound.bytes {
            continue;
        }
        let inside = |id: &BufferId| {
            plan.places[*id].arena == arena && !problem.buffers()[*id].extent.is_empty()
        };
        let ids: Vec<BufferId> = problem.buffers().ids().filter(inside).collect();
        // A bound holds for the problem if nothing could have gone elsewhere.
        let proves = ids
            .iter()
            .all(|&id| problem.buffers()[id].arenas == [arena]);
        let Some(shape) = Shape::new(problem, arena, ids) else {
            continue;
        };
        let left = Limits {
            nodes: limits.nodes - spent.nodes,
            ..limits.clone()
        };
        let found = apart(&shape, plan.heights[arena], bound.bytes, &left);
        spent.nodes += found.nodes;
        spent.work = spent.work.saturating_add(found.work);
        if let Some(offsets) = found.offsets {
            plan.heights[arena] = found.height;
            "search".clone_into(&mut plan.strategy);
            write(&shape, arena, &offsets, &mut plan.places);
        }
        if proves && shape.exact && found.bound > bound.bytes {
            let witness = Witness::Search { nodes: found.nodes };
            bounds.arenas[arena] = Bound {
                bytes: found.bound,
                witness,
            };
        }
    }
    spent
}

fn write(shape: &Shape, arena: ArenaId, offsets: &[i32], places: &mut Table<BufferId, Place>) {
    for (&id, &offset) in shape.ids.iter().zip(offsets) {
        let offset = u64::from(offset.unsigned_abs()) * shape.unit;
        places[id] = Place { arena, offset };
    }
}

/// What a search of one arena found.
struct Found {
    /// Better offsets, in units, if there are any.
    offsets: Option<Vec<i32>>,
    height: u64,
    bound: u64,
    nodes: u64,
    work: u64,
}

/// On a thread of its own, which has the stack for it.
fn apart(shape: &Shape, height: u64, bound: u64, limits: &Limits<'_>) -> Found {
    let turns = || Turns::new(shape, height, bound, limits).run();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, turns);
        thread
            .expect("a thread can be started")
            .join()
            .expect("a search does not panic")
    })
}

/// The turns of one arena.
struct Turns<'a> {
    shape: &'a Shape,
    limits: &'a Limits<'a>,
    best: Found,
    /// The lowest capacity that was not tried out. For an exact shape it is the bound.
    lowest: u64,
    failed: Failed,
    /// Searches between the lowest and the best so far.
    restarts: u64,
    work: u64,
    /// Nothing as low as would be enough was found, whatever was tried.
    denied: bool,
}

impl<'a> Turns<'a> {
    fn new(shape: &'a Shape, height: u64, bound: u64, limits: &'a Limits<'a>) -> Self {
        let best = Found {
            offsets: None,
            height,
            bound,
            nodes: 0,
            work: 0,
        };
        Self {
            shape,
            limits,
            best,
            lowest: bound.max(limits.enough.unwrap_or(0)),
            failed: Failed::new(),
            restarts: 0,
            work: 0,
            denied: false,
        }
    }

    fn done(&self) -> bool {
        let Limits { cancel, enough, .. } = *self.limits;
        // Nothing is as low as would be enough.
        self.denied
            || enough.is_some_and(|enough| enough < self.best.bound)
            || self.best.height <= self.lowest
            || self.work >= self.limits.work
            || self.best.nodes >= self.limits.nodes
            || cancel.is_some_and(|cancel| cancel())
    }

    fn run(mut self) -> Found {
        let mut turn = 0;
        while !self.done() {
            let doublings = u32::try_from(turn / CYCLE).unwrap_or(u32::MAX).min(40);
            let limit = (FIRST * self.shape.len() as u64).saturating_mul(1 << doublings);
            self.turn(turn, limit);
            let Found {
                height,
                bound,
                nodes,
                ..
            } = self.best;
            self.limits.tell(height, bound, nodes);
            turn += 1;
        }
        self.best.work = self.work;
        self.best
    }

    fn turn(&mut self, turn: u64, limit: u64) {
        let before = self.work;
        self.search(self.lowest, Order::of_turn(turn, self.limits.seed), limit);
        let asked = self.limits.enough.is_some() && turn < CYCLE;
        let until = self.work + (self.work - before);
        while !asked && self.work < until && !self.done() {
            let Some(between) = self.between() else { break };
            let limit = FIRST * self.shape.len() as u64 * luby(self.restarts + 1);
            let order = Order::of_restart(self.restarts, self.limits.seed);
            self.search(between, order, limit);
            self.restarts += 1;
        }
    }

    /// A capacity between the lowest and the best: anywhere between and in the upper half in turn, by van
    /// der Corput's sequence (1/2, 1/4, 3/4, 1/8 ...).
    fn between(&self) -> Option<u64> {
        let unit = self.shape.unit;
        let steps = (self.best.height - self.lowest).checked_sub(1)? / unit;
        let fraction = u128::from((self.restarts + 1).reverse_bits());
        let step = (u128::from(steps) * fraction) >> 64;
        let step = u64::try_from(step).expect("less than the steps") >> (1 - self.restarts % 2);
        (steps > 0).then(|| self.best.height - (step + 1) * unit)
    }

    /// One depth-first search within `capacity`; a plan that it finds becomes the best.
    fn search(&mut self, capacity: u64, order: Order, limit: u64) {
        let (shape, limits) = (self.shape, self.limits);
        let Found {
            height,
            bound,
            nodes: before,
            ..
        } = self.best;
        let asked = |nodes: u64| {
            let nodes = before + nodes;
            limits.tell(height, bound, nodes);
            nodes >= limits.nodes || limits.cancel.is_some_and(|cancel| cancel())
        };
        let limit = limit.min(limits.work.saturating_sub(self.work));
        let state = State::new(shape, capacity);
        let mut search = Search::new(state, order, limits.rules, &mut self.failed, limit, &asked);
        let outcome = search.run();
        self.best.nodes += search.nodes;
        self.work += search.state.work;
        match outcome {
            Outcome::Found => {
                let offsets = search.state.offset;
                self.lower(offsets);
            }
            Outcome::Exhausted => self.ruled_out(capacity),
            Outcome::Stopped => {}
        }
    }

    fn lower(&mut self, offsets: Vec<i32>) {
        let shape = self.shape;
        let ends = offsets.iter().zip(&shape.bytes);
        let ends = ends.map(|(&at, bytes)| u64::from(at.unsigned_abs()) * shape.unit + bytes);
        let height = ends.max().unwrap_or(0);
        if height < self.best.height {
            self.best.height = height;
            self.best.offsets = Some(offsets);
        }
    }

    /// Nothing was found in `capacity`, whatever was tried.
    fn ruled_out(&mut self, capacity: u64) {
        self.lowest = self.shape.next_capacity(capacity).max(self.lowest);
        if self.shape.exact {
            self.best.bound = self.lowest.min(self.best.height).max(self.best.bound);
        }
        if self.limits.enough.is_some_and(|enough| enough <= capacity) {
            self.denied = true;
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

#[cfg(test)]
mod tests;
