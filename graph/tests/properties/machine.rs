//! Runs a plan on real bytes and compares it with a run in which every tensor has its own memory.
//!
//! Results are hashes of what a node reads, so that one wrong byte changes everything after it.
//! Kernels are as unfriendly as the rules allow: scratch is filled with garbage before and after;
//! so is every result before the operands are read, unless it lies over an operand that is offered
//! for it; operands that are not offered are read again while results are being written. In place
//! and views happen by address alone.

use crate::tape::mixed;
use bayplan_graph::ir::Node;
use bayplan_graph::{Graph, Locations, NodeId, Role, Spot, TensorId};
use bayplan_planner::ids::Id;
use std::cell::Cell;

/// A block of memory (an arena, or a tensor's own) and the first byte in it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct At {
    block: usize,
    offset: u64,
}

/// Where a run has everything.
struct Map {
    tensors: Vec<At>,
    scratch: Vec<Vec<At>>,
    /// Bytes of each block.
    blocks: Vec<u64>,
}

/// Three memories and one of variables, at most.
const ARENAS: usize = 4;

impl Map {
    /// Everything in memory of its own.
    fn apart(graph: &Graph) -> Self {
        let own = |t: TensorId| At {
            block: ARENAS + t.index(),
            offset: 0,
        };
        let bytes = graph.tensors().values().map(|t| t.bytes);
        Self {
            tensors: graph.tensors().ids().map(own).collect(),
            scratch: vec![Vec::new(); graph.nodes().len()],
            blocks: [0; ARENAS].into_iter().chain(bytes).collect(),
        }
    }

    /// As planned; what is outside has its own memory, save views of such.
    fn planned(graph: &Graph, locations: &Locations) -> Self {
        let mut map = Self::apart(graph);
        let place = |place: &bayplan_planner::Place| At {
            block: place.arena.index(),
            offset: place.offset,
        };
        for (id, spot) in locations.tensors.iter() {
            if let Spot::At(at) = spot {
                map.tensors[id.index()] = place(at);
            }
        }
        for node in graph.nodes().values() {
            for view in &node.views {
                let both = [view.input, view.output].map(|t| locations.tensors[t]);
                if both == [Spot::Outside; 2] {
                    let At { block, offset } = map.tensors[view.input.index()];
                    let offset = offset + view.offset;
                    map.tensors[view.output.index()] = At { block, offset };
                }
            }
        }
        let scratch = locations.scratch.values();
        map.scratch = scratch
            .map(|blocks| blocks.iter().map(place).collect())
            .collect();
        for (at, tensor) in map.tensors.iter().zip(graph.tensors().values()) {
            map.blocks[at.block] = map.blocks[at.block].max(at.offset + tensor.bytes);
        }
        for (blocks, node) in map.scratch.iter().zip(graph.nodes().values()) {
            for (at, bytes) in blocks.iter().zip(&node.scratch) {
                map.blocks[at.block] = map.blocks[at.block].max(at.offset + bytes);
            }
        }
        map
    }
}

struct Machine<'a> {
    graph: &'a Graph,
    map: Map,
    blocks: Vec<Vec<Cell<u8>>>,
    garbage: u64,
}

impl<'a> Machine<'a> {
    fn new(graph: &'a Graph, map: Map) -> Self {
        let block = |&bytes: &u64| vec![Cell::new(0x55); usize::try_from(bytes).expect("small")];
        let blocks = map.blocks.iter().map(block).collect();
        Self {
            graph,
            map,
            blocks,
            garbage: 0x6a5b,
        }
    }

    fn at(&self, At { block, offset }: At, bytes: u64) -> &[Cell<u8>] {
        let start = usize::try_from(offset).expect("small");
        &self.blocks[block][start..start + usize::try_from(bytes).expect("small")]
    }

    fn tensor(&self, id: TensorId) -> &[Cell<u8>] {
        self.at(self.map.tensors[id.index()], self.graph.tensors()[id].bytes)
    }

    fn spoil(&mut self, at: At, from: u64, bytes: u64) {
        self.garbage = mixed(self.garbage + 1);
        for (i, byte) in self.at(at, bytes).iter().enumerate().skip(to_usize(from)) {
            byte.set(low(mixed(self.garbage ^ i as u64)));
        }
    }

