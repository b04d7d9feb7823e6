//! The certificate: a replay of who owns each byte, from the graph alone.
//!
//! **Theorem.** If [`certify`] accepts, then executing the schedule with every tensor and scratch
//! block at its place, (1) every operand is whole when its node reads it: each of its bytes was
//! last written as that byte of that tensor (and of that version, for states); (2) no node writes a
//! byte that it may still read, save where the kernel offers that pair at the same start; (3)
//! outputs, kept inputs and states are whole at the end, and states also when the next run begins.
//!
//! It knows the graph, the schedule and the places. It does not know lifetimes, storage classes or
//! decisions: those are what it checks. Bytes that no tensor is ever read from do not matter to it.

mod ownership;

use crate::ir::{Graph, Node, NodeId, Role, TensorId};
use crate::placement::{Locations, Spot, persistent};
use crate::schedule::Schedule;
use bayplan_planner::{CheckedPlan, Place, Step, Table};
use ownership::{Content, Owners};
use std::sync::Arc;

/// One way in which running a plan would go wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Clobber {
    /// The places are not those of this graph.
    #[error("the plan places {found} {what}, the graph has {expected}")]
    Count {
        /// `tensors` or `nodes' scratch`.
        what: &'static str,
        /// In the plan.
        found: usize,
        /// In the graph.
        expected: usize,
    },
    /// A tensor that needs bytes has no place, one beyond its arena, or, for a state, one in an arena
    /// that is not kept from run to run.
    #[error("`{tensor}` is not inside an arena that may hold it")]
    NotInArena {
        /// The tensor or scratch block.
        tensor: String,
    },
    /// A node reads a tensor that is not there, or not whole.
    #[error("step {step}: `{node}` reads `{tensor}`, but its bytes {lo}..{hi} hold {found}")]
    ReadsOther {
        /// When.
        step: Step,
        /// The reader.
        node: String,
        /// The operand.
        tensor: String,
        /// First wrong byte of the arena.
        lo: u64,
        /// End of the wrong range.
        hi: u64,
        /// What is there.
        found: String,
    },
    /// A node reads a tensor before it exists, or reads or writes another version of a state.
    #[error("step {step}: `{node}` needs `{tensor}`, but runs {what}")]
    WrongVersion {
        /// When.
        step: Step,
        /// The reader.
        node: String,
        /// The operand.
        tensor: String,
        /// In words.
        what: &'static str,
    },
    /// A node writes over bytes that it reads or writes otherwise.
    #[error("step {step}: `{node}` writes `{written}` over bytes {lo}..{hi} of its own `{other}`")]
    WritesOver {
        /// When.
        step: Step,
        /// The node.
        node: String,
        /// What it writes.
        written: String,
        /// What is there.
        other: String,
        /// First shared byte of the arena.
        lo: u64,
        /// End.
        hi: u64,
    },
    /// What must survive does not.
    #[error("`{tensor}` must survive, but after the last step its bytes {lo}..{hi} hold {found}")]
    Lost {
        /// The tensor.
        tensor: String,
        /// First wrong byte of the arena.
        lo: u64,
        /// End of the wrong range.
        hi: u64,
        /// What is there.
        found: String,
    },
    /// Inputs and states are given together, before the first step.
    #[error("`{first}` and `{second}` are given before the run, in the same bytes {lo}..{hi}")]
    GivenOverlap {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// First shared byte of the arena.
        lo: u64,
        /// End.
        hi: u64,
    },
}

/// A checked plan together with the graph, schedule and places that it was replayed with.
#[derive(Clone, Debug)]
pub struct CertifiedPlan {
    graph: Arc<Graph>,
    schedule: Schedule,
    checked: CheckedPlan,
    locations: Locations,
}

impl CertifiedPlan {
    /// The graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The order of execution.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The checked plan.
    pub fn checked(&self) -> &CheckedPlan {
        &self.checked
    }

