//! The checker: the only door to a [`CheckedPlan`].
//!
//! **Theorem.** If [`violations`] reports nothing, then (1) every buffer has a place in an arena
//! that may hold it, at an offset that alignment and a fixed offset allow; (2) no two buffers use
//! the same byte of an arena at the same step, save where a pair keeps its distance; (3) every
//! height is the highest used byte of its arena and within its capacity; (4) every claim's witness,
//! recomputed here from the problem alone, proves what the claim says.
//!
//! It knows the vocabulary and nothing else: no strategy, no index, no bound of the other modules.
//! Sums are `u128`.

mod claims;

use crate::ids::{ArenaId, BufferId};
use crate::lifetime::Step;
use crate::plan::{Place, Plan};
use crate::problem::{Problem, Rect};
use crate::words::grouped;
use std::collections::BTreeMap;

/// One way in which a plan is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The plan does not have one entry for each buffer or arena.
    #[error("the plan has {found} {what} where the problem has {expected}")]
    Count {
        /// `places`, `heights` or `claims`.
        what: &'static str,
        /// In the plan.
        found: usize,
        /// In the problem.
        expected: usize,
    },
    /// A buffer in an arena that does not exist or is not among its own.
    #[error("`{buffer}` is in arena {arena}, which may not hold it")]
    WrongArena {
        /// The buffer.
        buffer: String,
        /// The arena named.
        arena: ArenaId,
    },
    /// An offset that is not a multiple of the alignment.
    #[error("`{buffer}` is at {offset}, which is no multiple of its alignment {alignment}")]
    Misaligned {
        /// The buffer.
        buffer: String,
        /// Where it is.
        offset: u64,
        /// The effective alignment.
        alignment: u64,
    },
    /// A fixed buffer that was moved.
    #[error("`{buffer}` is at {offset} but its offset is given as {fixed}")]
    Moved {
        /// The buffer.
        buffer: String,
        /// Where it is.
        offset: u64,
        /// Where it must be.
        fixed: u64,
    },
    /// The end of a buffer does not fit in 64 bits.
    #[error("`{buffer}` at {offset} ends beyond 64 bits")]
    Beyond {
        /// The buffer.
        buffer: String,
        /// Where it is.
        offset: u64,
    },
    /// A buffer larger than its arena allows for one object.
    #[error("`{buffer}` has {} bytes; arena `{arena}` holds buffers of at most {}", grouped(*size), grouped(*limit))]
    TooLarge {
        /// The buffer.
        buffer: String,
        /// The arena: where it is, or, where it is nowhere, the one that takes the largest.
        arena: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Two buffers use the same bytes at the same steps.
    #[error("`{first}` and `{second}` overlap in steps {}..{} and bytes {lo}..{hi}", steps.0, steps.1)]
    Overlap {
        /// One buffer.
        first: String,
        /// The other.
        second: String,
        /// Steps at which both are live.
        steps: (Step, Step),
        /// First shared byte.
        lo: u64,
        /// End of the shared bytes.
        hi: u64,
    },
    /// A height that is not the highest used byte.
    #[error(
        "arena `{arena}` is said to be {claimed} bytes high, but its highest used byte is {actual}"
    )]
    Height {
        /// The arena.
        arena: String,
        /// In the plan.
        claimed: u64,
        /// Recomputed.
        actual: u64,
    },
    /// A height over the capacity.
    #[error("arena `{arena}` needs {} bytes and has {}", grouped(*height), grouped(*capacity))]
    OverCapacity {
        /// The arena.
        arena: String,
        /// Highest used byte.
        height: u64,
        /// What it has.
        capacity: u64,
    },
    /// A claim whose witness does not prove it.
    #[error(
        "the claim about arena `{arena}` is not proved: its witness gives {proved} bytes, the claim needs {claimed}"
    )]
    Claim {
        /// The arena.
        arena: String,
        /// What the claim needs.
        claimed: u64,
        /// What the witness proves.
        proved: u64,
    },
}

/// At most this many violations are listed; a plan with more is no less wrong.
pub const MAX_VIOLATIONS: usize = 10_000;

