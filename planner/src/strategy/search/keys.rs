//! In which order items are tried that could start equally low: the most constrained first.
//!
//! Of each item three numbers: its *total* (the largest load of a section that it is in), its *width*
//! (steps, or sections) and its *area* (width × size). Orders differ in which comes first (google
//! minimalloc's TWA, TAW, WAT), in how width is measured, and from the second round on in noise.

use super::shape::Shape;
use super::state::State;
use std::cmp::Reverse;

/// How to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Which number comes first, second, third: an index into [`PERMUTATIONS`].
    permutation: usize,
    /// Width in sections instead of steps.
    by_sections: bool,
    /// Noise on the numbers; 0: none.
    seed: u64,
}

/// Turns after which orders come again.
pub(super) const CYCLE: u64 = 5;

/// How much noise there is, of 1024.
const REACHES: [u64; 4] = [5, 20, 50, 100];

/// Positions of total, width and area.
const PERMUTATIONS: [[usize; 3]; 3] = [[0, 1, 2], [0, 2, 1], [1, 2, 0]];

impl Order {
    /// The order of a turn, of [`CYCLE`] in turn: three by steps, one by sections, one with noise.
    pub(super) fn of_turn(turn: u64, seed: u64) -> Self {
        let slot = turn % CYCLE;
        let rotating = turn / CYCLE + slot;
        Self {
            permutation: (if slot < 3 { slot } else { rotating } % 3) as usize,
            by_sections: slot == 3,
            seed: if slot < 4 {
                0
            } else {
                mixed(turn ^ mixed(seed)) | 1
            },
        }
    }

    /// The order of a restart: every other one with noise.
    pub(super) fn of_restart(restart: u64, seed: u64) -> Self {
        Self {
            permutation: (restart % 3) as usize,
            by_sections: restart % 7 > 3,
            seed: if restart.is_multiple_of(2) {
                0
            } else {
                mixed(restart ^ mixed(!seed)) | 1
            },
        }
    }

    /// Ranks `items`, most constrained first, into `rank`.
    pub(super) fn rank(self, state: &State<'_>, items: &mut [u32], rank: &mut [u32]) {
        let key = |&item: &u32| {
            let item = item as usize;
            let numbers = numbers(state, item, self.by_sections);
            let positions = PERMUTATIONS[self.permutation];
            (
                positions.map(|at| Reverse(self.noisy(numbers[at], item, at))),
                item,
            )
        };
        items.sort_by_cached_key(key);
        for (position, &item) in items.iter().enumerate() {
            rank[item as usize] = u32::try_from(position).expect("bounded");
        }
    }

    /// Up to ten percent more or less, in some orders less.
    fn noisy(self, number: u64, item: usize, at: usize) -> u64 {
        if self.seed == 0 {
            return number;
        }
        let reach = REACHES[(self.seed >> 40) as usize % REACHES.len()];
        let noise = mixed(self.seed ^ mixed(item as u64 * 4 + at as u64)) % (2 * reach + 1);
        number.saturating_mul(1024 - reach + noise) / 1024
    }
}

fn numbers(state: &State<'_>, item: usize, by_sections: bool) -> [u64; 3] {
    let shape: &Shape = state.shape;
    let covers = shape.covers.row(item);
    let loads = covers.iter().map(|c| state.load[c.index as usize]);
    let total = u64::try_from(loads.max().unwrap_or(0)).unwrap_or(0);
    let width = if by_sections {
        covers.len() as u64
    } else {
        u64::from(shape.steps[item])
    };
    let size = u64::try_from(shape.size[item]).unwrap_or(0);
    [total, width, width.saturating_mul(size)]
}

/// A bijection of 64-bit numbers that scatters (splitmix64's finalizer).
pub(super) fn mixed(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
