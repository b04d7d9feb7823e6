//! The replay: who owns each byte before, during and after each step.

use super::ownership::{Content, Owners};
use super::{Clobber, MAX_CLOBBERS};
use crate::ir::{Graph, Node, NodeId, Role, TensorId, View};
use crate::placement::{Locations, Spot};
use crate::schedule::Schedule;
use bayplan_planner::memory::PERSISTENT;
use bayplan_planner::{CheckedPlan, Place, Table};

/// Runs the schedule over the places and reports what goes wrong, up to about [`MAX_CLOBBERS`].
pub(super) fn run(
    graph: &Graph,
    schedule: &Schedule,
    checked: &CheckedPlan,
    locations: &Locations,
    reuse_inputs: bool,
) -> Vec<Clobber> {
    let mut replay = Replay {
        graph,
        schedule,
        locations,
        owners: Owners::default(),
        contents: Table::filled(None, graph.tensors().len()),
        versions: Table::filled(0, graph.tensors().len()),
        found: Vec::new(),
    };
    replay.inside(checked);
    if replay.found.is_empty() {
        replay.begin();
        for &node in schedule.order() {
            replay.step(node);
            if replay.found.len() >= MAX_CLOBBERS {
                break;
            }
        }
        replay.end(reuse_inputs);
    }
    replay.found
}

/// A range of bytes of an arena that a node writes, and whose it is.
struct Write {
    name: String,
    place: Place,
    bytes: u64,
    /// The result or state written; nothing for scratch.
    tensor: Option<TensorId>,
}

struct Replay<'a> {
    graph: &'a Graph,
    schedule: &'a Schedule,
    locations: &'a Locations,
    owners: Owners,
    /// What the bytes of each tensor are, once it exists: content and first byte within it.
    contents: Table<TensorId, Option<(Content, u64)>>,
    /// Versions of states.
    versions: Table<TensorId, u32>,
    found: Vec<Clobber>,
}

