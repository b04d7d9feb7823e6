//! Exact search for buffers with holes, and such as begin above their own offset.
//!
//! Two plain buffers lie one above the other, and `dfs` builds plans from the bottom. A buffer with a hole, or
//! one that begins higher at some steps than at others, can lie below another one at one step and above it
//! at the next, and what is in its way may start higher than itself. So here nothing is placed: of
//! every two items the *distances* of their offsets are known that are allowed, as ranges,
//!
//! ```text
//! a ▓▓▓▓              b may start at ..-2 (below), 2..4 (in the hole), 8.. (above), from a
//!   ▓▓▓▓  ▓▓▓▓
//!   ▓▓▓▓  b b b
//! ```
//!
//! and the search decides which of them holds. Whatever was decided gives every item a lowest offset, a
//! longest path. Two items that cannot both be at theirs are decided next; when there are none, that
//! is a plan. (Branching on who comes first is that of Balas for job shops, Operations Research 17,
//! 1969.) Depth first, the range first that raises least.

use super::distances::{FAR, Range, distances};
use super::{Limits, Spent};
use crate::ids::{ArenaId, BufferId};
use crate::problem::Problem;
use std::collections::VecDeque;

/// With more rectangles in all it is not tried: each is compared with each.
const RECTANGLES: usize = 1 << 12;
/// Nor with more pairs of buffers that meet: the search is as deep as there are.
const LINKS: usize = 1 << 15;
/// Nodes between two questions whether to stop.
const ASK: u64 = 256;

/// What was found.
pub(super) struct Ranged {
    /// Better offsets in bytes, if there are any.
    pub(super) offsets: Option<Vec<u64>>,
    pub(super) height: u64,
    pub(super) bound: u64,
    pub(super) spent: Spent,
}

/// What is known beforehand.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) height: u64,
    pub(super) bound: u64,
    /// Nodes so far, elsewhere.
    pub(super) nodes: u64,
}

/// How the search within a capacity ended.
#[derive(PartialEq, Eq)]
enum Outcome {
    Found,
    Exhausted,
    Stopped,
}

/// Two items, and how far above the first the second may start.
struct Link {
    ends: [usize; 2],
    ranges: Vec<Range>,
}

/// `to` starts at least this far above `from`.
#[derive(Clone, Copy)]
struct Bond {
    from: usize,
    to: usize,
    distance: i128,
}

/// Lengths of the trail and of what was decided.
type Mark = (usize, usize);

struct Search<'a> {
    limits: &'a Limits<'a>,
    links: Vec<Link>,
    size: Vec<u64>,
    align: Vec<u64>,
    fixed: Vec<Option<u64>>,
    least: Vec<u64>,
    most: Vec<u64>,
    /// By item, the bonds that begin there.
    bonds: Vec<Vec<Bond>>,
    /// Whose bonds there are, in the order in which they came.
    decided: Vec<usize>,
    /// Who was raised, and from where.
    trail: Vec<(usize, u64)>,
    nodes: u64,
    work: u64,
    stopped: bool,
}

/// Searches for plans of `ids` under `height`, or within what is enough, until there are none.
pub(super) fn search(
    (problem, arena): (&Problem, ArenaId),
    ids: &[BufferId],
    known: Known,
    limits: &Limits<'_>,
) -> Ranged {
    let mut found = Ranged {
        offsets: None,
        height: known.height,
        bound: known.bound,
        spent: Spent::default(),
    };
    let Some(mut search) = Search::new(problem, arena, ids, limits) else {
        return found;
    };
    while found.height > found.bound && !limits.answered(found.height, found.bound) {
        let under = found.height - 1;
        let capacity = limits.enough.map_or(under, |enough| enough.min(under));
        match search.within(capacity) {
            Outcome::Found => {
                found.height = search.height();
                found.offsets = Some(search.least.clone());
            }
            Outcome::Exhausted => found.bound = capacity + 1,
            Outcome::Stopped => break,
        }
        limits.tell(found.height, found.bound, known.nodes + search.nodes);
    }
    found.spent = Spent {
        nodes: search.nodes,
        work: search.work,
    };
    found
}

/// Whether there are few enough rectangles.
pub(super) fn is_small(problem: &Problem, ids: &[BufferId]) -> bool {
    let rects = ids.iter().map(|&id| problem.buffers()[id].extent.len());
    rects.sum::<usize>() <= RECTANGLES
}

/// Every two items whose distance is not free; nothing where they are too many.
fn links(problem: &Problem, ids: &[BufferId], align: &[u64]) -> Option<Vec<Link>> {
    let mut links = Vec::new();
    for second in 0..ids.len() {
        for first in 0..second {
            let ends = [first, second];
            let ranges = distances(problem, ends.map(|at| ids[at]), ends.map(|at| align[at]));
            if ranges != [(-FAR, FAR)] {
                links.push(Link { ends, ranges });
            }
        }
        if links.len() > LINKS {
            return None;
        }
    }
    Some(links)
}

impl<'a> Search<'a> {
    fn new(
        problem: &Problem,
        arena: ArenaId,
        ids: &[BufferId],
        limits: &'a Limits<'a>,
    ) -> Option<Self> {
        let buffer = |id: &BufferId| &problem.buffers()[*id];
        let align: Vec<u64> = ids.iter().map(|&id| problem.alignment(id, arena)).collect();
        Some(Self {
            limits,
            links: links(problem, ids, &align)?,
            size: ids.iter().map(|id| buffer(id).size()).collect(),
            fixed: ids.iter().map(|id| buffer(id).fixed_offset).collect(),
            align,
            least: Vec::new(),
            most: Vec::new(),
            bonds: Vec::new(),
            decided: Vec::new(),
            trail: Vec::new(),
            nodes: 0,
            work: 0,
            stopped: false,
        })
    }

