//! The problem: buffers that live in time, arenas that hold them, pairs that may overlap a little.
//!
//! Goes in: what a caller, a file or the graph crate claims. Comes out of [`Problem::new`]: a
//! problem in which every size, alignment, extent and sum has been validated; nothing downstream
//! looks again.
//!
//! A buffer's *extent* is a list of rectangles, step range × byte range relative to its offset. A
//! plain tensor is one rectangle; a class whose result is smaller than its source is two:
//!
//! ```text
//! bytes           Buffer::with_extent("class", vec![
//! 4096 ┌──┐           Rect::new(0..2, 0..4096),
//! 2048 │  └────┐      Rect::new(2..4, 0..2048)])
//!    0 └───────┘
//!      0  2    4 step
//! ```

mod buffer;
mod error;
mod validate;

pub use buffer::{Buffer, Rect};
pub use error::{ProblemError, ProblemErrors};
use validate::lcm;

use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Step;
use buffer::{is_one, one};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A block of bytes that buffers are placed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arena {
    /// For people: `arena`, `persistent`, `sram`.
    pub name: String,
    /// Bytes that it has; none: it grows as needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Largest buffer that it may hold (a device's binding limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_object: Option<u64>,
    /// Every offset in it is a multiple of this.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub alignment: u64,
}

impl Arena {
    /// An arena without limits.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            capacity: None,
            largest_object: None,
            alignment: 1,
        }
    }
}

/// Why a pair may overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// The operator reads the upper buffer ahead of what it writes into the lower one
    /// (diagonal overlap), as long as the distance is kept.
    DiagonalOverlap {
        /// The operator whose access pattern proves it.
        op: String,
    },
}

/// Two buffers whose disjointness is replaced by a minimum distance: either they are disjoint, or
/// `offset(upper) ≥ offset(lower) + distance`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The buffer that starts lower when they overlap.
    pub lower: BufferId,
    /// The buffer that starts higher.
    pub upper: BufferId,
    /// Bytes between the two starts, at least.
    pub distance: u64,
    /// What makes the overlap harmless.
    pub proof: Proof,
}

/// Buffers, arenas and pairs, validated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Problem {
    arenas: Table<ArenaId, Arena>,
    buffers: Table<BufferId, Buffer>,
    pairs: Vec<Pair>,
    /// Positions in `pairs`, the smaller id first.
    pair_of: BTreeMap<(BufferId, BufferId), usize>,
}

/// A problem as files have it, before validation.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Problem")]
pub(crate) struct Parts {
    arenas: Table<ArenaId, Arena>,
    buffers: Table<BufferId, Buffer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<Pair>,
}

impl TryFrom<Parts> for Problem {
    type Error = ProblemErrors;
    fn try_from(parts: Parts) -> Result<Self, ProblemErrors> {
        Self::new(parts.arenas, parts.buffers, parts.pairs)
    }
}

impl From<Problem> for Parts {
    fn from(problem: Problem) -> Self {
        Self {
            arenas: problem.arenas,
            buffers: problem.buffers,
            pairs: problem.pairs,
        }
    }
}

impl Problem {
    /// Validates arenas, buffers and pairs; reports everything that is wrong with them.
    pub fn new(
        arenas: Table<ArenaId, Arena>,
        mut buffers: Table<BufferId, Buffer>,
        pairs: Vec<Pair>,
    ) -> Result<Self, ProblemErrors> {
        if u32::try_from(buffers.len()).is_err() {
            return Err(ProblemErrors(vec![ProblemError::TooMany {
                count: buffers.len(),
            }]));
        }
        let mut errors = Vec::new();
        for arena in arenas.values().filter(|arena| arena.alignment == 0) {
            errors.push(ProblemError::Alignment {
                name: arena.name.clone(),
                alignment: 0,
            });
        }
        for buffer in buffers.values_mut() {
            validate::tidy_extent(buffer, &mut errors);
        }
        if errors.is_empty() {
            for buffer in buffers.values() {
                validate::validate_places(buffer, &arenas, &mut errors);
            }
        }
        let pair_of = validate::validate_pairs(&pairs, buffers.len(), &mut errors);
        if !errors.is_empty() {
            return Err(ProblemErrors(errors));
        }
        let problem = Self {
            arenas,
            buffers,
            pairs,
            pair_of,
        };
        problem
            .validate_sums()
            .map_err(|e| ProblemErrors(vec![e]))?;
        let clashes = problem.fixed_clashes();
        if clashes.is_empty() {
            Ok(problem)
        } else {
            Err(ProblemErrors(clashes))
        }
    }

    /// A problem with one unlimited arena named `arena`.
    pub fn single(buffers: Vec<Buffer>) -> Result<Self, ProblemErrors> {
        Self::new(vec![Arena::new("arena")].into(), buffers.into(), Vec::new())
    }

    /// The arenas.
    pub fn arenas(&self) -> &Table<ArenaId, Arena> {
        &self.arenas
    }

    /// The buffers.
    pub fn buffers(&self) -> &Table<BufferId, Buffer> {
        &self.buffers
    }

    /// The pairs.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The pair of these two buffers, in either order.
    pub fn pair(&self, a: BufferId, b: BufferId) -> Option<&Pair> {
        if self.pairs.is_empty() {
            return None;
        }
        let position = self.pair_of.get(&(a.min(b), a.max(b)))?;
        Some(&self.pairs[*position])
    }

    /// The alignment that `buffer` has in `arena`: the least common multiple of both.
    pub fn alignment(&self, buffer: BufferId, arena: ArenaId) -> u64 {
        let both = (self.buffers[buffer].alignment, self.arenas[arena].alignment);
        lcm(both.0, both.1).expect("validated in Problem::new")
    }

    /// The first step at which everything is dead.
    pub fn horizon(&self) -> Step {
        let ends = self.buffers.values().map(|b| b.lifetime().end);
        ends.max().unwrap_or(Step(0))
    }

    /// What the buffers would take if nothing were shared, in bytes.
    pub fn naive_bytes(&self) -> u64 {
        self.buffers.values().map(Buffer::size).sum()
    }
}

#[cfg(test)]
mod tests;
