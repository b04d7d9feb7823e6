//! Improvement of large plans: repair under a lower ceiling.
//!
//! Goes in: a problem, a plan of it, its bounds. Comes out: a plan that is as low or lower. No
//! interference graph is held; memory is linear.
//!
//! A *try* chooses a capacity under the height of the best plan and takes out whatever ends above it. Each
//! of these is put into the narrowest gap that is free; where there is none, to where it costs least to push
//! out what is in the way, which then waits for a place in its turn (an ejection chain, Glover 1996).
//! Whoever has pushed its way in costs more from then on. What lives at the fullest steps costs far
//! more than what lives where there is room: so the bottleneck is packed densely, and what does not
//! belong there moves away from it. A try ends when nothing waits, or after so much work; then all
//! is put back.
//!
//! Tries go in small steps down while they succeed in larger ones, each way of counting costs in turn.
//! Work is counted in steps of inner loops, and the noise has a seed: the result is a function of the
//! options.

mod board;
mod items;
mod near;
mod repair;

use super::search::{Progress, Watcher};
use crate::bounds::Bounds;
use crate::ids::ArenaId;
use crate::plan::{Place, Plan};
use crate::problem::Problem;
use board::{Board, Style};
use items::{Items, inside};
pub(super) use repair::Repair;

/// The offset of what has no place.
const NOWHERE: u64 = u64::MAX;

/// How much work improvement may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Steps of inner loops, in all; 0: no improvement.
    pub work: u64,
    /// The same for each buffer of the arena; the less counts.
    pub by_buffer: u64,
    /// Arenas with fewer buffers are left to the exact search.
    pub least: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            work: 1 << 28,
            by_buffer: 1 << 14,
            least: 400,
        }
    }
}

impl Effort {
    /// As by default, but for the work.
    pub fn of(work: u64) -> Self {
        Self {
            work,
            ..Self::default()
        }
    }
}

/// How long to improve.
#[derive(Clone)]
pub(super) struct Limits<'a> {
    pub(super) effort: Effort,
    /// Seed of the noise.
    pub(super) seed: u64,
    /// A height that is good enough; none: as low as can be.
    pub(super) enough: Option<u64>,
    /// A height above the bound by less than one part in so many is good enough; 0: none is.
    pub(super) close: u64,
    /// Asked now and then; true ends it with the best so far.
    pub(super) cancel: &'a (dyn Fn() -> bool + Sync),
    /// Told after every try.
    pub(super) watcher: &'a Watcher<'a>,
}

impl Limits<'_> {
    fn cancelled(&self) -> bool {
        (self.cancel)()
    }
}

/// A generator of noise (xorshift*, Vigna 2016).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// Lowers `plan` where it can; returns the work that was done.
pub(super) fn improve(
    problem: &Problem,
    plan: &mut Plan,
    bounds: &Bounds,
    limits: &Limits<'_>,
) -> u64 {
    let mut work = 0;
    for arena in problem.arenas().ids() {
        let bound = bounds.arenas[arena].bytes;
        let close = bound.saturating_add(bound.checked_div(limits.close).unwrap_or(0));
        let enough = close.max(limits.enough.unwrap_or(0));
        if work >= limits.effort.work || plan.heights[arena] <= enough {
            continue;
        }
        let ids = inside(problem, arena, |id| plan.places[id].arena);
        if ids.len() < limits.effort.least {
            continue;
        }
        let Some(items) = Items::new(problem, arena, ids, &|| limits.cancelled()) else {
            return work;
        };
        let offsets = items.ids.iter().map(|&id| plan.places[id].offset);
        let mut tries = Tries::new(problem, &items, offsets.collect(), (bound, enough), limits);
        let by_buffer = limits.effort.by_buffer.saturating_mul(items.len() as u64);
        tries.run(by_buffer.min(limits.effort.work - work));
        work += tries.board.work;
        if tries.height < plan.heights[arena] {
            write(&items, arena, &tries.best, plan);
            plan.heights[arena] = tries.height;
            "improve".clone_into(&mut plan.strategy);
        }
    }
    work
}

fn write(items: &Items, arena: ArenaId, offsets: &[u64], plan: &mut Plan) {
    for (&id, &offset) in items.ids.iter().zip(offsets) {
        plan.places[id] = Place { arena, offset };
    }
}

/// Ways of counting costs, in turn.
const STYLES: [Style; 4] = [
    Style {
        area: false,
        soft: 3,
        steep: true,
    },
    Style {
        area: false,
        soft: 1,
        steep: true,
    },
    Style {
        area: false,
        soft: 1,
        steep: false,
    },
    Style {
        area: false,
        soft: 10,
        steep: false,
    },
];

