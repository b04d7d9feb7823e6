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
mod overlaps;
mod violation;

pub use violation::Violation;

use crate::ids::ArenaId;
use crate::plan::{Place, Plan};
use crate::problem::Problem;

/// At most this many violations are listed; a plan with more is no less wrong.
pub const MAX_VIOLATIONS: usize = 10_000;

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
        overlaps::check(problem, plan, &mut found);
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
