//! Claims: every witness is recomputed from the problem alone.

use super::Violation;
use crate::ids::{ArenaId, BufferId};
use crate::lifetime::Step;
use crate::plan::{Claim, Plan};
use crate::problem::{Buffer, Pair, Problem};
use crate::witness::{Bound, Witness};

/// Reports every claim that its witness does not prove.
pub(super) fn check(problem: &Problem, plan: &Plan, found: &mut Vec<Violation>) {
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
        if let Witness::Search { .. } = witness
            && claimed <= height
        {
            continue; // attested by whoever searched; see `Witness::Search`
        }
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
fn proved_by(problem: &Problem, arena: ArenaId, witness: Witness) -> Option<u64> {
    match witness {
        Witness::Nothing => Some(0),
        Witness::Search { .. } => None,
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
fn shared_by_pair(problem: &Problem, pair: &Pair, step: Step) -> u128 {
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
    let aligned = |offset: u64| offset.checked_next_multiple_of(alignment);
    let mut candidates = vec![Some(0)];
    for (other, fixed, offset) in fixed_in(problem, arena) {
        for top in fixed.extent.iter().flat_map(|a| {
            buffer
                .extent
                .iter()
                .map(move |b| (offset + a.hi).saturating_sub(b.lo))
        }) {
            candidates.push(aligned(top));
        }
        if let Some(pair) = problem.pair(id, other).filter(|pair| pair.upper == id) {
            candidates.push(offset.checked_add(pair.distance).and_then(aligned));
        }
    }
    // What is beyond 64 bits is no place.
    let mut candidates: Vec<u64> = candidates.into_iter().flatten().collect();
    candidates.sort_unstable();
    let lowest = candidates
        .into_iter()
        .find(|&offset| fits_beside_fixed(problem, arena, id, offset))?;
    lowest.checked_add(buffer.size())
}

fn fixed_in(problem: &Problem, arena: ArenaId) -> impl Iterator<Item = (BufferId, &Buffer, u64)> {
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
