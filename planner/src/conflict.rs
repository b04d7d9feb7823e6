//! Why nothing fits into a capacity: buffers that do not, whatever their places.
//!
//! Goes in: a problem, an arena, a capacity. Comes out: an [`Answer`]. Where more bytes live at one step
//! than there are, it is everything that lives there. Where the live bytes would fit and the search
//! proves that no plan does, it is a *minimal* set: it does not fit, and it fits without any one of
//! its members. A deletion filter finds it (Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991,
//! as of infeasible sets of linear constraints): whatever can be left out while the rest still does
//! not fit is left out, halves first (as Junker does, AAAI 2004). It begins with what lies close together
//! in time (`windows`), which is sooner searched than the whole.

mod windows;

use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Id};
use crate::lifetime::Step;
use crate::part::{bound_to, part};
use crate::problem::Problem;
use crate::strategy::{Options, PlannerFault, plan};
use crate::sweep::Profile;
use crate::witness::{Bound, Witness};
use std::time::Instant;

/// Whether the buffers that can be in no other arena fit into a capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// They do; the height of a checked plan, in bytes.
    Fits(u64),
    /// They do not, and why.
    Conflict(Conflict),
    /// The limits of the search did not suffice; what every plan needs, in bytes.
    Undecided(u64),
}

/// Buffers that do not fit into a capacity together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// In which arena.
    pub arena: ArenaId,
    /// The bytes that there are.
    pub capacity: u64,
    /// The buffers, in ascending order.
    pub members: Vec<BufferId>,
    /// Why they do not fit.
    pub cause: Cause,
    /// Whether they would fit without any one of them. Where it is not so, that is not known.
    pub minimal: bool,
}

/// Why buffers do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// All of them live at this step, and take more bytes than there are.
    Load {
        /// The step.
        step: Step,
        /// They start at multiples of this, and all but the topmost take as much.
        alignment: u64,
        /// What they take, in bytes.
        bytes: u64,
    },
    /// A search tried every place.
    Packing {
        /// Nodes that it took, over all sets that were tried.
        nodes: u64,
    },
}

/// Work of the search for each smaller set, where no limit of nodes or work is given.
const EFFORT: u64 = Options::EFFORT >> 4;
/// Sets in a row that stay undecided before the filter gives up.
const PATIENCE: u32 = 24;

/// Which buffers of `arena` do not fit into `capacity` bytes together; those that could go elsewhere
/// do not count. The limits of `options` hold for each search, a time limit for all of them together;
/// an error is a defect of this library.
///
/// ```
/// use bayplan_planner::{Answer, ArenaId, Buffer, Options, Problem, conflict, ids::Id};
///
/// let problem = Problem::single(vec![
///     Buffer::new("a", 0..2, 2560),
///     Buffer::new("b", 1..3, 2048),
///     Buffer::new("c", 2..4, 1536),
/// ])?;
/// let arena = ArenaId::from_index(0);
/// let Answer::Conflict(conflict) = conflict(&problem, arena, 4096, &Options::default())? else {
///     panic!("a and b are 4608 bytes in step 1");
/// };
/// assert_eq!(conflict.members.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conflict(
    problem: &Problem,
    arena: ArenaId,
    capacity: u64,
    options: &Options<'_>,
) -> Result<Answer, PlannerFault> {
    let ids = bound_to(problem, arena);
    let whole = part(problem, arena, &ids);
    if let Some((members, cause)) = clique(&whole, capacity) {
        return Ok(Answer::Conflict(Conflict {
            arena,
            capacity,
            members: members.into_iter().map(|id| ids[id.index()]).collect(),
            cause,
            minimal: false,
        }));
    }
    let mut filter = Filter {
        problem,
        arena,
        capacity,
        options,
        started: Instant::now(),
        kept: Vec::new(),
        nodes: 0,
        vain: 0,
        minimal: true,
    };
    // What does not fit by itself does not fit into the whole.
    for window in windows::windows(&whole) {
        let window: Vec<BufferId> = window.into_iter().map(|id| ids[id.index()]).collect();
        if matches!(filter.smaller(&window)?, Attempt::Fails) {
            return Ok(Answer::Conflict(filter.run(window, &whole)?));
        }
    }
    filter.vain = 0;
    Ok(match filter.attempt(&ids, options.work_limit)? {
        Attempt::Fits(height) => Answer::Fits(height),
        Attempt::Unknown(bound) => Answer::Undecided(bound),
        Attempt::Fails => Answer::Conflict(filter.run(ids, &whole)?),
    })
}

