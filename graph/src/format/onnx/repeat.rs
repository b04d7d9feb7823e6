//! `Loop`: its body, inlined once ([`crate::format::bodies`] says why that is a proof for all
//! turns).
//!
//! Goes in: the node and its body. Comes out, for a loop `L`:
//!
//! ```text
//! L/enter  makes the number of the turn and copies the initial values: C, what the body reads;
//!          makes room for what is collected turn by turn: P
//! …        the body, in scope L: makes the next values O and this turn's pieces of what is collected
//! L/next   only where a value moves from one place to another: copies it out of the way
//! L        reads C, P, then for each of them O or the piece (absent where nothing changes), the
//!          body's condition, and all that the body reads from around it, which so lives through every
//!          turn. Back: pieces into P, O into C; out: C and P are copied into the results
//! ```
//!
//! The sizes do not depend on the number of turns, unless the loop collects something: then that
//! number must be known. The body runs only while the condition holds, so that it finds it true.

use super::branch::{find, malformed, valueless};
use super::emit::VIEWS;
use super::error::OnnxError;
use super::node::{at, kind_name, label};
use super::proto::{Graph, Node};
use super::walk::{Body, Kind, Step, Walk, declarations, truth, words};
use crate::dtype::DType;
use crate::infer::{Fact, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A loop that is being inlined.
struct Loop<'a> {
    node: &'a Node,
    place: usize,
    graph: &'a Graph,
    scope: usize,
    /// Number of its turns, if it is known.
    turns: Option<u64>,
    /// The number of the turn, then the carried values.
    carried: Vec<usize>,
    /// Entries and steps before it.
    before: (usize, usize),
}

/// Something collected: where, this turn's piece, and the result's name.
struct Collected<'a> {
    room: usize,
    piece: usize,
    name: &'a str,
}

impl<'a> Walk<'a> {
    /// A `Loop` node.
    pub(super) fn repeat(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
    ) -> Result<(), OnnxError> {
        let wrong = |why| malformed(node, place, why);
        let graph = find(node, "body").ok_or_else(|| wrong("its body is missing"))?;
        let operands = self.operands(node, place, body)?;
        let [limit, condition, initial @ ..] = &operands[..] else {
            return Err(wrong("it lacks operands"));
        };
        let initial = initial.iter().copied().collect::<Option<Vec<usize>>>();
        let initial = initial.ok_or_else(|| wrong("an initial value is absent"))?;
        let arity = (graph.input.len(), graph.output.len() > initial.len());
        if arity != (initial.len() + 2, true) || node.output.len() >= graph.output.len() {
            return Err(wrong("its operands and results are not those of its body"));
        }
        let endless = condition.is_none_or(|id| truth(&self.entries[id].fact) == Some(true));
        let turns = limit.and_then(|id| whole(&self.entries[id].fact));
        let turns = turns.filter(|_| endless);
        let before = (self.entries.len(), self.steps.len());
        let scope = self.scope(body.scope, &label(node, place))?;
        let mut around = Loop {
            node,
            place,
            graph,
            scope,
            turns,
            carried: Vec::new(),
            before,
        };
        self.enter_loop(&mut around, &initial)?;
        self.initializers(graph, Some(scope))?;
        let declared = declarations(graph)?;
        self.nodes(Body {
            graph,
            declared: &declared,
            scope: Some(scope),
        })?;
        let made = self.made(&around)?;
        self.scopes.pop();
        self.leave(&around, body, &made)
    }

