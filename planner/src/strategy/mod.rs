//! The strategies, and the front door: problem in, checked plan out.
//!
//! [`plan()`] computes the bounds, runs the strategies in a fixed order until one meets the bound
//! (`portfolio`), lowers the best plan by [`improve`] and [`search`] (`stages`: which of them, on what), and
//! passes it through [`crate::check()`]. Where buffers may be in several arenas, [`assign`] decides who is
//! where; [`keep`] holds on to an earlier plan. The
//! result does not depend on the number of threads. [`Options`] say how long and how; a plan that time
//! or the caller cut short says so ([`Status`]).

pub mod assign;
mod feedback;
mod floors;
mod fold;
mod front;
mod greedy;
pub mod improve;
pub mod keep;
mod min_offset;
mod online;
mod options;
mod portfolio;
mod quick;
pub mod search;
pub mod shortage;
mod stages;
mod stop;

pub use front::{Planned, PlannerFault, Status, adopt, plan};
pub use options::{Options, Progress, Reporter, Stage};
pub use portfolio::Tried;

use crate::ids::{BufferId, Table};
use crate::plan::{Claim, Place, Plan};
use crate::problem::Problem;
use serde::{Deserialize, Serialize};

/// A way to place buffers. Of equal sizes (or ranks) the larger alignment goes first; every order
/// ends in the buffer's id, so each strategy is a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// Size descending, start ascending; lowest gap. (Pisarchyk & Lee's order, arXiv 2001.03288.)
    SizeFirstFit,
    /// Lowest feasible offset next; ties by total of the fullest step, width, area, all descending.
    MinOffsetTwa,
    /// Lowest feasible offset next; ties by total, area, width.
    MinOffsetTaw,
    /// Lowest feasible offset next; ties by width, area, total.
    MinOffsetWat,
    /// Size descending, start ascending; narrowest gap (arXiv 2001.03288, Greedy by Size).
    SizeBestFit,
    /// Steps by load descending; within one, size descending; narrowest gap (arXiv 2001.03288,
    /// Greedy by Breadth).
    BreadthBestFit,
    /// Size descending, then width descending; lowest gap.
    SizeLifeFirstFit,
    /// Width descending, then size descending; narrowest gap (XLA's temporal order).
    LifeBestFit,
    /// Width × size descending; lowest gap.
    AreaFirstFit,
    /// Start ascending, then size descending; narrowest gap.
    StartBestFit,
    /// Start ascending, then size descending; lowest gap: what an allocator at run time would do.
    StartFirstFit,
    /// Buffers that live through everything first, then size descending, start ascending;
    /// narrowest gap (the order of a well-known mobile runtime).
    WholeLifeBestFit,
}

impl Strategy {
    /// All strategies, in the order in which they are run.
    pub const ALL: [Self; 12] = [
        Self::MinOffsetTwa,
        Self::MinOffsetTaw,
        Self::SizeFirstFit,
        Self::BreadthBestFit,
        Self::SizeBestFit,
        Self::MinOffsetWat,
        Self::SizeLifeFirstFit,
        Self::StartBestFit,
        Self::AreaFirstFit,
        Self::LifeBestFit,
        Self::WholeLifeBestFit,
        Self::StartFirstFit,
    ];

    /// The name in flags, files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::SizeFirstFit => "size-first-fit",
            Self::SizeBestFit => "size-best-fit",
            Self::SizeLifeFirstFit => "size-life-first-fit",
            Self::BreadthBestFit => "breadth-best-fit",
            Self::LifeBestFit => "life-best-fit",
            Self::AreaFirstFit => "area-first-fit",
            Self::StartBestFit => "start-best-fit",
            Self::StartFirstFit => "start-first-fit",
            Self::WholeLifeBestFit => "whole-life-best-fit",
            Self::MinOffsetWat => "min-offset-wat",
            Self::MinOffsetTaw => "min-offset-taw",
            Self::MinOffsetTwa => "min-offset-twa",
        }
    }

    /// The strategy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// Runs it alone: a plan with true heights and no claim, not yet checked.
    pub fn run(self, problem: &Problem) -> Plan {
        let plan = self.run_within(problem, usize::MAX, &|_| false);
        plan.expect("without a limit nothing gives up")
    }

    /// The same, unless it looks at more than `limit` placed rectangles (min-offset has no limit) or
    /// is told to stop.
    fn run_within(self, problem: &Problem, limit: usize, tick: &Tick<'_>) -> Option<Plan> {
        let places = match self {
            Self::MinOffsetWat | Self::MinOffsetTaw | Self::MinOffsetTwa => {
                min_offset::place(problem, self, tick)
            }
            _ => greedy::place(problem, self, limit, tick),
        };
        Some(with_heights(problem, places?, self.name()))
    }
}

/// Told how many buffers a strategy has placed since the last time; true ends the strategy.
type Tick<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// Buffers placed between two ticks: some milliseconds at most, among a million.
const TICK: usize = 64;

/// A plan with true heights and no claim. What has no place, or one in an arena that there is not, counts
/// nowhere; the check refuses it.
fn with_heights(problem: &Problem, places: Table<BufferId, Place>, strategy: &str) -> Plan {
    let mut heights = Table::filled(0_u64, problem.arenas().len());
    for (id, buffer) in problem.buffers().iter() {
        let place = places.get(id).filter(|_| !buffer.extent.is_empty());
        if let Some(place) = place.filter(|place| heights.get(place.arena).is_some()) {
            let height: &mut u64 = &mut heights[place.arena];
            *height = (*height).max(place.offset.saturating_add(buffer.size()));
        }
    }
    Plan {
        strategy: strategy.into(),
        claims: Table::filled(Claim::Stopped, heights.len()),
        heights,
        places,
    }
}

/// Uses this many threads from now on, where [`Options::threads`] is 0; the result of planning does not
/// depend on it. An error if threads were chosen, or planning began, before.
pub fn use_threads(threads: usize) -> Result<(), rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
}
