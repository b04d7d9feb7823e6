//! Operators of the file to nodes: operands and results, what they change, what may share bytes.

use super::build::{Builder, Frame};
use super::error::TfliteError;
use super::model::Place;
use super::ops;
use super::resources;
use super::schema::Operator;
use crate::dtype::DType;
use crate::format::bodies::{APART, Bodies};
use crate::ir::{NodeId, Role, TensorId, View};
use std::collections::BTreeSet;

impl<'m> Builder<'m> {
    /// Adds the operator at `place`.
    pub(super) fn node(&mut self, frame: &Frame<'m>, place: Place) -> Result<(), TfliteError> {
        let operator = &frame.subgraph.operators[place.operator];
        let name = frame.name(place.operator);
        let scope = frame.scope.clone();
        let more = scope.as_ref().map_or(0, String::len) + operator.op.len();
        let uses = 8 * (operator.inputs.len() + operator.outputs.len());
        self.spend(operator.at, name.len() + more + uses)?;
        let branches = ops::branches(&operator.op);
        // What runs subgraphs that are not known cannot be opaque: they may touch variables.
        let unknown = operator.runs.is_empty();
        if branches && (unknown || self.bodies == Bodies::Inline) {
            return Err(TfliteError::ControlFlow {
                at: operator.at,
                operator: name,
                bodies: self.bodies(operator),
            });
        }
        let (results, mut writes) = self.results(frame, operator);
        let kind = if branches {
            format!("{}{APART}", operator.op)
        } else {
            operator.op.clone()
        };
        let node = self.graph.node(name.clone(), kind, &[], &results);
        node.node.scope = scope;
        let id = self.operators.push(place);
        let mut inputs = self.operands(frame, place.operator, id);
        self.changes(operator, &inputs, &name, &mut writes)?;
        if branches {
            let states = self.run_opaque(operator, id)?;
            inputs.extend(states.iter().map(|&state| Some(state)));
            writes.extend(states);
        }
        self.touch(operator, &name, (&mut inputs, &results), &mut writes)?;
        self.share(operator, id, &inputs, &results);
        let node = &mut self.graph.draft.nodes[id];
        node.inputs = inputs;
        let mut seen = BTreeSet::new();
        writes.retain(|&state| seen.insert(state));
        node.writes = writes;
        Ok(())
    }

    /// Adds a node of a branch or loop: name, kind, scope; what it reads and makes.
    pub(super) fn step(
        &mut self,
        place: Place,
        (name, kind, scope): (String, &str, Option<String>),
        reads: &[TensorId],
        makes: &[TensorId],
    ) -> Result<NodeId, TfliteError> {
        let at = self.model.subgraphs[place.subgraph].operators[place.operator].at;
        let more = scope.as_ref().map_or(0, String::len) + kind.len();
        self.spend(at, name.len() + more + 16 * (reads.len() + makes.len()))?;
        let node = self.graph.node(name, kind, reads, makes);
        node.node.scope = scope;
        Ok(self.operators.push(place))
    }

    /// Results, and the variables among them (changed in their place).
    pub(super) fn results(
        &self,
        frame: &Frame<'m>,
        operator: &Operator,
    ) -> (Vec<TensorId>, Vec<TensorId>) {
        let all = operator.outputs.iter().map(|&output| frame.ids[output]);
        all.partition(|&id| self.graph.draft.tensors[id].role != Role::State)
    }

    /// Operands; one that is the operator's scratch becomes just that.
    fn operands(
        &mut self,
        frame: &Frame<'m>,
        position: usize,
        node: NodeId,
    ) -> Vec<Option<TensorId>> {
        let operator = &frame.subgraph.operators[position];
        let mut inputs = Vec::with_capacity(operator.inputs.len());
        for input in &operator.inputs {
            let id = input.map(|input| frame.ids[input]);
            let scratch = input.is_some_and(|input| frame.workspaces.contains_key(&input));
            if let (Some(id), true) = (id, scratch) {
                let bytes = self.graph.draft.tensors[id].bytes;
                if bytes > 0 {
                    self.graph.draft.nodes[node].scratch.push(bytes);
                }
                self.workspaces.push((node, id));
            }
            inputs.push(id.filter(|_| !scratch));
        }
        inputs
    }