    /// Where everything is.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// Bytes of the arena of temporaries.
    pub fn arena_bytes(&self) -> u64 {
        self.checked
            .plan()
            .heights
            .values()
            .next()
            .copied()
            .unwrap_or(0)
    }

    /// Bytes kept from run to run.
    pub fn persistent_bytes(&self) -> u64 {
        self.checked.plan().heights.values().skip(1).sum()
    }
}

/// A plan that was refused, with every reason.
#[derive(Clone, Debug)]
pub struct Uncertified {
    /// Why; never empty.
    pub clobbers: Vec<Clobber>,
}

impl std::fmt::Display for Uncertified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "running the plan would go wrong in {} places",
            self.clobbers.len()
        )?;
        self.clobbers.iter().try_for_each(|c| write!(f, "\n{c}"))
    }
}

impl std::error::Error for Uncertified {}

/// Accepts a plan, or reports every clobber. With `reuse_inputs`, inputs that are neither kept nor
/// outputs need not survive their last reader.
pub fn certify(
    graph: Arc<Graph>,
    schedule: Schedule,
    checked: CheckedPlan,
    locations: Locations,
    reuse_inputs: bool,
) -> Result<CertifiedPlan, Uncertified> {
    let clobbers = clobbers(&graph, &schedule, &checked, &locations, reuse_inputs);
    if clobbers.is_empty() {
        Ok(CertifiedPlan {
            graph,
            schedule,
            checked,
            locations,
        })
    } else {
        Err(Uncertified { clobbers })
    }
}

/// At most this many clobbers are listed.
pub const MAX_CLOBBERS: usize = 10_000;

/// Everything that would go wrong (the first [`MAX_CLOBBERS`]).
pub fn clobbers(
    graph: &Graph,
    schedule: &Schedule,
    checked: &CheckedPlan,
    locations: &Locations,
    reuse_inputs: bool,
) -> Vec<Clobber> {
    let mut found = counts(graph, schedule, locations);
    if !found.is_empty() {
        return found;
    }
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
    found.append(&mut replay.found);
    found.truncate(MAX_CLOBBERS);
    found
}

fn counts(graph: &Graph, schedule: &Schedule, locations: &Locations) -> Vec<Clobber> {
    let tensors = ("tensors", locations.tensors.len(), graph.tensors().len());
    let nodes = (
        "nodes' scratch",
        locations.scratch.len(),
        graph.nodes().len(),
    );
    let mut ordered = schedule.order().to_vec();
    ordered.sort_unstable();
    ordered.dedup();
    let each_once = schedule.order().len() == ordered.len();
    let steps = if each_once { ordered.len() } else { usize::MAX };
    let order = ("distinct steps", steps, graph.nodes().len());
    let mut wrong: Vec<_> = [tensors, nodes, order]
        .into_iter()
        .filter(|row| row.1 != row.2)
        .collect();
    if wrong.is_empty() {
        let blocks = |(id, node): (NodeId, &Node)| {
            (
                "scratch blocks",
                locations.scratch[id].len(),
                node.scratch.len(),
            )
        };
        wrong = graph
            .nodes()
            .iter()
            .map(blocks)
            .filter(|row| row.1 != row.2)
            .collect();
    }
    let clobber = |(what, found, expected)| Clobber::Count {
        what,
        found,
        expected,
    };
    wrong.into_iter().map(clobber).collect()
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
        for (id, tensor) in self.graph.tensors().iter() {
            let given = matches!(tensor.role, Role::Input | Role::State);
            let fine = match self.locations.tensors[id] {
                _ if tensor.bytes == 0 => true,
                // The arena of temporaries may be used by others between runs.
                Spot::At(place) if tensor.role == Role::State => {
                    fits(place, tensor.bytes) && place.arena == persistent()
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
        let on_its_bytes = |view: &&crate::ir::View| match (
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

#[cfg(test)]
mod tests;
