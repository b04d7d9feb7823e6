//! One arena of a problem as the search wants it: small integers in flat arrays.
//!
//! - **Units.** All offsets are multiples of the greatest common divisor of alignments and given
//!   offsets; sizes are rounded up to it (nothing else can start in the rest), and what divides all
//!   that is divided out.
//! - **Sections.** Time is compressed to the maximal cliques of rectangles: two buffers that meet at
//!   all meet in one of them.
//! - **Distances.** For buffers `i`, `j` that meet: how far above `i` the start of `j` must be when `j`
//!   is not the lower one. Shrinking extents and pairs with a minimum distance come out right here.
//!
//! The search over a shape is exact unless a buffer has a hole or begins above its own offset at some step, or a
//! pair may start at one place; then it still finds plans, its failure proves nothing, and `ranges` has the
//! last word.

use super::sections::{Cover, Rows, covers, load, moments, relief, turned};
use super::units::{unit, units};
use crate::ids::{ArenaId, BufferId};
use crate::problem::Problem;

/// Beyond this many buffers, or this many that meet, nothing is searched.
const MAX_BUFFERS: usize = 1 << 14;
const MAX_MEETINGS: usize = 1 << 23;
/// An arena, and what lives at one step, has fewer units: sums of four such numbers stay within 32 bits.
const MAX_UNITS: u64 = 1 << 29;

/// Two items that meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// The other one.
    pub(super) other: u32,
    /// How far above this item's offset the other's is, at least, when it is not lower.
    pub(super) above: i32,
    /// How far below this item's offset the other's is, at least, when it is not higher.
    pub(super) below: i32,
}

/// An arena to be packed.
#[derive(Debug)]
pub(super) struct Shape {
    /// The buffer of each item.
    pub(super) ids: Vec<BufferId>,
    /// Bytes in a unit.
    pub(super) unit: u64,
    /// Number of sections.
    pub(super) sections: usize,
    /// Exact bytes from an item's offset to its highest byte.
    pub(super) bytes: Vec<u64>,
    /// The same in units, rounded up.
    pub(super) size: Vec<i32>,
    /// Its offset is a multiple of this many units.
    pub(super) align: Vec<i32>,
    /// Its given offset, or -1.
    pub(super) fixed: Vec<i32>,
    /// Steps between its first and last.
    pub(super) steps: Vec<u32>,
    /// First section and one behind the last one.
    pub(super) span: Vec<(u32, u32)>,
    /// By item, what it takes of which section.
    pub(super) covers: Rows<Cover>,
    /// By section, which item takes what.
    pub(super) members: Rows<Cover>,
    /// By item, who meets it.
    pub(super) near: Rows<Near>,
    /// By section, units that pairs may share.
    pub(super) relief: Vec<i32>,
    /// By item, whether it is one rectangle from its offset on that takes part in no pair.
    pub(super) plain: Vec<bool>,
    /// Whether all items are plain, of whole units, without alignment or given offsets.
    pub(super) uniform: bool,
    /// Whether exhausting the search proves anything.
    pub(super) exact: bool,
}

