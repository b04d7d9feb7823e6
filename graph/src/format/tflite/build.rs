//! The tables of a file to a verified graph.
//!
//! Goes in: [`Model`]. Comes out: [`TfliteModel`]. The main subgraph is walked in file order; a call
//! walks its subgraph in its place, with operands and results bound to those of the caller.

use super::element::Element;
use super::error::TfliteError;
use super::fold::{self, Constants};
use super::litert;
use super::micro;
use super::model::{ControlFlow, Kernels, Metadata, OpaqueBodies, Place, ReadOptions, TfliteModel};
use super::offline::{self, OFFLINE_PLAN};
use super::resources::Resources;
use super::schema::{Model, Operator, Subgraph};
use super::scratch::Site;
use super::tensors::{self, Names, Uses};
use crate::build::GraphBuilder;
use crate::ir::{NodeId, Role, TensorId};
use bayplan_planner::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Calls within calls.
const MAX_DEPTH: usize = 16;
/// What a graph may take: names and parts in bytes, calls unfolded.
const MAX_WORK: u64 = 1 << 28;

/// A subgraph as it is walked: its tensors in the graph, and the call that led here.
pub(super) struct Frame<'m> {
    pub(super) index: usize,
    pub(super) subgraph: &'m Subgraph,
    constants: Constants,
    pub(super) ids: Vec<TensorId>,
    /// By tensor: the operator whose scratch it is.
    pub(super) workspaces: BTreeMap<usize, usize>,
    pub(super) scope: Option<String>,
    depth: usize,
}

impl Frame<'_> {
    fn called(&self, name: &str) -> String {
        let scope = self.scope.as_deref();
        scope.map_or_else(|| name.to_owned(), |scope| format!("{scope}/{name}"))
    }

    /// The name of the node at a position.
    pub(super) fn name(&self, position: usize) -> String {
        self.called(&format!(
            "{}#{position}",
            self.subgraph.operators[position].op
        ))
    }
}

/// The graph so far, and all that is remembered of its file.
pub(super) struct Builder<'m> {
    pub(super) model: &'m Model,
    pub(super) control_flow: ControlFlow,
    kernels: Kernels,
    pub(super) graph: GraphBuilder,
    pub(super) names: Names,
    pub(super) resources: Resources,
    pub(super) handles: BTreeSet<TensorId>,
    pub(super) operators: Table<NodeId, Place>,
    tensors: Vec<Vec<Option<TensorId>>>,
    data: BTreeMap<TensorId, Range<usize>>,
    folded: Vec<Place>,
    pub(super) opaque: Vec<OpaqueBodies>,
    pub(super) workspaces: Vec<(NodeId, TensorId)>,
    work: u64,
}

/// Builds the graph.
pub(super) fn build(
    bytes: &[u8],
    model: &Model,
    name: &str,
    options: &ReadOptions,
) -> Result<TfliteModel, TfliteError> {
    let mut graph = GraphBuilder::new(name);
    graph.alignment(options.alignment);
    let unmapped = |subgraph: &Subgraph| vec![None; subgraph.tensors.len()];
    let mut builder = Builder {
        model,
        control_flow: options.control_flow,
        kernels: options.kernels,
        graph,
        names: Names::default(),
        resources: Resources::default(),
        handles: BTreeSet::new(),
        operators: Table::new(),
        tensors: model.subgraphs.iter().map(unmapped).collect(),
        data: BTreeMap::new(),
        folded: Vec::new(),
        opaque: Vec::new(),
        workspaces: Vec::new(),
        work: 0,
    };
    let main = builder.declare(0, &BTreeMap::new(), None, 0)?;
    builder.walk(&main)?;
    builder.finish(bytes)
}

