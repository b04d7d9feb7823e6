//! Where a search stands: lowest offsets, loads of sections, and the way back.
//!
//! Invariants: `least[i]` is a lower bound of item i's offset in every completion; `load[s]` and
//! `open[s]` are the units and the number of items of section s without a place; `cross[s]` counts
//! those open ones that begin before s and end in it or behind it. All but `least` is undone by taking an item back; `least` by
//! the trail.

use super::sections::Cover;
use super::shape::Shape;

pub(super) struct State<'s> {
    pub(super) shape: &'s Shape,
    /// Bytes of the arena.
    pub(super) bytes: u64,
    /// The highest end that any item can have, in units.
    pub(super) capacity: i32,
    /// Highest offset of each item.
    most: Vec<i32>,
    pub(super) least: Vec<i32>,
    /// Where placed items are.
    pub(super) offset: Vec<i32>,
    pub(super) load: Vec<i32>,
    pub(super) open: Vec<u32>,
    pub(super) cross: Vec<u32>,
    /// Open items that meet an item.
    pub(super) company: Vec<u32>,
    trail: Vec<(u32, i32)>,
    /// What was placed, in order.
    stack: Vec<u32>,
    /// By section, a member that was lowest when it was last looked for.
    support: Vec<u32>,
    has_fixed: bool,
    /// Steps of the inner loops so far: a clock that does not depend on the machine.
    pub(super) work: u64,
}

/// The lowest offset of what is placed: nothing meets it there.
pub(super) const PLACED: i32 = 1 << 30;

/// Lengths of the trail and of the stack.
pub(super) type Mark = (usize, usize);

fn aligned(offset: i32, align: i32) -> i32 {
    (offset + align - 1) / align * align
}

impl<'s> State<'s> {
    /// Nothing placed, for an arena of so many bytes.
    pub(super) fn new(shape: &'s Shape, capacity: u64) -> Self {
        let sections = shape.sections;
        let room = |&bytes: &u64| {
            let room = capacity.checked_sub(bytes).map(|room| room / shape.unit);
            room.map_or(-1, |room| i32::try_from(room).unwrap_or(i32::MAX / 2))
        };
        let most: Vec<i32> = shape.bytes.iter().map(room).collect();
        let ends = most.iter().zip(&shape.size).map(|(at, size)| at + size);
        let reach = ends.max().unwrap_or(0);
        let mut state = Self {
            shape,
            bytes: capacity,
            capacity: reach,
            most,
            least: shape.fixed.iter().map(|&at| at.max(0)).collect(),
            offset: vec![0; shape.len()],
            load: vec![0; sections],
            open: vec![0; sections],
            cross: vec![0; sections + 1],
            company: (0..shape.len())
                .map(|item| u32::try_from(shape.near.row(item).len()).expect("bounded"))
                .collect(),
            trail: Vec::new(),
            stack: Vec::new(),
            support: vec![0; sections],
            has_fixed: shape.fixed.iter().any(|&at| at >= 0),
            work: (shape.len() + shape.sections) as u64,
        };
        for item in 0..shape.len() {
            state.cover(item, true);
        }
        state
    }

    /// Adds an item to the loads of its sections, or takes it out.
    fn cover(&mut self, item: usize, open: bool) {
        let shape = self.shape;
        for cover in shape.covers.row(item) {
            let section = cover.index as usize;
            if open {
                self.open[section] += 1;
                self.load[section] += cover.units;
            } else {
                self.open[section] -= 1;
                self.load[section] -= cover.units;
            }
        }
        // A gap in time does not cut an item in two.
        let (first, end) = shape.span[item];
        for cross in &mut self.cross[first as usize + 1..end as usize] {
            *cross = if open { *cross + 1 } else { *cross - 1 };
        }
    }

    /// A place on the way back.
    pub(super) fn mark(&self) -> Mark {
        (self.trail.len(), self.stack.len())
    }

    /// Goes back to a mark: what was raised and placed since then is as it was.
    pub(super) fn back(&mut self, mark: Mark) {
        let shape = self.shape;
        while self.stack.len() > mark.1 {
            let item = self.stack.pop().expect("it is longer than the mark") as usize;
            self.least[item] = self.offset[item];
            self.cover(item, true);
            for near in shape.near.row(item) {
                self.company[near.other as usize] += 1;
            }
        }
        // Nothing is raised once it is placed, so what was raised comes back last.
        for (changed, least) in self.trail.drain(mark.0..).rev() {
            self.least[changed as usize] = least;
        }
    }

