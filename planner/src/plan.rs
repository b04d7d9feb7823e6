//! A plan: where every buffer goes, and what is claimed about it.
//!
//! A plan may come from a file and claims nothing about its own validity; [`crate::check()`] decides.

use crate::ids::{ArenaId, BufferId, Table};
use crate::witness::{Bound, Witness};
use serde::{Deserialize, Serialize};

/// The place of one buffer. Written to files as `(arena, offset)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(ArenaId, u64)", into = "(ArenaId, u64)")]
pub struct Place {
    /// Which arena.
    pub arena: ArenaId,
    /// Bytes from the arena's start.
    pub offset: u64,
}

impl From<(ArenaId, u64)> for Place {
    fn from((arena, offset): (ArenaId, u64)) -> Self {
        Self { arena, offset }
    }
}

impl From<Place> for (ArenaId, u64) {
    fn from(place: Place) -> Self {
        (place.arena, place.offset)
    }
}

/// What a plan claims about the height of one arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// No plan has a smaller height; the witness proves a bound equal to it.
    Optimal(Witness),
    /// No plan is under the bound; whether one lies between is not known.
    Within(Bound),
    /// Nothing is claimed.
    Stopped,
}

/// Places by buffer, heights and claims by arena.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Which strategy made it.
    pub strategy: String,
    /// Highest used byte of each arena (the papers' makespan).
    pub heights: Table<ArenaId, u64>,
    /// What is claimed of each height.
    pub claims: Table<ArenaId, Claim>,
    /// Where each buffer is.
    pub places: Table<BufferId, Place>,
}