impl<'m> Builder<'m> {
    fn finish(mut self, bytes: &[u8]) -> Result<TfliteModel, TfliteError> {
        let model = self.model;
        let scratch_unknown = self.add_scratch(bytes);
        let mut data = Table::filled(None, self.graph.draft.tensors.len());
        for (id, range) in self.data {
            data[id] = Some(range);
        }
        let entry = |(name, buffer): &(String, usize)| Metadata {
            name: name.clone(),
            buffer: *buffer,
            range: model.buffers[*buffer].clone(),
        };
        let metadata: Vec<Metadata> = model.metadata.iter().map(entry).collect();
        let counts: Vec<usize> = model.subgraphs.iter().map(|s| s.tensors.len()).collect();
        let plan = metadata.iter().find(|entry| entry.name == OFFLINE_PLAN);
        let offline = plan.map(|plan| {
            let data = bytes.get(plan.range.clone()).unwrap_or_default();
            offline::read(data, plan.range.start, &counts)
        });
        Ok(TfliteModel {
            variables: self.resources.variables(),
            graph: self.graph.build()?,
            operators: self.operators,
            tensors: self.tensors,
            data,
            folded: self.folded,
            opaque: self.opaque,
            workspaces: self.workspaces,
            scratch_unknown,
            metadata,
            offline,
        })
    }

    /// Adds the scratch of the kernels; returns the nodes for which it is not known.
    fn add_scratch(&mut self, bytes: &[u8]) -> Vec<NodeId> {
        let mut unknown = Vec::new();
        for (id, place) in self.operators.iter() {
            let operator = &self.model.subgraphs[place.subgraph].operators[place.operator];
            let draft = &self.graph.draft;
            let site = Site {
                draft,
                node: &draft.nodes[id],
                ends: operator.inputs.len() + operator.outputs.len(),
                custom: bytes.get(operator.custom.clone()).unwrap_or_default(),
            };
            let blocks = match self.kernels {
                Kernels::Unknown => Some(Vec::new()),
                Kernels::Micro => micro::blocks(site),
                Kernels::LiteRt => Some(litert::blocks(site)),
            };
            match blocks {
                Some(blocks) => self.graph.draft.nodes[id].scratch.extend(blocks),
                None => unknown.push(id),
            }
        }
        unknown
    }

