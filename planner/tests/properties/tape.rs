//! Random inputs that shrink: imperative generators that read a tape of numbers.
//!
//! `proptest` makes and shrinks the tape; a generator draws from it and gets zeros at its end, so
//! that a shorter tape of smaller numbers is a smaller input. The same file serves both crates.
//!
//! Runs are the same every time. `PROPTEST_RNG_SEED=n` draws other inputs, `PROPTEST_CASES=2560`
//! ten times as many as usual.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use std::fmt::Debug;

/// Numbers to draw from, in rows: one for each thing to be made, so that fewer rows are fewer things.
pub(crate) struct Tape {
    rows: Vec<Vec<u32>>,
    row: usize,
    at: usize,
    /// State of a generator that takes over at the end, where there is one.
    endless: Option<u64>,
}

impl Tape {
    fn new(rows: Vec<Vec<u32>>, endless: Option<u64>) -> Self {
        let (row, at) = (0, 0);
        Self {
            rows,
            row,
            at,
            endless,
        }
    }

    /// Goes on to the next row; false if there is none.
    pub(crate) fn next_row(&mut self) -> bool {
        (self.row, self.at) = (self.row + 1, 0);
        self.row < self.rows.len()
    }

    fn word(&mut self) -> u32 {
        self.at += 1;
        let row = self.rows.get(self.row);
        match (row.and_then(|row| row.get(self.at - 1)), &mut self.endless) {
            (Some(&word), _) => word,
            (None, None) => 0,
            (None, Some(state)) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                (mixed(*state) >> 32) as u32
            }
        }
    }

    /// A number under `limit` (0 if that is 0), smaller for smaller words.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        let word = u128::from(self.word());
        u64::try_from((word * u128::from(limit)) >> 32).expect("it is under the limit")
    }

    /// An index under `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("it is under a usize")
    }

    /// True in about `percent` of all draws; never at the end of the tape.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) >= 100 - percent
    }

    /// One of these, the first at the end of the tape.
    pub(crate) fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.index(options.len())]
    }
}

/// A bijection that scatters (the finisher of splitmix64).
pub(crate) fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Makes `cases` inputs from tapes of up to `rows` rows and shows each to `property`, which panics
/// where it does not hold and has an endless tape of its own. Panics with the smallest input found.
pub(crate) fn check<T: Debug>(
    cases: u32,
    rows: usize,
    make: impl Fn(&mut Tape) -> T,
    property: impl Fn(&T, &mut Tape),
) {
    let mut config = Config::default();
    config.cases = cases * config.cases.max(256) / 256;
    config.failure_persistence = None;
    config.max_shrink_iters = 4096;
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0xbab1a);
    }
    // The first row is for the whole, the others for its parts.
    let inputs = (vec(vec(any::<u32>(), 40), 1..=1 + rows), any::<u64>());
    let result = TestRunner::new(config).run(&inputs, |(rows, seed)| {
        let input = make(&mut Tape::new(rows, None));
        property(&input, &mut Tape::new(Vec::new(), Some(seed)));
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, (rows, seed))) => panic!(
            "{reason}\nsmallest failing input (then seed {seed}):\n{:?}",
            make(&mut Tape::new(rows, None))
        ),
        Err(error) => panic!("{error}"),
    }
}
