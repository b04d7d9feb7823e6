//! `WHILE`: its condition and its body, inlined once ([`crate::format::bodies`] says why that is
//! a proof for all turns).
//!
//! Goes in: the operator and its two subgraphs. Comes out, for `WHILE#2`:
//!
//! ```text
//! WHILE#2/enter   copies the operands into the inputs of the condition, C
//! WHILE#2/cond/…  reads C
//! WHILE#2/turn    reads the condition; the inputs of the body are views of C
//! WHILE#2/body/…  makes the next values, O
//! WHILE#2/next    only where a value moves from one place to another: copies it out of the way
//! WHILE#2         reads C and O (absent where the body hands a value on unchanged);
//!                 back: O is copied into C; out: C is copied into the results
//! ```
//!
//! Loops of this format read nothing from around them but variables and constants.

use super::branch::twice;
use super::build::{Builder, Frame};
use super::error::TfliteError;
use super::model::Place;
use super::schema::{Operator, Subgraph};
use crate::ir::{Role, TensorId, View};
use std::collections::{BTreeMap, BTreeSet};

/// A loop that is being inlined.
struct Loop<'m> {
    place: Place,
    operator: &'m Operator,
    name: String,
    /// How many nodes stand before it.
    first: usize,
}

impl Loop<'_> {
    fn refuse(&self, why: String) -> TfliteError {
        TfliteError::Inline {
            at: self.operator.at,
            operator: self.name.clone(),
            why,
        }
    }

    fn misfit(&self, subgraph: usize, why: String) -> TfliteError {
        TfliteError::Binding {
            at: self.operator.at,
            operator: self.name.clone(),
            subgraph,
            why,
        }
    }
}

impl<'m> Builder<'m> {
    /// Adds the `WHILE` at `place` with its subgraphs.
    pub(super) fn repeat(&mut self, frame: &Frame<'m>, place: Place) -> Result<(), TfliteError> {
        let operator = &frame.subgraph.operators[place.operator];
        let name = frame.name(place.operator);
        let around = Loop {
            place,
            operator,
            name,
            first: self.graph.draft.nodes.len(),
        };
        let &[condition, body] = &operator.runs[..] else {
            return Err(around.refuse("it does not name two subgraphs".into()));
        };
        let refuse = |why| around.refuse(why);
        let operands = frame.all_present(operator).map_err(refuse)?;
        let results = self.plain_results(frame, operator).map_err(refuse)?;
        let carried = self.enter(&around, condition, &operands)?;
        let scope = format!("{}/cond", around.name);
        let inputs = bound(&self.model.subgraphs[condition], &carried);
        let inputs = inputs.map_err(|why| around.misfit(condition, why))?;
        let test = self.run(frame, place.operator, condition, &inputs, scope)?;
        let &[test] = &test.results()[..] else {
            let why = format!("it makes {} results, not one", test.results().len());
            return Err(around.misfit(condition, why));
        };
        let inside = self.turn(&around, body, &carried, test)?;
        let scope = format!("{}/body", around.name);
        let inputs = bound(&self.model.subgraphs[body], &inside);
        let inputs = inputs.map_err(|why| around.misfit(body, why))?;
        let made = self.run(frame, place.operator, body, &inputs, scope)?;
        let made = made.results();
        for ids in [&carried, &results] {
            let same = self.same_sizes(&made, ids);
            same.map_err(|why| around.misfit(body, why))?;
        }
        let made = self.next(&around, body, &inside, made)?;
        let changed = |(&made, &before): (&TensorId, &TensorId)| (made != before).then_some(made);
        let changed: Vec<Option<TensorId>> = made.iter().zip(&inside).map(changed).collect();
        let scope = frame.scope.clone();
        self.leave(&around, scope, (&carried, &changed), &results)
    }

    /// The copies of the operands that the loop works on: the inputs of its condition.
    fn enter(
        &mut self,
        around: &Loop<'m>,
        condition: usize,
        operands: &[TensorId],
    ) -> Result<Vec<TensorId>, TfliteError> {
        let carried = self.inputs_of(around, condition, "cond", operands)?;
        let pairs = operands.iter().zip(&carried);
        let offers = pairs.filter_map(|(&from, &to)| self.offer(from, to));
        let offers = offers.collect();
        let node = self.part(around, "enter", operands, &carried)?;
        self.graph.draft.nodes[node].in_place = offers;
        Ok(carried)
    }

    /// The inputs of the body: the carried values under other names.
    fn turn(
        &mut self,
        around: &Loop<'m>,
        body: usize,
        carried: &[TensorId],
        test: TensorId,
    ) -> Result<Vec<TensorId>, TfliteError> {
        let inside = self.inputs_of(around, body, "body", carried)?;
        let mut reads = carried.to_vec();
        reads.push(test);
        let node = self.part(around, "turn", &reads, &inside)?;
        let view = |(&input, &output): (&TensorId, &TensorId)| View {
            input,
            output,
            offset: 0,
        };
        let views = carried.iter().zip(&inside).map(view).collect();
        self.graph.draft.nodes[node].views = views;
        Ok(inside)
    }

