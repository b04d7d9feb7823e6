//! `If`: a decided one is replaced by its branch; of an undecided one both branches are inlined
//! (`choice`). With [`Bodies::Apart`] an undecided one, and a decided one whose branch reads tensors
//! around it, stays a node that reads whatever its branches read from outside, so that those tensors
//! live until it has run; the tensors inside are not planned, only counted.

use super::error::OnnxError;
use super::node::{at, kind_name, label};
use super::proto::{Graph, Node};
use super::walk::{Body, Kind, Step, Walk, declarations, truth, words};
use crate::format::bodies::{APART, Bodies};
use crate::infer::Fact;
use std::collections::{BTreeSet, HashSet};

/// What a branch was found to do.
struct Outcome {
    results: Vec<Fact>,
    /// Entries around it that it reads.
    captures: Vec<usize>,
    /// Bytes of the results of its nodes.
    bytes: u64,
}

impl<'a> Walk<'a> {
    /// An `If` node.
    pub(super) fn branch(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
    ) -> Result<(), OnnxError> {
        let inputs = self.operands(node, place, body)?;
        let &[Some(condition)] = &inputs[..] else {
            return Err(malformed(node, place, "it has no condition"));
        };
        let branches = (find(node, "then_branch"), find(node, "else_branch"));
        let (Some(yes), Some(no)) = branches else {
            return Err(malformed(node, place, "a branch is missing"));
        };
        match truth(&self.entries[condition].fact) {
            Some(true) => self.decided(node, place, body, condition, yes),
            Some(false) => self.decided(node, place, body, condition, no),
            None if self.bodies == Bodies::Inline => {
                self.choose(node, place, body, condition, [yes, no])
            }
            None => {
                let yes = self.probe(node, place, body.scope, yes)?;
                let no = self.probe(node, place, body.scope, no)?;
                self.keep(node, place, body, condition, &[yes, no])
            }
        }
    }

    /// One branch is known to run. Unless it should stay apart, its nodes join the others.
    fn decided(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
        condition: usize,
        branch: &'a Graph,
    ) -> Result<(), OnnxError> {
        if self.bodies == Bodies::Apart {
            let outcome = self.probe(node, place, body.scope, branch)?;
            if !outcome.captures.is_empty() {
                return self.keep(node, place, body, condition, &[outcome]);
            }
        }
        self.inline(node, place, body, branch)
    }

    /// Walks the branch in a scope of its own, called `name`.
    pub(super) fn enter(
        &mut self,
        (node, place): (&Node, usize),
        around: Option<usize>,
        name: &str,
        branch: &'a Graph,
    ) -> Result<Vec<usize>, OnnxError> {
        let scope = Some(self.scope(around, name)?);
        self.initializers(branch, scope)?;
        let declared = declarations(branch)?;
        self.nodes(Body {
            graph: branch,
            declared: &declared,
            scope,
        })?;
        if branch.output.len() < node.output.len() {
            return Err(malformed(
                node,
                place,
                "it lists more results than its branch has",
            ));
        }
        let mut results = Vec::new();
        for output in &branch.output {
            let missing = || OnnxError::Unknown {
                node: label(node, place),
                tensor: output.name.clone(),
            };
            results.push(self.find(&output.name).ok_or_else(missing)?);
        }
        self.scopes.pop();
        Ok(results)
    }

    /// Puts the nodes of the branch in the place of the `If`.
    fn inline(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
        branch: &'a Graph,
    ) -> Result<(), OnnxError> {
        let before = self.entries.len();
        let name = label(node, place);
        let results = self.enter((node, place), body.scope, &name, branch)?;
        let mut named = HashSet::new();
        let pairs = node.output.iter().zip(results);
        for (name, id) in pairs.filter(|(name, _)| !name.is_empty()) {
            let fact = self.entries[id].fact.clone();
            self.compare(node, place, name, &fact, body.declared.get(&**name))?;
            if self.entries[id].constant() {
                self.bind(name, id)?;
            } else if id >= before && named.insert(id) {
                self.entries[id].name = name;
                self.entries[id].scope = body.scope;
                self.bind(name, id)?;
            } else {
                self.copy(node, place, body, name, id)?;
            }
        }
        Ok(())
    }