/// Listing the overlaps of a wrong plan takes at most about this many comparisons.
const MAX_COMPARISONS: usize = 2_000_000_000;

/// A plan together with its problem, accepted by [`check()`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedPlan {
    problem: Problem,
    plan: Plan,
}

impl CheckedPlan {
    /// The problem that it solves.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Takes it apart.
    pub fn into_parts(self) -> (Problem, Plan) {
        (self.problem, self.plan)
    }
}

/// A plan that was refused, with every reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The problem, handed back.
    pub problem: Problem,
    /// The plan, handed back.
    pub plan: Plan,
    /// Why; never empty.
    pub violations: Vec<Violation>,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the plan has {} violations", self.violations.len())?;
        self.violations.iter().try_for_each(|v| write!(f, "\n{v}"))
    }
}

impl std::error::Error for Refused {}

/// Accepts a plan or reports every violation.
pub fn check(problem: Problem, plan: Plan) -> Result<CheckedPlan, Box<Refused>> {
    let violations = violations(&problem, &plan);
    if violations.is_empty() {
        Ok(CheckedPlan { problem, plan })
    } else {
        Err(Box::new(Refused {
            problem,
            plan,
            violations,
        }))
    }
}

/// Everything that is wrong with `plan` as a plan of `problem` (the first [`MAX_VIOLATIONS`]).
pub fn violations(problem: &Problem, plan: &Plan) -> Vec<Violation> {
    let mut found = counts(problem, plan);
    if found.is_empty() {
        places(problem, plan, &mut found);
    }
    if found.is_empty() {
        overlaps(problem, plan, &mut found);
        heights(problem, plan, &mut found);
        claims::check(problem, plan, &mut found);
    }
    found.truncate(MAX_VIOLATIONS);
    found
}

fn counts(problem: &Problem, plan: &Plan) -> Vec<Violation> {
    let (arenas, buffers) = (problem.arenas().len(), problem.buffers().len());
    let rows = [
        ("places", plan.places.len(), buffers),
        ("heights", plan.heights.len(), arenas),
        ("claims", plan.claims.len(), arenas),
    ];
    let wrong = rows.into_iter().filter(|row| row.1 != row.2);
    wrong
        .map(|(what, found, expected)| Violation::Count {
            what,
            found,
            expected,
        })
        .collect()
}

fn places(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
    for (id, buffer) in problem.buffers().iter() {
        let Place { arena, offset } = plan.places[id];
        let name = || buffer.name.clone();
        if problem.arenas().get(arena).is_none() || !buffer.arenas.contains(&arena) {
            found.push(Violation::WrongArena {
                buffer: name(),
                arena,
            });
            continue;
        }
        for alignment in [buffer.alignment, problem.arenas()[arena].alignment] {
            if offset % alignment != 0 {
                found.push(Violation::Misaligned {
                    buffer: name(),
                    offset,
                    alignment,
                });
            }
        }
        if let Some(fixed) = buffer.fixed_offset
            && fixed != offset
        {
            found.push(Violation::Moved {
                buffer: name(),
                offset,
                fixed,
            });
        }
        if offset.checked_add(buffer.size()).is_none() {
            found.push(Violation::Beyond {
                buffer: name(),
                offset,
            });
        }
        if let Some(limit) = problem.arenas()[arena].largest_object
            && buffer.size() > limit
        {
            found.push(Violation::TooLarge {
                buffer: name(),
                arena: problem.arenas()[arena].name.clone(),
                size: buffer.size(),
                limit,
            });
        }
    }
}

/// A rectangle at its place: steps × absolute bytes.
#[derive(Clone, Copy)]
struct Placed {
    buffer: BufferId,
    rect: Rect,
    lo: u64,
    hi: u64,
}

