//! The interpreter state table as data: a row for each tensor, a row for each node.
//!
//! Goes in: a certified plan with its lifetimes and storage. Comes out: rows; how they are laid out
//! is the command's business.

use crate::ir::{Graph, NodeId, Role, TensorId};
use crate::lifetimes::Lifetimes;
use crate::placement::{Locations, Spot};
use crate::schedule::Schedule;
use bayplan_planner::ids::Id;
use bayplan_planner::{Lifetime, Place, Step};
use serde::Serialize;

/// A tensor in the state table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TensorRow {
    /// Its id: the position in the file.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Element type, where known.
    pub dtype: Option<String>,
    /// Dimensions, where known.
    pub shape: Option<Vec<u64>>,
    /// Bytes.
    pub bytes: u64,
    /// What it is for.
    pub role: &'static str,
    /// When it lives.
    pub lifetime: Option<Lifetime>,
    /// Where it is.
    pub place: Option<Place>,
    /// Other tensors in the same bytes (some of them, at some step).
    pub shares_with: Vec<String>,
    /// Why it lives as long as it does.
    pub why: String,
    /// Whether it is live at the heaviest step.
    pub at_peak: bool,
}

/// A node in the state table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeRow {
    /// When it runs.
    pub step: u32,
    /// Its id: the position in the file.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub op: String,
    /// Operands (weights too), in order.
    pub inputs: Vec<String>,
    /// Results and updated states, in order.
    pub outputs: Vec<String>,
    /// Ids of the operands; nothing where an optional one is absent.
    pub input_ids: Vec<Option<u32>>,
    /// Ids of results and updated states.
    pub output_ids: Vec<u32>,
    /// Bytes of scratch.
    pub scratch_bytes: u64,
    /// Bytes live in the arena of temporaries while it runs.
    pub live_bytes: u64,
}

/// What the rows are made of.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The order.
    pub schedule: &'a Schedule,
    /// When tensors live.
    pub lifetimes: &'a Lifetimes,
    /// Where they are.
    pub locations: &'a Locations,
    /// Whether inputs may be overwritten.
    pub reuse_inputs: bool,
}

impl Source<'_> {
    /// Rows of all tensors in file order. `peak` is the heaviest step.
    pub fn tensors(&self, peak: Step) -> Vec<TensorRow> {
        let sharing = self.sharing();
        self.graph
            .tensors()
            .ids()
            .map(|id| self.tensor(id, peak, &sharing[id.index()]))
            .collect()
    }

    fn tensor(&self, id: TensorId, peak: Step, sharing: &[TensorId]) -> TensorRow {
        let tensor = &self.graph.tensors()[id];
        let lifetime = self.lifetimes.get(id);
        let place = match self.locations.tensors[id] {
            Spot::At(place) => Some(place),
            Spot::Outside | Spot::Nowhere => None,
        };
        TensorRow {
            id: number(id),
            name: tensor.name.clone(),
            dtype: tensor.dtype.map(|d| d.to_string()),
            shape: tensor.shape.clone(),
            bytes: tensor.bytes,
            role: tensor.role.name(),
            lifetime,
            place,
            shares_with: sharing
                .iter()
                .map(|&t| self.graph.tensors()[t].name.clone())
                .collect(),
            why: self.why(id),
            at_peak: place.is_some() && lifetime.is_some_and(|life| life.contains(peak)),
        }
    }

    /// Why it lives as long as it does, in words.
    fn why(&self, id: TensorId) -> String {
        let tensor = &self.graph.tensors()[id];
        let last = self
            .graph
            .readers(id)
            .iter()
            .max_by_key(|&&n| self.schedule.step(n));
        let last = last.map(|&node| format!("last read by {}", self.graph.nodes()[node].name));
        if self.graph.is_external(id) {
            return "in the caller's memory".into();
        }
        match tensor.role {
            Role::Weight if self.graph.readers(id).is_empty() => "weight that no node reads".into(),
            Role::Weight => "weight".into(),
            Role::State => "variable, kept from run to run".into(),
            _ if tensor.is_output => "graph output".into(),
            Role::Input if tensor.keep => "input that the caller reads again".into(),
            Role::Input if !self.reuse_inputs => "input, kept (see --reuse-inputs)".into(),
            _ if self.lifetimes.get(id).is_none() => "never used".into(),
            _ => last.unwrap_or_else(|| "no node reads it".into()),
        }
    }

    /// For each tensor, those that were given its bytes by a view or in place, and its own source.
    fn sharing(&self) -> Vec<Vec<TensorId>> {
        let mut sharing = vec![Vec::new(); self.graph.tensors().len()];
        let mut both = |a: TensorId, b: TensorId| {
            let at = |t: TensorId| match self.locations.tensors[t] {
                Spot::At(place) => Some((place, self.graph.tensors()[t].bytes)),
                _ => None,
            };
            let (Some((p, x)), Some((q, y))) = (at(a), at(b)) else {
                return;
            };
            let overlap = p.arena == q.arena && p.offset < q.offset + y && q.offset < p.offset + x;
            let together = self.lifetimes.get(a).zip(self.lifetimes.get(b));
            if overlap
                && together.is_some_and(|(a, b)| a.overlaps(b))
                && !sharing[a.index()].contains(&b)
            {
                sharing[a.index()].push(b);
                sharing[b.index()].push(a);
            }
        };
        for node in self.graph.nodes().values() {
            node.views
                .iter()
                .for_each(|view| both(view.input, view.output));
            node.in_place
                .iter()
                .for_each(|&(input, output)| both(input, output));
        }
        sharing
    }

    /// Rows of all nodes in order of execution. `live` gives the load of a step.
    pub fn nodes(&self, live: impl Fn(Step) -> u64) -> Vec<NodeRow> {
        let row = |&id: &NodeId| {
            let node = &self.graph.nodes()[id];
            let name = |t: TensorId| self.graph.tensors()[t].name.clone();
            let outputs = || node.outputs.iter().chain(&node.writes).copied();
            let step = self.schedule.step(id);
            NodeRow {
                step: step.0,
                id: u32::try_from(id.index()).unwrap_or(u32::MAX),
                name: node.name.clone(),
                op: node.op.clone(),
                inputs: node
                    .inputs
                    .iter()
                    .map(|t| t.map_or("-".into(), name))
                    .collect(),
                outputs: outputs().map(name).collect(),
                input_ids: node.inputs.iter().map(|t| t.map(number)).collect(),
                output_ids: outputs().map(number).collect(),
                scratch_bytes: node.scratch.iter().sum(),
                live_bytes: live(step),
            }
        };
        self.schedule.order().iter().map(row).collect()
    }
}

/// A tensor's id as a number.
fn number(id: TensorId) -> u32 {
    u32::try_from(id.index()).unwrap_or(u32::MAX)
}
