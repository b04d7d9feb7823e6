//! What the nodes of a model compute: from operators with their attributes to kernels in which every number
//! is resolved.
//!
//! Goes in: the walk, before it is forgotten, and the tensor of each entry. Comes out: a [`Compute`].
//! Each family of operators has a file; a rule answers with parts, or with what it lacks. No rule
//! guesses: an attribute that is not handled is a refusal that names it.
//!
//! ```text
//! steps ──site──→ rules ──→ parts ──fits──→ nodes
//! constants: in the file · spelled there · a small value · parts again, computed at load
//! ```

mod constants;
mod dense;
pub(crate) mod encode;
mod joined;
mod known;
mod map;
mod moves;
mod pad;
mod pick;
mod reduce;
mod resize;
mod site;
mod taps;
mod tidy;
mod window;

use super::node::kind_name;
use super::walk::Walk;
use crate::infer::{Attrs, Call, Fact, InferError, infer};
use crate::ir::TensorId;
use crate::kernel::{Compute, Lowered, Part, Target, Unsupported};
use site::{Made, Rule, Site, Why};
use std::cell::Cell;

/// Entries of all tables of a model: far more than real ones take.
const TABLES: usize = 1 << 26;

/// What the model computes. `ids` are the tensors of the walk's entries.
pub(super) fn compute(walk: &Walk<'_>, ids: &[Option<TensorId>]) -> Compute {
    let lowering = Lowering::new(walk, ids);
    let nodes = walk.steps.iter().map(|step| lowering.step(step)).collect();
    let (constants, weights) = constants::constants(&lowering, ids);
    Compute {
        nodes,
        constants,
        weights,
    }
}

/// What all rules share.
struct Lowering<'w, 'a> {
    walk: &'w Walk<'a>,
    /// Entries that a step reads, or the caller.
    read: Vec<bool>,
    /// Entries that tables may still have.
    tables: Cell<usize>,
}

/// A use of an operator: the node of the file, its kind, entries of operands and results.
#[derive(Clone, Copy)]
struct Use<'u, 'a> {
    node: Option<&'a super::proto::Node>,
    op: &'u str,
    inputs: &'u [Option<usize>],
    outputs: &'u [usize],
}

impl<'w, 'a> Lowering<'w, 'a> {
    fn new(walk: &'w Walk<'a>, ids: &[Option<TensorId>]) -> Self {
        let mut read = vec![false; ids.len()];
        let operands = walk.steps.iter().flat_map(|step| &step.inputs).flatten();
        for &id in operands.chain(&walk.results) {
            read[id] = true;
        }
        Self {
            walk,
            read,
            tables: Cell::new(TABLES),
        }
    }

    fn step(&self, step: &super::walk::Step<'a>) -> Lowered {
        self.lower(Use {
            node: step.node,
            op: &step.op,
            inputs: &step.inputs,
            outputs: &step.outputs,
        })
    }

    /// The parts of a node that was folded away.
    fn folded(&self, folded: &super::walk::Folded<'a>) -> Lowered {
        self.lower(Use {
            node: Some(folded.node),
            op: &kind_name(folded.node),
            inputs: &folded.inputs,
            outputs: &folded.outputs,
        })
    }

    fn lower(&self, node: Use<'_, 'a>) -> Lowered {
        self.with(node, judged).map_err(|why| Unsupported {
            op: node.op.to_owned(),
            why: why.0,
        })
    }

    /// Shows a use of an operator to `look`.
    fn with<T>(
        &self,
        node: Use<'_, 'a>,
        look: impl FnOnce(&Site<'_>) -> Result<T, Why>,
    ) -> Result<T, Why> {
        let fact = |id: usize| &self.walk.entries[id].fact;
        let attrs = match node.node.map(|node| self.walk.attributes(node, 0)) {
            Some(Ok((attrs, _))) => attrs,
            Some(Err(error)) => return Err(Why(error.to_string())),
            None => Attrs::new(),
        };
        let inputs: Vec<Option<&Fact>> = node.inputs.iter().map(|id| id.map(fact)).collect();
        let results = self.results(node);
        let call = Call {
            op: node.op,
            opset: self.walk.opset,
            inputs: &inputs,
            attrs: &attrs,
            outputs: results.len(),
            fold_limit: 0,
        };
        look(&Site {
            call,
            results: &results,
            tables: &self.tables,
        })
    }

    /// The results by their positions in the file, where some may have no name.
    fn results(&self, node: Use<'_, 'a>) -> Vec<Option<Made<'w>>> {
        let made = |(at, &id): (usize, &usize)| Made {
            fact: &self.walk.entries[id].fact,
            at,
            read: self.read[id] || self.walk.entries[id].constant(),
        };
        let mut made = node.outputs.iter().enumerate().map(made);
        match node.node {
            Some(node) => {
                let names = node.output.iter();
                names
                    .map(|name| if name.is_empty() { None } else { made.next() })
                    .collect()
            }
            None => made.map(Some).collect(),
        }
    }
}

