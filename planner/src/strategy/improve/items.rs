//! One arena of a problem as the improvement wants it: flat arrays by item, nothing by pair of items.

use super::near::Near;
use crate::ids::{ArenaId, BufferId};
use crate::problem::Problem;
use crate::sweep::Profile;

/// So many items are made between two looks at whether to stop.
const SOME: usize = 1 << 14;

/// A rectangle of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    pub(super) item: u32,
    pub(super) lo: u64,
    pub(super) hi: u64,
}

/// The buffers of an arena.
pub(super) struct Items {
    pub(super) ids: Vec<BufferId>,
    pub(super) size: Vec<u64>,
    pub(super) align: Vec<u64>,
    /// May not be moved.
    pub(super) fixed: Vec<bool>,
    /// Root of size × steps: what it costs to push it out.
    pub(super) root: Vec<u64>,
    /// Bytes × steps.
    pub(super) area: Vec<u64>,
    /// How far the fullest step of its life is below the fullest of all, in thousandths.
    pub(super) slack: Vec<u16>,
    pub(super) strips: Vec<Strip>,
    /// Strips by item: `first[i]..first[i + 1]`.
    first: Vec<u32>,
    pub(super) near: Near,
}

impl Items {
    /// Nothing if `stop` says so: a million buffers take a while.
    pub(super) fn new(
        problem: &Problem,
        arena: ArenaId,
        ids: Vec<BufferId>,
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let buffer = |id: &BufferId| &problem.buffers()[*id];
        let rects = ids.iter().flat_map(|id| &buffer(id).extent);
        let load = Profile::new(rects.clone().map(|r| (r.steps, r.bytes())));
        let (most, table) = (u128::from(load.max().0.max(1)), load.range_max());
        let slack = |id: &BufferId| {
            let below = most - u128::from(table.max(buffer(id).lifetime()));
            u16::try_from(below * 1000 / most).expect("at most a thousand thousandths")
        };
        let mut slacks = Vec::with_capacity(ids.len());
        for some in ids.chunks(SOME) {
            if stop() {
                return None;
            }
            slacks.extend(some.iter().map(slack));
        }
        let lives: Vec<_> = rects.map(|r| r.steps).collect();
        let near = Near::new(&lives, stop)?;
        let mut strips = Vec::with_capacity(lives.len());
        let mut first = vec![0];
        for (item, id) in ids.iter().enumerate() {
            let item = u32::try_from(item).expect("ids are u32");
            let extent = buffer(id).extent.iter();
            strips.extend(extent.map(|&r| Strip {
                item,
                lo: r.lo,
                hi: r.hi,
            }));
            first.push(u32::try_from(strips.len()).expect("extents of u32 buffers"));
        }
        let area = |id: &BufferId| {
            let steps = u64::from(buffer(id).lifetime().steps());
            buffer(id).size().saturating_mul(steps).max(1)
        };
        if stop() {
            return None;
        }
        Some(Self {
            size: ids.iter().map(|id| buffer(id).size()).collect(),
            align: ids.iter().map(|&id| problem.alignment(id, arena)).collect(),
            fixed: ids
                .iter()
                .map(|id| buffer(id).fixed_offset.is_some())
                .collect(),
            root: ids.iter().map(|id| area(id).isqrt()).collect(),
            area: ids.iter().map(area).collect(),
            slack: slacks,
            near,
            strips,
            first,
            ids,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The strips of an item.
    pub(super) fn strips(&self, item: usize) -> std::ops::Range<usize> {
        self.first[item] as usize..self.first[item + 1] as usize
    }
}

/// Positions of the buffers in an arena that take bytes.
pub(super) fn inside(
    problem: &Problem,
    arena: ArenaId,
    of: impl Fn(BufferId) -> ArenaId,
) -> Vec<BufferId> {
    let here = |&id: &BufferId| of(id) == arena && !problem.buffers()[id].extent.is_empty();
    problem.buffers().ids().filter(here).collect()
}
