//! The lowest feasible position of every unplaced rectangle, all at once.
//!
//! A tree ([`tree`]) for each alignment, in which all positions are multiples of it: what lies on a buffer is
//! rounded up once for all that are above, not for each when its turn comes. Where there are too many
//! alignments, the last tree holds the rest, and its positions are multiples of what they have in common.

mod tree;

use crate::ids::{ArenaId, BufferId, Id};
use crate::lifetime::Lifetime;
use crate::numbers::gcd;
use crate::problem::Problem;
use std::collections::BTreeMap;
use tree::{Entry, Tree};

/// Trees at most.
const TREES: usize = 8;

struct Class {
    tree: Tree,
    /// The rectangle of its first leaf, among those of all trees.
    first: usize,
    /// All positions are multiples of this many bytes.
    grain: u64,
}

/// Positions of unplaced rectangles.
pub(super) struct Floors {
    classes: Vec<Class>,
    /// Rectangles by buffer: `of[first[b]..first[b + 1]]`.
    first: Vec<u32>,
    of: Vec<u32>,
}

impl Floors {
    pub(super) fn new(problem: &Problem) -> Self {
        let mut first = vec![0_u32];
        let mut count = 0;
        for buffer in problem.buffers().values() {
            count += buffer.extent.len();
            first.push(u32::try_from(count).expect("extents of u32 buffers"));
        }
        let mut classes: Vec<Class> = Vec::new();
        let mut from = 0;
        for entries in sorted(problem) {
            let tree = Tree::new(entries);
            let next = from + tree.entries().len();
            classes.push(Class {
                tree,
                first: from,
                grain: 1,
            });
            from = next;
        }
        let mut next = first.clone();
        let mut of = vec![0_u32; count];
        let entries = classes.iter().flat_map(|class| class.tree.entries());
        for (entry, at) in entries.zip(0_u32..) {
            let slot = &mut next[entry.buffer.index()];
            of[*slot as usize] = at;
            *slot += 1;
        }
        Self { classes, first, of }
    }

    /// Puts the rectangles of all buffers with a rank into `arena`, at position 0, and forgets all others.
    pub(super) fn reset(
        &mut self,
        problem: &Problem,
        arena: ArenaId,
        rank: impl Fn(BufferId) -> Option<u32>,
    ) {
        for class in &mut self.classes {
            class.tree.reset(&rank);
            let entries = class.tree.entries().iter();
            let here = entries.filter(|entry| rank(entry.buffer).is_some());
            let grain = here.fold(0, |grain, entry| {
                let alignment = problem.alignment(entry.buffer, arena);
                gcd(gcd(grain, alignment), entry.rect.lo)
            });
            class.grain = grain.max(1);
        }
    }

    /// The rectangles of a buffer.
    pub(super) fn of(&self, buffer: BufferId) -> impl Iterator<Item = usize> + use<'_> {
        let range = self.first[buffer.index()] as usize..self.first[buffer.index() + 1] as usize;
        self.of[range].iter().map(|&at| at as usize)
    }

    /// The class of a rectangle, and its leaf there.
    fn class(&self, at: usize) -> (usize, usize) {
        let after = self.classes.iter().position(|class| class.first > at);
        let class = after.unwrap_or(self.classes.len()) - 1;
        (class, at - self.classes[class].first)
    }

    pub(super) fn entry(&self, at: usize) -> Entry {
        let (class, leaf) = self.class(at);
        self.classes[class].tree.entries()[leaf]
    }

    /// The rectangle with the least position (then the least rank), and that position.
    pub(super) fn lowest(&mut self) -> Option<(usize, u64)> {
        let classes = self.classes.iter_mut();
        let least = classes.filter_map(|class| Some((class.tree.least()?, class)));
        let ((position, _), class) = least.min_by_key(|(least, _)| *least)?;
        Some((class.first + class.tree.lowest(), position))
    }

    /// The position of a rectangle.
    pub(super) fn position(&self, at: usize) -> u64 {
        let (class, leaf) = self.class(at);
        self.classes[class].tree.position(leaf)
    }

    /// Sets the position of a rectangle.
    pub(super) fn set(&mut self, at: usize, position: u64) {
        let (class, leaf) = self.class(at);
        self.classes[class].tree.set(leaf, position);
    }

    /// The buffer has been placed.
    pub(super) fn remove(&mut self, buffer: BufferId) {
        for slot in self.first[buffer.index()]..self.first[buffer.index() + 1] {
            let (class, leaf) = self.class(self.of[slot as usize] as usize);
            self.classes[class].tree.remove(leaf);
        }
    }

    /// Everything unplaced that is live during `steps` is at `position` or higher.
    pub(super) fn raise(&mut self, steps: Lifetime, position: u64) {
        for class in &mut self.classes {
            let up = position.checked_next_multiple_of(class.grain);
            class.tree.raise(steps, up.unwrap_or(position));
        }
    }
}

