//! What became of an earlier plan, buffer by buffer.

use super::Old;
use crate::ids::{ArenaId, BufferId, Table};

/// Why a buffer is not where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its old place meets a buffer that is kept or given.
    Collides {
        /// That one.
        with: String,
    },
    /// Its old arena does not exist, or may not hold it.
    Arena,
    /// Its offset is given now.
    Given,
    /// Its old offset is no multiple of its alignment now.
    Misaligned,
    /// It would end beyond the capacity of its arena.
    Capacity,
    /// It makes room for others: had it stayed, the arena would have been higher than allowed.
    MadeRoom,
}

/// What became of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its place is the old one.
    Stays,
    /// The earlier plan had none of this name.
    New,
    /// It moved.
    Moved {
        /// Its place in the earlier plan.
        from: Old,
        /// Why.
        why: Why,
    },
}

/// What became of the earlier plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// By buffer.
    pub fates: Table<BufferId, Fate>,
    /// Buffers that there are no longer.
    pub gone: Vec<Old>,
    /// Names and heights of the earlier arenas.
    pub arenas: Vec<(String, u64)>,
    /// Heights of a plan that keeps nothing; none where no such plan was made, since the offsets could be kept
    /// within the height of before.
    pub fresh: Option<Table<ArenaId, u64>>,
}

impl Kept {
    /// How many stay, are new, moved, are gone.
    pub fn counts(&self) -> [usize; 4] {
        let count = |wanted: fn(&Fate) -> bool| self.fates.values().filter(|f| wanted(f)).count();
        [
            count(|f| matches!(f, Fate::Stays)),
            count(|f| matches!(f, Fate::New)),
            count(|f| matches!(f, Fate::Moved { .. })),
            self.gone.len(),
        ]
    }
}
