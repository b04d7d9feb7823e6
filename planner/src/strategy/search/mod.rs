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
//! Where that search is not exact (`shape` says when), the last part of the work is for another one (`ranges`).
//!
//! Work is counted in steps of inner loops, so results depend on limits and seed alone, not on
//! the machine or the number of threads; only a cancelled search may differ.

mod dfs;
mod distances;
mod failed;
mod keys;
mod ranges;
mod rules;
mod sections;
mod shape;
mod state;
mod turns;
mod units;

pub use rules::Rules;

use super::fold::{Folded, fold};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::{Place, Plan};
use crate::problem::Problem;
use crate::witness::{Bound, Witness};
use shape::Shape;
use turns::{FOLDED, Turns};

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
    /// Whether it is known if there is a plan that is good enough.
    fn answered(&self, height: u64, bound: u64) -> bool {
        let answered = |enough: u64| height <= enough || bound > enough;
        self.enough.is_some_and(answered)
    }

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

/// What searches took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Nodes.
    pub(super) nodes: u64,
    /// Steps of inner loops.
    pub(super) work: u64,
}

impl Spent {
    /// Takes another one in.
    pub(super) fn add(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.work = self.work.saturating_add(other.work);
    }
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
        let limits = Limits {
            nodes: limits.nodes - spent.nodes.min(limits.nodes),
            ..limits.clone()
        };
        let inside = |id: &BufferId| {
            plan.places[*id].arena == arena && !problem.buffers()[*id].extent.is_empty()
        };
        let ids: Vec<BufferId> = problem.buffers().ids().filter(inside).collect();
        // A bound holds for the problem if nothing could have gone elsewhere.
        let only = |id: &BufferId| problem.buffers()[*id].arenas == [arena];
        let proves = ids.iter().all(only);
        let mut of = Searched {
            problem,
            arena,
            ids,
            proves,
            plan,
            bound: &mut bounds.arenas[arena],
            limits: &limits,
            spent: Spent::default(),
        };
        of.run();
        let here = of.spent;
        spent.add(here);
    }
    spent
}

/// An arena that is searched, and how far that is.
struct Searched<'a> {
    problem: &'a Problem,
    arena: ArenaId,
    ids: Vec<BufferId>,
    /// Whether what is ruled out here is ruled out for the problem.
    proves: bool,
    plan: &'a mut Plan,
    bound: &'a mut Bound,
    limits: &'a Limits<'a>,
    spent: Spent,
}

/// Where `turns` cannot prove anything, this part of the work is left to `ranges`.
const RANGES: u64 = 4;

impl Searched<'_> {
    fn run(&mut self) {
        if self.limits.work == 0 || self.done() {
            return;
        }
        let height = self.plan.heights[self.arena];
        let shape = Shape::new(self.problem, self.arena, self.ids.clone(), height);
        let exact = shape.as_ref().is_some_and(|shape| shape.exact);
        let ranges = !exact && ranges::is_small(self.problem, &self.ids);
        if let Some(shape) = shape {
            let part = if ranges { self.limits.work / RANGES } else { 0 };
            self.turns(&shape, self.limits.work - part);
        }
        if ranges && !self.done() && self.spent.work < self.limits.work {
            self.ranges();
        }
    }

    fn done(&self) -> bool {
        let height = self.plan.heights[self.arena];
        height <= self.bound.bytes
            || self.limits.answered(height, self.bound.bytes)
            || self.spent.nodes >= self.limits.nodes
    }

    /// The limits for what comes next, of so much work.
    fn left(&self, work: u64) -> Limits<'_> {
        Limits {
            nodes: self.limits.nodes - self.spent.nodes,
            work,
            ..self.limits.clone()
        }
    }

    fn turns(&mut self, shape: &Shape, work: u64) {
        let (arena, height) = (self.arena, self.plan.heights[self.arena]);
        let twin = self
            .proves
            .then(|| Twin::new(self.problem, arena, height))
            .flatten();
        let limits = self.left(work);
        let shapes = (shape, twin.as_ref().map(|twin| &twin.shape));
        let turns = || Turns::new(shapes, height, self.bound.bytes, &limits).run();
        let found = apart(turns);
        self.spent.add(found.spent);
        if let Some((of, offsets)) = found.offsets {
            self.lower(found.height);
            match &twin {
                Some(twin) if of == FOLDED => {
                    let places = twin.places(arena, &offsets);
                    for &id in &self.ids {
                        self.plan.places[id] = places[id];
                    }
                }
                _ => write(shape, arena, &offsets, &mut self.plan.places),
            }
        }
        if shape.exact {
            self.raise(found.bound);
        }
    }

    fn ranges(&mut self) {
        let (arena, height) = (self.arena, self.plan.heights[self.arena]);
        let limits = self.left(self.limits.work - self.spent.work);
        let known = ranges::Known {
            height,
            bound: self.bound.bytes,
            nodes: self.spent.nodes,
        };
        let found = apart(|| ranges::search((self.problem, arena), &self.ids, known, &limits));
        self.spent.add(found.spent);
        if let Some(offsets) = found.offsets {
            self.lower(found.height);
            for (&id, offset) in self.ids.iter().zip(offsets) {
                self.plan.places[id] = Place { arena, offset };
            }
        }
        self.raise(found.bound);
    }

    fn lower(&mut self, height: u64) {
        self.plan.heights[self.arena] = height;
        "search".clone_into(&mut self.plan.strategy);
    }

    fn raise(&mut self, bytes: u64) {
        if self.proves && bytes > self.bound.bytes {
            let nodes = self.spent.nodes;
            let witness = Witness::Search { nodes };
            *self.bound = Bound { bytes, witness };
        }
    }
}

fn write(shape: &Shape, arena: ArenaId, offsets: &[i32], places: &mut Table<BufferId, Place>) {
    for (&id, &offset) in shape.ids.iter().zip(offsets) {
        let offset = u64::from(offset.unsigned_abs()) * shape.unit;
        places[id] = Place { arena, offset };
    }
}

/// The same arena with what fits each other joined.
struct Twin {
    folded: Folded,
    shape: Shape,
}

impl Twin {
    fn new(problem: &Problem, arena: ArenaId, height: u64) -> Option<Self> {
        let folded = fold(problem, &|| false)?;
        let buffers = folded.problem.buffers().iter();
        let inside = buffers.filter(|(_, b)| b.arenas == [arena] && !b.extent.is_empty());
        let ids = inside.map(|(id, _)| id).collect();
        let shape = Shape::new(&folded.problem, arena, ids, height)?;
        Some(Self { folded, shape })
    }

    /// Places of what is in the arena and has bytes; nothing is said of others.
    fn places(&self, arena: ArenaId, offsets: &[i32]) -> Table<BufferId, Place> {
        let ground = Place { arena, offset: 0 };
        let mut folded = Table::filled(ground, self.folded.problem.buffers().len());
        write(&self.shape, arena, offsets, &mut folded);
        self.folded.unfold(&folded)
    }
}

/// On a thread of its own, which has the stack for it.
fn apart<T: Send>(search: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, search);
        thread
            .expect("a thread can be started")
            .join()
            .expect("a search does not panic")
    })
}

#[cfg(test)]
mod tests;
