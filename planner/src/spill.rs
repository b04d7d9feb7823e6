//! What several arenas hold, what was spilled from the faster ones, and how far that is from ideal.
//!
//! Goes in: a [`CheckedPlan`]. Comes out: sums and reasons, as plain data in whole bytes. A buffer that
//! is not in the first arena of its list is *spilled*. Its *traffic* is what was stated for it, or its
//! bytes × steps ([`Buffer::worth`](crate::Buffer::worth)).

use crate::bounds::Bounds;
use crate::check::CheckedPlan;
use crate::crowd;
use crate::ids::{ArenaId, BufferId};
use crate::lifetime::Step;
use crate::problem::Problem;
use crate::resident::Question;
use crate::sweep::Profile;
use std::cmp::Reverse;

/// Why a buffer is not in the arena that it would rather be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is larger than the arena, or than the largest object of it.
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// At a step, others that are there and the buffer exceed the capacity.
    Crowded {
        /// The first step at which the excess is largest.
        step: Step,
        /// What others have there, in bytes.
        others: u64,
    },
    /// The sizes would fit, but no packing within the capacity was found.
    Unpacked,
}

/// A spilled buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spilled {
    /// Which.
    pub buffer: BufferId,
    /// The arena that it would rather be in, the first of its list.
    pub from: ArenaId,
    /// Where it is.
    pub to: ArenaId,
    /// Its traffic.
    pub traffic: u128,
    /// Why.
    pub reason: Reason,
}

/// What several arenas hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Traffic of all buffers.
    pub traffic: u128,
    /// Traffic of those in the first arena of their list.
    pub resident: u128,
    /// No plan has more of it there: whatever is packed fits step by step, and that relaxation is not worth
    /// more.
    pub bound: u128,
    /// Those that are not, the most traffic first.
    pub spilled: Vec<Spilled>,
}

/// Sums and reasons of a plan.
pub fn residency(plan: &CheckedPlan) -> Residency {
    let (problem, places) = (plan.problem(), &plan.plan().places);
    let mut spilled: Vec<Spilled> = Vec::new();
    let (mut traffic, mut resident) = (0_u128, 0_u128);
    let profiles: Vec<Profile> = problem.arenas().ids().map(|a| load(plan, a)).collect();
    for (id, buffer) in problem.buffers().iter() {
        let (from, to) = (buffer.arenas[0], places[id].arena);
        traffic = traffic.saturating_add(buffer.worth());
        if from == to || buffer.extent.is_empty() {
            resident = resident.saturating_add(buffer.worth());
            continue;
        }
        let profile = &profiles[crate::ids::Id::index(from)];
        spilled.push(Spilled {
            buffer: id,
            from,
            to,
            traffic: buffer.worth(),
            reason: reason(problem, id, from, profile),
        });
    }
    spilled.sort_by_key(|s| (Reverse(s.traffic), s.buffer));
    let bounds = problem.arenas().ids().map(|arena| most(problem, arena));
    let bound = bounds.fold(0, u128::saturating_add).max(resident);
    Residency {
        traffic,
        resident,
        bound,
        spilled,
    }
}

/// What every plan needs in some arenas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor {
    /// No plan takes fewer bytes in all of them together.
    pub bytes: u64,
    /// The step at which so much is live, wherever it is; nothing where the bounds of single arenas are more.
    pub step: Option<Step>,
    /// No plan is lower in an arena: its own bound, or what is live beyond the capacities of all others.
    /// In the order of the arenas asked for.
    pub arenas: Vec<u64>,
}

/// What every plan needs in `arenas`: of buffers that can be nowhere else, the live bytes of one step, and the bounds of
/// each arena.
pub fn floor(problem: &Problem, bounds: &Bounds, arenas: &[ArenaId]) -> Floor {
    let lists = crowd::usable(problem);
    let load = crowd::load(problem, &lists, arenas);
    let capacity = |id: ArenaId| u128::from(problem.arenas()[id].capacity.unwrap_or(u64::MAX));
    let together: u128 = arenas.iter().map(|&id| capacity(id)).sum();
    let beyond = |id: ArenaId| {
        let others = u64::try_from(together - capacity(id)).unwrap_or(u64::MAX);
        load.map_or(0, |(bytes, _)| bytes.saturating_sub(others))
    };
    let floors: Vec<u64> = arenas
        .iter()
        .map(|&id| bounds.arenas[id].bytes.max(beyond(id)))
        .collect();
    let sum = floors
        .iter()
        .fold(0, |sum: u64, &bytes| sum.saturating_add(bytes));
    let (bytes, step) = match load {
        Some((bytes, step)) if bytes >= sum && bytes > 0 => (bytes, Some(step)),
        _ => (sum, None),
    };
    Floor {
        bytes,
        step,
        arenas: floors,
    }
}

fn load(plan: &CheckedPlan, arena: ArenaId) -> Profile {
    let places = &plan.plan().places;
    let here = plan.problem().buffers().iter();
    let rects = here
        .filter(|(id, _)| places[*id].arena == arena)
        .flat_map(|(_, buffer)| &buffer.extent);
    Profile::new(rects.map(|r| (r.steps, r.bytes())))
}

fn reason(problem: &Problem, id: BufferId, arena: ArenaId, others: &Profile) -> Reason {
    let limits = &problem.arenas()[arena];
    let buffer = &problem.buffers()[id];
    let limit = limits
        .capacity
        .into_iter()
        .chain(limits.largest_object)
        .min();
    if let Some(limit) = limit.filter(|&limit| buffer.size() > limit) {
        return Reason::TooLarge { limit };
    }
    let capacity = limits.capacity.unwrap_or(u64::MAX);
    let mut worst: Option<(u64, Reverse<Step>, u64)> = None;
    let starts = buffer.extent.iter().map(|r| r.steps.start);
    let points = others.points().iter().map(|&(step, _)| step);
    for step in starts.chain(points) {
        let live = buffer.extent.iter().filter(|r| r.steps.contains(step));
        let bytes: u64 = live.map(|r| r.bytes()).sum();
        let there = others.at(step);
        let total = bytes.saturating_add(there);
        if bytes > 0 && total > capacity {
            worst = worst.max(Some((total, Reverse(step), there)));
        }
    }
    worst.map_or(Reason::Unpacked, |(_, Reverse(step), others)| {
        Reason::Crowded { step, others }
    })
}

/// The most traffic that can be in `arena`, of buffers that it is the first choice of.
fn most(problem: &Problem, arena: ArenaId) -> u128 {
    let limits = &problem.arenas()[arena];
    let fits = |size: u64| {
        let mut limits = limits.capacity.into_iter().chain(limits.largest_object);
        limits.all(|limit| size <= limit)
    };
    let mut candidates: Vec<(BufferId, u128, bool)> = Vec::new();
    for (id, buffer) in problem.buffers().iter() {
        let forced = buffer.arenas == [arena];
        if buffer.arenas[0] == arena && (forced || fits(buffer.size())) {
            candidates.push((id, buffer.worth(), forced));
        }
    }
    match limits.capacity {
        Some(capacity) => {
            Question::new(problem, &candidates, capacity)
                .answer(&|| false)
                .bound
        }
        None => candidates
            .iter()
            .fold(0, |sum: u128, c| sum.saturating_add(c.1)),
    }
}
