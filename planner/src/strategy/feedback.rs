//! Feedback: min-offset again and again, with those first that ended too high the time before.
//!
//! Goes in: a problem and the height that each arena should have. Comes out: the lowest plan that was met.
//!
//! Whatever ends above that height is *blamed*, and blame adds to the first letter of its rank: of all
//! buffers that could be placed lowest, the blamed ones go first the next time (squeaky wheel optimization,
//! Joslin and Clements, JAIR 10, 1999). Each of these plans is a start for repair, too, where little ends
//! too high: which of them can be repaired is chance, and there are many. A round costs what one or two
//! strategies cost; most large problems are at the bound after some, or some dozens.
//!
//! Two lanes run side by side, with different orders, round by round: what comes out does not depend on the
//! number of threads.

use super::improve::Repair;
use super::min_offset::{Letters, Placer};
use super::portfolio::Best;
use super::{Strategy, Tick, with_heights};
use crate::ids::{ArenaId, BufferId, Table};
use crate::plan::Plan;
use crate::problem::Problem;
use rayon::prelude::*;

/// A letter of a rank weighs this much, and its buffer's blame.
const WEIGHT: u64 = 1024;
/// The order of each lane, and what is added to the blame of whatever ended too high.
const LANES: [(Strategy, u64); 2] = [
    (Strategy::MinOffsetTaw, WEIGHT / 10),
    (Strategy::MinOffsetTwa, WEIGHT / 100),
];
/// A lane that has not come lower in so many rounds ends.
const PATIENCE: usize = 40;

/// How long, and who is told.
pub(super) struct Limits<'a> {
    /// Buffers to place and floors to correct, over all rounds and lanes (times rectangles that are given).
    pub(super) buffers: u64,
    /// Seed of the noise of repair.
    pub(super) seed: u64,
    /// The heights that are wanted.
    pub(super) wanted: &'a Table<ArenaId, u64>,
    /// Told how many buffers are placed; true ends it with the best so far.
    pub(super) tick: &'a Tick<'a>,
    /// Told after every round.
    pub(super) watcher: &'a dyn Fn(&Best),
}

struct Lane<'a> {
    placer: Placer<'a>,
    tick: &'a Tick<'a>,
    letters: Letters,
    gain: u64,
    blame: Table<BufferId, u64>,
    /// Sum of the heights of its lowest plan.
    lowest: u128,
    /// Rounds since then.
    vain: usize,
}

impl<'a> Lane<'a> {
    fn new(
        problem: &'a Problem,
        (strategy, gain): (Strategy, u64),
        tick: &'a Tick<'a>,
    ) -> Option<Self> {
        Some(Self {
            letters: Letters::new(problem, strategy, tick)?,
            placer: Placer::new(problem, tick)?,
            tick,
            gain,
            blame: Table::filled(0, problem.buffers().len()),
            lowest: u128::MAX,
            vain: 0,
        })
    }

    /// One more plan, and its blame; nothing if it was told to stop.
    fn round(
        &mut self,
        problem: &Problem,
        wanted: &Table<ArenaId, u64>,
        repair: Option<&Repair>,
    ) -> Option<Plan> {
        let weigh = |id, letter: u128| {
            let weight = WEIGHT.saturating_add(self.blame[id]);
            letter.saturating_mul(u128::from(weight))
        };
        let places = self.placer.place(&self.letters.rank(weigh))?;
        for (id, buffer) in problem.buffers().iter() {
            let end = places[id].offset.saturating_add(buffer.size());
            if end > wanted[places[id].arena] {
                self.blame[id] = self.blame[id].saturating_add(self.gain);
            }
        }
        let mut plan = with_heights(problem, places, "feedback");
        if let Some(repair) = repair {
            repair.run(problem, &mut plan, wanted, &|| (self.tick)(0));
        }
        let sum = plan
            .heights
            .values()
            .map(|&height| u128::from(height))
            .sum();
        self.vain = if sum < self.lowest { 0 } else { self.vain + 1 };
        self.lowest = self.lowest.min(sum);
        Some(plan)
    }
}

/// Offers the plans of all rounds to `best`, until one is as low as wanted.
pub(super) fn run(problem: &Problem, best: &mut Best, limits: &Limits<'_>) {
    let lanes = LANES.par_iter();
    let lanes: Option<Vec<Lane<'_>>> = lanes
        .map(|&how| Lane::new(problem, how, limits.tick))
        .collect();
    let mut lanes = lanes.unwrap_or_default();
    let given = problem
        .buffers()
        .values()
        .filter(|b| b.fixed_offset.is_some());
    // Each place is looked at beside what is given.
    let costs = 1 + given.map(|b| b.extent.len() as u64).sum::<u64>();
    let mut spent = 0;
    let repair = Repair::new(problem, limits.seed, &|| (limits.tick)(0));
    loop {
        lanes.retain(|lane| lane.vain < PATIENCE);
        let corrected: usize = lanes.iter().map(|lane| lane.placer.corrected).sum();
        spent += (problem.buffers().len() * lanes.len()) as u64 * costs;
        if lanes.is_empty() || spent + corrected as u64 * costs > limits.buffers {
            return;
        }
        let plans = lanes.par_iter_mut();
        let plans: Vec<Option<Plan>> = plans
            .map(|lane| lane.round(problem, limits.wanted, repair.as_ref()))
            .collect();
        let stopped = plans.iter().any(Option::is_none);
        for plan in plans.into_iter().flatten() {
            best.offer(problem, plan);
        }
        (limits.watcher)(best);
        if stopped || best.is_within(limits.wanted) {
            return;
        }
    }
}