    /// A result that is a tensor from outside the branch, or one tensor under two names.
    fn copy(
        &mut self,
        node: &Node,
        place: usize,
        body: Body<'a, '_>,
        name: &'a str,
        id: usize,
    ) -> Result<(), OnnxError> {
        let fact = valueless(&self.entries[id].fact);
        let copy = self.define(name, body.scope, fact, Kind::Made)?;
        self.steps.push(Step {
            node: None,
            name: label(node, place),
            op: "Identity".into(),
            inputs: vec![Some(id)],
            outputs: vec![copy],
            scope: body.scope,
            offers: Vec::new(),
        });
        Ok(())
    }

    /// Looks at a branch and forgets it again.
    fn probe(
        &mut self,
        node: &Node,
        place: usize,
        around: Option<usize>,
        branch: &'a Graph,
    ) -> Result<Outcome, OnnxError> {
        let marks = (self.entries.len(), self.steps.len(), self.labels.len());
        let nested = self.outside.len();
        let constants = (self.folded.len(), self.spelled.len());
        let results = self.enter((node, place), around, &label(node, place), branch)?;
        let made = self.entries[marks.0..].iter();
        let made = made.filter(|entry| entry.kind == Kind::Made);
        let sizes = made.map(|entry| entry.fact.bytes());
        let inside = self.outside.drain(nested..).map(|(_, bytes)| bytes);
        let bytes = sizes.chain(inside).fold(0, u64::saturating_add);
        let read = self.steps[marks.1..]
            .iter()
            .flat_map(|step| step.inputs.iter().flatten());
        let all = read.chain(&results);
        let outside = all
            .copied()
            .filter(|&id| id < marks.0 && !self.entries[id].constant());
        let captures = outside.collect();
        let results = results.iter().map(|&id| valueless(&self.entries[id].fact));
        let results = results.collect();
        self.entries.truncate(marks.0);
        self.steps.truncate(marks.1);
        self.labels.truncate(marks.2);
        self.folded.truncate(constants.0);
        self.spelled.truncate(constants.1);
        Ok(Outcome {
            results,
            captures,
            bytes,
        })
    }

    /// Leaves the `If` a node that reads what its branches read.
    fn keep(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
        condition: usize,
        outcomes: &[Outcome],
    ) -> Result<(), OnnxError> {
        let mut outputs = Vec::new();
        let named = node.output.iter().enumerate();
        for (result, name) in named.filter(|(_, name)| !name.is_empty()) {
            let fact = agreed(node, place, result, outcomes)?;
            self.compare(node, place, name, fact, body.declared.get(&**name))?;
            outputs.push(self.define(name, body.scope, fact.clone(), Kind::Made)?);
        }
        let captures = outcomes.iter().flat_map(|outcome| &outcome.captures);
        let captures: BTreeSet<usize> = captures.copied().filter(|&id| id != condition).collect();
        let inputs = std::iter::once(condition).chain(captures);
        let bytes = outcomes.iter().map(|outcome| outcome.bytes);
        let bytes = bytes.fold(0, u64::saturating_add);
        self.outside.push((self.steps.len(), bytes));
        self.steps.push(Step {
            node: None,
            name: label(node, place),
            op: format!("{}{APART}", kind_name(node)),
            inputs: inputs.map(Some).collect(),
            outputs,
            scope: body.scope,
            offers: Vec::new(),
        });
        Ok(())
    }
}

/// The fact of a result that all branches agree on.
fn agreed<'o>(
    node: &Node,
    place: usize,
    result: usize,
    outcomes: &'o [Outcome],
) -> Result<&'o Fact, OnnxError> {
    let mut facts = outcomes
        .iter()
        .filter_map(|outcome| outcome.results.get(result));
    let first = facts
        .next()
        .ok_or_else(|| malformed(node, place, "a branch lacks a result"))?;
    match facts.find(|&second| second != first) {
        None => Ok(first),
        Some(second) => Err(OnnxError::Branches {
            node: label(node, place),
            tensor: node.output[result].clone(),
            first: words(first),
            second: words(second),
        }),
    }
}

/// Type and shape alone.
pub(super) fn valueless(fact: &Fact) -> Fact {
    Fact {
        value: None,
        ..fact.clone()
    }
}

pub(super) fn find<'a>(node: &'a Node, name: &str) -> Option<&'a Graph> {
    node.attribute.iter().find(|a| a.name == name)?.g.as_deref()
}

pub(super) fn malformed(node: &Node, place: usize, why: &'static str) -> OnnxError {
    OnnxError::Unsupported {
        at: Box::new(at(node, place)),
        why,
    }
}
