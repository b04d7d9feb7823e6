//! Why nothing fits into a capacity: buffers that do not, whatever their places.
//!
//! Goes in: a problem, an arena, a capacity. Comes out: an [`Answer`]. Where more bytes live at one step
//! than there are, it is everything that lives there. Where the live bytes would fit and the search
//! proves that no plan does, it is a *minimal* set: it does not fit, and it fits without any one of
//! its members. A deletion filter finds it (Chinneck and Dravnieks, ORSA Journal on Computing 3, 1991,
//! as of infeasible sets of linear constraints): whatever can be left out while the rest still does
//! not fit is left out, halves first (as Junker does, AAAI 2004). It begins with what lies close together
//! in time (`windows`), which is sooner searched than the whole.
//!
//! Of several arenas with capacities, [`shortfalls`] says the same: of each of them by itself, and of what may be
//! in one or the other.

mod filter;
mod several;
mod windows;

pub use several::{shortfalls, too_much};

use crate::bounds::Bounds;
use crate::ids::{ArenaId, BufferId, Id};
use crate::lifetime::Step;
use crate::part::{bound_to, part};
use crate::problem::Problem;
use crate::strategy::{Options, PlannerFault, plan};
use crate::witness::{Bound, Witness};
use filter::{Attempt, Filter};

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
    /// Other arenas that some of them may be in, where that does not help.
    pub beside: Vec<ArenaId>,
    /// The bytes that there are, in all these arenas together.
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
    /// Each of them is larger than any arena that it may be in allows.
    Object {
        /// Bytes of the largest buffer that would be.
        limit: u64,
    },
    /// A search tried every place.
    Packing {
        /// Nodes that it took, over all sets that were tried.
        nodes: u64,
    },
}

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
    after(problem, arena, capacity, Known::Nothing, options)
}

/// What is known of the whole before parts of it are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    Nothing,
    /// It does not fit.
    Refuted,
    /// It was searched as long as shall be; what every plan needs, in bytes.
    Undecided(u64),
}

/// Parts are searched with this share of the effort where the whole was in vain.
const SHARE: u32 = 64;

/// The same as [`conflict()`] after planning, which is not done again. Where that stayed undecided, the parts
/// get a fraction of its effort, all together.
pub fn after(
    problem: &Problem,
    arena: ArenaId,
    capacity: u64,
    known: Known,
    options: &Options<'_>,
) -> Result<Answer, PlannerFault> {
    let ids = bound_to(problem, arena);
    let whole = part(problem, arena, &ids);
    if let Some((members, cause)) = clique(&whole, capacity) {
        return Ok(Answer::Conflict(Conflict {
            arena,
            beside: Vec::new(),
            capacity,
            members: members.into_iter().map(|id| ids[id.index()]).collect(),
            cause,
            minimal: false,
        }));
    }
    let ask = |ids: &[BufferId], options: &Options<'_>| {
        let options = Options {
            enough: Some(capacity),
            need: false,
            ..options.clone()
        };
        let planned = plan(part(problem, arena, ids), &options)?;
        let bound = planned.bounds.arenas[ArenaId::from_index(0)].bytes;
        let attempt = if planned.height() <= capacity {
            Attempt::Fits(planned.height())
        } else if bound > capacity {
            Attempt::Fails
        } else {
            Attempt::Unknown(bound)
        };
        Ok((attempt, planned.nodes))
    };
    let shared = match known {
        Known::Undecided(_) => options.shared(SHARE),
        Known::Nothing | Known::Refuted => options.clone(),
    };
    let filter = Filter::new(problem, &ask, &shared);
    let answer = filter.answer(&ids, &whole, known)?;
    Ok(match answer {
        filter::Answer::Fits(height) => Answer::Fits(height),
        filter::Answer::Unknown(bound) => Answer::Undecided(bound),
        filter::Answer::Fails(found) => Answer::Conflict(Conflict {
            arena,
            beside: Vec::new(),
            capacity,
            members: found.members,
            cause: Cause::Packing { nodes: found.nodes },
            minimal: found.minimal,
        }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Buffer;

    #[test]
    fn what_planning_has_shown_is_not_searched_again() {
        // 13 bytes live at once at most, and no plan is under 14.
        let buffers = [
            (0..3, 7),
            (0..1, 6),
            (4..6, 5),
            (5..8, 5),
            (2..5, 4),
            (3..5, 4),
            (2..4, 1),
        ];
        let buffers = buffers.map(|(steps, size)| Buffer::new("b", steps, size));
        let problem = Problem::single(buffers.to_vec()).unwrap();
        let arena = ArenaId::from_index(0);
        let told = |known| after(&problem, arena, 13, known, &Options::default()).unwrap();
        let members = |answer| match answer {
            Answer::Conflict(conflict) => (conflict.members.len(), conflict.minimal),
            other => panic!("{other:?}"),
        };
        assert_eq!(members(told(Known::Nothing)), (7, true));
        assert_eq!(members(told(Known::Refuted)), (7, true));
        assert_eq!(told(Known::Undecided(13)), Answer::Undecided(13));
    }
}