/// The parts of an operator of the standard set, wherever it is from: `call` says all but how many results it has.
pub(crate) fn lowered(call: Call<'_>, results: &[&Fact]) -> Lowered {
    let made = results.iter().enumerate().map(|(at, &fact)| Made {
        fact,
        at,
        read: true,
    });
    let made: Vec<Option<Made<'_>>> = made.map(Some).collect();
    let site = Site {
        call,
        results: &made,
        tables: &Cell::new(TABLES),
    };
    let lowered = stated(&call, results).and_then(|()| judged(&site));
    lowered.map_err(|why| Unsupported {
        op: call.op.to_owned(),
        why: why.0,
    })
}

/// Results that a file states are those that the operator makes, as far as that is known before the run.
fn stated(call: &Call<'_>, results: &[&Fact]) -> Result<(), Why> {
    let made = match infer(call) {
        Ok(made) => made,
        Err(InferError::UnknownOp | InferError::NeedsValue { .. }) => return Ok(()),
        Err(why) => return Err(Why(why.to_string())),
    };
    for (made, stated) in made.iter().zip(results) {
        if (made.dtype, &made.shape) != (stated.dtype, &stated.shape) {
            return Err(Why(format!(
                "it makes {} {:?}, not {} {:?}",
                made.dtype, made.shape, stated.dtype, stated.shape
            )));
        }
    }
    Ok(())
}

/// What the rule of an operator answers, and that it is sound.
fn judged(site: &Site<'_>) -> Result<Vec<Part>, Why> {
    let rule = rule(site.call.op).ok_or("no kernel")?;
    known::check(site.call.op, site.call.attrs)?;
    if site.is_empty() {
        return Ok(Vec::new());
    }
    let parts = rule(site)?;
    fits(site, &parts)?;
    Ok(parts)
}

/// The rule for `op`, by family.
fn rule(op: &str) -> Option<Rule> {
    let families = [
        map::rule,
        joined::rule,
        window::rule,
        dense::rule,
        reduce::rule,
        moves::rule,
        pick::rule,
        pad::rule,
        resize::rule,
    ];
    families.iter().find_map(|family| family(op))
}

/// No part reaches beyond its tensors, and together they reach the end of every result that is read.
fn fits(site: &Site<'_>, parts: &[Part]) -> Result<(), Why> {
    let inside = parts.iter().all(|part| site.holds(part));
    let written = |at: usize| {
        let own = parts.iter().filter(|part| part.write == Target::Result(at));
        let ends = own.filter_map(|part| Some(part.kernel.needs()?.write));
        ends.max().unwrap_or(0)
    };
    let mut wanted = site.results.iter().enumerate();
    let whole = wanted.all(|(position, made)| {
        made.is_none_or(|made| {
            let read = position == 0 || made.read;
            !read || written(made.at) == made.fact.bytes()
        })
    });
    (inside && whole)
        .then_some(())
        .ok_or_else(|| "its operands and attributes contradict each other".into())
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn every_operator_in_the_table_of_the_docs_has_a_rule() {
        let text = include_str!("../../../../../docs/operators.md");
        let part = text.split("\n## ").find(|part| part.starts_with(".onnx"));
        let rows = part.expect("a section").lines();
        let first = rows.filter_map(|line| line.strip_prefix("| `")?.split('|').next());
        let names = first.flat_map(|cell| cell.split('`'));
        let names = names.filter(|name| !name.trim_matches([',', ' ']).is_empty());
        let mut count = 0;
        for name in names {
            assert!(rule(name).is_some(), "{name}");
            count += 1;
        }
        assert_eq!(count, 90);
    }
}
