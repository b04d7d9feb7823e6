//! The lowest feasible position of every unplaced rectangle, all at once.
//!
//! Goes in: rectangles, then "everything live during these steps is at least this high". Comes out:
//! the rectangle with the lowest position, ties by rank. A tree over the rectangles, split by start
//! and by end in turn (Bentley's k-d tree, 1975), in which each node keeps its least position and the
//! least above that; raising many positions at once touches only nodes where that order changes (the
//! "segment tree beats" of Ji, 2016).

use crate::ids::BufferId;
use crate::lifetime::Lifetime;
use crate::problem::Rect;

/// No position: the rectangle is placed, or not in this arena.
const NONE: u64 = u64::MAX;

#[derive(Clone, Copy)]
struct Node {
    /// Least position below here.
    least: u64,
    /// Least position that is higher than `least`.
    second: u64,
    /// Least rank among those at `least`.
    rank: u32,
    /// Least and greatest start and end of life below here.
    first_start: u32,
    last_start: u32,
    first_end: u32,
    last_end: u32,
}

const ABSENT: Node = Node {
    least: NONE,
    second: NONE,
    rank: u32::MAX,
    first_start: u32::MAX,
    last_start: 0,
    first_end: u32::MAX,
    last_end: 0,
};

/// A rectangle of a buffer.
#[derive(Clone, Copy)]
pub(in crate::strategy) struct Entry {
    pub(in crate::strategy) buffer: BufferId,
    pub(in crate::strategy) rect: Rect,
}

/// Positions of unplaced rectangles.
pub(super) struct Tree {
    entries: Vec<Entry>,
    nodes: Vec<Node>,
    leaves: usize,
}

impl Tree {
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        let leaves = entries.len().next_power_of_two();
        spread(&mut entries, leaves, true);
        Self {
            nodes: vec![ABSENT; 2 * leaves],
            entries,
            leaves,
        }
    }

    /// In the order of the leaves.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Puts the rectangles of all wanted buffers at position 0 and forgets all others.
    pub(super) fn reset(&mut self, rank: impl Fn(BufferId) -> Option<u32>) {
        for (position, entry) in self.entries.iter().enumerate() {
            let (start, end) = entry.rect.steps.into();
            self.nodes[self.leaves + position] = rank(entry.buffer).map_or(ABSENT, |rank| Node {
                // Its bottom is as far above the offset 0 as the rectangle begins.
                least: entry.rect.lo,
                second: NONE,
                rank,
                first_start: start,
                last_start: start,
                first_end: end,
                last_end: end,
            });
        }
        for node in (1..self.leaves).rev() {
            self.pull(node);
        }
    }

    /// The least position and the least rank there; nothing if there is none.
    pub(super) fn least(&self) -> Option<(u64, u32)> {
        let Node { least, rank, .. } = self.nodes[1];
        (least < NONE).then_some((least, rank))
    }

    /// The leaf of the rectangle that [`Self::least`] speaks of; there is one.
    pub(super) fn lowest(&mut self) -> usize {
        let Node { least, rank, .. } = self.nodes[1];
        let mut node = 1;
        while node < self.leaves {
            self.push(node);
            let left = self.nodes[2 * node];
            node = 2 * node + usize::from(left.least != least || left.rank != rank);
        }
        node - self.leaves
    }

    /// The position of a rectangle.
    pub(super) fn position(&self, at: usize) -> u64 {
        let mut node = self.leaves + at;
        let mut position = 0;
        while node > 0 {
            position = position.max(self.nodes[node].least);
            node /= 2;
        }
        position
    }

    /// Sets the position of a rectangle.
    pub(super) fn set(&mut self, at: usize, position: u64) {
        let leaf = self.leaves + at;
        for level in (1..=self.leaves.ilog2()).rev() {
            self.push(leaf >> level);
        }
        self.nodes[leaf].least = position;
        self.pull_up(leaf);
    }

    /// Forgets a rectangle.
    pub(super) fn remove(&mut self, at: usize) {
        let leaf = self.leaves + at;
        for level in (1..=self.leaves.ilog2()).rev() {
            self.push(leaf >> level);
        }
        self.nodes[leaf] = ABSENT;
        self.pull_up(leaf);
    }

    /// Everything unplaced that is live during `steps` is at `position` or higher.
    pub(super) fn raise(&mut self, steps: Lifetime, position: u64) {
        let (after, until) = steps.into();
        let raise = Raise {
            until,
            after,
            position,
        };
        self.raise_in(1, raise);
    }

    fn raise_in(&mut self, node: usize, raise: Raise) {
        let at = self.nodes[node];
        let apart = at.first_start >= raise.until || at.last_end <= raise.after;
        if apart || at.least >= raise.position {
            return;
        }
        let whole = at.last_start < raise.until && at.first_end > raise.after;
        if whole && raise.position < at.second || node >= self.leaves {
            self.nodes[node].least = raise.position;
            return;
        }
        self.push(node);
        self.raise_in(2 * node, raise);
        self.raise_in(2 * node + 1, raise);
        self.pull(node);
    }

    /// Hands a raise on to the children.
    fn push(&mut self, node: usize) {
        let least = self.nodes[node].least;
        for child in [2 * node, 2 * node + 1] {
            if self.nodes[child].least < least {
                self.nodes[child].least = least;
            }
        }
    }

    fn pull(&mut self, node: usize) {
        let (a, b) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        let (least, second, rank) = match a.least.cmp(&b.least) {
            std::cmp::Ordering::Less => (a.least, a.second.min(b.least), a.rank),
            std::cmp::Ordering::Greater => (b.least, b.second.min(a.least), b.rank),
            std::cmp::Ordering::Equal => (a.least, a.second.min(b.second), a.rank.min(b.rank)),
        };
        self.nodes[node] = Node {
            least,
            second,
            rank,
            first_start: a.first_start.min(b.first_start),
            last_start: a.last_start.max(b.last_start),
            first_end: a.first_end.min(b.first_end),
            last_end: a.last_end.max(b.last_end),
        };
    }

    fn pull_up(&mut self, leaf: usize) {
        let mut node = leaf / 2;
        while node > 0 {
            self.pull(node);
            node /= 2;
        }
    }
}

#[derive(Clone, Copy)]
struct Raise {
    /// Rectangles that start before this step …
    until: u32,
    /// … and end after this one.
    after: u32,
    position: u64,
}

/// Orders rectangles so that every node of a tree over `width` leaves splits them in two, by start
/// and by end in turn (a k-d tree): what is live during some steps then lies below O(√n) nodes.
fn spread(entries: &mut [Entry], width: usize, by_start: bool) {
    let half = width / 2;
    if entries.len() <= 1 || half == 0 {
        return;
    }
    if entries.len() <= half {
        return spread(entries, half, by_start);
    }
    let key = |e: &Entry| {
        let (start, end) = e.rect.steps.into();
        let (first, second) = if by_start { (start, end) } else { (end, start) };
        (first, second, e.buffer, e.rect.lo)
    };
    entries.select_nth_unstable_by_key(half, key);
    let (low, high) = entries.split_at_mut(half);
    spread(low, half, !by_start);
    spread(high, half, !by_start);
}
