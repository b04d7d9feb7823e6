//! What can be wrong with a would-be problem.

use crate::lifetime::{Lifetime, Step};

/// What is wrong with a would-be problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// Alignment zero, or an arena's and a buffer's alignment have no common multiple in 64 bits.
    #[error(
        "alignment of `{name}` is {alignment}; it must be at least 1 and have a 64-bit multiple in common with its arena's"
    )]
    Alignment {
        /// The buffer or arena.
        name: String,
        /// As given.
        alignment: u64,
    },
    /// A lifetime without steps.
    #[error("lifetime of `{name}` is empty: it starts at step {} and is dead from step {}", lifetime.start, lifetime.end)]
    EmptyLifetime {
        /// The buffer.
        name: String,
        /// As given.
        lifetime: Lifetime,
    },
    /// A byte range that runs backwards.
    #[error("byte range {lo}..{hi} of `{name}` runs backwards")]
    ReversedBytes {
        /// The buffer.
        name: String,
        /// First byte.
        lo: u64,
        /// End.
        hi: u64,
    },
    /// Two rectangles of one buffer cover the same byte at the same step.
    #[error("two rectangles of `{name}` cover the same byte at step {step}")]
    SelfOverlap {
        /// The buffer.
        name: String,
        /// A step at which they do.
        step: Step,
    },
    /// A buffer without arenas, with an unknown one, or with one named twice.
    #[error("`{name}` names no arena, an arena that does not exist, or one twice")]
    Arenas {
        /// The buffer.
        name: String,
    },
    /// A fixed offset needs exactly one arena.
    #[error("`{name}` has a fixed offset but {arenas} arenas to choose from")]
    FixedInSeveralArenas {
        /// The buffer.
        name: String,
        /// How many.
        arenas: usize,
    },
    /// A fixed offset that the alignment forbids.
    #[error("fixed offset {offset} of `{name}` is not a multiple of its alignment {alignment}")]
    FixedMisaligned {
        /// The buffer.
        name: String,
        /// As given.
        offset: u64,
        /// The effective alignment.
        alignment: u64,
    },
    /// A fixed offset from which the buffer ends beyond 64 bits.
    #[error("`{name}` at its given offset {offset} ends beyond 64 bits")]
    FixedBeyond {
        /// The buffer.
        name: String,
        /// As given.
        offset: u64,
    },
    /// Two fixed buffers share a byte at a step.
    #[error(
        "`{first}` and `{second}` are given offsets at which they overlap at step {step}: bytes {lo}..{hi}"
    )]
    FixedClash {
        /// One buffer.
        first: String,
        /// The other.
        second: String,
        /// A step at which both are live.
        step: Step,
        /// First shared byte.
        lo: u64,
        /// End of the shared bytes.
        hi: u64,
    },
    /// A pair that names one buffer twice, an unknown one, or a pair named before.
    #[error(
        "pair {index} names an unknown buffer, one buffer twice, or a pair that an earlier one names"
    )]
    Pair {
        /// Position in the list.
        index: usize,
    },
    /// More bytes live at one step than 64 bits can count.
    #[error("{load} bytes are live at step {step} ({names}); that does not fit in 64 bits")]
    LoadOverflow {
        /// The exact sum.
        load: u128,
        /// Where.
        step: Step,
        /// Who, the first few.
        names: String,
    },
    /// All sizes together (rounded up for alignment) do not fit in 64 bits, so offsets might not.
    #[error(
        "all sizes together, rounded up for alignment and above the given offsets, are {total} bytes; that does not fit in 64 bits"
    )]
    TotalOverflow {
        /// The exact sum.
        total: u128,
    },
    /// More buffers than ids.
    #[error("{count} buffers; at most {} are supported", u32::MAX)]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// Every reason why something is not a problem. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemErrors(pub Vec<ProblemError>);

impl std::fmt::Display for ProblemErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProblemErrors {}
