//! Proposals of buffers to arenas, until every arena holds what it was given.
//!
//! Goes in: lists of arenas. Comes out: an assignment with a packing of each arena that has a capacity, or
//! the arena that overflows. What is tried, and in which order, is told in the parent module.

use super::Assigned;
use super::pack::{Packed, Packer};
use crate::crowd::Lists;
use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Step;
use crate::problem::Buffer;
use crate::resident::Question;
use crate::sweep::Profile;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Times that all is done again with other worths when the last arena overflows.
const ROUNDS: u32 = 8;
/// Buffers that move out of an arena one by one; then in doubling numbers.
const SINGLE: usize = 16;
/// Packings that are tried to get spilled buffers back.
const RETURNS: usize = 32;

/// Packings of so many buffers that are affordable.
fn few(buffers: usize) -> usize {
    1 + 200_000 / buffers.max(1)
}

/// An arena that overflows, with the height of its packing and its fullest step.
pub(in super::super) struct Short {
    pub(in super::super) arena: ArenaId,
    pub(in super::super) height: u64,
    step: Step,
}

/// Assigns with worths as they are; if an arena overflows, with what lives there worth more before it.
pub(super) fn rounds(packer: &Packer<'_>, lists: &Lists) -> Result<Assigned, Short> {
    let problem = packer.problem;
    let worths = problem.buffers().values().map(Buffer::worth);
    let mut assigner = Assigner {
        packer,
        lists,
        worth: worths.collect(),
        position: Table::filled(0, lists.len()),
    };
    let mut round = 0;
    loop {
        let short = match assigner.settle() {
            Ok(mut packed) => {
                assigner.take_back(&mut packed);
                let places = lists.ids().map(|id| assigner.arena(id)).collect();
                return Ok(Assigned { places, packed });
            }
            Err(short) => short,
        };
        round += 1;
        if round > ROUNDS || packer.stopped() {
            return Err(short);
        }
        assigner.raise(&short, round);
        assigner.position = Table::filled(0, lists.len());
    }
}

/// Where each buffer stands in its list.
struct Assigner<'a> {
    packer: &'a Packer<'a>,
    lists: &'a Lists,
    worth: Table<BufferId, u128>,
    position: Table<BufferId, usize>,
}