/// What lives at the fullest step, if that is more than there is.
fn clique(whole: &Problem, capacity: u64) -> Option<(Vec<BufferId>, Cause)> {
    let bounds = Bounds::new(whole);
    let arena = ArenaId::from_index(0);
    let (load, fullest) = bounds.max_loads[arena];
    let (bytes, step, alignment) = match bounds.arenas[arena] {
        _ if load > capacity && whole.pairs().is_empty() => (load, fullest, 1),
        Bound {
            bytes,
            witness: Witness::Load { step, alignment },
        } if bytes > capacity => (bytes, step, alignment),
        _ => return None,
    };
    let counts = |id: &BufferId| {
        let mut rects = whole.buffers()[*id].extent.iter();
        whole.alignment(*id, arena).is_multiple_of(alignment)
            && rects.any(|r| r.steps.contains(step) && r.lo.is_multiple_of(alignment))
    };
    let members = whole.buffers().ids().filter(counts).collect();
    let cause = Cause::Load {
        step,
        alignment,
        bytes,
    };
    Some((members, cause))
}

/// How the search for a plan of some buffers ended.
enum Attempt {
    /// With a plan of this height.
    Fits(u64),
    /// There is none.
    Fails,
    /// Undecided, with this bound.
    Unknown(u64),
}

/// The deletion filter.
struct Filter<'a> {
    problem: &'a Problem,
    arena: ArenaId,
    capacity: u64,
    options: &'a Options<'a>,
    started: Instant,
    /// Members that cannot be left out, as far as is known.
    kept: Vec<BufferId>,
    nodes: u64,
    /// Attempts in a row that stayed undecided.
    vain: u32,
    minimal: bool,
}

impl Filter<'_> {
    /// Makes a set that does not fit as small as can be.
    fn run(mut self, ids: Vec<BufferId>, whole: &Problem) -> Result<Conflict, PlannerFault> {
        self.vain = 0;
        // What lives where there is room is left out first.
        let rects = whole.buffers().values().flat_map(|b| &b.extent);
        let load = Profile::new(rects.map(|r| (r.steps, r.bytes())));
        let load = load.range_max();
        let mut order = ids;
        order.sort_by_cached_key(|&id| {
            let buffer = &self.problem.buffers()[id];
            (load.max(buffer.lifetime()), buffer.size(), id)
        });
        self.reduce(&order, &[])?;
        self.kept.sort_unstable();
        let nodes = self.nodes;
        Ok(Conflict {
            arena: self.arena,
            capacity: self.capacity,
            members: self.kept,
            cause: Cause::Packing { nodes },
            minimal: self.minimal,
        })
    }

    /// Keeps of `part` what is needed so that it does not fit together with `kept` and `rest`.
    fn reduce(&mut self, part: &[BufferId], rest: &[BufferId]) -> Result<(), PlannerFault> {
        if part.is_empty() {
            return Ok(());
        }
        let without = [&self.kept[..], rest].concat();
        match self.smaller(&without)? {
            Attempt::Fails => Ok(()),
            Attempt::Fits(_) if part.len() == 1 => {
                self.kept.push(part[0]);
                Ok(())
            }
            Attempt::Unknown(_) if part.len() == 1 || self.gave_up() => {
                self.minimal = false;
                self.kept.extend(part);
                Ok(())
            }
            _ => {
                let (low, high) = part.split_at(part.len() / 2);
                self.reduce(low, &[high, rest].concat())?;
                self.reduce(high, rest)
            }
        }
    }

    fn gave_up(&self) -> bool {
        let limit = self.options.time_limit;
        self.vain >= PATIENCE
            || self.options.cancel.is_some_and(|cancel| cancel())
            || limit.is_some_and(|limit| self.started.elapsed() >= limit)
    }

    /// Tries a set that is smaller than the whole, with less effort.
    fn smaller(&mut self, ids: &[BufferId]) -> Result<Attempt, PlannerFault> {
        if self.gave_up() {
            return Ok(Attempt::Unknown(0));
        }
        let limited = self.options.node_limit.is_some();
        let work = self.options.work_limit;
        let attempt = self.attempt(ids, work.or((!limited).then_some(EFFORT)))?;
        let unknown = matches!(attempt, Attempt::Unknown(_));
        self.vain = if unknown { self.vain + 1 } else { 0 };
        Ok(attempt)
    }

    fn attempt(
        &mut self,
        ids: &[BufferId],
        work_limit: Option<u64>,
    ) -> Result<Attempt, PlannerFault> {
        let left = self.options.time_limit;
        let options = Options {
            enough: Some(self.capacity),
            work_limit,
            time_limit: left.map(|limit| limit.saturating_sub(self.started.elapsed())),
            progress: None,
            keep: None,
            ..self.options.clone()
        };
        let planned = plan(part(self.problem, self.arena, ids), &options)?;
        self.nodes += planned.nodes;
        let bound = planned.bounds.arenas[ArenaId::from_index(0)].bytes;
        Ok(if planned.height() <= self.capacity {
            Attempt::Fits(planned.height())
        } else if bound > self.capacity {
            Attempt::Fails
        } else {
            Attempt::Unknown(bound)
        })
    }
}