    /// What the caller gives before run number `run`; states only once.
    fn give(&self, run: u64) {
        for (id, tensor) in self.graph.tensors().iter() {
            let once = matches!(tensor.role, Role::Weight | Role::State);
            if tensor.role == Role::Input || once && run == 0 {
                for (i, byte) in self.tensor(id).iter().enumerate() {
                    byte.set(low(mixed(hash(&[id.index() as u64, run, i as u64]))));
                }
            }
        }
    }

    /// Spoils everything that no run may rely upon, gives inputs, runs. Returns what each node read.
    fn run(&mut self, order: &[NodeId], run: u64) -> Vec<u64> {
        let bytes = self.map.blocks[0];
        self.spoil(
            At {
                block: 0,
                offset: 0,
            },
            0,
            bytes,
        );
        self.give(run);
        let mut read = vec![0; self.graph.nodes().len()];
        for &id in order {
            read[id.index()] = self.node(id);
        }
        read
    }

    fn node(&mut self, id: NodeId) -> u64 {
        let graph = self.graph;
        let node = &graph.nodes()[id];
        self.spoil_scratch(id, node);
        let targets = self.targets(node);
        for target in &targets {
            let at = self.map.tensors[target.tensor.index()];
            self.spoil(at, target.kept, graph.tensors()[target.tensor].bytes);
        }
        let operands: Vec<TensorId> = node.operands().collect();
        let hashes: Vec<u64> = operands.iter().map(|&t| contents(self.tensor(t))).collect();
        let longest = targets.iter().map(|t| self.tensor(t.tensor).len()).max();
        let keys: Vec<u64> = targets
            .iter()
            .map(|target| {
                let whole = operands.iter().zip(&hashes);
                let whole = whole.map(|(t, &h)| if target.elementwise.contains(t) { 1 } else { h });
                hash(&[
                    id.index() as u64,
                    target.kernel,
                    hash(&whole.collect::<Vec<_>>()),
                ])
            })
            .collect();
        // What is offered to no result and not updated may be read at any time.
        let alone = |t: &&TensorId| {
            node.in_place.iter().all(|offer| offer.0 != **t) && !node.writes.contains(t)
        };
        let sampled: Vec<TensorId> = operands.iter().filter(alone).copied().collect();
        for i in 0..longest.unwrap_or(0) {
            let values: Vec<u8> = targets
                .iter()
                .zip(&keys)
                .map(|(target, &key)| self.value(target, key, &sampled, i))
                .collect();
            for (target, value) in targets.iter().zip(values) {
                if let Some(byte) = self.tensor(target.tensor).get(i) {
                    byte.set(value);
                }
            }
        }
        self.spoil_scratch(id, node);
        hash(&hashes)
    }

    fn spoil_scratch(&mut self, id: NodeId, node: &Node) {
        for (at, &bytes) in self.map.scratch[id.index()]
            .clone()
            .into_iter()
            .zip(&node.scratch)
        {
            self.spoil(at, 0, bytes);
        }
    }