impl Shape {
    /// The shape of the buffers in `arena`, which are known to fit into `height` bytes; nothing where it is
    /// too large to be searched.
    pub(super) fn new(
        problem: &Problem,
        arena: ArenaId,
        ids: Vec<BufferId>,
        height: u64,
    ) -> Option<Self> {
        if ids.len() > MAX_BUFFERS {
            return None;
        }
        let unit = unit(problem, arena, &ids);
        if !is_small(problem, &ids, unit, height) {
            return None;
        }
        let moments = moments(problem, &ids);
        let (covers, hulls) = covers(problem, &ids, &moments, unit);
        let members = turned(&covers, moments.len());
        let meetings: usize = members.iter().map(|row| row.len() * row.len()).sum();
        let loads = members.iter().map(|row| load(row)).max();
        if meetings > MAX_MEETINGS || loads.is_some_and(|load| load >= MAX_UNITS) {
            return None;
        }
        let near = near(problem, &ids, &covers, &members, unit);
        let buffer = |id: &BufferId| &problem.buffers()[*id];
        let small = |number: u64| i32::try_from(number).expect("bounded by MAX_UNITS");
        let plain: Vec<bool> = ids.iter().map(|&id| plain(problem, id)).collect();
        let align: Vec<i32> = ids
            .iter()
            .map(|&id| small((problem.alignment(id, arena) / unit).clamp(1, MAX_UNITS)))
            .collect();
        let free = |id: &BufferId| {
            buffer(id).fixed_offset.is_none() && buffer(id).size().is_multiple_of(unit)
        };
        let at_zero = |id: &BufferId| buffer(id).extent.iter().all(|rect| rect.lo == 0);
        let apart = problem.pairs().iter().all(|pair| pair.distance > 0);
        Some(Self {
            unit,
            sections: moments.len(),
            bytes: ids.iter().map(|id| buffer(id).size()).collect(),
            size: ids
                .iter()
                .map(|id| small(units(buffer(id).size(), unit)))
                .collect(),
            uniform: align.iter().all(|&align| align == 1)
                && plain.iter().all(|&plain| plain)
                && ids.iter().all(free),
            align,
            fixed: ids
                .iter()
                .map(|id| buffer(id).fixed_offset.map_or(-1, |at| small(at / unit)))
                .collect(),
            steps: ids.iter().map(|id| buffer(id).lifetime().steps()).collect(),
            span: covers
                .iter()
                .map(|row| (row[0].index, row[row.len() - 1].index + 1))
                .collect(),
            relief: relief(problem, &ids, &moments, &members, unit),
            plain,
            exact: hulls && apart && ids.iter().all(at_zero),
            covers: Rows::new(covers),
            members: Rows::new(members),
            near: Rows::new(near),
            ids,
        })
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The lowest capacity above `capacity` that lets more through, in bytes.
    pub(super) fn next_capacity(&self, capacity: u64) -> u64 {
        let unit = self.unit;
        let next = |bytes: u64| {
            let room = capacity.saturating_sub(bytes);
            bytes.saturating_add((room / unit).saturating_add(1).saturating_mul(unit))
        };
        let ends = self.bytes.iter().map(|&bytes| next(bytes));
        let next = ends.filter(|&end| end > capacity).min();
        next.unwrap_or(capacity.saturating_add(unit))
    }
}

/// Whether the arena and all sizes stay under [`MAX_UNITS`]. Sizes in units are rounded up, which is why the
/// number of buffers counts.
fn is_small(problem: &Problem, ids: &[BufferId], unit: u64, height: u64) -> bool {
    let sizes = ids.iter().map(|&id| problem.buffers()[id].size());
    let largest = sizes.max().unwrap_or(0).max(height);
    units(largest, unit).saturating_add(ids.len() as u64) < MAX_UNITS
}

fn plain(problem: &Problem, id: BufferId) -> bool {
    let mut pairs = problem.pairs().iter();
    let at_zero = matches!(problem.buffers()[id].extent[..], [rect] if rect.lo == 0);
    at_zero && !pairs.any(|p| p.lower == id || p.upper == id)
}

/// Who meets whom, and at which distances.
fn near(
    problem: &Problem,
    ids: &[BufferId],
    covers: &[Vec<Cover>],
    members: &[Vec<Cover>],
    unit: u64,
) -> Vec<Vec<Near>> {
    let mut distances = vec![(i32::MIN, i32::MIN); ids.len()];
    let rows = covers.iter().enumerate().map(|(item, row)| {
        let mut met: Vec<u32> = Vec::new();
        for cover in row {
            for other in &members[cover.index as usize] {
                if other.index as usize == item {
                    continue;
                }
                let (above, below) = &mut distances[other.index as usize];
                if *above == i32::MIN {
                    met.push(other.index);
                }
                *above = (*above).max(cover.lo + cover.units - other.lo);
                *below = (*below).max(other.lo + other.units - cover.lo);
            }
        }
        met.sort_unstable();
        let cell = |other: u32| {
            let none = (i32::MIN, i32::MIN);
            let (above, below) = std::mem::replace(&mut distances[other as usize], none);
            let ends = (ids[item], ids[other as usize]);
            Near {
                other,
                above: paired(problem, ends, above.max(0), unit),
                below: paired(problem, (ends.1, ends.0), below.max(0), unit),
            }
        };
        met.into_iter().map(cell).collect()
    });
    rows.collect()
}

/// The distance that a pair needs, where that is less than being apart.
fn paired(problem: &Problem, (lower, upper): (BufferId, BufferId), apart: i32, unit: u64) -> i32 {
    let pair = problem
        .pair(lower, upper)
        .filter(|pair| pair.lower == lower);
    let least = pair.and_then(|pair| i32::try_from(pair.distance.div_ceil(unit)).ok());
    least.map_or(apart, |least| least.min(apart))
}
