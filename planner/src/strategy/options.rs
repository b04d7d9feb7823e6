//! How to plan: which strategies, how long, and who is told.

use super::Strategy;
use super::improve::Effort;
use super::keep::Earlier;
use super::search::Rules;
use crate::bounds::Bounds;
use std::time::Duration;

/// Told now and then how far planning is; from several threads, so it should be quick.
pub type Reporter<'a> = dyn Fn(&Progress) + Sync + 'a;

/// What planning is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The strategies run.
    Strategies {
        /// Strategies that have ended.
        ended: usize,
        /// Strategies that will run if none meets the bound.
        of: usize,
        /// Buffers placed, over all of them.
        placed: u64,
        /// Buffers to be placed, over all of them.
        buffers: u64,
    },
    /// Large plans are improved.
    Improvement,
    /// The exact search runs.
    Search {
        /// Nodes so far. Nodes a second: their growth between two calls, by the caller's clock.
        nodes: u64,
    },
}

/// How far planning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is done now.
    pub stage: Stage,
    /// Best height of the arena so far, in bytes: of the one that is searched, or the first one.
    /// Nothing before the first plan.
    pub height: Option<u64>,
    /// Bound of that arena so far, in bytes.
    pub bound: u64,
}

/// How to plan. [`Options::default`] is right for most.
///
/// The limits that count (`node_limit`, `work_limit`) are deterministic: the same options give the same
/// plan, on every machine and with any number of threads. `time_limit` and `cancel` may cut a run at
/// another point each time; the plan then says so.
///
/// # A limit of nodes, or of time
///
/// ```
/// use bayplan_planner::{Buffer, Options, Problem, strategy::Status, plan};
/// use std::time::Duration;
///
/// let problem = Problem::single(vec![
///     Buffer::new("a", 0..2, 2560),
///     Buffer::new("b", 1..3, 2048),
///     Buffer::new("c", 2..4, 1536),
/// ])?;
/// let patient = Options { node_limit: Some(1_000_000), ..Options::default() };
/// let planned = plan(problem.clone(), &patient)?;
/// assert_eq!(planned.status, Status::Optimal); // the limit was not needed
///
/// let hasty = Options { time_limit: Some(Duration::from_millis(200)), ..Options::default() };
/// let planned = plan(problem, &hasty)?;
/// if planned.status == Status::TimeLimit {
///     eprintln!("stopped by the time limit: another run may find another plan");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Progress
///
/// ```
/// use bayplan_planner::{Buffer, Options, Problem, plan};
/// use bayplan_planner::strategy::{Progress, Stage};
///
/// let show = |progress: &Progress| {
///     let best = progress.height.unwrap_or(0);
///     match progress.stage {
///         Stage::Strategies { ended, of, .. } => eprintln!("{ended} of {of}: best {best}"),
///         Stage::Search { nodes } => eprintln!("{nodes} nodes: {}..{best}", progress.bound),
///         _ => {}
///     }
/// };
/// let problem = Problem::single(vec![Buffer::new("a", 0..2, 64)])?;
/// let planned = plan(problem, &Options { progress: Some(&show), ..Options::default() })?;
/// # assert_eq!(planned.height(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Cancelling from another thread
///
/// ```
/// use bayplan_planner::{Buffer, Options, Problem, plan};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let stop = AtomicBool::new(false);
/// let asked = || stop.load(Ordering::Relaxed);
/// let options = Options { cancel: Some(&asked), ..Options::default() };
/// let buffers = (0..40_u32).map(|n| Buffer::new(format!("b{n}"), n..n + 5, 64 + 7 * u64::from(n % 9)));
/// let problem = Problem::single(buffers.collect())?;
/// let planned = std::thread::scope(|scope| {
///     let planning = scope.spawn(|| plan(problem, &options));
///     stop.store(true, Ordering::Relaxed); // whoever has waited long enough
///     planning.join().expect("planning does not panic")
/// })?;
/// assert!(planned.height() > 0); // checked, however early it was stopped
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Options<'a> {
    /// Strategies to run, in this order. Empty is an error.
    pub strategies: Vec<Strategy>,
    /// Whether to stop once a plan meets the bound (the remaining strategies cannot do better).
    pub stop_at_bound: bool,
    /// Nodes of the exact search behind the strategies, over all arenas; 0: no search. None: the
    /// default effort, or as long as `time_limit` allows.
    pub node_limit: Option<u64>,
    /// The same as a count of steps of inner loops, for each arena; finer than nodes, whose cost differs.
    /// None: [`Options::EFFORT`] where neither `node_limit` nor `time_limit` is given, otherwise no
    /// limit.
    pub work_limit: Option<u64>,
    /// Effort of the improvement of large plans, between the strategies and the search. A time limit lifts
    /// it where a problem is too large for the search.
    pub improve: Effort,
    /// Wall-clock time after which the best plan so far is taken.
    pub time_limit: Option<Duration>,
    /// Threads for the strategies; 0: those of rayon's pool that the caller is in.
    pub threads: usize,
    /// Seed of the noise in the search.
    pub seed: u64,
    /// A height in bytes, of each arena, that is low enough: planning stops there, or when it is
    /// proved that no plan is as low. None: as low as can be.
    pub enough: Option<u64>,
    /// Where no plan is as low as `enough`: whether a small problem is looked at a little longer, for what
    /// would do.
    pub need: bool,
    /// Offsets of an earlier plan, to be kept where possible.
    pub keep: Option<&'a Earlier>,
    /// Prunings of the search that are in force.
    pub rules: Rules,
    /// Told now and then.
    pub progress: Option<&'a Reporter<'a>>,
    /// Asked now and then; true ends planning with the best plan so far.
    pub cancel: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl Options<'_> {
    /// The work of the search where no limit is given: about a second.
    pub const EFFORT: u64 = 1 << 27;

    /// As by default, without improvement and search.
    pub fn greedy() -> Self {
        Self {
            work_limit: Some(0),
            improve: Effort::of(0),
            ..Self::default()
        }
    }

    /// The work that the search of an arena may take.
    pub(super) fn work(&self) -> u64 {
        let open = self.node_limit.is_some() || self.time_limit.is_some();
        self.work_limit
            .unwrap_or(if open { u64::MAX } else { Self::EFFORT })
    }

    /// For a question on the way to the plan: this part of what the usual effort is, however long there
    /// is time.
    pub(super) fn brief(&self, part: u64) -> Self {
        let work = self.improve.work / part;
        Self {
            work_limit: Some(self.work().min(Self::EFFORT) / part),
            time_limit: None,
            improve: Effort {
                work,
                ..self.improve
            },
            ..self.clone()
        }
    }

    /// For many questions that together shall take no more than a fraction of the usual effort, and of the
    /// time.
    pub(crate) fn shared(&self, part: u32) -> Self {
        Self {
            node_limit: self.node_limit.map(|nodes| nodes / u64::from(part)),
            time_limit: self.time_limit.map(|time| time / 4),
            ..self.brief(u64::from(part))
        }
    }

    /// The same for a question that is answered, where a lower plan would be nice to have: the improvement
    /// and the search of a fraction of a second.
    pub(super) fn afterwards(&self) -> Self {
        Self {
            enough: None,
            ..self.brief(16)
        }
    }

    /// Whether a plan that is low enough is ruled out.
    pub(super) fn refuted(&self, bounds: &Bounds) -> bool {
        let over = |enough| bounds.arenas.values().any(|bound| bound.bytes > enough);
        self.stop_at_bound && self.enough.is_some_and(over)
    }

    /// Whether nothing more is asked of an arena with this height and this bound.
    pub(super) fn settled(&self, height: u64, bound: u64) -> bool {
        let answered = |enough: u64| height <= enough || bound > enough;
        height <= bound || self.enough.is_some_and(answered)
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            strategies: Strategy::ALL.to_vec(),
            stop_at_bound: true,
            node_limit: None,
            work_limit: None,
            improve: Effort::default(),
            time_limit: None,
            threads: 0,
            seed: 1,
            enough: None,
            need: false,
            keep: None,
            rules: Rules::ALL,
            progress: None,
            cancel: None,
        }
    }
}