/// Work of the first try, at the bound, by buffer and at most.
const BOLD: u64 = 1 << 12;
const MOST: u64 = 1 << 26;
/// With more buffers it is left out, and the first steps are smaller: too many would have to move.
const MANY: usize = 1 << 17;
/// Work of the shortest try, by buffer, at least and at most.
const SHORT_BY_BUFFER: u64 = 1 << 5;
const SHORT: u64 = 1 << 20;
const SHORT_MOST: u64 = 1 << 22;
/// The smallest step is the gap shifted by this.
const FINEST: u32 = 10;

struct Tries<'a> {
    board: Board<'a>,
    limits: &'a Limits<'a>,
    random: Random,
    bound: u64,
    enough: u64,
    height: u64,
    best: Vec<u64>,
    /// The next step is the gap shifted by this.
    shift: u32,
    style: usize,
    /// Tries in vain since the step was last changed.
    vain: usize,
    /// Tries so far.
    begun: usize,
}

impl<'a> Tries<'a> {
    fn new(
        problem: &'a Problem,
        items: &'a Items,
        offsets: Vec<u64>,
        (bound, enough): (u64, u64),
        limits: &'a Limits<'a>,
    ) -> Self {
        let board = Board::new(problem, items, offsets.clone());
        Self {
            height: board.height(),
            board,
            limits,
            random: Random::new(limits.seed),
            bound,
            enough,
            best: offsets,
            shift: if items.len() < MANY { 0 } else { 2 },
            style: 0,
            vain: 0,
            begun: 0,
        }
    }

    fn run(&mut self, work: u64) {
        while self.height > self.enough && self.board.work < work && !self.limits.cancelled() {
            let step = ((self.height - self.bound) >> self.shift).max(1);
            // No try takes all that is left.
            let limit = self.share().min((work - self.board.work).div_ceil(4));
            self.begun += 1;
            if self.attempt((self.height - step).max(self.bound), limit) {
                self.shift = self.shift.saturating_sub(1);
                self.vain = 0;
            } else {
                self.next();
            }
            (self.limits.watcher)(Progress {
                height: self.height,
                bound: self.bound,
                nodes: 0,
            });
        }
    }

    /// Work that the next try may take: much for the first one, then by Luby's sequence.
    fn share(&self) -> u64 {
        let buffers = self.best.len() as u64;
        let short = (SHORT_BY_BUFFER * buffers).clamp(SHORT, SHORT_MOST);
        let bold = (BOLD * buffers).clamp(SHORT, MOST);
        match self.begun.checked_sub(1) {
            None if self.best.len() < MANY => bold,
            None => short,
            Some(index) => short << luby(index),
        }
    }

    /// What to try after a failure.
    fn next(&mut self) {
        self.style = (self.style + 1) % STYLES.len();
        self.vain += 1;
        let bold = self.begun == 1 && self.shift == 0;
        if self.vain < STYLES.len() && !bold {
            return;
        }
        self.vain = 0;
        self.shift += 1;
        let finest = (self.height - self.bound) >> self.shift == 0;
        if finest || self.shift > FINEST {
            self.shift = 0;
        }
    }

    /// Tries to bring everything under `capacity`.
    fn attempt(&mut self, capacity: u64, limit: u64) -> bool {
        let style = STYLES[self.style];
        let until = self.board.work + limit;
        let mut done = self.board.cut(capacity, style).then_some(false);
        let mut steps = 0_u32;
        while done == Some(false) && self.board.work < until {
            done = self.board.step(capacity, style, &mut self.random);
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(256) && self.limits.cancelled() {
                break;
            }
        }
        if done != Some(true) {
            self.board.restore(&self.best);
            return false;
        }
        for &item in &self.board.touched {
            self.best[item as usize] = self.board.offsets[item as usize];
        }
        self.board.settle();
        self.height = self.board.height();
        true
    }
}

/// Logarithm of the member with this index of the sequence 1, 1, 2, 1, 1, 2, 4, … (Luby, Sinclair and
/// Zuckerman 1993).
fn luby(index: usize) -> u32 {
    let mut at = index + 1;
    while !(at + 1).is_power_of_two() {
        at -= (1 << at.ilog2()) - 1;
    }
    at.ilog2()
}

#[cfg(test)]
mod tests {
    use super::luby;

    #[test]
    fn tries_grow_by_the_sequence() {
        let first: Vec<u32> = (0..15).map(luby).collect();
        assert_eq!(first, [0, 0, 1, 0, 0, 1, 2, 0, 0, 1, 0, 0, 1, 2, 3]);
    }
}
