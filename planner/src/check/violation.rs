//! What can be wrong with a plan.

use crate::ids::ArenaId;
use crate::lifetime::Step;
use crate::words::grouped;

/// One way in which a plan is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The plan does not have one entry for each buffer or arena.
    #[error("the plan has {found} {what} where the problem has {expected}")]
    Count {
        /// `places`, `heights` or `claims`.
        what: &'static str,
        /// In the plan.
        found: usize,
        /// In the problem.
        expected: usize,
    },
    /// A buffer in an arena that does not exist or is not among its own.
    #[error("`{buffer}` is in arena {arena}, which may not hold it")]
    WrongArena {
        /// The buffer.
        buffer: String,
        /// The arena named.
        arena: ArenaId,
    },
    /// An offset that is not a multiple of the alignment.
    #[error("`{buffer}` is at {offset}, which is no multiple of its alignment {alignment}")]
    Misaligned {
        /// The buffer.
        buffer: String,
        /// Where it is.
        offset: u64,
        /// The effective alignment.
        alignment: u64,
    },
    /// A fixed buffer that was moved.
    #[error("`{buffer}` is at {offset} but its offset is given as {fixed}")]
    Moved {
        /// The buffer.
        buffer: String,
        /// Where it is.
        offset: u64,
        /// Where it must be.
        fixed: u64,
    },
    /// The end of a buffer does not fit in 64 bits.
    #[error("`{buffer}` at {offset} ends beyond 64 bits")]
    Beyond {
        /// The buffer.
        buffer: String,
        /// Where it is.
        offset: u64,
    },
    /// A buffer larger than its arena allows for one object.
    #[error("`{buffer}` has {} bytes; arena `{arena}` holds buffers of at most {}", grouped(*size), grouped(*limit))]
    TooLarge {
        /// The buffer.
        buffer: String,
        /// The arena: where it is, or, where it is nowhere, the one that takes the largest.
        arena: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Two buffers use the same bytes at the same steps.
    #[error("`{first}` and `{second}` overlap in steps {}..{} and bytes {lo}..{hi}", steps.0, steps.1)]
    Overlap {
        /// One buffer.
        first: String,
        /// The other.
        second: String,
        /// Steps at which both are live.
        steps: (Step, Step),
        /// First shared byte.
        lo: u64,
        /// End of the shared bytes.
        hi: u64,
    },
    /// A height that is not the highest used byte.
    #[error(
        "arena `{arena}` is said to be {claimed} bytes high, but its highest used byte is {actual}"
    )]
    Height {
        /// The arena.
        arena: String,
        /// In the plan.
        claimed: u64,
        /// Recomputed.
        actual: u64,
    },
    /// A height over the capacity.
    #[error("arena `{arena}` needs {} bytes and has {}", grouped(*height), grouped(*capacity))]
    OverCapacity {
        /// The arena.
        arena: String,
        /// Highest used byte.
        height: u64,
        /// What it has.
        capacity: u64,
    },
    /// A claim whose witness does not prove it.
    #[error(
        "the claim about arena `{arena}` is not proved: its witness gives {proved} bytes, the claim needs {claimed}"
    )]
    Claim {
        /// The arena.
        arena: String,
        /// What the claim needs.
        claimed: u64,
        /// What the witness proves.
        proved: u64,
    },
}
