//! The tables of a file to a verified graph.
//!
//! Goes in: [`Model`]. Comes out: [`TfliteModel`]. The main subgraph is walked in file order; what runs
//! other subgraphs walks them in its place (`calls`, `branch`, `repeat`).

use super::element::Element;
use super::error::TfliteError;
use super::fold::{self, Constants};
use super::litert;
use super::micro;
use super::model::{Kernels, Metadata, Place, ReadOptions, TfliteModel};
use super::offline::{self, OFFLINE_PLAN};
use super::resources::Resources;
use super::schema::{Model, Subgraph};
use super::scratch::Site;
use super::tensors::{self, Names, Uses};
use crate::build::GraphBuilder;
use crate::format::bodies::{Bodies, OpaqueBodies};
use crate::ir::{NodeId, Role, TensorId};
use bayplan_planner::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

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
    pub(super) depth: usize,
}

impl Frame<'_> {
    /// The name of the node at a position.
    pub(super) fn name(&self, position: usize) -> String {
        let op = &self.subgraph.operators[position].op;
        scoped(self.scope.as_deref(), &format!("{op}#{position}"))
    }

    /// What the subgraph makes.
    pub(super) fn results(&self) -> Vec<TensorId> {
        let outputs = self.subgraph.outputs.iter();
        outputs.map(|&output| self.ids[output]).collect()
    }
}

/// The graph so far, and all that is remembered of its file.
pub(super) struct Builder<'m> {
    pub(super) model: &'m Model,
    pub(super) bodies: Bodies,
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
        bodies: options.bodies,
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
    pub(super) fn declare(
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
            // Constants and variables of a subgraph are there once, however often it runs.
            let known = &subgraph.tensors[tensor];
            let once = known.variable || fold::has_data(model, known);
            let before = self.tensors[index][tensor].filter(|_| once);
            let id = match bound.get(&tensor).copied().or(before) {
                Some(id) => id,
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
        let mut role = uses.role(subgraph, &frame.constants, (index, size.bytes));
        if frame.depth > 0 && role == Role::Output {
            role = Role::Activation; // what a body makes is the caller's
        }
        let scope = frame.scope.as_deref();
        let maker = || uses.origin(subgraph, index);
        let id = self.add(subgraph, index, scope, role, maker)?;
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

    /// Adds a tensor to the graph. `maker`: where it comes from, in words, if it is used.
    pub(super) fn add(
        &mut self,
        subgraph: &Subgraph,
        index: usize,
        scope: Option<&str>,
        role: Role,
        maker: impl Fn() -> Option<String>,
    ) -> Result<TensorId, TfliteError> {
        let tensor = &subgraph.tensors[index];
        let size = tensors::size(self.model, tensor)?;
        if let (Element::Unsized(element), true) = (size.element, role != Role::Weight)
            && let Some(maker) = maker()
        {
            return Err(TfliteError::Unsized {
                at: tensor.at,
                tensor: tensor.name.clone(),
                element,
                maker,
            });
        }
        let name = match &*tensor.name {
            "" => scoped(scope, &format!("#{index}")),
            name => scoped(scope, name),
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

    pub(super) fn walk(&mut self, frame: &Frame<'m>) -> Result<(), TfliteError> {
        for (position, operator) in frame.subgraph.operators.iter().enumerate() {
            let place = Place {
                subgraph: frame.index,
                operator: position,
            };
            if frame.constants.folded[position] {
                self.folded.push(place);
                continue;
            }
            let inline = self.bodies == Bodies::Inline;
            match &*operator.op {
                "CALL" | "CALL_ONCE" => self.call(frame, position)?,
                "IF" if inline => self.branch(frame, place)?,
                "WHILE" if inline => self.repeat(frame, place)?,
                _ => self.node(frame, place)?,
            }
        }
        Ok(())
    }
}

/// A name with its scope before it.
fn scoped(scope: Option<&str>, name: &str) -> String {
    scope.map_or_else(|| name.to_owned(), |scope| format!("{scope}/{name}"))
}
