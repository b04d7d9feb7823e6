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
mod turns;

pub use dfs::Rules;

use super::fold::{Folded, fold};
use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::{Place, Plan};
use crate::problem::Problem;
use crate::witness::{Bound, Witness};
use shape::Shape;
use turns::{FOLDED, Found, Turns};

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
        let Some(shape) = Shape::new(problem, arena, ids, plan.heights[arena]) else {
            continue;
        };
        let twin = proves
            .then(|| Twin::new(problem, arena, plan.heights[arena]))
            .flatten();
        let left = Limits {
            nodes: limits.nodes - spent.nodes,
            ..limits.clone()
        };
        let shapes = (&shape, twin.as_ref().map(|twin| &twin.shape));
        let found = apart(shapes, plan.heights[arena], bound.bytes, &left);
        spent.add(Spent {
            nodes: found.nodes,
            work: found.work,
        });
        if let Some((of, offsets)) = found.offsets {
            plan.heights[arena] = found.height;
            "search".clone_into(&mut plan.strategy);
            match &twin {
                Some(twin) if of == FOLDED => twin.write(arena, &offsets, &mut plan.places),
                _ => write(&shape, arena, &offsets, &mut plan.places),
            }
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

    fn write(&self, arena: ArenaId, offsets: &[i32], places: &mut Table<BufferId, Place>) {
        let ground = Place { arena, offset: 0 };
        let mut folded = Table::filled(ground, self.folded.problem.buffers().len());
        write(&self.shape, arena, offsets, &mut folded);
        for (id, place) in self.folded.unfold(&folded).iter() {
            if places[id].arena == arena {
                places[id] = *place;
            }
        }
    }
}

/// On a thread of its own, which has the stack for it.
fn apart(shapes: (&Shape, Option<&Shape>), height: u64, bound: u64, limits: &Limits<'_>) -> Found {
    let turns = || Turns::new(shapes, height, bound, limits).run();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, turns);
        thread
            .expect("a thread can be started")
            .join()
            .expect("a search does not panic")
    })
}

#[cfg(test)]
mod tests;
