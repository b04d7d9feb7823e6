//! What is true, by painting bytes step by step. Slow and simple; shares no code with the library.

use bayplan_planner::{
    Arena, ArenaId, Buffer, BufferId, Pair, Place, Plan, Problem, Step, Witness,
};
use std::collections::BTreeMap;

/// The bytes that a buffer uses at each step, from its offset.
fn bytes_by_step(buffer: &Buffer) -> BTreeMap<u32, Vec<u64>> {
    let mut painted: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for rect in &buffer.extent {
        for step in rect.steps.start.0..rect.steps.end.0 {
            painted.entry(step).or_default().extend(rect.lo..rect.hi);
        }
    }
    painted
}

/// Whether two buffers at these offsets use one byte at one step.
pub(crate) fn meet((a, at): (&Buffer, u64), (b, bt): (&Buffer, u64)) -> bool {
    let theirs = bytes_by_step(b);
    bytes_by_step(a).into_iter().any(|(step, ours)| {
        let Some(theirs) = theirs.get(&step) else {
            return false;
        };
        let top = theirs.iter().map(|byte| byte + bt).max().unwrap_or(0);
        let mut used = vec![false; usize::try_from(top + 1).expect("tests are small")];
        for byte in theirs {
            used[usize::try_from(byte + bt).expect("tests are small")] = true;
        }
        let painted = |byte: u64| usize::try_from(byte).is_ok_and(|i| used.get(i) == Some(&true));
        ours.iter().any(|byte| painted(byte + at))
    })
}

/// Whether a pair of these two buffers keeps its distance at these offsets.
pub(crate) fn excused(pairs: &[Pair], a: (BufferId, u64), b: (BufferId, u64)) -> bool {
    let keeps = |pair: &Pair, lower: (BufferId, u64), upper: (BufferId, u64)| {
        (pair.lower, pair.upper) == (lower.0, upper.0) && upper.1 >= lower.1 + pair.distance
    };
    pairs.iter().any(|p| keeps(p, a, b) || keeps(p, b, a))
}

/// Whether `id`, placed as the plan says, shares a byte with another buffer.
pub(crate) fn collides(problem: &Problem, plan: &Plan, id: BufferId) -> bool {
    let Place { arena, offset } = plan.places[id];
    problem.buffers().iter().any(|(other, buffer)| {
        let place = plan.places[other];
        other != id
            && place.arena == arena
            && !excused(problem.pairs(), (id, offset), (other, place.offset))
            && meet((&problem.buffers()[id], offset), (buffer, place.offset))
    })
}

/// The highest used byte of an arena.
pub(crate) fn height(problem: &Problem, plan: &Plan, arena: ArenaId) -> u64 {
    let mut highest = 0;
    for (id, buffer) in problem.buffers().iter() {
        for rect in &buffer.extent {
            if plan.places[id].arena == arena {
                highest = highest.max(plan.places[id].offset + rect.hi);
            }
        }
    }
    highest
}

/// Buffers that can be in no other arena.
fn bound_to(problem: &Problem, arena: ArenaId) -> impl Iterator<Item = (BufferId, &Buffer)> {
    let all = problem.buffers().iter();
    all.filter(move |(_, b)| b.arenas == [arena])
}

/// The largest sum of live bytes of an arena.
pub(crate) fn max_load(problem: &Problem, arena: ArenaId) -> u64 {
    let mut loads: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, buffer) in bound_to(problem, arena) {
        for (step, bytes) in bytes_by_step(buffer) {
            *loads.entry(step).or_default() += bytes.len() as u64;
        }
    }
    loads.into_values().max().unwrap_or(0)
}

/// The most that this witness can prove about an arena; nothing if it proves nothing.
pub(crate) fn proof(problem: &Problem, arena: ArenaId, witness: Witness) -> Option<u64> {
    match witness {
        // What a search ruled out is shown by trying everything; see `tiny` and `search`.
        Witness::Nothing | Witness::Search { .. } => Some(0),
        Witness::Load { step, alignment } => load_proof(problem, arena, step, alignment),
        Witness::Placed { buffer } => lowest_end(problem, arena, buffer),
    }
}

fn load_proof(problem: &Problem, arena: ArenaId, step: Step, alignment: u64) -> Option<u64> {
    let shared: u64 = problem
        .pairs()
        .iter()
        .map(|pair| shareable(problem, arena, pair, step))
        .sum();
    if alignment == 0 || (alignment > 1 && shared > 0) {
        return None; // what overlaps cannot both be rounded up
    }
    let mut sizes = Vec::new();
    for (_, buffer) in bound_to(problem, arena) {
        // Every offset is a multiple of both alignments: look at all of them up to `alignment`.
        let Arena { alignment: own, .. } = problem.arenas()[arena];
        let possible =
            |offset: &u64| offset.is_multiple_of(buffer.alignment) && offset.is_multiple_of(own);
        let period = alignment * buffer.alignment * own;
        let starts = (0..=period).filter(possible).all(|o| o % alignment == 0);
        for rect in &buffer.extent {
            if starts && rect.lo % alignment == 0 && rect.steps.contains(step) {
                sizes.push(rect.hi - rect.lo);
            }
        }
    }
    // Any one of them is topmost: the rest take whole units.
    let unit = |size: u64| size.div_ceil(alignment) * alignment;
    let whole: u64 = sizes.iter().map(|&size| unit(size)).sum();
    let stacked = sizes.iter().map(|&top| whole - unit(top) + top).min();
    Some(stacked.unwrap_or(0).saturating_sub(shared))
}

/// The most bytes that a pair can have in common in `arena` at `step` at any allowed offsets.
fn shareable(problem: &Problem, arena: ArenaId, pair: &Pair, step: Step) -> u64 {
    let (lower, upper) = (
        &problem.buffers()[pair.lower],
        &problem.buffers()[pair.upper],
    );
    if !lower.arenas.contains(&arena) || !upper.arenas.contains(&arena) {
        return 0;
    }
    let mut shared = 0;
    for a in lower.extent.iter().filter(|r| r.steps.contains(step)) {
        for b in upper.extent.iter().filter(|r| r.steps.contains(step)) {
            let common = |d: u64| a.hi.min(d + b.hi).saturating_sub(a.lo.max(d + b.lo));
            shared += (pair.distance..=pair.distance + a.hi)
                .map(common)
                .max()
                .unwrap_or(0);
        }
    }
    shared
}

/// The end of `id` at the lowest offset at which it meets no fixed buffer.
fn lowest_end(problem: &Problem, arena: ArenaId, id: BufferId) -> Option<u64> {
    let buffer = problem.buffers().get(id)?;
    if buffer.arenas != [arena] || buffer.extent.is_empty() {
        return None;
    }
    let allowed = |offset: &u64| {
        let aligned = offset.is_multiple_of(buffer.alignment);
        aligned && offset.is_multiple_of(problem.arenas()[arena].alignment)
    };
    let free = |offset: &u64| {
        let mut fixed = bound_to(problem, arena).filter_map(|(o, b)| Some((o, b, b.fixed_offset?)));
        fixed.all(|(other, fixed, at)| {
            excused(problem.pairs(), (id, *offset), (other, at))
                || !meet((buffer, *offset), (fixed, at))
        })
    };
    let offset = match buffer.fixed_offset {
        Some(offset) => offset,
        None => (0..100_000).filter(allowed).find(free)?,
    };
    Some(offset + buffer.size())
}
