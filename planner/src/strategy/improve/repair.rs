//! Repair alone: what ends too high is brought down by ejection chains, or the plan stays as it is.

use super::board::{Board, Style};
use super::items::{Items, inside};
use super::{Random, STYLES, write};
use crate::ids::{ArenaId, Table};
use crate::plan::Plan;
use crate::problem::Problem;

/// More than one buffer of so many above the height: not worth a try.
const FEW: usize = 64;
/// Work of a try, by buffer: for few of them, and for many.
const BY_BUFFER: u64 = 1 << 8;
const AT_LEAST: u64 = 1 << 6;
/// Where the one becomes the other.
const MOST: u64 = 1 << 20;
/// How costs are counted.
const STYLE: Style = STYLES[0];

/// The arenas of a problem, ready for repair.
pub(in crate::strategy) struct Repair {
    arenas: Table<ArenaId, Items>,
    seed: u64,
}

impl Repair {
    /// Nothing where buffers may be in several arenas, or if `stop` says so.
    pub(in crate::strategy) fn new(
        problem: &Problem,
        seed: u64,
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let buffers = problem.buffers();
        let settled = buffers.values().all(|buffer| buffer.arenas.len() == 1);
        let items = |arena| {
            let ids = inside(problem, arena, |id| buffers[id].arenas[0]);
            Items::new(problem, arena, ids, stop)
        };
        if !settled {
            return None;
        }
        let arenas = problem.arenas().ids().map(items).collect::<Option<_>>()?;
        Some(Self { arenas, seed })
    }

    /// Brings each arena of `plan` under its `wanted` height, where it can.
    pub(in crate::strategy) fn run(
        &self,
        problem: &Problem,
        plan: &mut Plan,
        wanted: &Table<ArenaId, u64>,
        cancel: &dyn Fn() -> bool,
    ) {
        for (arena, items) in self.arenas.iter() {
            let height = wanted[arena];
            if plan.heights[arena] <= height {
                continue;
            }
            let offsets = items.ids.iter().map(|&id| plan.places[id].offset);
            let mut board = Board::new(problem, items, offsets.collect());
            let mut random = Random::new(self.seed);
            let mut done = board.cut(height, STYLE).then_some(false);
            if board.touched.len() > items.len() / FEW {
                continue;
            }
            let until = limit(items.len() as u64);
            while done == Some(false) && board.work < until && !cancel() {
                done = board.step(height, STYLE, &mut random);
            }
            if done == Some(true) {
                write(items, arena, &board.offsets, plan);
                plan.heights[arena] = board.height();
            }
        }
    }
}

fn limit(buffers: u64) -> u64 {
    (BY_BUFFER * buffers).min(MOST).max(AT_LEAST * buffers)
}
