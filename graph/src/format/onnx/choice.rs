//! An `If` that only the run decides: the nodes of both branches, then one node that chooses
//! ([`crate::format::bodies`] says why that is sound).
//!
//! Goes in: the node and its branches. Comes out: the steps of the branches, in the scopes `NAME/then`
//! and `NAME/else`, and a step that reads the condition and the results of both. Branches read what is
//! around them by name, so what they read lives until they have run.

use super::branch::valueless;
use super::error::OnnxError;
use super::node::{kind_name, label};
use super::proto::{Graph, Node};
use super::walk::{Body, Kind, Step, Walk, words};
use crate::format::bodies::over_candidates;

impl<'a> Walk<'a> {
    /// Inlines both branches and adds the choice.
    pub(super) fn choose(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
        condition: usize,
        branches: [&'a Graph; 2],
    ) -> Result<(), OnnxError> {
        let mut chosen = Vec::new();
        for (branch, which) in branches.into_iter().zip(["then", "else"]) {
            let name = format!("{}/{which}", label(node, place));
            let mut results = self.enter((node, place), body.scope, &name, branch)?;
            let mut names = node.output.iter();
            results.retain(|_| names.next().is_some_and(|name| !name.is_empty()));
            chosen.push(results);
        }
        let [yes, no] = &chosen[..] else {
            return Ok(()); // there are two
        };
        let mut outputs = Vec::new();
        let named = node.output.iter().filter(|name| !name.is_empty());
        for ((name, &yes), &no) in named.zip(yes).zip(no) {
            let fact = self.agreed(node, place, name, [yes, no])?;
            self.compare(node, place, name, &fact, body.declared.get(&**name))?;
            outputs.push(self.define(name, body.scope, fact, Kind::Made)?);
        }
        let offers = self.offered(condition, &chosen, &outputs);
        let reads = std::iter::once(condition).chain(chosen.into_iter().flatten());
        self.steps.push(Step {
            node: None,
            name: label(node, place),
            op: kind_name(node),
            inputs: reads.map(Some).collect(),
            outputs,
            scope: body.scope,
            offers,
        });
        Ok(())
    }

    /// Type and shape of a result that both branches make alike.
    fn agreed(
        &self,
        node: &Node,
        place: usize,
        tensor: &str,
        results: [usize; 2],
    ) -> Result<crate::infer::Fact, OnnxError> {
        let [yes, no] = results.map(|id| valueless(&self.entries[id].fact));
        if yes == no {
            return Ok(yes);
        }
        Err(OnnxError::Branches {
            node: label(node, place),
            tensor: tensor.to_owned(),
            first: words(&yes),
            second: words(&no),
        })
    }

    /// Which results may lie in the bytes of what they are chosen from, ascending.
    fn offered(
        &self,
        condition: usize,
        chosen: &[Vec<usize>],
        outputs: &[usize],
    ) -> Vec<(usize, usize)> {
        let pairs = over_candidates(chosen, condition, outputs);
        let offers = pairs
            .into_iter()
            .filter_map(|(from, to)| self.offer(from, to));
        let mut offers: Vec<_> = offers.collect();
        offers.sort_unstable();
        offers
    }

    /// The offer to write `to` over `from`, if they are such that it can be taken.
    pub(super) fn offer(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let [a, b] = [from, to].map(|id| self.entries[id].fact.bytes());
        (a == b && a > 0 && !self.entries[from].constant()).then_some((from, to))
    }
}