/// The rectangles of a problem by alignment; of the most frequent alignments first, the others together.
fn sorted(problem: &Problem) -> Vec<Vec<Entry>> {
    let alignment = |id| {
        let arena = problem.buffers()[id].arenas[0];
        problem.alignment(id, arena)
    };
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for (id, buffer) in problem.buffers().iter() {
        *counts.entry(alignment(id)).or_default() += buffer.extent.len();
    }
    let mut order: Vec<(usize, u64)> = counts.iter().map(|(&a, &count)| (count, a)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    let frequent: BTreeMap<u64, usize> = order
        .iter()
        .take(TREES - 1)
        .enumerate()
        .map(|(class, &(_, alignment))| (alignment, class))
        .collect();
    let mut sorted: Vec<Vec<Entry>> = vec![Vec::new(); order.len().min(TREES)];
    for (buffer, b) in problem.buffers().iter() {
        let entries = b.extent.iter().map(|&rect| Entry { buffer, rect });
        let class = frequent.get(&alignment(buffer));
        sorted[class.copied().unwrap_or(TREES - 1)].extend(entries);
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifetime::Lifetime;
    use crate::problem::Buffer;

    #[test]
    fn it_knows_what_a_scan_knows() {
        let mut state = 11_u64;
        let mut draw = |limit: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            u32::try_from(state >> 33).unwrap() % limit
        };
        let lives: Vec<(u32, u32)> = (0..70)
            .map(|_| (draw(30), draw(9)))
            .map(|(s, d)| (s, s + 1 + d))
            .collect();
        let alignment = |index: usize| [1, 4, 6][index % 3];
        let buffers = lives.iter().enumerate().map(|(index, &(start, end))| {
            Buffer::new("b", start..end, 1).aligned(alignment(index))
        });
        let problem = Problem::single(buffers.collect()).unwrap();
        let mut floors = Floors::new(&problem);
        let arena = ArenaId::from_index(0);
        floors.reset(&problem, arena, |id| {
            Some(u32::try_from(id.index()).unwrap() % 7)
        });
        let mut scan: Vec<Option<u64>> = vec![Some(0); lives.len()];
        for round in 0..1500 {
            let (start, width) = (draw(30), 1 + draw(12));
            let steps = Lifetime::new(start, start + width);
            let position = u64::from(draw(2 * round / 10 + 2));
            floors.raise(steps, position);
            for (index, (floor, &life)) in scan.iter_mut().zip(&lives).enumerate() {
                if Lifetime::from(life).overlaps(steps) {
                    let up = position.next_multiple_of(alignment(index));
                    *floor = floor.map(|f| f.max(up));
                }
            }
            if round % 20 == 19 {
                let victim = draw(70) as usize;
                scan[victim] = None;
                floors.remove(BufferId::from_index(victim));
            }
            let found = floors
                .lowest()
                .map(|(at, least)| (least, floors.entry(at).buffer.index() % 7));
            let expected = scan
                .iter()
                .enumerate()
                .filter_map(|(i, f)| Some(((*f)?, i % 7)))
                .min();
            assert_eq!(found, expected);
            for (index, floor) in scan
                .iter()
                .enumerate()
                .filter_map(|(i, f)| Some((i, (*f)?)))
            {
                let at = floors.of(BufferId::from_index(index)).next().unwrap();
                assert_eq!(floors.position(at), floor);
            }
        }
    }
}
