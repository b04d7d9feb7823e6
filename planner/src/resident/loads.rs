//! Loads over compressed steps: add to a range, ask for the largest in a range, each in O(log n).

/// A tree of maxima, in which what is added to a whole range stays at its top.
pub(super) struct Loads {
    leaves: usize,
    /// The largest load below each node, without what its ancestors added.
    most: Vec<u64>,
    /// Added to everything below.
    added: Vec<u64>,
}

impl Loads {
    pub(super) fn new(steps: usize) -> Self {
        let leaves = steps.max(1).next_power_of_two();
        Self {
            leaves,
            most: vec![0; 2 * leaves],
            added: vec![0; 2 * leaves],
        }
    }

    /// Sums stay within 64 bits: they are sizes of one problem.
    pub(super) fn add(&mut self, from: usize, to: usize, bytes: u64) {
        self.change(1, 0, self.leaves, (from, to), &|load| *load += bytes);
    }

    /// Takes back what was added.
    pub(super) fn remove(&mut self, from: usize, to: usize, bytes: u64) {
        self.change(1, 0, self.leaves, (from, to), &|load| *load -= bytes);
    }

    fn change(
        &mut self,
        node: usize,
        first: usize,
        width: usize,
        (from, to): (usize, usize),
        by: &impl Fn(&mut u64),
    ) {
        if to <= first || first + width <= from {
            return;
        }
        if from <= first && first + width <= to {
            by(&mut self.most[node]);
            by(&mut self.added[node]);
            return;
        }
        let half = width / 2;
        self.change(2 * node, first, half, (from, to), by);
        self.change(2 * node + 1, first + half, half, (from, to), by);
        let below = self.most[2 * node].max(self.most[2 * node + 1]);
        self.most[node] = below + self.added[node];
    }

    /// The largest load of a range.
    pub(super) fn max(&self, from: usize, to: usize) -> u64 {
        self.ask(1, 0, self.leaves, (from, to))
    }

    fn ask(&self, node: usize, first: usize, width: usize, (from, to): (usize, usize)) -> u64 {
        if to <= first || first + width <= from {
            return 0;
        }
        if from <= first && first + width <= to {
            return self.most[node];
        }
        let half = width / 2;
        let left = self.ask(2 * node, first, half, (from, to));
        let right = self.ask(2 * node + 1, first + half, half, (from, to));
        left.max(right) + self.added[node]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_add_up() {
        let mut loads = Loads::new(5);
        loads.add(0, 3, 4);
        loads.add(2, 5, 3);
        assert_eq!(
            [(0, 2), (2, 3), (3, 5), (0, 5)].map(|(a, b)| loads.max(a, b)),
            [4, 7, 3, 7]
        );
        loads.remove(0, 3, 4);
        assert_eq!(loads.max(0, 2), 0);
    }
}
