//! A buffer and the rectangles that it covers.

use crate::ids::{ArenaId, Id};
use crate::lifetime::Lifetime;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One rectangle of an extent: the bytes `lo..hi`, relative to the buffer's offset, are in use
/// during `steps`. Written to files as `(start, end, lo, hi)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u64, u64)", into = "(u32, u32, u64, u64)")]
pub struct Rect {
    /// When.
    pub steps: Lifetime,
    /// First byte, relative to the buffer's offset.
    pub lo: u64,
    /// First byte that is not used.
    pub hi: u64,
}

impl Rect {
    /// The rectangle `steps` × `bytes`.
    pub fn new(steps: impl Into<Lifetime>, bytes: Range<u64>) -> Self {
        Self {
            steps: steps.into(),
            lo: bytes.start,
            hi: bytes.end,
        }
    }

    /// Bytes in use while it is live.
    pub fn bytes(self) -> u64 {
        self.hi.saturating_sub(self.lo)
    }
}

impl From<(u32, u32, u64, u64)> for Rect {
    fn from((start, end, lo, hi): (u32, u32, u64, u64)) -> Self {
        Self::new(start..end, lo..hi)
    }
}

impl From<Rect> for (u32, u32, u64, u64) {
    fn from(rect: Rect) -> Self {
        (rect.steps.start.0, rect.steps.end.0, rect.lo, rect.hi)
    }
}

/// Something that needs one offset. After [`Problem::new`](super::Problem::new) its extent is sorted by (start, byte),
/// free of empty rectangles and of overlap with itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// For people; need not be unique.
    pub name: String,
    /// What it covers. Empty: it takes no bytes and conflicts with nothing.
    pub extent: Vec<Rect>,
    /// Its offset must be a multiple of this (and of its arena's alignment).
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub alignment: u64,
    /// The offset, where it is given and may not change. That of a buffer without bytes may be above everything:
    /// it takes nothing, and the arena ends below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_offset: Option<u64>,
    /// Arenas that may hold it, the preferred one first. `[0]` if not said.
    #[serde(default = "first_arena", skip_serializing_if = "is_first_arena")]
    pub arenas: Vec<ArenaId>,
    /// Bytes that are read and written in it over a run, where that is known: what decides who gets
    /// the faster arena. If not said, its bytes × steps stand for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<u64>,
}

pub(super) fn one() -> u64 {
    1
}

// serde hands the field by reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
pub(super) fn is_one(alignment: &u64) -> bool {
    *alignment == 1
}

fn first_arena() -> Vec<ArenaId> {
    vec![ArenaId::from_index(0)]
}

fn is_first_arena(arenas: &Vec<ArenaId>) -> bool {
    arenas == &first_arena()
}

impl Buffer {
    /// A plain buffer: `size` bytes during `lifetime`, alignment 1, in arena 0.
    pub fn new(name: impl Into<String>, lifetime: impl Into<Lifetime>, size: u64) -> Self {
        Self::with_extent(name, vec![Rect::new(lifetime, 0..size)])
    }

    /// A buffer with any extent.
    pub fn with_extent(name: impl Into<String>, extent: Vec<Rect>) -> Self {
        Self {
            name: name.into(),
            extent,
            alignment: 1,
            fixed_offset: None,
            arenas: first_arena(),
            traffic: None,
        }
    }

    /// The same buffer with starts at multiples of `alignment`.
    #[must_use]
    pub fn aligned(mut self, alignment: u64) -> Self {
        self.alignment = alignment;
        self
    }

    /// The same buffer with its offset given.
    #[must_use]
    pub fn fixed_at(mut self, offset: u64) -> Self {
        self.fixed_offset = Some(offset);
        self
    }

    /// The same buffer, allowed in these arenas, the preferred one first.
    #[must_use]
    pub fn in_arenas(mut self, arenas: Vec<ArenaId>) -> Self {
        self.arenas = arenas;
        self
    }

    /// The same buffer, with so many bytes read and written in it over a run.
    #[must_use]
    pub fn with_traffic(mut self, bytes: u64) -> Self {
        self.traffic = Some(bytes);
        self
    }

    /// What it is worth to have it in a faster arena: its traffic, or bytes × steps if not said.
    pub fn worth(&self) -> u128 {
        let rects = self.extent.iter();
        let area = rects.map(|r| u128::from(r.bytes()) * u128::from(r.steps.steps()));
        self.traffic.map_or_else(|| area.sum(), u128::from)
    }

    /// Bytes from its offset to the highest byte that it ever uses.
    pub fn size(&self) -> u64 {
        self.extent.iter().map(|r| r.hi).max().unwrap_or(0)
    }

    /// From its first to its last step; empty (`0..0`) when it has no extent.
    pub fn lifetime(&self) -> Lifetime {
        let hull = self.extent.iter().map(|r| r.steps).reduce(Lifetime::hull);
        hull.unwrap_or(Lifetime::new(0, 0))
    }
}
