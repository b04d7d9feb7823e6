//! Runs a plan of a graph with branches and loops on real bytes, turn by turn, one branch at a time,
//! and compares with a run in which every tensor has its own memory.
//!
//! The certificate goes through all nodes once; this shows on examples that what it proves holds for
//! what really runs. Results are hashes of what a node reads. Copies (into a loop, back, out, of the
//! branch that ran) are done one after the other, each in its place, as a careless kernel would.

use crate::policies::{options, policies};
use bayplan_graph::ir::Node;
use bayplan_graph::{Graph, Locations, NodeId, Role, Spot, TensorId, plan};
use bayplan_planner::ids::Id;
use std::collections::BTreeMap;
use std::sync::Arc;

type At = (usize, usize);

struct Engine<'a> {
    graph: &'a Graph,
    places: Vec<At>,
    memory: Vec<Vec<u8>>,
    seed: u64,
    /// How often each branch or loop has run.
    runs: BTreeMap<NodeId, u64>,
    /// Hashes of what was read.
    read: Vec<u64>,
}

fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn hash(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes
        .into_iter()
        .fold(0x9e37, |state, word| mixed(state.wrapping_mul(31) ^ word))
}

fn small(x: u64) -> usize {
    usize::try_from(x).unwrap()
}

/// The name of a node with everything around it.
fn path(node: &Node) -> String {
    match &node.scope {
        Some(scope) if !node.name.starts_with(&format!("{scope}/")) => {
            format!("{scope}/{}", node.name)
        }
        _ => node.name.clone(),
    }
}

impl<'a> Engine<'a> {
    fn new(graph: &'a Graph, locations: Option<&Locations>, seed: u64) -> Self {
        let bytes = |id: TensorId| small(graph.tensors()[id].bytes);
        let mut places: Vec<At> = graph
            .tensors()
            .ids()
            .map(|id| (2 + id.index(), 0))
            .collect();
        let spot = |id| locations.map_or(Spot::Nowhere, |l: &Locations| l.tensors[id]);
        for id in graph.tensors().ids() {
            if let Spot::At(place) = spot(id) {
                places[id.index()] = (place.arena.index(), small(place.offset));
            }
        }
        for view in graph.nodes().values().flat_map(|node| &node.views) {
            if [view.input, view.output].map(spot) == [Spot::Outside; 2] {
                places[view.output.index()] = places[view.input.index()];
            }
        }
        let mut memory = vec![Vec::new(); 2 + graph.tensors().len()];
        for id in graph.tensors().ids() {
            let (block, start) = places[id.index()];
            let end = (start + bytes(id)).max(memory[block].len());
            memory[block].resize(end, 0x55);
        }
        let mut engine = Self {
            graph,
            places,
            memory,
            seed,
            runs: BTreeMap::new(),
            read: Vec::new(),
        };
        for (id, tensor) in graph.tensors().iter() {
            if matches!(tensor.role, Role::Input | Role::Weight | Role::State) {
                engine.fill(id, hash([id.index() as u64]));
            }
        }
        engine
    }

    fn bytes(&self, id: TensorId) -> &[u8] {
        let (block, start) = self.places[id.index()];
        &self.memory[block][start..start + small(self.graph.tensors()[id].bytes)]
    }

    fn fill(&mut self, id: TensorId, key: u64) {
        let (block, start) = self.places[id.index()];
        let bytes = small(self.graph.tensors()[id].bytes);
        for (i, byte) in self.memory[block][start..start + bytes]
            .iter_mut()
            .enumerate()
        {
            *byte = mixed(key ^ i as u64).to_le_bytes()[3];
        }
    }

    fn copy(&mut self, from: TensorId, to: TensorId) {
        let bytes = self.bytes(from).to_vec();
        let (block, start) = self.places[to.index()];
        self.memory[block][start..start + bytes.len()].copy_from_slice(&bytes);
    }

    fn note(&mut self, id: TensorId) {
        let key = hash(self.bytes(id).iter().map(|&byte| u64::from(byte)));
        self.read.push(key);
    }

    /// A decision of the run, the same wherever everything lies.
    fn decide(&self, id: NodeId, among: u64) -> u64 {
        let run = self.runs.get(&id).copied().unwrap_or(0);
        hash([self.seed, id.index() as u64, run]) % among
    }

