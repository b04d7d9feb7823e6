//! Arenas that are too small for what has to be in them, by sizes alone.
//!
//! Goes in: a problem with several arenas. Comes out: which arenas each buffer can be in at all, and the
//! groups of arenas in which more bytes live at one step than they have together. What is told here
//! holds for every plan.

use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Step;
use crate::problem::{Arena, Problem};
use crate::sweep::Profile;

/// Arenas by buffer that can hold it by its size, in order of preference; none where it is too large for all.
pub(crate) type Lists = Table<BufferId, Vec<ArenaId>>;

/// With more limited arenas than this, only single ones and all together are looked at.
const GROUPED: usize = 8;

/// The most bytes that one buffer may have in an arena.
pub(crate) fn limit(arena: &Arena) -> Option<u64> {
    arena.capacity.into_iter().chain(arena.largest_object).min()
}

/// Who can be where at all.
pub(crate) fn usable(problem: &Problem) -> Lists {
    let list = problem.buffers().values().map(|buffer| {
        let fits = |arena: &&ArenaId| {
            let limit = limit(&problem.arenas()[**arena]);
            limit.is_none_or(|limit| buffer.size() <= limit)
        };
        buffer.arenas.iter().filter(fits).copied().collect()
    });
    list.collect()
}

/// Buffers that can be nowhere else and are live at one step with more bytes than their arenas have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Crowd {
    /// The arenas, in ascending order.
    pub(crate) arenas: Vec<ArenaId>,
    /// What they have together.
    pub(crate) capacity: u64,
    /// What is live there.
    pub(crate) bytes: u64,
    /// The first step with so much.
    pub(crate) step: Step,
    /// Who that is, in ascending order.
    pub(crate) members: Vec<BufferId>,
}

/// Groups of arenas that are too small. Of groups within each other only the smallest are told. None in a problem with
/// pairs: what overlaps is counted twice.
pub(crate) fn crowds(problem: &Problem, lists: &Lists) -> Vec<Crowd> {
    let mut crowds: Vec<Crowd> = Vec::new();
    if !problem.pairs().is_empty() {
        return crowds;
    }
    for group in groups(problem) {
        let within = |crowd: &Crowd| crowd.arenas.iter().all(|arena| group.contains(arena));
        if !crowds.iter().any(within) {
            let capacities = group.iter().map(|&id| problem.arenas()[id].capacity);
            let capacity =
                capacities.fold(0, |sum: u64, c| sum.saturating_add(c.unwrap_or(u64::MAX)));
            crowds.extend(crowd(problem, lists, group, capacity));
        }
    }
    crowds
}

/// Groups of arenas that have capacities, smaller ones first.
fn groups(problem: &Problem) -> Vec<Vec<ArenaId>> {
    let arenas = problem.arenas();
    let limited = arenas.ids().filter(|&id| arenas[id].capacity.is_some());
    let limited: Vec<ArenaId> = limited.collect();
    if limited.len() > GROUPED {
        let singles = limited.iter().map(|&id| vec![id]);
        return singles.chain(std::iter::once(limited.clone())).collect();
    }
    let mut masks: Vec<u32> = (1..1_u32 << limited.len()).collect();
    masks.sort_by_key(|mask| (mask.count_ones(), *mask));
    let group = |mask: u32| {
        let bits = limited.iter().enumerate();
        let bits = bits.filter(|(bit, _)| mask >> bit & 1 == 1);
        bits.map(|(_, &id)| id).collect()
    };
    masks.into_iter().map(group).collect()
}

/// Who is in `group` in every plan, and their load over time.
fn bound_to(problem: &Problem, lists: &Lists, group: &[ArenaId]) -> (Vec<BufferId>, Profile) {
    let inside = |id: &BufferId| {
        let list = &lists[*id];
        !list.is_empty() && list.iter().all(|arena| group.contains(arena))
    };
    let ids: Vec<BufferId> = lists.ids().filter(inside).collect();
    let rects = ids.iter().flat_map(|&id| &problem.buffers()[id].extent);
    let profile = Profile::new(rects.map(|r| (r.steps, r.bytes())));
    (ids, profile)
}

/// What has to be in `group` and is live at one step, where that is more than `capacity`. `problem` has no pairs.
pub(crate) fn crowd(
    problem: &Problem,
    lists: &Lists,
    group: Vec<ArenaId>,
    capacity: u64,
) -> Option<Crowd> {
    let (ids, profile) = bound_to(problem, lists, &group);
    let (bytes, step) = profile.max();
    (bytes > capacity).then(|| Crowd {
        arenas: group,
        capacity,
        bytes,
        step,
        members: live(problem, &ids, step),
    })
}

/// The largest load of what can be in `group` alone, and its first step; nothing in a problem with pairs.
pub(crate) fn load(problem: &Problem, lists: &Lists, group: &[ArenaId]) -> Option<(u64, Step)> {
    let told = || bound_to(problem, lists, group).1.max();
    problem.pairs().is_empty().then(told)
}

/// Those of `ids` that are live at a step.
pub(crate) fn live(problem: &Problem, ids: &[BufferId], step: Step) -> Vec<BufferId> {
    let there = |id: &BufferId| {
        let mut rects = problem.buffers()[*id].extent.iter();
        rects.any(|r| r.steps.contains(step))
    };
    ids.iter().copied().filter(there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::problem::Buffer;

    fn problem(capacities: [Option<u64>; 3], buffers: Vec<Buffer>) -> Problem {
        let arenas = capacities.into_iter().enumerate().map(|(index, capacity)| {
            let mut arena = Arena::new(format!("m{index}"));
            arena.capacity = capacity;
            arena
        });
        Problem::new(arenas.collect(), buffers.into(), Vec::new()).unwrap()
    }

    fn at(name: &str, bytes: u64, arenas: &[usize]) -> Buffer {
        let arenas = arenas.iter().map(|&index| ArenaId::from_index(index));
        Buffer::new(name, 0..2, bytes).in_arenas(arenas.collect())
    }

    #[test]
    fn the_smallest_groups_are_told() {
        let buffers = vec![
            at("pinned", 9, &[0]),
            at("pinned too", 3, &[0]),
            at("large", 15, &[1, 2]),
            at("other", 15, &[1, 2]),
        ];
        let problem = problem([Some(10), Some(20), Some(5)], buffers);
        let crowds = crowds(&problem, &usable(&problem));
        let told = |crowd: &Crowd| (crowd.capacity, crowd.bytes, crowd.members.len());
        // m2 takes neither of the large ones, so both have to be in m1.
        let told: Vec<_> = crowds.iter().map(told).collect();
        assert_eq!(told, [(10, 12, 2), (20, 30, 2)]);
    }

    #[test]
    fn a_pair_of_arenas_without_the_third_is_looked_at() {
        let buffers = vec![
            at("a", 8, &[0, 1]),
            at("b", 8, &[0, 1]),
            at("c", 8, &[0, 1]),
        ];
        let problem = problem([Some(10), Some(10), None], buffers);
        let crowds = crowds(&problem, &usable(&problem));
        assert_eq!(crowds.len(), 1);
        assert_eq!(
            (crowds[0].arenas.len(), crowds[0].capacity, crowds[0].bytes),
            (2, 20, 24)
        );
    }
}