    /// What the body reads, and the step that makes it.
    fn enter_loop(&mut self, around: &mut Loop<'a>, initial: &[usize]) -> Result<(), OnnxError> {
        let scope = Some(around.scope);
        let [number, condition, inputs @ ..] = &around.graph.input[..] else {
            return Ok(()); // it was counted
        };
        let turn = valueless(&Fact::scalar(DType::I64, 0));
        around
            .carried
            .push(self.define(&number.name, scope, turn, Kind::Made)?);
        let holds = Fact::scalar(DType::Bool, 1);
        self.define(&condition.name, scope, holds, Kind::Folded)?;
        for (info, &from) in inputs.iter().zip(initial) {
            let fact = valueless(&self.entries[from].fact);
            around
                .carried
                .push(self.define(&info.name, scope, fact, Kind::Made)?);
        }
        let pairs = initial.iter().zip(&around.carried[1..]);
        let offers = pairs.filter_map(|(&from, &to)| self.offer(from, to));
        let offers = offers.collect();
        let inputs = initial.iter().copied().map(Some);
        let inputs = std::iter::once(None).chain(inputs).collect();
        let outputs = around.carried.clone();
        self.part(around, "enter", (inputs, outputs), offers);
        Ok(())
    }

    /// The results of the body.
    fn made(&self, around: &Loop<'a>) -> Result<Vec<usize>, OnnxError> {
        let mut made = Vec::new();
        for output in &around.graph.output {
            let missing = || OnnxError::Unknown {
                node: label(around.node, around.place),
                tensor: output.name.clone(),
            };
            made.push(self.find(&output.name).ok_or_else(missing)?);
        }
        Ok(made)
    }

    /// The way back and the way out.
    fn leave(
        &mut self,
        around: &Loop<'a>,
        body: Body<'a, '_>,
        made: &[usize],
    ) -> Result<(), OnnxError> {
        let (node, place) = (around.node, around.place);
        let count = around.carried.len() - 1;
        let again = made[0];
        let turns = around
            .turns
            .filter(|_| truth(&self.entries[again].fact) == Some(true));
        let (values, pieces) = made[1..].split_at(count);
        self.same(around, values)?;
        let captured = self.captured(around, made);
        let changed = self.next(around, values);
        let collected = self.collected(around, turns, pieces)?;
        let rooms: Vec<usize> = collected.iter().map(|all| all.room).collect();
        self.steps[around.before.1].outputs.extend(&rooms);
        let absent = std::iter::repeat_n(None, rooms.len());
        self.steps[around.before.1].inputs.extend(absent);
        let mut inputs: Vec<Option<usize>> = around.carried.iter().copied().map(Some).collect();
        inputs.extend(rooms.iter().copied().map(Some));
        inputs.push(None); // the number of the turn is counted up
        inputs.extend(&changed);
        inputs.extend(collected.iter().map(|all| Some(all.piece)));
        inputs.push(Some(again).filter(|&id| !self.entries[id].constant()));
        inputs.extend(captured.into_iter().map(Some));
        let (mut outputs, mut offers) = (Vec::new(), Vec::new());
        let carried = around.carried[1..].iter().zip(&changed).zip(&node.output);
        for ((&carried, &changed), name) in carried.filter(|(_, name)| !name.is_empty()) {
            let fact = valueless(&self.entries[carried].fact);
            let out = self.result_of(node, place, body, name, fact)?;
            offers.extend(self.offer(carried, out));
            offers.extend(changed.and_then(|changed| self.offer(changed, out)));
            outputs.push(out);
        }
        for all in collected {
            let fact = self.entries[all.room].fact.clone();
            let out = self.result_of(node, place, body, all.name, fact)?;
            offers.extend(self.offer(all.room, out));
            outputs.push(out);
        }
        self.steps.push(Step {
            node: None,
            name: label(node, place),
            op: kind_name(node),
            inputs,
            outputs,
            scope: body.scope,
            offers,
        });
        Ok(())
    }

    /// Declares a result of the loop.
    fn result_of(
        &mut self,
        node: &'a Node,
        place: usize,
        body: Body<'a, '_>,
        name: &'a str,
        fact: Fact,
    ) -> Result<usize, OnnxError> {
        self.compare(node, place, name, &fact, body.declared.get(name))?;
        self.define(name, body.scope, fact, Kind::Made)
    }

