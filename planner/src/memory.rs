//! A machine's memories, and a problem spread over them.
//!
//! Goes in: a problem whose buffers know nothing of memories, the memories (the fastest first), and who is
//! pinned to which. Comes out: the same buffers in a problem with these memories as arenas; a pinned
//! buffer may be in one of them, any other in all, the fastest preferred.

use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::problem::{Arena, Buffer, Problem, ProblemErrors};
use crate::words::grouped;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Memories and pins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The memories, the fastest first.
    pub arenas: Vec<Arena>,
    /// By name of a buffer (or, in graphs, of a tensor): position of the memory that it has to be in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, u32>,
}

/// The name of an arena for what is kept from run to run.
pub const PERSISTENT: &str = "persistent";

/// Why a problem cannot be spread over memories.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// No memories, or a pin to one that does not exist.
    #[error("a pin names memory {0}, which does not exist")]
    NoSuchArena(u32),
    /// A pinned buffer is larger than its memory allows.
    #[error(
        "`{buffer}` is pinned to `{arena}`, which cannot take it: {} bytes, at most {} are possible", grouped(*size), grouped(*limit)
    )]
    CannotTake {
        /// The buffer.
        buffer: String,
        /// The memory.
        arena: String,
        /// Bytes of the buffer.
        size: u64,
        /// Capacity or largest object.
        limit: u64,
    },
    /// Two names of one buffer are pinned to different memories.
    #[error("`{first}` and `{second}` share their bytes and are pinned to different memories")]
    Torn {
        /// One name.
        first: String,
        /// The other.
        second: String,
    },
    /// The result is no problem: alignments without a common multiple, sums beyond 64 bits.
    #[error(transparent)]
    Problem(#[from] ProblemErrors),
}

/// What is known of one buffer beside the problem.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Names that pins may have for it.
    pub names: Vec<String>,
    /// Bytes that are read and written in it over a run.
    pub traffic: Option<u64>,
    /// It is kept from run to run, and so apart from what is not.
    pub persistent: bool,
}

impl Memory {
    /// Spreads `problem` over the memories. Where buffers are kept from run to run, they go to the
    /// memory named `persistent`, and nothing else does; if there is none, to an unlimited arena of
    /// that name behind the others. Given offsets hold in the pinned memory, or in the first.
    pub fn spread(
        &self,
        problem: &Problem,
        known: impl Fn(BufferId) -> Known,
    ) -> Result<Problem, MemoryError> {
        let mut arenas: Table<ArenaId, Arena> = self.arenas.clone().into();
        let mut rows: Vec<Known> = problem.buffers().ids().map(known).collect();
        let named = arenas.iter().find(|(_, arena)| arena.name == PERSISTENT);
        let mut apart = named.map(|(id, _)| id);
        if apart.is_none() && rows.iter().any(|row| row.persistent) {
            apart = Some(arenas.push(Arena::new(PERSISTENT)));
        }
        let open: Vec<ArenaId> = arenas.ids().filter(|id| Some(*id) != apart).collect();
        let mut buffers = problem.buffers().clone();
        for (buffer, row) in buffers.values_mut().zip(&mut rows) {
            buffer.traffic = row.traffic.or(buffer.traffic);
            let pinned = self.pinned(row, &arenas)?;
            buffer.arenas = match (row.persistent, apart, pinned) {
                (true, Some(apart), _) => vec![apart],
                (_, _, Some(arena)) => {
                    takes(&arenas[arena], buffer)?;
                    vec![arena]
                }
                _ => open.clone(),
            };
            if buffer.fixed_offset.is_some() {
                buffer.arenas.truncate(1);
            }
        }
        Ok(Problem::new(arenas, buffers, problem.pairs().to_vec())?)
    }

    /// Spreads a problem of which nothing else is known.
    pub fn spread_plain(&self, problem: &Problem) -> Result<Problem, MemoryError> {
        self.spread(problem, |id| Known {
            names: vec![problem.buffers()[id].name.clone()],
            ..Known::default()
        })
    }

    fn pinned(
        &self,
        row: &Known,
        arenas: &Table<ArenaId, Arena>,
    ) -> Result<Option<ArenaId>, MemoryError> {
        let mut found: Option<(&str, u32)> = None;
        for name in &row.names {
            let Some(&arena) = self.pins.get(name) else {
                continue;
            };
            match found {
                Some((first, other)) if other != arena => {
                    let (first, second) = (first.to_owned(), name.clone());
                    return Err(MemoryError::Torn { first, second });
                }
                _ => found = Some((name, arena)),
            }
        }
        let Some((_, arena)) = found else {
            return Ok(None);
        };
        let id = ArenaId::from_index(arena as usize);
        let known = arenas.get(id).map(|_| Some(id));
        known.ok_or(MemoryError::NoSuchArena(arena))
    }
}

fn takes(arena: &Arena, buffer: &Buffer) -> Result<(), MemoryError> {
    let limit = arena.capacity.into_iter().chain(arena.largest_object).min();
    match limit.filter(|&limit| buffer.size() > limit) {
        None => Ok(()),
        Some(limit) => Err(MemoryError::CannotTake {
            buffer: buffer.name.clone(),
            arena: arena.name.clone(),
            size: buffer.size(),
            limit,
        }),
    }
}