/// Walks over time. Where nothing overlaps, that is seen from neighbours alone; where something
/// does, each rectangle is compared with all that are live when it starts, so that all is reported.
fn overlaps(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
    for arena in problem.arenas().ids() {
        let mut rects: Vec<Placed> = Vec::new();
        for (buffer, b) in problem.buffers().iter() {
            let place = plan.places[buffer];
            if place.arena == arena {
                rects.extend(b.extent.iter().map(|&rect| Placed {
                    buffer,
                    rect,
                    lo: place.offset + rect.lo,
                    hi: place.offset + rect.hi,
                }));
            }
        }
        rects.sort_by_key(|r| (r.rect.steps.start, r.buffer));
        if !all_apart(&rects) {
            report_overlaps(problem, plan, &rects, found);
        }
    }
}

/// Whether no two of these rectangles, sorted by start, share a byte at a step. The live ones are
/// kept by first byte; as long as they are apart, a new one meets another iff it meets the last of
/// those that begin below its end.
fn all_apart(rects: &[Placed]) -> bool {
    let mut by_end: Vec<&Placed> = rects.iter().collect();
    by_end.sort_by_key(|r| r.rect.steps.end);
    let mut ended = by_end.into_iter().peekable();
    let mut live: BTreeMap<u64, u64> = BTreeMap::new();
    for new in rects {
        while let Some(dead) = ended.next_if(|dead| dead.rect.steps.end <= new.rect.steps.start) {
            live.remove(&dead.lo);
        }
        if live
            .range(..new.hi)
            .next_back()
            .is_some_and(|(_, &hi)| hi > new.lo)
        {
            return false;
        }
        live.insert(new.lo, new.hi);
    }
    true
}

/// Compares every two rectangles that live together. Stops after [`MAX_COMPARISONS`], but not before
/// something was found: a plan that is wrong is refused in any case.
fn report_overlaps(problem: &Problem, plan: &Plan, rects: &[Placed], found: &mut Vec<Violation>) {
    let mut live: Vec<&Placed> = Vec::new();
    let mut comparisons = 0;
    for new in rects {
        live.retain(|old| old.rect.steps.end > new.rect.steps.start);
        comparisons += live.len();
        for old in &live {
            let meet = old.lo < new.hi && new.lo < old.hi && old.buffer != new.buffer;
            if meet && !excused(problem, plan, old.buffer, new.buffer) {
                found.push(overlap(problem, old, new));
            }
        }
        let enough = found.len() >= MAX_VIOLATIONS || comparisons > MAX_COMPARISONS;
        if enough && !found.is_empty() {
            return;
        }
        live.push(new);
    }
}

fn overlap(problem: &Problem, old: &Placed, new: &Placed) -> Violation {
    let name = |placed: &Placed| problem.buffers()[placed.buffer].name.clone();
    Violation::Overlap {
        first: name(old),
        second: name(new),
        steps: (
            old.rect.steps.start.max(new.rect.steps.start),
            old.rect.steps.end.min(new.rect.steps.end),
        ),
        lo: old.lo.max(new.lo),
        hi: old.hi.min(new.hi),
    }
}

/// Whether a pair keeps the distance at which the two may overlap.
fn excused(problem: &Problem, plan: &Plan, a: BufferId, b: BufferId) -> bool {
    problem.pair(a, b).is_some_and(|pair| {
        let (lower, upper) = (
            plan.places[pair.lower].offset,
            plan.places[pair.upper].offset,
        );
        u128::from(upper) >= u128::from(lower) + u128::from(pair.distance)
    })
}

fn highest(problem: &Problem, plan: &Plan, arena: ArenaId) -> u64 {
    let inside = problem
        .buffers()
        .iter()
        .filter(|(id, b)| plan.places[*id].arena == arena && !b.extent.is_empty());
    inside
        .map(|(id, b)| plan.places[id].offset + b.size())
        .max()
        .unwrap_or(0)
}

fn heights(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
    for (id, arena) in problem.arenas().iter() {
        let actual = highest(problem, plan, id);
        let claimed = plan.heights[id];
        if claimed != actual {
            found.push(Violation::Height {
                arena: arena.name.clone(),
                claimed,
                actual,
            });
        }
        if let Some(capacity) = arena.capacity
            && actual > capacity
        {
            found.push(Violation::OverCapacity {
                arena: arena.name.clone(),
                height: actual,
                capacity,
            });
        }
    }
}

#[cfg(test)]
mod tests;
