//! What a target demands of a plan: alignment, rounding, the planner that its runtime brings.
//!
//! A plan made for one profile is never applied to another: its name goes into the plan file. An
//! unknown name is an error that lists these.
//!
//! | profile | starts | sizes | stock planner | inputs, stock |
//! |---|---|---|---|---|
//! | `bayplan` | what the file states, 64 for models | as they are | none | |
//! | `tflite` | 64 | as they are | `ArenaPlanner` | kept to the end |
//! | `tflm` | 16 | multiples of 16 | `GreedyMemoryPlanner` | overwritten after their last reader |

use crate::ir::Graph;
use serde::{Deserialize, Serialize};

/// The planner of a stock runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StockPlanner {
    /// `TFLite` and `LiteRT`.
    ArenaPlanner,
    /// `TFLite` Micro.
    MicroGreedy,
}

impl StockPlanner {
    /// As its source calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ArenaPlanner => "ArenaPlanner",
            Self::MicroGreedy => "GreedyMemoryPlanner",
        }
    }
}

/// Offsets and sizes that a plan may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// Every start is a multiple of this.
    pub alignment: u64,
    /// Every size is rounded up to a multiple of this.
    pub granule: u64,
}

impl Grid {
    /// Starts at multiples of `alignment`, sizes as they are.
    pub fn starts(alignment: u64) -> Self {
        Self {
            alignment,
            granule: 1,
        }
    }
}

/// A target's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name in flags and files.
    pub name: &'static str,
    /// Offsets of model files are multiples of this.
    pub alignment: u64,
    /// Sizes are rounded up to multiples of this.
    pub granule: u64,
    /// The planner that the target's stock runtime brings.
    pub stock: Option<StockPlanner>,
    /// Whether a graph that states an alignment of its own is obeyed.
    obeys_file: bool,
}

impl Profile {
    /// Names of all profiles.
    pub const NAMES: [&'static str; 3] = ["bayplan", "tflite", "tflm"];

    /// Our own: starts at multiples of 64 bytes unless the file states others, sizes as they are.
    pub fn bayplan() -> Self {
        Self {
            name: "bayplan",
            alignment: 64,
            granule: 1,
            stock: None,
            obeys_file: true,
        }
    }

    /// `TFLite` and `LiteRT` with their reference kernels, without a delegate.
    pub fn tflite() -> Self {
        Self {
            name: "tflite",
            alignment: 64,
            granule: 1,
            stock: Some(StockPlanner::ArenaPlanner),
            obeys_file: false,
        }
    }

    /// `TFLite` Micro with its reference kernels.
    pub fn tflm() -> Self {
        Self {
            name: "tflm",
            alignment: 16,
            granule: 16,
            stock: Some(StockPlanner::MicroGreedy),
            obeys_file: false,
        }
    }

    /// The profile with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "bayplan" => Some(Self::bayplan()),
            "tflite" => Some(Self::tflite()),
            "tflm" => Some(Self::tflm()),
            _ => None,
        }
    }

    /// The grid of plans of `graph`, with another alignment where one is asked for.
    pub fn grid(&self, graph: &Graph, alignment: Option<u64>) -> Grid {
        let own = if self.obeys_file {
            graph.alignment()
        } else {
            self.alignment
        };
        Grid {
            alignment: alignment.unwrap_or(own),
            granule: self.granule,
        }
    }
}
