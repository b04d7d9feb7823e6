//! Against the true optimum: every offset of every buffer is tried.

use crate::generate::{self, Kind};
use crate::tape::{Tape, check};
use bayplan_planner::check::violations;
use bayplan_planner::ids::Id;
use bayplan_planner::{
    ArenaId, Bound, Bounds, Buffer, BufferId, Claim, Options, Problem, Step, Strategy, Witness,
    plan,
};
use std::cell::Cell;
use std::cmp::Reverse;

pub(crate) const TINY: Kind = Kind {
    buffers: 6,
    steps: 5,
    bytes: 8,
    alignments: &[1, 2, 3, 4],
    arenas: 1,
    limits: false,
    ragged: true,
    fixed: true,
    pairs: true,
};

/// The bytes that a buffer uses, from its offset: a bit a byte, a word a step.
fn painted(buffer: &Buffer) -> [u128; 5] {
    let mut words = [0; 5];
    for rect in &buffer.extent {
        for step in rect.steps.start.0..rect.steps.end.0 {
            for byte in rect.lo..rect.hi {
                words[step as usize] |= 1 << byte;
            }
        }
    }
    words
}

struct Search<'a> {
    problem: &'a Problem,
    painted: Vec<[u128; 5]>,
    order: Vec<BufferId>,
    offsets: Vec<(BufferId, u64)>,
}

impl Search<'_> {
    fn allowed(&self, a: (BufferId, u64), b: (BufferId, u64)) -> bool {
        let words = self.painted[a.0.index()]
            .iter()
            .zip(&self.painted[b.0.index()]);
        let apart = words.into_iter().all(|(x, y)| (x << a.1) & (y << b.1) == 0);
        apart
            || self.problem.pairs().iter().any(|p| {
                (p.lower == a.0 && p.upper == b.0 && b.1 >= a.1 + p.distance)
                    || (p.lower == b.0 && p.upper == a.0 && a.1 >= b.1 + p.distance)
            })
    }

    /// Whether the rest of the order fits under `height`.
    fn fits(&mut self, height: u64) -> bool {
        let Some(&id) = self.order.get(self.offsets.len()) else {
            return true;
        };
        let buffer = &self.problem.buffers()[id];
        let unit = buffer.alignment * self.problem.arenas()[ArenaId::from_index(0)].alignment;
        let step = (1..=unit).find(|o| {
            o % buffer.alignment == 0
                && o % self.problem.arenas()[ArenaId::from_index(0)].alignment == 0
        });
        let mut offset = buffer.fixed_offset.unwrap_or(0);
        while offset + buffer.size() <= height {
            if self
                .offsets
                .iter()
                .all(|&other| self.allowed((id, offset), other))
            {
                self.offsets.push((id, offset));
                if self.fits(height) {
                    return true;
                }
                self.offsets.pop();
            }
            if buffer.fixed_offset.is_some() {
                return false;
            }
            offset += step.expect("the product is a common multiple");
        }
        false
    }
}

/// The least height, which is known to be at most `upper`.
pub(crate) fn optimum(problem: &Problem, upper: u64) -> u64 {
    assert!(upper <= 128, "one word a step");
    let buffers = problem.buffers();
    let mut order: Vec<BufferId> = buffers
        .ids()
        .filter(|&id| !buffers[id].extent.is_empty())
        .collect();
    order.sort_by_key(|&id| {
        (
            buffers[id].fixed_offset.is_none(),
            Reverse(buffers[id].size()),
        )
    });
    let painted: Vec<[u128; 5]> = buffers.values().map(painted).collect();
    let load = |step: usize| -> u64 {
        let live = painted.iter().map(|words| words[step].count_ones());
        u64::from(live.sum::<u32>())
    };
    let lower = if problem.pairs().is_empty() {
        (0..5).map(load).max().unwrap_or(0)
    } else {
        0
    };
    let least = (lower..=upper).find(|&height| {
        let mut search = Search {
            problem,
            painted: painted.clone(),
            order: order.clone(),
            offsets: Vec::new(),
        };
        search.fits(height)
    });
    least.expect("a plan of this height was made")
}

fn best_height(problem: &Problem) -> u64 {
    let heights = Strategy::ALL.map(|s| s.run(problem).heights[ArenaId::from_index(0)]);
    heights.into_iter().min().expect("there are strategies")
}

pub(crate) fn tiny(cases: u32, kind: Kind, property: impl Fn(&Problem, &mut Tape)) {
    let make = |t: &mut Tape| generate::problem(t, kind);
    check(cases, kind.buffers, make, property);
}

/// Bound ≤ optimum ≤ height, and a claim of optimality is true.
fn bracketed(problem: &Problem, met: &Cell<u32>) {
    let bounds = Bounds::new(problem);
    let bound = bounds.arenas[ArenaId::from_index(0)].bytes;
    let height = best_height(problem);
    let optimum = optimum(problem, height);
    assert!(bound <= optimum, "bound {bound}, optimum {optimum}");
    let planned = plan(problem.clone(), &Options::default()).expect("no limits");
    assert!(planned.height() >= optimum && planned.height() <= height.max(bound));
    if planned.is_optimal() {
        assert_eq!(planned.height(), optimum);
    }
    met.set(met.get() + u32::from(planned.height() == optimum));
}

#[test]
fn the_bound_is_under_the_optimum_and_the_plan_over_it() {
    let met = Cell::new(0);
    let plain = Kind {
        ragged: false,
        fixed: false,
        pairs: false,
        ..TINY
    };
    tiny(1000, plain, |problem, _| bracketed(problem, &met));
    tiny(3000, TINY, |problem, _| bracketed(problem, &met));
    // Twelve greedy strategies nearly always find the optimum of six buffers.
    assert!(met.get() > 3600, "{}", met.get());
}

#[test]
fn no_witness_proves_a_bound_over_the_optimum() {
    let refused = Cell::new(0);
    let arena = ArenaId::from_index(0);
    tiny(800, TINY, |problem, t| {
        let mut made = t.pick(&Strategy::ALL).run(problem);
        let optimum = optimum(problem, best_height(problem));
        for _ in 0..8 {
            let step = Step(u32::try_from(t.below(6)).expect("small"));
            let alignment = t.pick(&[0, 1, 2, 3, 4, 6, 12]);
            let buffer = BufferId::from_index(t.index(8));
            let witness = t.pick(&[
                Witness::Nothing,
                Witness::Load { step, alignment },
                Witness::Load { step, alignment },
                Witness::Placed { buffer },
            ]);
            let other = t.below(2 * optimum + 2);
            let bytes = t.pick(&[optimum, made.heights[arena], other]);
            let claim = t.pick(&[
                Claim::Optimal(witness),
                Claim::Within(Bound { bytes, witness }),
            ]);
            made.claims[arena] = claim;
            let claimed = match claim {
                Claim::Within(bound) => bound.bytes,
                _ => made.heights[arena],
            };
            let accepted = violations(problem, &made).is_empty();
            assert!(!accepted || claimed <= optimum, "{claim:?} over {optimum}");
            refused.set(refused.get() + u32::from(!accepted));
        }
    });
    assert!(refused.get() > 2000, "{}", refused.get());
}
