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

use crate::ids::{ArenaId, BufferId};
use crate::lifetime::Step;
use crate::plan::{Claim, Place, Plan};
use crate::problem::{Problem, Rect};
use crate::witness::{Bound, Witness};
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
    #[error("`{buffer}` has {size} bytes; its arena holds objects of at most {limit}")]
    TooLarge {
        /// The buffer.
        buffer: String,
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
    #[error("arena `{arena}` needs {height} bytes and has {capacity}")]
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
        claims(problem, plan, &mut found);
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

fn claims(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
    for (id, arena) in problem.arenas().iter() {
        let height = plan.heights[id];
        let (claimed, witness, holds): (u64, Witness, fn(u64, u64) -> bool) = match plan.claims[id]
        {
            Claim::Stopped => continue,
            Claim::Optimal(witness) => (height, witness, |proved, claimed| proved == claimed),
            Claim::Within(Bound { bytes, witness }) => {
                (bytes, witness, |proved, claimed| proved == claimed)
            }
        };
        let proved = proved_by(problem, id, witness).unwrap_or(0);
        if !holds(proved, claimed) || proved > height {
            found.push(Violation::Claim {
                arena: arena.name.clone(),
                claimed,
                proved,
            });
        }
    }
}

/// What a witness proves about an arena, in bytes; nothing when it is no witness at all.
pub(crate) fn proved_by(problem: &Problem, arena: ArenaId, witness: Witness) -> Option<u64> {
    match witness {
        Witness::Nothing => Some(0),
        Witness::Load { step, alignment } => proved_by_load(problem, arena, step, alignment),
        Witness::Placed { buffer } => proved_by_place(problem, arena, buffer),
    }
}

/// Rectangles live at `step` of buffers that can only be in `arena` and that start at multiples of
/// `alignment`: all but the topmost take their size rounded up.
fn proved_by_load(problem: &Problem, arena: ArenaId, step: Step, alignment: u64) -> Option<u64> {
    if alignment == 0 || (alignment > 1 && !problem.pairs().is_empty()) {
        return None;
    }
    let (mut sum, mut top_slack) = (0_u128, 0_u128);
    for buffer in problem.buffers().values().filter(|b| b.arenas == [arena]) {
        let common = [buffer.alignment, problem.arenas()[arena].alignment];
        // The offset is a multiple of both; of `alignment` if that divides either or their lcm.
        let starts =
            common.iter().any(|a| a % alignment == 0) || lcm_is_multiple(common, alignment);
        for rect in buffer.extent.iter().filter(|r| r.steps.contains(step)) {
            if starts && rect.lo % alignment == 0 {
                let size = u128::from(rect.hi - rect.lo);
                let rounded = size.div_ceil(u128::from(alignment)) * u128::from(alignment);
                sum += rounded;
                top_slack = top_slack.max(rounded - size);
            }
        }
    }
    let may_be_here = |id: BufferId| problem.buffers()[id].arenas.contains(&arena);
    let pairs = problem.pairs().iter();
    let pairs = pairs.filter(|pair| may_be_here(pair.lower) && may_be_here(pair.upper));
    let shared: u128 = pairs.map(|pair| shared_by_pair(problem, pair, step)).sum();
    u64::try_from(sum.saturating_sub(top_slack + shared)).ok()
}

fn lcm_is_multiple([a, b]: [u64; 2], alignment: u64) -> bool {
    let (mut x, mut y) = (u128::from(a), u128::from(b));
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x != 0 && (u128::from(a) * u128::from(b) / x).is_multiple_of(u128::from(alignment))
}

/// The most bytes that a pair can share at `step` while it keeps its distance.
fn shared_by_pair(problem: &Problem, pair: &crate::problem::Pair, step: Step) -> u128 {
    let mut shared = 0;
    for a in &problem.buffers()[pair.lower].extent {
        for b in &problem.buffers()[pair.upper].extent {
            if a.steps.contains(step) && b.steps.contains(step) {
                let reach =
                    u128::from(a.hi).saturating_sub(u128::from(pair.distance) + u128::from(b.lo));
                shared += reach
                    .min(u128::from(a.hi - a.lo))
                    .min(u128::from(b.hi - b.lo));
            }
        }
    }
    shared
}

/// The lowest end of `buffer` beside the fixed buffers, by trying every offset that can be the
/// lowest: the aligned 0 and the aligned top of each fixed rectangle.
fn proved_by_place(problem: &Problem, arena: ArenaId, id: BufferId) -> Option<u64> {
    let buffer = problem.buffers().get(id)?;
    if buffer.arenas != [arena] || buffer.extent.is_empty() {
        return None;
    }
    if let Some(offset) = buffer.fixed_offset {
        return offset.checked_add(buffer.size());
    }
    let alignment = problem.alignment(id, arena);
    let mut candidates = vec![0];
    for (other, fixed, offset) in fixed_in(problem, arena) {
        for top in fixed.extent.iter().flat_map(|a| {
            buffer
                .extent
                .iter()
                .map(move |b| (offset + a.hi).saturating_sub(b.lo))
        }) {
            candidates.push(top.div_ceil(alignment).checked_mul(alignment)?);
        }
        if let Some(pair) = problem.pair(id, other).filter(|pair| pair.upper == id) {
            let least = offset.checked_add(pair.distance)?;
            candidates.push(least.div_ceil(alignment).checked_mul(alignment)?);
        }
    }
    candidates.sort_unstable();
    let lowest = candidates
        .into_iter()
        .find(|&offset| fits_beside_fixed(problem, arena, id, offset))?;
    lowest.checked_add(buffer.size())
}

fn fixed_in(
    problem: &Problem,
    arena: ArenaId,
) -> impl Iterator<Item = (BufferId, &crate::problem::Buffer, u64)> {
    let fixed = problem
        .buffers()
        .iter()
        .filter(move |(_, b)| b.arenas == [arena]);
    fixed.filter_map(|(id, b)| Some((id, b, b.fixed_offset?)))
}

fn fits_beside_fixed(problem: &Problem, arena: ArenaId, id: BufferId, offset: u64) -> bool {
    let buffer = &problem.buffers()[id];
    fixed_in(problem, arena).all(|(other, fixed, at)| {
        let apart = fixed.extent.iter().all(|a| {
            buffer.extent.iter().all(|b| {
                !a.steps.overlaps(b.steps)
                    || at + a.hi <= offset + b.lo
                    || offset + b.hi <= at + a.lo
            })
        });
        apart
            || problem.pair(id, other).is_some_and(|pair| {
                let (lower, upper) = if pair.lower == id {
                    (offset, at)
                } else {
                    (at, offset)
                };
                u128::from(upper) >= u128::from(lower) + u128::from(pair.distance)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Id, Table};
    use crate::problem::Buffer;

    fn problem() -> Problem {
        Problem::single(vec![
            Buffer::new("a", 0..2, 2048),
            Buffer::new("b", 0..3, 4096),
            Buffer::new("c", 1..3, 1024),
        ])
        .unwrap()
    }

    fn plan(offsets: [u64; 3], height: u64, claim: Claim) -> Plan {
        let arena = ArenaId::from_index(0);
        Plan {
            strategy: "test".into(),
            heights: vec![height].into(),
            claims: vec![claim].into(),
            places: offsets
                .into_iter()
                .map(|offset| Place { arena, offset })
                .collect::<Table<_, _>>(),
        }
    }

    const LOAD: Witness = Witness::Load {
        step: Step(1),
        alignment: 1,
    };

    #[test]
    fn a_good_plan_is_accepted_with_its_claim() {
        let good = plan([0, 2048, 6144], 7168, Claim::Optimal(LOAD));
        assert!(check(problem(), good).is_ok());
    }

    #[test]
    fn every_overlap_is_reported_with_place_and_time() {
        let found = violations(&problem(), &plan([0, 2560, 1536], 6656, Claim::Stopped));
        let expected = Violation::Overlap {
            first: "a".into(),
            second: "c".into(),
            steps: (Step(1), Step(2)),
            lo: 1536,
            hi: 2048,
        };
        assert_eq!(found, [expected]);
        let found = violations(&problem(), &plan([0, 0, 0], 4096, Claim::Stopped));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn heights_and_claims_must_be_true() {
        let found = violations(&problem(), &plan([0, 2048, 6144], 7167, Claim::Stopped));
        assert!(matches!(
            found[..],
            [Violation::Height {
                claimed: 7167,
                actual: 7168,
                ..
            }]
        ));
        for (claim, what) in [
            (
                Claim::Optimal(Witness::Load {
                    step: Step(0),
                    alignment: 1,
                }),
                "another step",
            ),
            (
                Claim::Optimal(Witness::Load {
                    step: Step(1),
                    alignment: 0,
                }),
                "alignment 0",
            ),
            (
                Claim::Optimal(Witness::Load {
                    step: Step(1),
                    alignment: 2,
                }),
                "alignment of nobody",
            ),
            (Claim::Optimal(Witness::Nothing), "nothing"),
            (
                Claim::Optimal(Witness::Placed {
                    buffer: BufferId::from_index(9),
                }),
                "no such buffer",
            ),
            (
                Claim::Within(Bound {
                    bytes: 7169,
                    witness: LOAD,
                }),
                "a bound above the height",
            ),
            (
                Claim::Within(Bound {
                    bytes: 7000,
                    witness: LOAD,
                }),
                "not what the witness gives",
            ),
        ] {
            let found = violations(&problem(), &plan([0, 2048, 6144], 7168, claim));
            assert!(
                matches!(found[..], [Violation::Claim { .. }]),
                "{what}: {found:?}"
            );
        }
    }

    #[test]
    fn a_plan_of_another_problem_is_refused() {
        let mut short = plan([0, 2048, 6144], 7168, Claim::Stopped);
        short.places = vec![short.places[BufferId::from_index(0)]].into();
        assert!(matches!(
            violations(&problem(), &short)[..],
            [Violation::Count { what: "places", .. }]
        ));
    }

    #[test]
    fn alignment_fixed_offsets_and_the_end_of_numbers() {
        let buffers = vec![
            Buffer::new("a", 0..1, 8).aligned(16),
            Buffer::new("b", 2..3, 8).fixed_at(32),
        ];
        let problem = Problem::single(buffers).unwrap();
        let arena = ArenaId::from_index(0);
        let at = |a, b| Plan {
            places: vec![Place { arena, offset: a }, Place { arena, offset: b }].into(),
            ..plan([0; 3], 0, Claim::Stopped)
        };
        assert!(matches!(
            violations(&problem, &at(8, 32))[..],
            [Violation::Misaligned { .. }]
        ));
        assert!(matches!(
            violations(&problem, &at(0, 16))[..],
            [Violation::Moved { .. }]
        ));
        assert!(matches!(
            violations(&problem, &at(u64::MAX - 15, 32))[..],
            [Violation::Height { .. }]
        ));
        let problem =
            Problem::single(vec![Buffer::new("a", 0..1, 8), Buffer::new("b", 2..3, 8)]).unwrap();
        assert!(matches!(
            violations(&problem, &at(u64::MAX - 3, 0))[..],
            [Violation::Beyond { .. }]
        ));
    }
}
