//! The deletion filter: makes a set of buffers that does not fit as small as can be.
//!
//! Goes in: buffers, and a question that can be asked of each part of them: whether it fits. Comes out: whether
//! all of them do, and if not, a part that does not, of which nothing can be left out (as far as is known).

use super::{Known, windows};
use crate::ids::{BufferId, Id};
use crate::problem::Problem;
use crate::strategy::{Options, PlannerFault};
use crate::sweep::Profile;
use std::time::Instant;

/// Work of the search for each smaller set, where no limit of nodes or work is given.
const EFFORT: u64 = Options::EFFORT >> 4;
/// Sets in a row that stay undecided before the filter gives up.
const PATIENCE: u32 = 24;

/// How the search for a plan of some buffers ended.
pub(super) enum Attempt {
    /// With a plan of this height.
    Fits(u64),
    /// There is none.
    Fails,
    /// Undecided, with this bound.
    Unknown(u64),
}

/// Whether some buffers fit, and the nodes that it took to know that.
pub(super) type Ask<'a> =
    dyn Fn(&[BufferId], &Options<'_>) -> Result<(Attempt, u64), PlannerFault> + 'a;

/// What does not fit.
pub(super) struct Found {
    /// In ascending order.
    pub(super) members: Vec<BufferId>,
    /// Nodes of all searches.
    pub(super) nodes: u64,
    /// Nothing can be left out.
    pub(super) minimal: bool,
}

/// Whether all fit.
pub(super) enum Answer {
    /// They do, at this height.
    Fits(u64),
    /// They do not.
    Fails(Found),
    /// Undecided, with this bound.
    Unknown(u64),
}

/// The deletion filter.
pub(super) struct Filter<'a> {
    problem: &'a Problem,
    ask: &'a Ask<'a>,
    options: &'a Options<'a>,
    started: Instant,
    /// Members that cannot be left out, as far as is known.
    kept: Vec<BufferId>,
    nodes: u64,
    /// Attempts in a row that stayed undecided.
    vain: u32,
    minimal: bool,
}

impl<'a> Filter<'a> {
    pub(super) fn new(problem: &'a Problem, ask: &'a Ask<'a>, options: &'a Options<'a>) -> Self {
        Self {
            problem,
            ask,
            options,
            started: Instant::now(),
            kept: Vec::new(),
            nodes: 0,
            vain: 0,
            minimal: true,
        }
    }

    /// Whether `ids` fit, of which something may be known. `whole`: they alone, as a problem, in the same
    /// order.
    pub(super) fn answer(
        mut self,
        ids: &[BufferId],
        whole: &Problem,
        known: Known,
    ) -> Result<Answer, PlannerFault> {
        // What does not fit by itself does not fit into the whole.
        for window in windows::windows(whole) {
            let window: Vec<BufferId> = window.into_iter().map(|id| ids[id.index()]).collect();
            if matches!(self.smaller(&window)?, Attempt::Fails) {
                return Ok(Answer::Fails(self.run(window, whole)?));
            }
        }
        self.vain = 0;
        let attempt = match known {
            Known::Nothing => self.attempt(ids, self.options.work_limit)?,
            Known::Refuted => Attempt::Fails,
            Known::Undecided(bound) => Attempt::Unknown(bound),
        };
        Ok(match attempt {
            Attempt::Fits(height) => Answer::Fits(height),
            Attempt::Unknown(bound) => Answer::Unknown(bound),
            Attempt::Fails => Answer::Fails(self.run(ids.to_vec(), whole)?),
        })
    }

    /// Makes a set that does not fit as small as can be.
    fn run(mut self, ids: Vec<BufferId>, whole: &Problem) -> Result<Found, PlannerFault> {
        self.vain = 0;
        // What lives where there is room is left out first.
        let rects = whole.buffers().values().flat_map(|b| &b.extent);
        let load = Profile::new(rects.map(|r| (r.steps, r.bytes())));
        let load = load.range_max();
        let mut order = ids;
        order.sort_by_cached_key(|&id| {
            let buffer = &self.problem.buffers()[id];
            (load.max(buffer.lifetime()), buffer.size(), id)
        });
        self.reduce(&order, &[])?;
        self.kept.sort_unstable();
        Ok(Found {
            members: self.kept,
            nodes: self.nodes,
            minimal: self.minimal,
        })
    }

    /// Keeps of `part` what is needed so that it does not fit together with `kept` and `rest`.
    fn reduce(&mut self, part: &[BufferId], rest: &[BufferId]) -> Result<(), PlannerFault> {
        if part.is_empty() {
            return Ok(());
        }
        let without = [&self.kept[..], rest].concat();
        match self.smaller(&without)? {
            Attempt::Fails => Ok(()),
            Attempt::Fits(_) if part.len() == 1 => {
                self.kept.push(part[0]);
                Ok(())
            }
            Attempt::Unknown(_) if part.len() == 1 || self.gave_up() => {
                self.minimal = false;
                self.kept.extend(part);
                Ok(())
            }
            _ => {
                let (low, high) = part.split_at(part.len() / 2);
                self.reduce(low, &[high, rest].concat())?;
                self.reduce(high, rest)
            }
        }
    }

    fn gave_up(&self) -> bool {
        let limit = self.options.time_limit;
        self.vain >= PATIENCE
            || self.options.cancel.is_some_and(|cancel| cancel())
            || limit.is_some_and(|limit| self.started.elapsed() >= limit)
    }

    /// Tries a set that is smaller than the whole, with less effort.
    fn smaller(&mut self, ids: &[BufferId]) -> Result<Attempt, PlannerFault> {
        if self.gave_up() {
            return Ok(Attempt::Unknown(0));
        }
        let limited = self.options.node_limit.is_some();
        let work = self.options.work_limit;
        let attempt = self.attempt(ids, work.or((!limited).then_some(EFFORT)))?;
        let unknown = matches!(attempt, Attempt::Unknown(_));
        self.vain = if unknown { self.vain + 1 } else { 0 };
        Ok(attempt)
    }

    fn attempt(
        &mut self,
        ids: &[BufferId],
        work_limit: Option<u64>,
    ) -> Result<Attempt, PlannerFault> {
        let left = self.options.time_limit;
        let options = Options {
            work_limit,
            time_limit: left.map(|limit| limit.saturating_sub(self.started.elapsed())),
            progress: None,
            keep: None,
            ..self.options.clone()
        };
        let (attempt, nodes) = (self.ask)(ids, &options)?;
        self.nodes += nodes;
        Ok(attempt)
    }
}