impl Replay<'_> {
    fn name(&self, tensor: TensorId) -> String {
        self.graph.tensors()[tensor].name.clone()
    }

    /// Its place and size, if it is in an arena and not empty.
    fn placed(&self, tensor: TensorId) -> Option<(Place, u64)> {
        let bytes = self.graph.tensors()[tensor].bytes;
        match self.locations.tensors[tensor] {
            Spot::At(place) if bytes > 0 => Some((place, bytes)),
            _ => None,
        }
    }

    /// Every place lies under its arena's height; whatever needs bytes has some.
    fn inside(&mut self, checked: &CheckedPlan) {
        let fits = |place: Place, bytes: u64| {
            let height = checked
                .plan()
                .heights
                .get(place.arena)
                .copied()
                .unwrap_or(0);
            place
                .offset
                .checked_add(bytes)
                .is_some_and(|end| end <= height)
        };
        let kept = |arena| {
            let arena = checked.problem().arenas().get(arena);
            arena.is_some_and(|arena| arena.name == PERSISTENT)
        };
        for (id, tensor) in self.graph.tensors().iter() {
            let given = matches!(tensor.role, Role::Input | Role::State);
            let fine = match self.locations.tensors[id] {
                _ if tensor.bytes == 0 => true,
                // The arena of temporaries may be used by others between runs.
                Spot::At(place) if tensor.role == Role::State => {
                    fits(place, tensor.bytes) && kept(place.arena)
                }
                Spot::At(place) => fits(place, tensor.bytes),
                Spot::Outside => self.may_be_outside(id),
                Spot::Nowhere => !given && self.graph.producer(id).is_none(),
            };
            if !fine {
                let tensor = self.name(id);
                self.found.push(Clobber::NotInArena { tensor });
            }
        }
        for (id, node) in self.graph.nodes().iter() {
            for (place, &bytes) in self.locations.scratch[id].iter().zip(&node.scratch) {
                if bytes > 0 && !fits(*place, bytes) {
                    let tensor = format!("scratch of {}", node.name);
                    self.found.push(Clobber::NotInArena { tensor });
                }
            }
        }
    }

    /// Weights, the caller's tensors, and views of such.
    fn may_be_outside(&self, id: TensorId) -> bool {
        if self.graph.tensors()[id].role == Role::Weight || self.graph.is_external(id) {
            return true;
        }
        let node = self
            .graph
            .producer(id)
            .map(|node| &self.graph.nodes()[node]);
        let view = node.and_then(|node| node.views.iter().find(|view| view.output == id));
        view.is_some_and(|view| {
            self.locations.tensors[view.input] == Spot::Outside && self.may_be_outside(view.input)
        })
    }

    /// Inputs and states are written together, so they must not overlap.
    fn begin(&mut self) {
        let mut given: Vec<(Place, u64, TensorId)> = Vec::new();
        for (id, tensor) in self.graph.tensors().iter() {
            let role = tensor.role;
            if !matches!(role, Role::Input | Role::State | Role::Weight) {
                continue;
            }
            let content = Content {
                tensor: id,
                version: 0,
            };
            self.contents[id] = Some((content, 0));
            if let Some((place, bytes)) = self.placed(id) {
                self.owners.write(place, bytes, content);
                given.push((place, bytes, id));
            }
        }
        given.sort_by_key(|&(place, _, id)| (place.arena, place.offset, id));
        for pair in given.windows(2) {
            let [(a, bytes, first), (b, more, second)] = pair else {
                continue;
            };
            let end = a.offset + bytes;
            if a.arena == b.arena && end > b.offset {
                self.found.push(Clobber::GivenOverlap {
                    first: self.name(*first),
                    second: self.name(*second),
                    lo: b.offset,
                    hi: end.min(b.offset + more),
                });
            }
        }
    }

    fn step(&mut self, id: NodeId) {
        let node = &self.graph.nodes()[id];
        for tensor in node.operands() {
            self.read(id, tensor);
        }
        for &state in &node.writes {
            self.in_turn(id, state);
        }
        let views = self.views_in_place(node);
        let writes = self.writes(id, &views);
        self.conflicts(id, &writes);
        for write in &writes {
            let content = match write.tensor {
                Some(tensor) => self.produced(tensor),
                None => Content::scratch(id),
            };
            self.owners.write(write.place, write.bytes, content);
        }
        self.settle(node, &views);
    }

    /// The operand must exist, in the right version, and be whole.
    fn read(&mut self, id: NodeId, tensor: TensorId) {
        if self.contents[tensor].is_none() {
            self.wrong_version(id, tensor, "before it is made");
        } else if self.in_turn(id, tensor)
            && let Some((lo, hi, found)) = self.damage(tensor)
        {
            self.found.push(Clobber::ReadsOther {
                step: self.schedule.step(id),
                node: self.graph.nodes()[id].name.clone(),
                tensor: self.name(tensor),
                lo,
                hi,
                found,
            });
        }
    }

    /// Whether a state has the version that this node finds in the order of the file.
    fn in_turn(&mut self, id: NodeId, tensor: TensorId) -> bool {
        if self.graph.tensors()[tensor].role != Role::State {
            return true;
        }
        let expected = u32::try_from(self.graph.version_read(id, tensor)).unwrap_or(u32::MAX);
        let found = self.versions[tensor];
        if found != expected {
            let early = found < expected;
            let what = if early {
                "before it is updated"
            } else {
                "after it was updated"
            };
            self.wrong_version(id, tensor, what);
        }
        found == expected
    }

    fn wrong_version(&mut self, id: NodeId, tensor: TensorId, what: &'static str) {
        self.found.push(Clobber::WrongVersion {
            step: self.schedule.step(id),
            node: self.graph.nodes()[id].name.clone(),
            tensor: self.name(tensor),
            what,
        });
    }

    /// The first range of a tensor's bytes that is not what it should be.
    fn damage(&self, tensor: TensorId) -> Option<(u64, u64, String)> {
        let (place, bytes) = self.placed(tensor)?;
        let (content, base) = self.contents[tensor]?;
        let (lo, hi, found) = self.owners.first_other(place, bytes, content, base)?;
        Some((lo, hi, self.describe(found)))
    }

    fn describe(&self, found: Option<Content>) -> String {
        match found {
            None => "nothing".into(),
            Some(content) if content.is_scratch() => {
                format!(
                    "scratch of `{}`",
                    self.graph.nodes()[content.scratch_of()].name
                )
            }
            Some(content) if content.version > 0 => {
                format!("`{}` (updated)", self.name(content.tensor))
            }
            Some(content) => format!("`{}`", self.name(content.tensor)),
        }
    }

    /// Results that lie exactly on the bytes that they are a view of: nothing is written for them.
    fn views_in_place(&self, node: &Node) -> Vec<(TensorId, TensorId, u64)> {
        let on_its_bytes = |view: &&View| match (
            self.locations.tensors[view.input],
            self.locations.tensors[view.output],
        ) {
            (Spot::At(x), Spot::At(v)) => {
                x.arena == v.arena && x.offset.checked_add(view.offset) == Some(v.offset)
            }
            (Spot::Outside, Spot::Outside) => true,
            _ => false,
        };
        let views = node.views.iter().filter(on_its_bytes);
        views
            .map(|view| (view.input, view.output, view.offset))
            .collect()
    }

    fn writes(&self, id: NodeId, views: &[(TensorId, TensorId, u64)]) -> Vec<Write> {
        let node = &self.graph.nodes()[id];
        let written = node
            .outputs
            .iter()
            .filter(|&&t| views.iter().all(|view| view.1 != t));
        let tensors = written.chain(&node.writes).filter_map(|&tensor| {
            let (place, bytes) = self.placed(tensor)?;
            let tensor = Some(tensor);
            Some(Write {
                name: self.name(tensor?),
                place,
                bytes,
                tensor,
            })
        });
        let scratch = self.locations.scratch[id].iter().zip(&node.scratch);
        let scratch = scratch
            .filter(|&(_, &bytes)| bytes > 0)
            .map(|(&place, &bytes)| Write {
                name: "scratch".into(),
                place,
                bytes,
                tensor: None,
            });
        tensors.chain(scratch).collect()
    }

    /// What a node writes must be apart from what it reads and from what else it writes.
    fn conflicts(&mut self, id: NodeId, writes: &[Write]) {
        let node = &self.graph.nodes()[id];
        let mut operands: Vec<TensorId> = node.operands().collect();
        operands.sort_unstable();
        operands.dedup();
        for (position, write) in writes.iter().enumerate() {
            for &operand in &operands {
                let Some((place, bytes)) = self.placed(operand) else {
                    continue;
                };
                let shared = shared(write, place, bytes);
                if let Some(range) = shared
                    && !self.may_write_over(node, write, operand, place)
                {
                    let name = self.name(operand);
                    self.writes_over(id, write, name, range);
                }
            }
            for other in &writes[..position] {
                if let Some(range) = shared(write, other.place, other.bytes)
                    && !is_update(node, write, other)
                {
                    self.writes_over(id, write, other.name.clone(), range);
                }
            }
        }
    }

    fn writes_over(&mut self, id: NodeId, write: &Write, other: String, (lo, hi): (u64, u64)) {
        self.found.push(Clobber::WritesOver {
            step: self.schedule.step(id),
            node: self.graph.nodes()[id].name.clone(),
            written: write.name.clone(),
            other,
            lo,
            hi,
        });
    }

    /// The kernel offers the pair, they start together, the result is not larger and its elements
    /// are of one size; or a state is updated in its own place.
    fn may_write_over(&self, node: &Node, write: &Write, operand: TensorId, place: Place) -> bool {
        let Some(tensor) = write.tensor else {
            return false;
        };
        if tensor == operand {
            return node.writes.contains(&tensor);
        }
        let (x, o) = (
            &self.graph.tensors()[operand],
            &self.graph.tensors()[tensor],
        );
        let same_elements = match (x.dtype, o.dtype) {
            (Some(a), Some(b)) => a.bits() == b.bits(),
            _ => true,
        };
        node.in_place.contains(&(operand, tensor))
            && write.place == place
            && o.bytes <= x.bytes
            && same_elements
    }

    /// What a node has just made of `tensor`.
    fn produced(&mut self, tensor: TensorId) -> Content {
        let version = if self.graph.tensors()[tensor].role == Role::State {
            self.versions[tensor] + 1
        } else {
            0
        };
        Content { tensor, version }
    }

    /// After the node: results exist, views are what they view, states have their new version.
    fn settle(&mut self, node: &Node, views: &[(TensorId, TensorId, u64)]) {
        for &tensor in &node.outputs {
            self.contents[tensor] = Some((self.produced(tensor), 0));
        }
        for &state in &node.writes {
            let content = self.produced(state);
            self.versions[state] = content.version;
            self.contents[state] = Some((content, 0));
        }
        for &(input, output, offset) in views {
            self.contents[output] =
                self.contents[input].map(|(content, base)| (content, base + offset));
        }
        for &(input, output) in &node.in_place {
            // A result written over a state that this node updates is that state's new version.
            let together = self
                .placed(input)
                .zip(self.placed(output))
                .is_some_and(|(a, b)| a.0 == b.0);
            if node.writes.contains(&input) && together {
                self.contents[output] = self.contents[input];
            }
        }
    }

    /// What must survive is whole.
    fn end(&mut self, reuse_inputs: bool) {
        for (id, tensor) in self.graph.tensors().iter() {
            let survives = match tensor.role {
                Role::State => true,
                Role::Input => tensor.is_output || tensor.keep || !reuse_inputs,
                Role::Output | Role::Activation => tensor.is_output,
                Role::Weight => false,
            };
            if survives && let Some((lo, hi, found)) = self.damage(id) {
                let tensor = tensor.name.clone();
                self.found.push(Clobber::Lost {
                    tensor,
                    lo,
                    hi,
                    found,
                });
            }
        }
    }
}

/// A result written over a state by the node that updates that state and offers the pair.
fn is_update(node: &Node, a: &Write, b: &Write) -> bool {
    let (Some(x), Some(y)) = (a.tensor, b.tensor) else {
        return false;
    };
    let offered = |state: TensorId, result: TensorId| {
        node.writes.contains(&state) && node.in_place.contains(&(state, result))
    };
    a.place == b.place && (offered(x, y) || offered(y, x))
}

fn shared(write: &Write, place: Place, bytes: u64) -> Option<(u64, u64)> {
    let lo = write.place.offset.max(place.offset);
    let hi = (write.place.offset + write.bytes).min(place.offset + bytes);
    (write.place.arena == place.arena && lo < hi).then_some((lo, hi))
}