    /// A carried value keeps its type and shape.
    fn same(&self, around: &Loop<'a>, values: &[usize]) -> Result<(), OnnxError> {
        let names = &around.graph.input[2..];
        for ((&carried, &value), info) in around.carried[1..].iter().zip(values).zip(names) {
            let [before, after] = [carried, value].map(|id| valueless(&self.entries[id].fact));
            if before != after {
                return Err(OnnxError::Turn {
                    node: label(around.node, around.place),
                    tensor: info.name.clone(),
                    before: words(&before),
                    after: words(&after),
                });
            }
        }
        Ok(())
    }

    /// What the body reads from around it.
    fn captured(&self, around: &Loop<'a>, made: &[usize]) -> BTreeSet<usize> {
        let steps = self.steps[around.before.1 + 1..].iter();
        let reads = steps.flat_map(|step| step.inputs.iter().flatten());
        let outside = |id: &usize| *id < around.before.0 && !self.entries[*id].constant();
        reads.chain(made).copied().filter(outside).collect()
    }

    /// The next values, absent where they stay as they are. Those that may lie in the bytes of other
    /// carried ones, which the way back overwrites, are copied.
    fn next(&mut self, around: &Loop<'a>, values: &[usize]) -> Vec<Option<usize>> {
        let mut viewed = BTreeMap::new();
        for step in &self.steps[around.before.1..] {
            if let (true, Some(&Some(input)), Some(&output)) = (
                VIEWS.contains(&&*step.op),
                step.inputs.first(),
                step.outputs.first(),
            ) {
                viewed.insert(output, input);
            }
        }
        let (mut from, mut to, mut next) = (Vec::new(), Vec::new(), Vec::new());
        for (&value, &before) in values.iter().zip(&around.carried[1..]) {
            let mut root = value;
            while let Some(&input) = viewed.get(&root).filter(|_| root != before) {
                root = input;
            }
            if around.carried.contains(&root) && root != before {
                from.push(Some(value));
                let entry = &self.entries[value];
                let (name, fact) = (entry.name, valueless(&entry.fact));
                to.push(self.unnamed(name, around.scope, fact));
                next.push(to.last().copied());
            } else {
                next.push((value != before).then_some(value));
            }
        }
        if !to.is_empty() {
            self.part(around, "next", (from, to), Vec::new());
        }
        next
    }

    /// Room for what is collected; needs the number of turns.
    fn collected(
        &mut self,
        around: &Loop<'a>,
        turns: Option<u64>,
        pieces: &[usize],
    ) -> Result<Vec<Collected<'a>>, OnnxError> {
        let names = around.node.output.iter().skip(around.carried.len() - 1);
        let mut collected = Vec::new();
        for (name, &piece) in names.zip(pieces).filter(|(name, _)| !name.is_empty()) {
            let Some(turns) = turns else {
                return Err(OnnxError::Unsupported {
                    at: Box::new(at(around.node, around.place)),
                    why: "only the run knows the number of its turns, and with it the size of what it collects",
                });
            };
            let fact = &self.entries[piece].fact;
            let shape = std::iter::once(turns).chain(fact.shape.iter().copied());
            let fact = Fact::new(fact.dtype, shape.collect());
            let fact = fact.map_err(|why| OnnxError::Shape {
                tensor: name.clone(),
                why,
            })?;
            let room = self.unnamed(name, around.scope, fact);
            collected.push(Collected { room, piece, name });
        }
        Ok(collected)
    }

    /// A step of the loop that is no node of the file.
    fn part(
        &mut self,
        around: &Loop<'a>,
        which: &str,
        (inputs, outputs): (Vec<Option<usize>>, Vec<usize>),
        offers: Vec<(usize, usize)>,
    ) {
        self.steps.push(Step {
            node: None,
            name: format!("{}/{which}", label(around.node, around.place)),
            op: format!("{}/{which}", kind_name(around.node)),
            inputs,
            outputs,
            scope: Some(around.scope),
            offers,
        });
    }
}

/// The value of a number of turns.
fn whole(fact: &Fact) -> Option<u64> {
    match fact.value.as_deref() {
        Some(Value::Ints(list)) if list.len() == 1 => Some(u64::try_from(list[0]).unwrap_or(0)),
        _ => None,
    }
}
