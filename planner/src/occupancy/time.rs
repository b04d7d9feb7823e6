//! Which rectangles live during these steps.
//!
//! Goes in: a problem and, one by one, the buffers that are present. Comes out: the present
//! rectangles that overlap a lifetime in time, in O(log n + found) and memory linear in the problem
//! (no interference graph is held). Rectangles are sorted by start; blocks of them keep the largest
//! end of those present, and a tree of maxima above the blocks lets a query skip the rest.

use crate::ids::{BufferId, Id};
use crate::lifetime::Lifetime;
use crate::problem::{Problem, Rect};

const BLOCK: usize = 32;

/// One rectangle of the index.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) buffer: BufferId,
    pub(crate) rect: Rect,
}

/// The rectangles of a problem, sorted by start, each present or not.
pub(crate) struct TimeIndex {
    entries: Vec<Entry>,
    starts: Vec<u32>,
    /// End of each present rectangle, 0 of an absent one.
    ends: Vec<u32>,
    /// Maxima of `ends` over blocks: a complete binary tree in an array, root at 1.
    tree: Vec<u32>,
    leaves: usize,
    /// Positions in `entries` by buffer: `of[first[b]..first[b + 1]]`.
    first: Vec<u32>,
    of: Vec<u32>,
}

impl TimeIndex {
    pub(crate) fn new(problem: &Problem, all_present: bool) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for (buffer, b) in problem.buffers().iter() {
            entries.extend(b.extent.iter().map(|&rect| Entry { buffer, rect }));
        }
        entries.sort_by_key(|e| (e.rect.steps.start, e.buffer));
        let mut first = vec![0_u32; problem.buffers().len() + 1];
        for entry in &entries {
            first[entry.buffer.index() + 1] += 1;
        }
        for index in 1..first.len() {
            first[index] += first[index - 1];
        }
        let mut next = first.clone();
        let mut of = vec![0_u32; entries.len()];
        for (position, entry) in entries.iter().enumerate() {
            let slot = &mut next[entry.buffer.index()];
            of[*slot as usize] = u32::try_from(position).expect("extents were counted");
            *slot += 1;
        }
        let leaves = entries.len().div_ceil(BLOCK).next_power_of_two();
        let mut index = Self {
            starts: entries.iter().map(|e| e.rect.steps.start.0).collect(),
            ends: vec![0; entries.len()],
            tree: vec![0; 2 * leaves],
            entries,
            leaves,
            first,
            of,
        };
        if all_present {
            index.fill();
        }
        index
    }

    fn fill(&mut self) {
        for (end, entry) in self.ends.iter_mut().zip(&self.entries) {
            *end = entry.rect.steps.end.0;
        }
        for (block, ends) in self.ends.chunks(BLOCK).enumerate() {
            self.tree[self.leaves + block] = ends.iter().copied().max().unwrap_or(0);
        }
        for node in (1..self.leaves).rev() {
            self.tree[node] = self.tree[2 * node].max(self.tree[2 * node + 1]);
        }
    }

    /// Makes a buffer present or absent.
    pub(crate) fn set_present(&mut self, buffer: BufferId, present: bool) {
        let range = self.first[buffer.index()] as usize..self.first[buffer.index() + 1] as usize;
        for slot in range {
            let position = self.of[slot] as usize;
            let end = self.entries[position].rect.steps.end.0;
            self.ends[position] = if present { end } else { 0 };
            let block = position / BLOCK;
            let last = (BLOCK * (block + 1)).min(self.ends.len());
            let most = self.ends[BLOCK * block..last].iter().copied().max();
            let mut node = self.leaves + block;
            self.tree[node] = most.unwrap_or(0);
            while node > 1 {
                node /= 2;
                let most = self.tree[2 * node].max(self.tree[2 * node + 1]);
                if self.tree[node] == most {
                    break;
                }
                self.tree[node] = most;
            }
        }
    }

    /// Calls `found` for every present rectangle that shares a step with `steps`, in order of start.
    pub(crate) fn overlapping(&self, steps: Lifetime, mut found: impl FnMut(&Entry)) {
        let until = self.starts.partition_point(|&start| start < steps.end.0);
        let after = steps.start.0;
        let mut stack = [0_usize; 64];
        let mut depth = 1;
        stack[0] = 1;
        while depth > 0 {
            depth -= 1;
            let node = stack[depth];
            if self.tree[node] <= after {
                continue;
            }
            if node < self.leaves {
                stack[depth] = 2 * node + 1;
                stack[depth + 1] = 2 * node;
                depth += 2;
                continue;
            }
            let from = (node - self.leaves) * BLOCK;
            if from >= until {
                return;
            }
            let to = (from + BLOCK).min(until);
            for position in from..to {
                if self.ends[position] > after {
                    found(&self.entries[position]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Buffer;

    fn buffer(index: usize) -> BufferId {
        BufferId::from_index(index)
    }

    #[test]
    fn the_index_finds_exactly_the_present_overlaps() {
        let buffers = (0..200_u32).map(|i| Buffer::new(format!("b{i}"), i..i + 1 + i % 7, 1));
        let problem = Problem::single(buffers.collect()).unwrap();
        let mut time = TimeIndex::new(&problem, true);
        for absent in (0..200).step_by(3) {
            time.set_present(buffer(absent), false);
        }
        for start in 0..210 {
            let steps = Lifetime::new(start, start + 4);
            let mut found = Vec::new();
            time.overlapping(steps, |e| found.push(e.buffer.index()));
            let live = |&i: &usize| problem.buffers()[buffer(i)].lifetime().overlaps(steps);
            let expected: Vec<usize> = (0..200).filter(|i| i % 3 != 0).filter(live).collect();
            assert_eq!(found, expected);
        }
    }
}