    fn height(&self) -> u64 {
        let ends = self.least.iter().zip(&self.size);
        ends.map(|(at, size)| at + size).max().unwrap_or(0)
    }

    /// Searches for a plan within `capacity` bytes; it is in `least` then.
    fn within(&mut self, capacity: u64) -> Outcome {
        let places = self.size.iter().zip(&self.fixed).map(|(size, fixed)| {
            let highest = capacity.checked_sub(*size)?;
            let range = fixed.map_or((0, highest), |fixed| (fixed, fixed));
            (range.1 <= highest).then_some(range)
        });
        let Some(places) = places.collect::<Option<Vec<(u64, u64)>>>() else {
            return Outcome::Exhausted;
        };
        (self.least, self.most) = places.into_iter().unzip();
        self.bonds = vec![Vec::new(); self.size.len()];
        self.decided.clear();
        self.trail.clear();
        self.node()
    }

    /// Decides about two items that cannot both be where they are lowest.
    fn node(&mut self) -> Outcome {
        self.nodes += 1;
        self.work += self.links.len() as u64;
        let cancelled = || self.limits.cancel.is_some_and(|cancel| cancel());
        self.stopped |= self.work > self.limits.work
            || self.nodes > self.limits.nodes
            || (self.nodes.is_multiple_of(ASK) && cancelled());
        if self.stopped {
            return Outcome::Stopped;
        }
        let open = (0..self.links.len()).filter(|&link| !self.holds(link));
        let smaller = |link: &usize| {
            self.links[*link]
                .ends
                .map(|item| self.size[item])
                .into_iter()
                .min()
        };
        let Some(link) = open.max_by_key(|link| (smaller(link), std::cmp::Reverse(*link))) else {
            return Outcome::Found;
        };
        for range in self.by_raise(link) {
            let mark = (self.trail.len(), self.decided.len());
            if self.decide(link, range) && self.node() == Outcome::Found {
                return Outcome::Found;
            }
            self.back(mark);
            if self.stopped {
                return Outcome::Stopped;
            }
        }
        Outcome::Exhausted
    }

    /// How far the second item of a link is above the first now.
    fn distance(&self, link: usize) -> i128 {
        let [first, second] = self.links[link].ends;
        i128::from(self.least[second]) - i128::from(self.least[first])
    }

    fn holds(&self, link: usize) -> bool {
        let distance = self.distance(link);
        let mut ranges = self.links[link].ranges.iter();
        ranges.any(|&(least, most)| least <= distance && distance <= most)
    }

    /// The ranges of a link, those first that raise least.
    fn by_raise(&self, link: usize) -> Vec<Range> {
        let distance = self.distance(link);
        let mut ranges = self.links[link].ranges.clone();
        ranges.sort_by_key(|&(least, most)| (least - distance).max(distance - most));
        ranges
    }

    /// The distance of a link lies in `range` from now on. Whether that is possible, as far as can be seen.
    fn decide(&mut self, link: usize, (least, most): Range) -> bool {
        let [first, second] = self.links[link].ends;
        let bond = |from, to, distance| Bond { from, to, distance };
        let both = [bond(first, second, least), bond(second, first, -most)];
        for bond in both.into_iter().filter(|bond| bond.distance > -FAR) {
            self.bonds[bond.from].push(bond);
            self.decided.push(bond.from);
        }
        self.settle(&[first, second])
    }

    /// Raises everything to where the bonds allow it to be. Whether it stays within the capacity.
    fn settle(&mut self, changed: &[usize]) -> bool {
        let mut queue: VecDeque<usize> = changed.iter().copied().collect();
        let mut times = vec![0_usize; self.size.len()];
        while let Some(from) = queue.pop_front() {
            times[from] += 1;
            if times[from] == self.size.len() + 3 && self.is_endless() {
                return false;
            }
            // Alignments can raise things some more times, or for ever: that is not found out.
            self.stopped = times[from] > 8 * self.size.len() + 64 || self.work > self.limits.work;
            if self.stopped {
                return false;
            }
            self.work += 1 + self.bonds[from].len() as u64;
            for at in 0..self.bonds[from].len() {
                let Bond { to, distance, .. } = self.bonds[from][at];
                let offset = i128::from(self.least[from]) + distance;
                let offset = u64::try_from(offset.max(0)).unwrap_or(u64::MAX);
                if offset <= self.least[to] {
                    continue;
                }
                let Some(offset) = offset.checked_next_multiple_of(self.align[to]) else {
                    return false;
                };
                if offset > self.most[to] {
                    return false;
                }
                self.trail.push((to, self.least[to]));
                self.least[to] = offset;
                if !queue.contains(&to) {
                    queue.push_back(to);
                }
            }
        }
        true
    }

    /// Whether some items have to start above themselves, alignments aside (a cycle that Bellman and Ford's
    /// rounds do not come to an end with).
    fn is_endless(&mut self) -> bool {
        let mut above = vec![0_i128; self.size.len()];
        for _ in 0..=above.len() {
            let mut raised = false;
            for &Bond { from, to, distance } in self.bonds.iter().flatten() {
                self.work += 1;
                raised |= above[to] < above[from] + distance;
                above[to] = above[to].max(above[from] + distance);
            }
            if !raised {
                return false;
            }
        }
        true
    }

    fn back(&mut self, mark: Mark) {
        for (item, least) in self.trail.drain(mark.0..).rev() {
            self.least[item] = least;
        }
        for item in self.decided.drain(mark.1..).rev() {
            self.bonds[item].pop();
        }
    }
}