    /// What a node writes: results that are not views on their bytes, and states.
    fn targets(&self, node: &Node) -> Vec<Target> {
        let at = |t: TensorId| self.map.tensors[t.index()];
        let bytes = |t: TensorId| self.graph.tensors()[t].bytes;
        let reads = |t: TensorId| node.operands().any(|operand| operand == t);
        let mut targets = Vec::new();
        for (index, &tensor) in node.outputs.iter().enumerate() {
            let view = node.views.iter().find(|view| view.output == tensor);
            if let Some(view) = view {
                let At { block, offset } = at(view.input);
                let offset = offset + view.offset;
                if at(tensor) == (At { block, offset }) {
                    continue;
                }
            }
            let offered = node.in_place.iter().filter(|offer| offer.1 == tensor);
            let (updates, elementwise): (Vec<TensorId>, Vec<TensorId>) = offered
                .map(|offer| offer.0)
                .partition(|t| node.writes.contains(t));
            let over = elementwise
                .iter()
                .chain(&updates)
                .filter(|&&x| at(x) == at(tensor));
            let kept = over.map(|&x| bytes(x)).max().unwrap_or(0);
            targets.push(Target {
                tensor,
                kernel: index as u64,
                elementwise,
                copies: view.map(|view| (view.input, view.offset)),
                updates: updates.first().copied(),
                kept,
            });
        }
        for &tensor in &node.writes {
            targets.push(Target {
                tensor,
                kernel: 1000 + tensor.index() as u64,
                elementwise: if reads(tensor) {
                    vec![tensor]
                } else {
                    Vec::new()
                },
                copies: None,
                updates: None,
                kept: if reads(tensor) { bytes(tensor) } else { 0 },
            });
        }
        // A result offered over a state that the node updates is the state's new contents.
        for index in 0..targets.len() {
            let Some(state) = targets[index].updates else {
                continue;
            };
            let update = targets
                .iter()
                .position(|t| t.tensor == state)
                .expect("it is written");
            let mut elementwise = targets[update].elementwise.clone();
            elementwise.append(&mut targets[index].elementwise.clone());
            targets[index].kernel = targets[update].kernel;
            targets[index].elementwise.clone_from(&elementwise);
            targets[update].elementwise = elementwise;
        }
        targets
    }

    fn value(&self, target: &Target, key: u64, sampled: &[TensorId], i: usize) -> u8 {
        let byte = |t: TensorId, i: usize| self.tensor(t).get(i).map_or(0, |b| u64::from(b.get()));
        if let Some((input, offset)) = target.copies {
            return low(byte(input, i + to_usize(offset)));
        }
        let mut state = key ^ i as u64;
        for &t in &target.elementwise {
            state = mixed(state ^ byte(t, i));
        }
        for &t in sampled {
            let len = self.tensor(t).len().max(1) as u64;
            state = mixed(state ^ byte(t, to_usize(mixed(key + i as u64) % len)));
        }
        low(mixed(state))
    }

    /// What must be whole after a run.
    fn survivors(&self, reuse_inputs: bool) -> Vec<u64> {
        let survives = |tensor: &bayplan_graph::ir::Tensor| match tensor.role {
            Role::Input => tensor.keep || tensor.is_output || !reuse_inputs,
            Role::State => true,
            _ => tensor.is_output,
        };
        let tensors = self.graph.tensors().iter();
        let kept = tensors.filter(|(_, tensor)| survives(tensor));
        kept.map(|(id, _)| contents(self.tensor(id))).collect()
    }
}

struct Target {
    tensor: TensorId,
    /// Which function of the operands it is.
    kernel: u64,
    /// Operands read element by element: the byte at i is read before byte i of anything is written.
    elementwise: Vec<TensorId>,
    /// A view that has bytes of its own copies these.
    copies: Option<(TensorId, u64)>,
    /// The state whose new contents it is.
    updates: Option<TensorId>,
    /// Bytes that may not be spoilt before the operands are read.
    kept: u64,
}

fn to_usize(x: u64) -> usize {
    usize::try_from(x).expect("tests are small")
}

fn low(x: u64) -> u8 {
    x.to_le_bytes()[0]
}

fn hash(words: &[u64]) -> u64 {
    let fold = |state: u64, &word: &u64| mixed(state.wrapping_mul(31) ^ word);
    words.iter().fold(words.len() as u64, fold)
}

fn contents(bytes: &[Cell<u8>]) -> u64 {
    hash(&bytes.iter().map(|b| u64::from(b.get())).collect::<Vec<_>>())
}

/// Whether two runs of `graph` in this order at these places, states kept from one to the next, read
/// or leave anything else than two runs in the order of the file with everything apart.
pub(crate) fn differs(
    graph: &Graph,
    order: &[NodeId],
    locations: &Locations,
    reuse_inputs: bool,
) -> bool {
    let file_order: Vec<NodeId> = graph.nodes().ids().collect();
    let mut right = Machine::new(graph, Map::apart(graph));
    let mut tested = Machine::new(graph, Map::planned(graph, locations));
    (0..2).any(|run| {
        right.run(&file_order, run) != tested.run(order, run)
            || right.survivors(reuse_inputs) != tested.survivors(reuse_inputs)
    })
}