    /// Raises the lowest offset of an item. Whether it still fits.
    pub(super) fn raise(&mut self, item: usize, offset: i32) -> bool {
        if offset <= self.least[item] {
            return true;
        }
        let align = self.shape.align[item];
        let mut offset = if align == 1 {
            offset
        } else {
            aligned(offset, align)
        };
        if self.shape.fixed[item] >= 0 {
            return false;
        }
        if self.has_fixed {
            offset = self.over_fixed(item, offset);
        }
        self.trail
            .push((u32::try_from(item).expect("bounded"), self.least[item]));
        self.least[item] = offset;
        offset <= self.most[item]
    }

    /// The lowest offset from `offset` on at which an item is clear of fixed ones that it cannot lie
    /// below; any that is too high where there is none.
    fn over_fixed(&self, item: usize, mut offset: i32) -> i32 {
        let (shape, align) = (self.shape, self.shape.align[item]);
        while offset <= self.most[item] {
            let mut higher = offset;
            for near in shape.near.row(item) {
                let at = shape.fixed[near.other as usize];
                if at >= 0 && offset + near.above > at {
                    higher = higher.max(at + near.below);
                }
            }
            higher = aligned(higher, align);
            if higher == offset {
                break;
            }
            offset = higher;
        }
        offset
    }

    /// Before anything is placed: items that cannot lie below fixed ones go above.
    pub(super) fn settle(&mut self) -> bool {
        (0..self.shape.len()).all(|item| {
            if self.shape.fixed[item] < 0 && self.has_fixed {
                self.least[item] = self.over_fixed(item, self.least[item]);
            }
            self.least[item] <= self.most[item]
        })
    }

    /// Places an item at its lowest offset. Whether everything that meets it still fits.
    pub(super) fn place(&mut self, item: usize) -> bool {
        let offset = std::mem::replace(&mut self.least[item], PLACED);
        self.offset[item] = offset;
        self.stack.push(u32::try_from(item).expect("bounded"));
        self.cover(item, false);
        let shape = self.shape;
        let row = shape.near.row(item);
        self.work += row.len() as u64;
        let mut fits = true;
        for near in row {
            let other = near.other as usize;
            self.company[other] -= 1;
            if fits {
                fits = self.raise(other, offset + near.above);
            }
        }
        fits
    }

    /// The lowest offset that an item can have if something has to push it that is placed at `from`
    /// or higher; nothing if nothing can.
    pub(super) fn pushed(&mut self, item: usize, from: i32) -> Option<i32> {
        let row = self.shape.near.row(item);
        self.work += row.len() as u64;
        let ends = row
            .iter()
            .map(|near| self.least[near.other as usize].max(from) + near.below);
        ends.min().filter(|&end| end < PLACED)
    }

    /// Whether every section that was touched since `mark` (by items raised since, and by `item`,
    /// placed since) still holds what is open in it. Everything open lies at `from` or higher.
    pub(super) fn sections_hold(&mut self, mark: Mark, item: Option<usize>, from: i32) -> bool {
        let spans = &self.shape.span;
        let (mut first, mut end) = item.map_or((u32::MAX, 0), |item| spans[item]);
        for &(raised, _) in &self.trail[mark.0..] {
            let span = spans[raised as usize];
            (first, end) = (first.min(span.0), end.max(span.1));
        }
        (first as usize..end as usize).all(|section| self.section_holds(section, from))
    }

    /// Whether every section holds what is open in it.
    pub(super) fn all_sections_hold(&mut self) -> bool {
        (0..self.shape.sections).all(|section| self.section_holds(section, 0))
    }

    /// Whether what is open in a section fits; everything open lies at `from` or higher.
    fn section_holds(&mut self, section: usize, from: i32) -> bool {
        if self.open[section] == 0 {
            return true;
        }
        // Any open member shows a floor that is not lower than the lowest.
        let members = self.shape.members.row(section);
        let room = self.capacity + self.shape.relief[section] - self.load[section];
        let floor = |m: &Cover| self.least[m.index as usize].max(from) + m.lo;
        if floor(&members[self.support[section] as usize]) <= room {
            self.work += 1;
            return true;
        }
        self.work += members.len() as u64;
        let lowest = (0..members.len()).min_by_key(|&at| floor(&members[at]));
        let lowest = lowest.expect("something is open in it");
        self.support[section] = u32::try_from(lowest).expect("bounded");
        floor(&members[lowest]) <= room
    }

    /// How high a section gets at least.
    pub(super) fn filled(&self, section: usize) -> i32 {
        let members = self.shape.members.row(section).iter();
        let floors = members.map(|m| self.least[m.index as usize] + m.lo);
        floors.min().unwrap_or(0) + self.load[section] - self.shape.relief[section]
    }
}
