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

use crate::ids::{ArenaId, BufferId};
use crate::lifetime::Step;
use crate::problem::{Buffer, Problem};
use std::collections::BTreeMap;

/// Beyond this many buffers, or this many that meet, nothing is searched.
const MAX_BUFFERS: usize = 1 << 14;
const MAX_MEETINGS: usize = 1 << 23;
/// An arena, and what lives at one step, has fewer units: sums of four such numbers stay within 32 bits.
const MAX_UNITS: u64 = 1 << 29;

/// Rows of a table without gaps between them.
#[derive(Debug)]
pub(super) struct Rows<T> {
    starts: Vec<u32>,
    cells: Vec<T>,
}

impl<T> Rows<T> {
    fn new(rows: Vec<Vec<T>>) -> Self {
        let mut starts = vec![0];
        let mut cells = Vec::new();
        for row in rows {
            cells.extend(row);
            starts.push(u32::try_from(cells.len()).expect("bounded by MAX_MEETINGS"));
        }
        Self { starts, cells }
    }

    pub(super) fn row(&self, index: usize) -> &[T] {
        &self.cells[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// What an item takes of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    /// The section, or the item, that it is about.
    pub(super) index: u32,
    /// First unit in use, from the item's offset.
    pub(super) lo: i32,
    /// Units in use.
    pub(super) units: i32,
}

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

/// Units that a section has to hold. Where buffers have holes that others lie in, that can be far more than
/// the arena has.
fn load(members: &[Cover]) -> u64 {
    let units = members
        .iter()
        .map(|cover| u64::from(cover.units.unsigned_abs()));
    units.sum()
}

fn plain(problem: &Problem, id: BufferId) -> bool {
    let mut pairs = problem.pairs().iter();
    let at_zero = matches!(problem.buffers()[id].extent[..], [rect] if rect.lo == 0);
    at_zero && !pairs.any(|p| p.lower == id || p.upper == id)
}

fn units(bytes: u64, unit: u64) -> u64 {
    bytes.div_ceil(unit)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Bytes in a unit.
fn unit(problem: &Problem, arena: ArenaId, ids: &[BufferId]) -> u64 {
    let buffer = |id: &BufferId| &problem.buffers()[*id];
    let grid = ids.iter().fold(0, |unit, &id| {
        let fixed = problem.buffers()[id].fixed_offset.unwrap_or(0);
        gcd(gcd(unit, problem.alignment(id, arena)), fixed)
    });
    let grid = grid.max(1);
    // What divides every alignment, given offset, size and distance, all of them in grid steps.
    let numbers = ids.iter().flat_map(|id| {
        let edges = buffer(id)
            .extent
            .iter()
            .flat_map(move |rect| [rect.lo / grid, rect.hi.div_ceil(grid)]);
        edges.chain([buffer(id).fixed_offset.unwrap_or(0) / grid])
    });
    let distances = problem
        .pairs()
        .iter()
        .map(|pair| pair.distance.div_ceil(grid));
    let common = numbers.chain(distances).fold(0, gcd).max(1);
    // An alignment that does not divide by the common step keeps all steps.
    let aligned = ids.iter().all(|&id| {
        (common.is_multiple_of(problem.alignment(id, arena) / grid))
            || (problem.alignment(id, arena) / grid).is_multiple_of(common)
    });
    if aligned { grid * common } else { grid }
}

/// A step in each maximal clique of rectangles.
fn moments(problem: &Problem, ids: &[BufferId]) -> Vec<Step> {
    let mut events: Vec<(Step, bool)> = Vec::new();
    for &id in ids {
        for rect in &problem.buffers()[id].extent {
            events.push((rect.steps.start, true));
            events.push((rect.steps.end, false));
        }
    }
    events.sort_unstable();
    let mut moments = Vec::new();
    let mut grew = false;
    let mut last_start = Step(0);
    for (step, starts) in events {
        if starts {
            (grew, last_start) = (true, step);
        } else if grew {
            moments.push(last_start);
            grew = false;
        }
    }
    moments
}

/// What each item takes of which section, and whether that is all and nothing but what it uses.
fn covers(
    problem: &Problem,
    ids: &[BufferId],
    moments: &[Step],
    unit: u64,
) -> (Vec<Vec<Cover>>, bool) {
    let mut exact = true;
    let rows = ids.iter().map(|&id| {
        let mut row: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for rect in &problem.buffers()[id].extent {
            let from = moments.partition_point(|&moment| moment < rect.steps.start);
            let to = moments.partition_point(|&moment| moment < rect.steps.end);
            for section in from..to {
                let range = row.entry(section).or_insert((rect.lo, rect.hi));
                exact &= *range == (rect.lo, rect.hi);
                *range = (range.0.min(rect.lo), range.1.max(rect.hi));
            }
        }
        let small = |bytes: u64| i32::try_from(bytes).expect("bounded by MAX_UNITS");
        let cover = |(section, (lo, hi)): (usize, (u64, u64))| Cover {
            index: u32::try_from(section).expect("sections are fewer than rectangles"),
            lo: small(lo / unit),
            units: small(units(hi, unit) - lo / unit),
        };
        row.into_iter().map(cover).collect()
    });
    let rows = rows.collect();
    (rows, exact)
}

/// Rows by section of rows by item.
fn turned(covers: &[Vec<Cover>], sections: usize) -> Vec<Vec<Cover>> {
    let mut members = vec![Vec::new(); sections];
    for (item, row) in covers.iter().enumerate() {
        for cover in row {
            let index = u32::try_from(item).expect("bounded by MAX_BUFFERS");
            members[cover.index as usize].push(Cover { index, ..*cover });
        }
    }
    members
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

/// By section, the most that the pairs in it can share; never more than is there.
fn relief(
    problem: &Problem,
    ids: &[BufferId],
    moments: &[Step],
    members: &[Vec<Cover>],
    unit: u64,
) -> Vec<i32> {
    let mut relief = vec![0_i32; moments.len()];
    if problem.pairs().is_empty() {
        return relief;
    }
    let here: std::collections::BTreeSet<BufferId> = ids.iter().copied().collect();
    let live = |id: BufferId, moment: Step| -> u64 {
        let buffer: &Buffer = &problem.buffers()[id];
        let rects = buffer.extent.iter().filter(|r| r.steps.contains(moment));
        rects.map(|r| r.bytes()).sum()
    };
    for pair in problem.pairs() {
        if here.contains(&pair.lower) && here.contains(&pair.upper) {
            for (section, &moment) in moments.iter().enumerate() {
                let shared = live(pair.lower, moment).min(live(pair.upper, moment));
                let shared = i32::try_from(units(shared, unit)).expect("bounded by MAX_UNITS");
                relief[section] = relief[section].saturating_add(shared);
            }
        }
    }
    for (relief, members) in relief.iter_mut().zip(members) {
        let load = i32::try_from(load(members)).expect("bounded by MAX_UNITS");
        *relief = load.min(*relief);
    }
    relief
}