    fn node_at(&self, index: usize) -> &'a Node {
        &self.graph.nodes()[NodeId::from_index(index)]
    }

    /// Whether all branches around a node are those that run.
    fn taken(&self, node: &Node) -> bool {
        let scope = format!("{}/", node.scope.as_deref().unwrap_or_default());
        let nodes = self.graph.nodes().iter();
        let mut choices = nodes.filter(|(_, node)| matches!(&*node.op, "IF" | "If"));
        choices.all(|(id, choice)| {
            let choice = path(choice);
            let other = ["then", "else"][small(1 - self.decide(id, 2))];
            !scope.starts_with(&format!("{choice}/{other}/"))
        })
    }

    fn run(&mut self, from: usize, to: usize) {
        let mut index = from;
        while index < to {
            let (id, node) = (NodeId::from_index(index), self.node_at(index));
            index += 1;
            if !self.taken(node) {
                continue;
            }
            match &*node.op {
                "WHILE/enter" | "Loop/enter" => index = self.repeat(index - 1),
                "WHILE/next" | "Loop/next" => {
                    for (from, &to) in node.operands().zip(&node.outputs) {
                        self.note(from);
                        self.copy(from, to);
                    }
                }
                "IF" | "If" => self.choose(id, node),
                _ => self.plain(id, node),
            }
        }
    }

    fn choose(&mut self, id: NodeId, node: &Node) {
        let operands: Vec<TensorId> = node.operands().collect();
        let count = node.outputs.len();
        let first = 1 + count * small(self.decide(id, 2));
        self.note(operands[0]);
        for (position, &result) in node.outputs.iter().enumerate() {
            let from = operands[first + position];
            self.note(from);
            self.copy(from, result);
        }
        *self.runs.entry(id).or_default() += 1;
    }

    /// Runs the loop whose first node is at `enter`; returns where it ends.
    fn repeat(&mut self, enter: usize) -> usize {
        let start = self.node_at(enter);
        let name = start.scope.clone().unwrap();
        let find = |name: &str| {
            let mut nodes = self.graph.nodes().ids().skip(enter);
            nodes.find(|&id| path(&self.graph.nodes()[id]) == name)
        };
        let end = find(&name).unwrap();
        let turn = find(&format!("{name}/turn"));
        let body = turn.map_or(enter, Id::index);
        let last = &self.graph.nodes()[end];
        for (from, &to) in start.inputs.iter().zip(&start.outputs) {
            match *from {
                Some(from) => {
                    self.note(from);
                    self.copy(from, to);
                }
                None => self.fill(to, 1),
            }
        }
        let count = start.outputs.len();
        let (kept, values) = last.inputs.split_at(count);
        let kept: Vec<TensorId> = kept.iter().copied().flatten().collect();
        assert_eq!(kept, start.outputs);
        let turns = self.turns(end, &kept, values);
        for number in 0..=turns {
            self.run(enter + 1, body);
            if number == turns {
                break;
            }
            if let Some(turn) = turn {
                let node = &self.graph.nodes()[turn];
                for (&from, &to) in kept.iter().zip(&node.outputs) {
                    self.copy(from, to);
                }
            }
            self.run(body + 1, end.index());
            self.back(number, &kept, values);
        }
        let first = count - last.outputs.len();
        for (&from, &to) in kept[first..].iter().zip(&last.outputs) {
            self.note(from);
            self.copy(from, to);
        }
        *self.runs.entry(end).or_default() += 1;
        end.index() + 1
    }

    /// How many turns there are: no more than what is collected has room for.
    fn turns(&self, end: NodeId, kept: &[TensorId], values: &[Option<TensorId>]) -> u64 {
        let mut turns = self.decide(end, 4);
        for (&to, value) in kept.iter().zip(values) {
            let (room, piece) = (self.bytes(to).len(), value.map(|v| self.bytes(v).len()));
            if let Some(piece) = piece.filter(|&piece| piece != room && piece > 0) {
                turns = turns.min((room / piece) as u64);
            }
        }
        turns
    }

    /// From one turn to the next: pieces of what is collected first, then carried values. What has no
    /// next value stays.
    fn back(&mut self, number: u64, kept: &[TensorId], values: &[Option<TensorId>]) {
        let values = kept.iter().zip(values);
        let (same, pieces): (Vec<_>, Vec<_>) = values.partition(|&(&to, value)| {
            value.is_none_or(|v| self.bytes(v).len() == self.bytes(to).len())
        });
        for (&to, value) in pieces.into_iter().chain(same) {
            let Some(value) = *value else { continue };
            self.note(value);
            let bytes = self.bytes(value).to_vec();
            let (block, start) = self.places[to.index()];
            let whole = bytes.len() == self.bytes(to).len();
            let start = start
                + if whole {
                    0
                } else {
                    small(number) * bytes.len()
                };
            self.memory[block][start..start + bytes.len()].copy_from_slice(&bytes);
        }
    }

    fn plain(&mut self, id: NodeId, node: &Node) {
        let operands: Vec<TensorId> = node.operands().collect();
        let before = self.read.len();
        for operand in operands {
            self.note(operand);
        }
        let seen = hash(self.read[before..].iter().copied());
        let key = |which: usize| hash([id.index() as u64, which as u64, seen]);
        for (position, &result) in node.outputs.iter().enumerate() {
            match node.views.iter().find(|view| view.output == result) {
                Some(view) => self.copy(view.input, result),
                None => self.fill(result, key(position)),
            }
        }
        for (position, &state) in node.writes.iter().enumerate() {
            self.fill(state, key(1000 + position));
        }
    }

    /// What was read, and what is there afterwards.
    fn outcome(mut self) -> Vec<u64> {
        self.run(0, self.graph.nodes().len());
        for (id, tensor) in self.graph.tensors().iter() {
            if tensor.is_output || tensor.role == Role::State {
                self.note(id);
            }
        }
        self.read
    }
}

/// Plans and certifies under every policy, and runs each plan several ways.
pub(crate) fn holds(graph: Graph) {
    let graph = Arc::new(graph);
    for policy in policies() {
        let planned = plan(graph.clone(), &options(policy));
        let planned = planned.unwrap_or_else(|error| panic!("{policy:?}: {error}"));
        let locations = planned.certified.locations();
        for seed in 0..6 {
            let right = Engine::new(&graph, None, seed).outcome();
            let tested = Engine::new(&graph, Some(locations), seed).outcome();
            let name = graph.name();
            assert!(
                right == tested,
                "{name}: {policy:?} runs otherwise, seed {seed}"
            );
        }
    }
}