    /// Declares the inputs of a subgraph as tensors of the graph, each for one of `given`.
    fn inputs_of(
        &mut self,
        around: &Loop<'m>,
        target: usize,
        which: &str,
        given: &[TensorId],
    ) -> Result<Vec<TensorId>, TfliteError> {
        let subgraph = &self.model.subgraphs[target];
        let (found, wanted) = (given.len(), subgraph.inputs.len());
        if found != wanted {
            let why = format!("{found} operands, it has {wanted}");
            return Err(around.misfit(target, why));
        }
        let mut ids = Vec::with_capacity(wanted);
        for (&from, &inner) in given.iter().zip(&subgraph.inputs) {
            let fits = self.fits(from, target, inner);
            fits.map_err(|why| around.misfit(target, why))?;
            let scope = format!("{}/{which}", around.name);
            let id = self.carry(subgraph, inner, &scope)?;
            let same = self.same_resource(&[from], id);
            same.map_err(|why| around.refuse(why))?;
            ids.push(id);
        }
        Ok(ids)
    }

    /// Copies of next values that may lie in the bytes of other carried ones, which the way back
    /// overwrites. A value that stays where it is needs none, nor does one that the body makes.
    fn next(
        &mut self,
        around: &Loop<'m>,
        body: usize,
        inside: &[TensorId],
        mut made: Vec<TensorId>,
    ) -> Result<Vec<TensorId>, TfliteError> {
        let subgraph = &self.model.subgraphs[body];
        let given: BTreeSet<TensorId> = inside.iter().copied().collect();
        let mut viewed = BTreeMap::new();
        let nodes = self.graph.draft.nodes.values().skip(around.first);
        for view in nodes.flat_map(|node| &node.views) {
            viewed.insert(view.output, view.input);
        }
        let mut moved = Vec::new();
        for (position, &value) in made.iter().enumerate() {
            let mut root = value;
            while let Some(&from) = viewed.get(&root).filter(|_| !given.contains(&root)) {
                root = from;
            }
            if given.contains(&root) && root != inside[position] {
                moved.push(position);
            }
        }
        if moved.is_empty() {
            return Ok(made);
        }
        let from: Vec<TensorId> = moved.iter().map(|&position| made[position]).collect();
        let scope = format!("{}/next", around.name);
        for &position in &moved {
            made[position] = self.carry(subgraph, subgraph.outputs[position], &scope)?;
        }
        let to: Vec<TensorId> = moved.iter().map(|&position| made[position]).collect();
        for (&from, &to) in from.iter().zip(&to) {
            let same = self.same_resource(&[from], to);
            same.map_err(|why| around.refuse(why))?;
        }
        self.part(around, "next", &from, &to)?;
        Ok(made)
    }

    /// The way back and the way out. `changed`: the next values, absent where they stay as they are.
    fn leave(
        &mut self,
        around: &Loop<'m>,
        scope: Option<String>,
        (carried, changed): (&[TensorId], &[Option<TensorId>]),
        results: &[TensorId],
    ) -> Result<(), TfliteError> {
        let mut offers = Vec::new();
        for (position, &result) in results.iter().enumerate() {
            let mut candidates = vec![carried[position]];
            candidates.extend(changed[position]);
            let same = self.same_resource(&candidates, result);
            same.map_err(|why| around.refuse(why))?;
            offers.extend(
                candidates
                    .into_iter()
                    .filter_map(|id| self.offer(id, result)),
            );
        }
        let kept = carried.iter().copied().map(Some);
        let reads: Vec<Option<TensorId>> = kept.chain(changed.iter().copied()).collect();
        let node = (around.name.clone(), &*around.operator.op, scope);
        let id = self.step(around.place, node, &[], results)?;
        self.spend(around.operator.at, 16 * reads.len())?;
        self.graph.draft.nodes[id].inputs = reads;
        self.graph.draft.nodes[id].in_place = offers;
        Ok(())
    }

    /// A node of the loop that is no operator of the file.
    fn part(
        &mut self,
        around: &Loop<'m>,
        which: &str,
        reads: &[TensorId],
        makes: &[TensorId],
    ) -> Result<crate::ir::NodeId, TfliteError> {
        let name = format!("{}/{which}", around.name);
        let kind = format!("{}/{which}", around.operator.op);
        let node = (name, &*kind, Some(around.name.clone()));
        self.step(around.place, node, reads, makes)
    }

    /// A tensor of the graph declared as one of a subgraph, for a value that a loop carries.
    fn carry(
        &mut self,
        subgraph: &Subgraph,
        index: usize,
        scope: &str,
    ) -> Result<TensorId, TfliteError> {
        let maker = || Some("carried by a loop".to_owned());
        self.add(subgraph, index, Some(scope), Role::Activation, maker)
    }
}

/// The inputs of a subgraph, by tensor.
fn bound(subgraph: &Subgraph, ids: &[TensorId]) -> Result<BTreeMap<usize, TensorId>, String> {
    let mut bound = BTreeMap::new();
    for (&inner, &id) in subgraph.inputs.iter().zip(ids) {
        if bound.insert(inner, id).is_some() {
            return Err(twice(&subgraph.tensors[inner].name));
        }
    }
    Ok(bound)
}