impl Assigner<'_> {
    fn arena(&self, id: BufferId) -> ArenaId {
        self.lists[id][self.position[id]]
    }

    fn forced(&self, id: BufferId) -> bool {
        self.position[id] + 1 == self.lists[id].len()
    }

    fn members(&self, arena: ArenaId) -> Vec<BufferId> {
        let ids = self.lists.ids();
        ids.filter(|&id| self.arena(id) == arena).collect()
    }

    /// Until every arena holds what it was given.
    fn settle(&mut self) -> Result<Table<ArenaId, Option<Packed>>, Short> {
        let arenas = self.packer.problem.arenas();
        let mut packed = Table::filled(None, arenas.len());
        let mut open: BTreeSet<ArenaId> = arenas.ids().collect();
        let mut failures = Table::filled(0_usize, arenas.len());
        while let Some(&arena) = open.first() {
            let out = self.crowded_out(arena);
            let out = if out.is_empty() {
                match self.fit(arena, failures[arena])? {
                    Ok(done) => {
                        packed[arena] = done;
                        open.remove(&arena);
                        Vec::new()
                    }
                    Err(out) => {
                        failures[arena] += 1;
                        out
                    }
                }
            } else {
                out
            };
            for id in out {
                self.position[id] += 1;
                open.insert(self.arena(id));
            }
        }
        Ok(packed)
    }

    /// Who has to leave an arena, by sizes alone.
    fn crowded_out(&self, arena: ArenaId) -> Vec<BufferId> {
        let Some(capacity) = self.packer.problem.arenas()[arena].capacity else {
            return Vec::new();
        };
        let members = self.members(arena);
        if self.packer.load(&members).max().0 <= capacity {
            return Vec::new();
        }
        let row = |&id: &BufferId| (id, self.worth[id], self.forced(id));
        let candidates: Vec<_> = members.iter().map(row).collect();
        let stop = || self.packer.stopped();
        let answer = Question::new(self.packer.problem, &candidates, capacity).answer(&stop);
        let out = members.iter().zip(&answer.kept).filter(|(_, kept)| !**kept);
        out.map(|(&id, _)| id).collect()
    }

    /// Packs an arena within its capacity, or says who leaves.
    fn fit(
        &self,
        arena: ArenaId,
        failures: usize,
    ) -> Result<Result<Option<Packed>, Vec<BufferId>>, Short> {
        let Some(capacity) = self.packer.problem.arenas()[arena].capacity else {
            return Ok(Ok(None));
        };
        let members = self.members(arena);
        let load = self.packer.load(&members);
        let (most, step) = load.max();
        let mut height = most;
        if most <= capacity || self.packer.blurred() {
            let packed = self.packer.within(arena, &members, capacity);
            if packed.height <= capacity {
                return Ok(Ok(Some(packed)));
            }
            height = packed.height;
        }
        let patient = !self.packer.stopped();
        let first = if patient {
            SINGLE.min(few(members.len()))
        } else {
            0
        };
        let number = 1_usize << failures.saturating_sub(first).min(30);
        let out = self.least_worthy(&members, &load, number);
        if out.is_empty() {
            return Err(Short {
                arena,
                height,
                step,
            });
        }
        Ok(Err(out))
    }

    /// Of those that can go elsewhere, the ones of least worth at the fullest step where there are any.
    fn least_worthy(&self, members: &[BufferId], load: &Profile, number: usize) -> Vec<BufferId> {
        let fullest = load.range_max();
        let crowd = |id: BufferId| fullest.max(self.packer.problem.buffers()[id].lifetime());
        let bytes = |id: BufferId| self.packer.problem.buffers()[id].size();
        let movable = members
            .iter()
            .copied()
            .filter(|&id| !self.forced(id) && bytes(id) > 0);
        let mut movable: Vec<BufferId> = movable.collect();
        movable
            .sort_by_cached_key(|&id| (Reverse(crowd(id)), self.worth[id], Reverse(bytes(id)), id));
        movable.truncate(number);
        movable
    }

    /// Makes what lives at the step of an overflow worth more, so that earlier arenas keep it.
    fn raise(&mut self, short: &Short, round: u32) {
        let buffers = self.packer.problem.buffers();
        let density = buffers
            .values()
            .map(|b| b.worth() / u128::from(b.size().max(1)));
        let unit = density.max().unwrap_or(0).saturating_add(1) << round;
        for (id, buffer) in buffers.iter() {
            let live = buffer.extent.iter().any(|r| r.steps.contains(short.step));
            if live && self.lists[id].contains(&short.arena) {
                let more = u128::from(buffer.size()).saturating_mul(unit);
                self.worth[id] = self.worth[id].saturating_add(more);
            }
        }
    }

    /// Tries spilled buffers in their faster arenas again.
    fn take_back(&mut self, packed: &mut Table<ArenaId, Option<Packed>>) {
        let buffers = self.packer.problem.buffers();
        let spilled = self.lists.ids().filter(|&id| self.position[id] > 0);
        let mut spilled: Vec<BufferId> = spilled.collect();
        spilled.sort_by_cached_key(|&id| (Reverse(buffers[id].worth()), id));
        let mut tried = 0;
        for id in spilled {
            for position in 0..self.position[id] {
                let arena = self.lists[id][position];
                let Some(capacity) = self.packer.problem.arenas()[arena].capacity else {
                    continue;
                };
                let mut members = self.members(arena);
                members.push(id);
                members.sort_unstable();
                if self.packer.load(&members).max().0 > capacity
                    || tried >= RETURNS.min(few(members.len()))
                    || self.packer.stopped()
                {
                    continue;
                }
                tried += 1;
                let with = self.packer.within(arena, &members, capacity);
                if with.height <= capacity {
                    if let Some(old) = &mut packed[self.arena(id)] {
                        old.places.retain(|&(other, _)| other != id);
                    }
                    packed[arena] = Some(with);
                    self.position[id] = position;
                    break;
                }
            }
        }
    }
}
