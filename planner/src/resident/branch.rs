//! The best choice by branch and bound, where that ends soon.
//!
//! Goes in: a question, prices, and a choice to beat. At these prices every item has a gain, what it is worth
//! beyond what its bytes cost. A choice that leaves out an item with a gain, or takes one with a loss,
//! loses that much of the bound; so items with large gains or losses decide themselves, and the
//! search is about those near nothing ("reduced cost fixing", Dantzig, Fulkerson & Johnson 1954).

use super::loads::Loads;
use super::{Answer, POINT, Priced, Question};
use std::cmp::Reverse;

/// Partial choices that are looked at.
const NODES: usize = 50_000;
/// Items, at most: the search is as deep.
const ITEMS: usize = 2_000;

struct Branch<'a> {
    question: &'a Question,
    gains: &'a [i128],
    order: Vec<usize>,
    loads: Loads,
    kept: Vec<bool>,
    best: Answer,
    nodes: usize,
}

/// Improves `best`; if all was gone through, it is the best of all and its own bound.
pub(super) fn improve(question: &Question, priced: &Priced, best: Answer) -> Answer {
    if question.items.len() > ITEMS || best.worth == best.bound {
        return best;
    }
    let mut loads = Loads::new(question.steps);
    let mut kept = vec![false; question.items.len()];
    for (index, item) in question.items.iter().enumerate() {
        if item.forced {
            kept[index] = question.take(&mut loads, index);
        }
    }
    let open = (0..question.items.len()).filter(|&index| !question.items[index].forced);
    let mut order: Vec<usize> = open.collect();
    order.sort_by_key(|&index| (Reverse(priced.gains[index].abs()), index));
    let mut branch = Branch {
        question,
        gains: &priced.gains,
        order,
        loads,
        kept,
        best,
        nodes: 0,
    };
    branch.descend(0, priced.total);
    let mut best = branch.best;
    if branch.nodes <= NODES {
        best.bound = best.worth;
    }
    best
}

impl Branch<'_> {
    /// `bound`: what the choices below here can reach, in parts of 2^[`POINT`].
    fn descend(&mut self, depth: usize, bound: i128) {
        self.nodes += 1;
        let reach = u128::try_from(bound >> POINT).unwrap_or(0);
        if self.nodes > NODES || reach <= self.best.worth {
            return;
        }
        let Some(&index) = self.order.get(depth) else {
            let worth = self.question.worth(&self.kept);
            if worth > self.best.worth {
                self.best.worth = worth;
                self.best.kept.clone_from(&self.kept);
            }
            return;
        };
        let gain = self.gains[index];
        for take in [gain > 0, gain <= 0] {
            let loss = if take { (-gain).max(0) } else { gain.max(0) };
            if !take {
                self.descend(depth + 1, bound - loss);
            } else if self.question.take(&mut self.loads, index) {
                self.kept[index] = true;
                self.descend(depth + 1, bound - loss);
                self.kept[index] = false;
                self.question.leave(&mut self.loads, index);
            }
        }
    }
}
