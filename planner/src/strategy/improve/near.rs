//! Who lives during these steps, among rectangles that are known from the start.
//!
//! Rectangles are sorted into classes by length: class `k` holds those of more than `2^(k-1)` and at most
//! `2^k` steps, cut into cells by start. What is live during some steps then begins in those steps or
//! at most one cell earlier, so that a look costs little more than what it finds, however different the
//! lengths are. Time is compressed to the ranks of starts first; memory is linear.

use crate::lifetime::Lifetime;

/// Live from `start` to before `end`, in ranks.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
    index: u32,
}

#[derive(Debug)]
struct Class {
    shift: u32,
    /// Where each cell of `2^shift` ranks begins in `spans`.
    cells: Vec<u32>,
    spans: Vec<Span>,
}

/// An index of rectangles over time.
#[derive(Debug)]
pub(super) struct Near {
    classes: Vec<Class>,
    /// Life of each rectangle, in ranks.
    lives: Vec<(u32, u32)>,
}

impl Near {
    /// Nothing if `stop` says so.
    pub(super) fn new(lives: &[Lifetime], stop: &dyn Fn() -> bool) -> Option<Self> {
        let ranks = Ranks::new(lives);
        let mut ranked: Vec<(u32, u32)> = Vec::with_capacity(lives.len());
        for some in lives.chunks(SOME) {
            if stop() {
                return None;
            }
            let both = |life: &Lifetime| (ranks.before(life.start.0), ranks.before(life.end.0));
            ranked.extend(some.iter().map(both));
        }
        let lives = ranked;
        let mut classes: Vec<Vec<Span>> = vec![Vec::new(); 33];
        for (index, &(start, end)) in lives.iter().enumerate() {
            let class = 32 - (end - start - 1).leading_zeros();
            let index = u32::try_from(index).expect("ids are u32");
            classes[class as usize].push(Span { start, end, index });
        }
        let classes = classes.into_iter().zip(0_u32..);
        let classes = classes.filter(|(spans, _)| !spans.is_empty());
        let classes = classes.map(|(spans, shift)| {
            let class = || Class::new(spans, shift, ranks.count());
            (!stop()).then(class)
        });
        Some(Self {
            classes: classes.collect::<Option<_>>()?,
            lives,
        })
    }

    /// Calls `found` for every rectangle that shares a step with rectangle `index`, itself included.
    /// Returns how many were looked at.
    pub(super) fn each(&self, index: usize, mut found: impl FnMut(usize)) -> usize {
        let (start, end) = self.lives[index];
        let mut looked = 0;
        for class in &self.classes {
            let spans = class.reach(start, end);
            looked += spans.len();
            for span in spans {
                if span.start < end && start < span.end {
                    found(span.index as usize);
                }
            }
        }
        looked
    }
}

/// Ranks of steps among the starts.
enum Ranks {
    /// How many starts are before each step: where there are few steps for each rectangle.
    Dense(Vec<u32>),
    /// The starts in ascending order.
    Sparse(Vec<u32>),
}

/// With at most so many steps for each rectangle, the ranks of all are kept.
const DENSE: usize = 8;
/// So many ranks are looked up between two looks at whether to stop.
const SOME: usize = 1 << 14;

impl Ranks {
    fn new(lives: &[Lifetime]) -> Self {
        let last = lives.iter().map(|life| life.end.0).max().unwrap_or(0) as usize;
        if last <= DENSE * lives.len() {
            let mut before = vec![0_u32; last + 2];
            for life in lives {
                before[life.start.0 as usize + 1] = 1;
            }
            for step in 1..before.len() {
                before[step] += before[step - 1];
            }
            return Self::Dense(before);
        }
        let mut starts: Vec<u32> = lives.iter().map(|life| life.start.0).collect();
        starts.sort_unstable();
        starts.dedup();
        Self::Sparse(starts)
    }

    /// Starts before a step.
    fn before(&self, step: u32) -> u32 {
        match self {
            Self::Dense(before) => before[step as usize],
            Self::Sparse(starts) => {
                let before = starts.partition_point(|&start| start < step);
                u32::try_from(before).expect("ids are u32")
            }
        }
    }

    /// All starts.
    fn count(&self) -> usize {
        match self {
            Self::Dense(before) => before.last().copied().unwrap_or(0) as usize,
            Self::Sparse(starts) => starts.len(),
        }
    }
}

impl Class {
    fn new(mut spans: Vec<Span>, shift: u32, ranks: usize) -> Self {
        spans.sort_unstable_by_key(|span| (span.start, span.index));
        let mut cells = vec![0_u32; (ranks >> shift) + 2];
        for span in &spans {
            cells[(span.start >> shift) as usize + 1] += 1;
        }
        for cell in 1..cells.len() {
            cells[cell] += cells[cell - 1];
        }
        Self {
            shift,
            cells,
            spans,
        }
    }

    /// Those that may be live between `start` and `end`.
    fn reach(&self, start: u32, end: u32) -> &[Span] {
        let last = self.cells.len() - 1;
        let from = (start >> self.shift).saturating_sub(1) as usize;
        let to = ((end - 1) >> self.shift) as usize + 1;
        let [from, to] = [from, to].map(|cell| self.cells[cell.min(last)] as usize);
        &self.spans[from..to]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some hundreds of lives; starts are multiples of `apart`, one life in nine is long.
    fn drawn(apart: u32, long: u32) -> Vec<Lifetime> {
        let mut state = 5_u32;
        let mut draw = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % limit
        };
        let life = |index| {
            let start = draw(3000) * apart;
            let length = 1 + draw(if index % 9 == 0 { long } else { 60 });
            Lifetime::new(start, start + length)
        };
        (0..400).map(life).collect()
    }

    #[test]
    fn it_finds_whoever_shares_a_step() {
        // Dense and sparse.
        for lives in [drawn(1, 150), drawn(7, 20_000)] {
            let near = Near::new(&lives, &|| false).unwrap();
            let mut looked = 0;
            for (index, life) in lives.iter().enumerate() {
                let mut found = Vec::new();
                looked += near.each(index, |other| found.push(other));
                found.sort_unstable();
                let live = |&other: &usize| lives[other].overlaps(*life);
                let expected: Vec<usize> = (0..lives.len()).filter(live).collect();
                assert_eq!(found, expected);
            }
            assert!(looked < lives.len() * lives.len() / 2, "{looked}");
        }
        assert!(Near::new(&drawn(1, 150), &|| true).is_none());
    }
}
