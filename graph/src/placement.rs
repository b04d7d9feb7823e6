//! From storage to a problem, and from a plan back to places of tensors.
//!
//! Goes in: classes and scratch. Comes out: a [`Problem`] with one buffer for each class that needs
//! bytes of ours and one for each scratch block; temporaries in arena `arena`, states in
//! `persistent` (M022, T022). With a plan of it, [`Locations`]: where each tensor and scratch block
//! is. After that, buffers are no longer asked about.

use crate::ir::{Graph, NodeId, Role, TensorId};
use crate::lifetimes::Lifetimes;
use crate::profile::Grid;
use crate::schedule::Schedule;
use crate::storage::{ClassId, Storage, rounded};
use bayplan_planner::ids::Id;
use bayplan_planner::{
    Arena, ArenaId, Buffer, BufferId, Place, Plan, Problem, ProblemErrors, Table,
};
use serde::{Deserialize, Serialize};

/// Where something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spot {
    /// Bytes of an arena.
    At(Place),
    /// Not in an arena: a weight, or the caller's memory.
    Outside,
    /// Never used.
    Nowhere,
}

/// Where every tensor and every scratch block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations {
    /// By tensor.
    pub tensors: Table<TensorId, Spot>,
    /// By node, a place for each of its scratch blocks.
    pub scratch: Table<NodeId, Vec<Place>>,
}

/// What holds a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Home {
    /// This buffer, from this byte of it on.
    In(BufferId, u64),
    /// Nothing of ours: a weight, or the caller's memory.
    Outside,
    /// It is never used.
    Nowhere,
}

/// Which buffer holds what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// By tensor.
    pub tensors: Table<TensorId, Home>,
    /// By node, one buffer for each of its scratch blocks.
    pub scratch: Table<NodeId, Vec<BufferId>>,
}

/// The arena of temporaries.
pub fn temporary() -> ArenaId {
    ArenaId::from_index(0)
}

/// The arena of states, kept from run to run.
pub fn persistent() -> ArenaId {
    ArenaId::from_index(1)
}

/// The problem that storage poses, with starts and sizes on `grid`.
pub fn problem(
    graph: &Graph,
    schedule: &Schedule,
    lifetimes: &Lifetimes,
    storage: &Storage,
    grid: Grid,
) -> Result<(Problem, Placement), ProblemErrors> {
    let mut buffers: Table<BufferId, Buffer> = Table::new();
    let mut of_class: Table<ClassId, Option<BufferId>> = Table::new();
    for (id, class) in storage.classes().iter() {
        let buffer = (!class.outside).then(|| class_buffer(graph, lifetimes, storage, id, grid));
        of_class.push(buffer.map(|buffer| buffers.push(buffer)));
    }
    let home = |id: TensorId| match storage.home(id) {
        None => Home::Nowhere,
        Some((class, offset)) => of_class[class].map_or(Home::Outside, |b| Home::In(b, offset)),
    };
    let mut placement = Placement {
        tensors: graph.tensors().ids().map(home).collect(),
        scratch: Table::new(),
    };
    for (id, node) in graph.nodes().iter() {
        let step = schedule.step(id).0;
        let blocks = node.scratch.iter().enumerate().map(|(index, &bytes)| {
            let part = if node.scratch.len() > 1 {
                format!("#{index}")
            } else {
                String::new()
            };
            let name = format!("scratch:{}{part}", node.name);
            let bytes = rounded(bytes, grid.granule);
            buffers.push(Buffer::new(name, step..step + 1, bytes).aligned(grid.alignment))
        });
        placement.scratch.push(blocks.collect());
    }
    let mut arenas = vec![Arena::new("arena")];
    if graph.tensors().values().any(|t| t.role == Role::State) {
        arenas.push(Arena::new("persistent"));
    }
    Ok((Problem::new(arenas.into(), buffers, Vec::new())?, placement))
}

fn class_buffer(
    graph: &Graph,
    lifetimes: &Lifetimes,
    storage: &Storage,
    id: ClassId,
    grid: Grid,
) -> Buffer {
    let class = &storage.classes()[id];
    let root = &graph.tensors()[class.root()];
    let arena = if root.role == Role::State {
        persistent()
    } else {
        temporary()
    };
    let fixed = class.members.iter().find_map(|member| {
        let given = graph.tensors()[member.tensor].fixed_offset?;
        given.checked_sub(member.offset)
    });
    let extent = storage.extent(graph, lifetimes, id, grid.granule);
    let buffer = Buffer::with_extent(root.name.clone(), extent).in_arenas(vec![arena]);
    let mut buffer = buffer.aligned(grid.alignment);
    buffer.fixed_offset = fixed;
    buffer
}

/// Where everything is under `plan`. Nothing when the placement names a buffer that the plan does
/// not have, or a place beyond 64 bits (either may come from a file).
pub fn locate(placement: &Placement, plan: &Plan) -> Option<Locations> {
    let tensor = |home: &Home| match *home {
        Home::Nowhere => Some(Spot::Nowhere),
        Home::Outside => Some(Spot::Outside),
        Home::In(buffer, offset) => {
            let place = *plan.places.get(buffer)?;
            let offset = place.offset.checked_add(offset)?;
            Some(Spot::At(Place { offset, ..place }))
        }
    };
    let blocks = |blocks: &Vec<BufferId>| {
        blocks
            .iter()
            .map(|&b| plan.places.get(b).copied())
            .collect()
    };
    let tensors: Option<Vec<Spot>> = placement.tensors.values().map(tensor).collect();
    let scratch: Option<Vec<Vec<Place>>> = placement.scratch.values().map(blocks).collect();
    Some(Locations {
        tensors: tensors?.into(),
        scratch: scratch?.into(),
    })
}