    /// Declares the tensors of a subgraph, but for those that are `bound` to the caller's.
    fn declare(
        &mut self,
        index: usize,
        bound: &BTreeMap<usize, TensorId>,
        scope: Option<String>,
        depth: usize,
    ) -> Result<Frame<'m>, TfliteError> {
        let model = self.model;
        let subgraph = &model.subgraphs[index];
        let role = |id: &TensorId| self.graph.draft.tensors[*id].role;
        let constant = |tensor| bound.get(&tensor).map(|id| role(id) == Role::Weight);
        let folds = self.kernels != Kernels::Micro;
        let constants = fold::constants(model, subgraph, folds, constant);
        let uses = Uses::new(subgraph, &constants);
        let mut frame = Frame {
            index,
            subgraph,
            constants,
            ids: Vec::with_capacity(subgraph.tensors.len()),
            workspaces: BTreeMap::new(),
            scope,
            depth,
        };
        for tensor in 0..subgraph.tensors.len() {
            let id = match bound.get(&tensor) {
                Some(&id) => id,
                None => self.tensor(&mut frame, &uses, tensor)?,
            };
            frame.ids.push(id);
            self.tensors[index][tensor].get_or_insert(id);
        }
        if depth == 0 {
            for &output in &subgraph.outputs {
                self.graph.output(frame.ids[output]);
            }
        }
        Ok(frame)
    }

    fn tensor(
        &mut self,
        frame: &mut Frame<'m>,
        uses: &Uses,
        index: usize,
    ) -> Result<TensorId, TfliteError> {
        let (model, subgraph) = (self.model, frame.subgraph);
        let tensor = &subgraph.tensors[index];
        let size = tensors::size(model, tensor)?;
        let role = uses.role(subgraph, &frame.constants, (index, size.bytes));
        if let (Element::Unsized(element), true) = (size.element, role != Role::Weight)
            && let Some(maker) = uses.origin(subgraph, index)
        {
            return Err(TfliteError::Unsized {
                at: tensor.at,
                tensor: tensor.name.clone(),
                element,
                maker,
            });
        }
        let name = match &*tensor.name {
            "" => frame.called(&format!("#{index}")),
            name => frame.called(name),
        };
        self.spend(tensor.at, name.len())?;
        let name = self.names.unique(name, index);
        let id = self.graph.tensor(name, size.bytes, role);
        let declared = &mut self.graph.draft.tensors[id];
        // What is stored sparse has fewer bytes than its elements.
        let dense = size.element.bytes(&size.shape) == Some(size.bytes);
        declared.dtype = size.element.dtype().filter(|_| dense);
        declared.shape = Some(size.shape);
        if matches!(size.element, Element::Handle) {
            self.handles.insert(id);
        }
        if fold::has_data(model, tensor) {
            self.data.insert(id, model.buffers[tensor.buffer].clone());
        }
        if role == Role::Activation
            && let Some(reader) = uses.workspace_of(subgraph, index)
        {
            frame.workspaces.insert(index, reader);
        }
        Ok(id)
    }

    /// Counts what is about to be added: calls may unfold to far more than the file holds.
    pub(super) fn spend(&mut self, at: usize, bytes: usize) -> Result<(), TfliteError> {
        self.work = self.work.saturating_add(bytes as u64 + 64);
        if self.work > MAX_WORK {
            let limit = MAX_WORK;
            return Err(TfliteError::Amplified { at, limit });
        }
        Ok(())
    }

    fn walk(&mut self, frame: &Frame<'m>) -> Result<(), TfliteError> {
        for (position, operator) in frame.subgraph.operators.iter().enumerate() {
            let place = Place {
                subgraph: frame.index,
                operator: position,
            };
            if frame.constants.folded[position] {
                self.folded.push(place);
            } else if matches!(&*operator.op, "CALL" | "CALL_ONCE") {
                self.inline(frame, position)?;
            } else {
                self.node(frame, place)?;
            }
        }
        Ok(())
    }

    /// Walks the subgraph of a call in its place.
    fn inline(&mut self, frame: &Frame<'m>, position: usize) -> Result<(), TfliteError> {
        let operator = &frame.subgraph.operators[position];
        let name = frame.name(position);
        let depth = frame.depth + 1;
        if depth > MAX_DEPTH {
            return Err(TfliteError::CallsTooDeep {
                at: operator.at,
                operator: name,
                limit: MAX_DEPTH,
            });
        }
        let Some(&target) = operator.runs.first() else {
            return Ok(()); // a call has its subgraph, or it was refused
        };
        let body = &self.model.subgraphs[target];
        self.spend(
            operator.at,
            32 * (body.operators.len() + body.tensors.len()),
        )?;
        let bound = self.bind(frame, operator, target);
        let bound = bound.map_err(|why| TfliteError::Binding {
            at: operator.at,
            operator: name.clone(),
            subgraph: target,
            why,
        })?;
        let body = self.declare(target, &bound, Some(name), depth)?;
        self.walk(&body)
    }

    /// Operands and results of a call, by tensor of the subgraph; or why they do not fit.
    fn bind(
        &self,
        frame: &Frame<'m>,
        operator: &Operator,
        target: usize,
    ) -> Result<BTreeMap<usize, TensorId>, String> {
        let body = &self.model.subgraphs[target];
        let inputs: Vec<usize> = operator.inputs.iter().flatten().copied().collect();
        let mut bound = BTreeMap::new();
        let results = body.operators.iter().flat_map(|operator| &operator.outputs);
        let made: BTreeSet<usize> = results.copied().collect();
        for (what, given, wanted) in [
            ("operands", &inputs, &body.inputs),
            ("results", &operator.outputs, &body.outputs),
        ] {
            if given.len() != wanted.len() {
                return Err(format!("{} {what}, it has {}", given.len(), wanted.len()));
            }
            for (&outer, &inner) in given.iter().zip(wanted) {
                let (id, tensor) = (frame.ids[outer], &body.tensors[inner]);
                let name = &tensor.name;
                if tensor.variable || fold::has_data(self.model, tensor) {
                    return Err(format!("`{name}` there has contents of its own"));
                }
                if bound.insert(inner, id).is_some()
                    || (what == "results" && !made.contains(&inner))
                {
                    return Err(format!("it hands `{name}` on without an operator between"));
                }
                let size = tensors::size(self.model, tensor).map_err(|e| e.to_string())?;
                let outside = self.graph.draft.tensors[id].bytes;
                if size.bytes != outside {
                    return Err(format!(
                        "`{name}` there is {} bytes, here {outside}",
                        size.bytes
                    ));
                }
            }
        }
        Ok(bound)
    }
}
