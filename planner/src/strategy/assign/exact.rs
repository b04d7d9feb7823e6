//! All assignments, where there are few.
//!
//! Goes in: lists of arenas, and an assignment to beat. Comes out: a better one, if a depth-first
//! search finds one within its limits, and whether it went through all. Buffers are decided in order of worth,
//! each arena of their list in turn; a branch ends when it spills as much as the best, or when a load exceeds
//! a capacity. An assignment that cannot be packed is ruled out where the search proves that; where it does
//! not, not all is known.

use super::Assigned;
use super::pack::{Packed, Packer};
use crate::crowd::Lists;
use crate::ids::{ArenaId, BufferId, Table};
use std::cmp::Reverse;

/// Buffers with a choice, at most.
const CHOICES: usize = 16;
/// Buffers, at most.
const BUFFERS: usize = 256;
/// Partial assignments that are looked at.
const NODES: usize = 1 << 14;
/// Assignments that are packed.
const PACKINGS: usize = 128;

/// What going through the assignments showed.
pub(super) struct Outcome {
    /// One that spills less than what was known.
    pub(super) found: Option<Assigned>,
    /// No other spills less: everything else was ruled out.
    pub(super) complete: bool,
}

pub(super) fn search(packer: &Packer<'_>, lists: &Lists, known: Option<&Assigned>) -> Outcome {
    let buffers = packer.problem.buffers();
    // What has no bytes is anywhere.
    let choice = |id: BufferId| lists[id].len() > 1 && !buffers[id].extent.is_empty();
    let mut open: Vec<BufferId> = lists.ids().filter(|&id| choice(id)).collect();
    if open.len() > CHOICES || lists.len() > BUFFERS {
        return Outcome {
            found: None,
            complete: false,
        };
    }
    open.sort_by_cached_key(|&id| (Reverse(buffers[id].worth()), id));
    // What cannot be in its first arena at all counts in every assignment.
    let skipped = |id: BufferId, arena: ArenaId| {
        let position = buffers[id].arenas.iter().position(|&a| a == arena);
        buffers[id]
            .worth()
            .saturating_mul(position.unwrap_or(0) as u128)
    };
    let least: Vec<u128> = (0..=open.len())
        .map(|from| {
            let rest = open[from..].iter().map(|&id| skipped(id, lists[id][0]));
            rest.fold(0, u128::saturating_add)
        })
        .collect();
    let decided = lists.ids().map(|id| (!choice(id)).then(|| lists[id][0]));
    let base = lists.ids().filter(|&id| !choice(id));
    let base = base.fold(0, |sum: u128, id| {
        sum.saturating_add(skipped(id, lists[id][0]))
    });
    let mut search = Search {
        packer,
        lists,
        least,
        places: decided.collect(),
        skipped: &skipped,
        open: &open,
        best: known.map(|known| known.spilled(packer.problem)),
        found: None,
        complete: true,
        nodes: 0,
        packings: 0,
    };
    search.descend(0, base);
    Outcome {
        found: search.found,
        complete: search.complete,
    }
}

struct Search<'a> {
    packer: &'a Packer<'a>,
    lists: &'a Lists,
    /// What the buffers from each position on spill at least.
    least: Vec<u128>,
    places: Table<BufferId, Option<ArenaId>>,
    skipped: &'a dyn Fn(BufferId, ArenaId) -> u128,
    open: &'a [BufferId],
    best: Option<u128>,
    found: Option<Assigned>,
    complete: bool,
    nodes: usize,
    packings: usize,
}

impl Search<'_> {
    fn descend(&mut self, depth: usize, spilled: u128) {
        self.nodes += 1;
        let least = spilled.saturating_add(self.least[depth]);
        if self.best.is_some_and(|best| least >= best) {
            return;
        }
        if self.nodes > NODES || self.packings > PACKINGS || self.packer.exhausted() {
            self.complete = false;
            return;
        }
        let Some(&id) = self.open.get(depth) else {
            self.leaf(spilled);
            return;
        };
        for &arena in &self.lists[id] {
            self.places[id] = Some(arena);
            if self.holds(arena) {
                self.descend(depth + 1, spilled.saturating_add((self.skipped)(id, arena)));
            }
            self.places[id] = None;
        }
    }

    fn members(&self, arena: ArenaId) -> Vec<BufferId> {
        let ids = self
            .places
            .iter()
            .filter(|(_, place)| **place == Some(arena));
        ids.map(|(id, _)| id).collect()
    }

    /// Whether the load so far is within the capacity.
    fn holds(&self, arena: ArenaId) -> bool {
        let capacity = self.packer.problem.arenas()[arena].capacity;
        let load = || self.packer.load(&self.members(arena)).max().0;
        self.packer.blurred() || capacity.is_none_or(|capacity| load() <= capacity)
    }

    /// Packs a whole assignment.
    fn leaf(&mut self, spilled: u128) {
        self.packings += 1;
        let arenas = self.packer.problem.arenas();
        let mut packed: Table<ArenaId, Option<Packed>> = Table::filled(None, arenas.len());
        for (arena, limits) in arenas.iter() {
            let Some(capacity) = limits.capacity else {
                continue;
            };
            let within = self.packer.within(arena, &self.members(arena), capacity);
            if within.height > capacity {
                self.complete &= within.bound > capacity;
                return;
            }
            packed[arena] = Some(within);
        }
        self.best = Some(spilled);
        let places = self.places.values();
        let places = places
            .map(|place| place.expect("all are decided"))
            .collect();
        self.found = Some(Assigned { places, packed });
    }
}
