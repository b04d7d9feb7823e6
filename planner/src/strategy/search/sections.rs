//! Sections: time compressed to the maximal cliques of rectangles, and what every item takes of them.

use super::units::units;
use crate::ids::BufferId;
use crate::lifetime::Step;
use crate::problem::{Buffer, Problem};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of a table without gaps between them.
#[derive(Debug)]
pub(super) struct Rows<T> {
    starts: Vec<u32>,
    cells: Vec<T>,
}

impl<T> Rows<T> {
    pub(super) fn new(rows: Vec<Vec<T>>) -> Self {
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

/// A step in each maximal clique of rectangles.
pub(super) fn moments(problem: &Problem, ids: &[BufferId]) -> Vec<Step> {
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
pub(super) fn covers(
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
pub(super) fn turned(covers: &[Vec<Cover>], sections: usize) -> Vec<Vec<Cover>> {
    let mut members = vec![Vec::new(); sections];
    for (item, row) in covers.iter().enumerate() {
        for cover in row {
            let index = u32::try_from(item).expect("bounded by MAX_BUFFERS");
            members[cover.index as usize].push(Cover { index, ..*cover });
        }
    }
    members
}

/// Units that a section has to hold. Where buffers have holes that others lie in, that can be far more than
/// the arena has.
pub(super) fn load(members: &[Cover]) -> u64 {
    let units = members
        .iter()
        .map(|cover| u64::from(cover.units.unsigned_abs()));
    units.sum()
}

/// By section, the most that the pairs in it can share; never more than is there.
pub(super) fn relief(
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
    let here: BTreeSet<BufferId> = ids.iter().copied().collect();
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