    /// Variables among the operands that the kernel changes.
    fn changes(
        &self,
        operator: &Operator,
        inputs: &[Option<TensorId>],
        name: &str,
        writes: &mut Vec<TensorId>,
    ) -> Result<(), TfliteError> {
        let may = ops::may_change(&operator.op) || ops::branches(&operator.op);
        let states = ops::state_operands(&operator.op);
        for (position, input) in inputs.iter().enumerate() {
            let Some(id) = *input else { continue };
            let tensor = &self.graph.draft.tensors[id];
            let stated = operator.mutates.get(position).copied().unwrap_or(false);
            let must = stated || states.contains(&position);
            if tensor.role == Role::State && (must || may) {
                writes.push(id);
            } else if must {
                return Err(TfliteError::MutatesNoVariable {
                    at: operator.at,
                    operator: name.to_owned(),
                    position,
                    tensor: tensor.name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Reads and writes of resources: the state behind a handle is one operand more.
    fn touch(
        &mut self,
        operator: &Operator,
        name: &str,
        (inputs, results): (&mut Vec<Option<TensorId>>, &[TensorId]),
        writes: &mut Vec<TensorId>,
    ) -> Result<(), TfliteError> {
        if let (Some(variable), Some(&handle)) = (&operator.variable, results.first()) {
            let (graph, names) = (&mut self.graph, &mut self.names);
            let state = self.resources.named(graph, names, variable);
            self.resources.bind(handle, state);
        }
        let (reads, assigns, value) = match &*operator.op {
            "READ_VARIABLE" => (true, false, results.first().copied()),
            "ASSIGN_VARIABLE" => (false, true, inputs.get(1).copied().flatten()),
            _ => (true, true, None),
        };
        let present = inputs.iter().flatten().copied();
        let handles: Vec<TensorId> = present.filter(|id| self.handles.contains(id)).collect();
        for handle in handles {
            let state = self.behind(operator, name, handle, reads && assigns)?;
            if let Some(value) = value {
                let value = self.graph.draft.tensors[value].clone();
                let (bytes, dtype) = (value.bytes, value.dtype);
                resources::grow(&mut self.graph, state, bytes, dtype, value.shape);
            }
            inputs.extend(reads.then_some(Some(state)));
            writes.extend(assigns.then_some(state));
        }
        Ok(())
    }

    /// The state behind a handle; operators of `any` kind of resource may use one without.
    fn behind(
        &mut self,
        operator: &Operator,
        name: &str,
        handle: TensorId,
        any: bool,
    ) -> Result<TensorId, TfliteError> {
        if let Some(state) = self.resources.behind(handle) {
            return Ok(state);
        }
        if any {
            return Ok(self.resources.other(&mut self.graph, &mut self.names));
        }
        Err(TfliteError::UnknownResource {
            at: operator.at,
            operator: name.to_owned(),
            tensor: self.graph.draft.tensors[handle].name.clone(),
        })
    }

    /// In-place offers and views.
    fn share(
        &mut self,
        operator: &Operator,
        node: NodeId,
        inputs: &[Option<TensorId>],
        results: &[TensorId],
    ) {
        // Operands beyond those of the file are variables' states.
        let inputs = &inputs[..operator.inputs.len()];
        let Some(&result) = results.first() else {
            return;
        };
        let tensors = &self.graph.draft.tensors;
        let equal = |id: TensorId| tensors[id].bytes == tensors[result].bytes;
        // Elements within a byte are not read before their neighbours are written.
        let bits = |id: TensorId| tensors[id].dtype.map(DType::bits).filter(|&bits| bits >= 8);
        let mut offers: Vec<(TensorId, TensorId)> = Vec::new();
        let elementwise = ops::elementwise(&operator.op);
        let stock = ops::stock_shared_operands(&operator.op);
        for (position, input) in inputs.iter().take(3).enumerate() {
            let Some(input) = *input else { continue };
            let offered = elementwise || stock.contains(&position);
            let fits = equal(input) && bits(input).is_some() && bits(input) == bits(result);
            let plain = tensors[input].role != Role::Weight && tensors[input].bytes > 0;
            if offered && fits && plain && !offers.contains(&(input, result)) {
                offers.push((input, result));
            }
        }
        let first = inputs.first().copied().flatten();
        let viewed = first.filter(|&input| ops::view(&operator.op) && equal(input));
        let node = &mut self.graph.draft.nodes[node];
        node.in_place = offers;
        node.views.extend(viewed.map(|input| View {
            input,
            output: result,
            offset: 0,
        }));
    }
}
