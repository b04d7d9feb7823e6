//! Why no plan can be lower: the words of bounds and claims. How they are found is the business of
//! [`crate::bounds`], whether they hold that of [`mod@crate::check`].

use crate::ids::BufferId;
use crate::lifetime::Step;
use serde::{Deserialize, Serialize};

/// Why a bound holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Witness {
    /// Nothing has to be placed.
    Nothing,
    /// What is live at `step` and starts at multiples of `alignment`.
    Load {
        /// The step.
        step: Step,
        /// Common alignment of the rectangles counted; 1 counts all of them at their plain sizes.
        alignment: u64,
    },
    /// A search ruled out every lower plan. It is not repeated by the checker, which can only
    /// attest that no weaker witness contradicts it.
    Search {
        /// Nodes that it took.
        nodes: u64,
    },
    /// The lowest place of this buffer beside the fixed ones (or its own fixed place).
    Placed {
        /// The buffer.
        buffer: BufferId,
    },
}

/// A proved lower bound in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// No plan's height is less.
    pub bytes: u64,
    /// Why.
    pub witness: Witness,
}
