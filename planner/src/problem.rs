//! The problem: buffers that live in time, arenas that hold them, pairs that may overlap a little.
//!
//! Goes in: what a caller, a file or the graph crate claims. Comes out of [`Problem::new`]: a
//! problem in which every size, alignment, extent and sum has been validated; nothing downstream
//! looks again.
//!
//! A buffer's *extent* is a list of rectangles, step range × byte range relative to its offset. A
//! plain tensor is one rectangle; a class whose result is smaller than its source is two:
//!
//! ```text
//! bytes           Buffer::with_extent("class", vec![
//! 4096 ┌──┐           Rect::new(0..2, 0..4096),
//! 2048 │  └────┐      Rect::new(2..4, 0..2048)])
//!    0 └───────┘
//!      0  2    4 step
//! ```

use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::lifetime::{Lifetime, Step};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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

/// Something that needs one offset. After [`Problem::new`] its extent is sorted by (start, byte),
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
    /// The offset, where it is given and may not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_offset: Option<u64>,
    /// Arenas that may hold it, the preferred one first. `[0]` if not said.
    #[serde(default = "first_arena", skip_serializing_if = "is_first_arena")]
    pub arenas: Vec<ArenaId>,
}

fn one() -> u64 {
    1
}

// serde hands the field by reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_one(alignment: &u64) -> bool {
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

/// A block of bytes that buffers are placed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arena {
    /// For people: `arena`, `persistent`, `sram`.
    pub name: String,
    /// Bytes that it has; none: it grows as needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// Largest buffer that it may hold (a device's binding limit).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_object: Option<u64>,
    /// Every offset in it is a multiple of this.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub alignment: u64,
}

impl Arena {
    /// An arena without limits.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            capacity: None,
            largest_object: None,
            alignment: 1,
        }
    }
}

/// Why a pair may overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// The operator reads the upper buffer ahead of what it writes into the lower one
    /// (diagonal overlap), as long as the distance is kept.
    DiagonalOverlap {
        /// The operator whose access pattern proves it.
        op: String,
    },
}

/// Two buffers whose disjointness is replaced by a minimum distance: either they are disjoint, or
/// `offset(upper) ≥ offset(lower) + distance`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The buffer that starts lower when they overlap.
    pub lower: BufferId,
    /// The buffer that starts higher.
    pub upper: BufferId,
    /// Bytes between the two starts, at least.
    pub distance: u64,
    /// What makes the overlap harmless.
    pub proof: Proof,
}

/// What is wrong with a would-be problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// Alignment zero, or an arena's and a buffer's alignment have no common multiple in 64 bits.
    #[error(
        "alignment of `{name}` is {alignment}; it must be at least 1 and have a 64-bit multiple in common with its arena's"
    )]
    Alignment {
        /// The buffer or arena.
        name: String,
        /// As given.
        alignment: u64,
    },
    /// A lifetime without steps.
    #[error("lifetime of `{name}` is empty: it starts at step {} and is dead from step {}", lifetime.start, lifetime.end)]
    EmptyLifetime {
        /// The buffer.
        name: String,
        /// As given.
        lifetime: Lifetime,
    },
    /// A byte range that runs backwards.
    #[error("byte range {lo}..{hi} of `{name}` runs backwards")]
    ReversedBytes {
        /// The buffer.
        name: String,
        /// First byte.
        lo: u64,
        /// End.
        hi: u64,
    },
    /// Two rectangles of one buffer cover the same byte at the same step.
    #[error("two rectangles of `{name}` cover the same byte at step {step}")]
    SelfOverlap {
        /// The buffer.
        name: String,
        /// A step at which they do.
        step: Step,
    },
    /// A buffer without arenas, with an unknown one, or with one named twice.
    #[error("`{name}` names no arena, an arena that does not exist, or one twice")]
    Arenas {
        /// The buffer.
        name: String,
    },
    /// A fixed offset needs exactly one arena.
    #[error("`{name}` has a fixed offset but {arenas} arenas to choose from")]
    FixedInSeveralArenas {
        /// The buffer.
        name: String,
        /// How many.
        arenas: usize,
    },
    /// A fixed offset that the alignment forbids.
    #[error("fixed offset {offset} of `{name}` is not a multiple of its alignment {alignment}")]
    FixedMisaligned {
        /// The buffer.
        name: String,
        /// As given.
        offset: u64,
        /// The effective alignment.
        alignment: u64,
    },
    /// Two fixed buffers share a byte at a step.
    #[error(
        "`{first}` and `{second}` are given offsets at which they overlap at step {step}: bytes {lo}..{hi}"
    )]
    FixedClash {
        /// One buffer.
        first: String,
        /// The other.
        second: String,
        /// A step at which both are live.
        step: Step,
        /// First shared byte.
        lo: u64,
        /// End of the shared bytes.
        hi: u64,
    },
    /// A pair that names one buffer twice, an unknown one, or a pair named before.
    #[error(
        "pair {index} names an unknown buffer, one buffer twice, or a pair that an earlier one names"
    )]
    Pair {
        /// Position in the list.
        index: usize,
    },
    /// More bytes live at one step than 64 bits can count.
    #[error("{load} bytes are live at step {step} ({names}); that does not fit in 64 bits")]
    LoadOverflow {
        /// The exact sum.
        load: u128,
        /// Where.
        step: Step,
        /// Who, the first few.
        names: String,
    },
    /// All sizes together (rounded up for alignment) do not fit in 64 bits, so offsets might not.
    #[error(
        "all sizes together are {total} bytes, rounded up for alignment; that does not fit in 64 bits"
    )]
    TotalOverflow {
        /// The exact sum.
        total: u128,
    },
    /// More buffers than ids.
    #[error("{count} buffers; at most {} are supported", u32::MAX)]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// Every reason why something is not a problem. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemErrors(pub Vec<ProblemError>);

impl std::fmt::Display for ProblemErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProblemErrors {}

/// Buffers, arenas and pairs, validated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Problem {
    arenas: Table<ArenaId, Arena>,
    buffers: Table<BufferId, Buffer>,
    pairs: Vec<Pair>,
    /// Positions in `pairs`, the smaller id first.
    pair_of: BTreeMap<(BufferId, BufferId), usize>,
}

/// A problem as files have it, before validation.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Problem")]
pub(crate) struct Parts {
    arenas: Table<ArenaId, Arena>,
    buffers: Table<BufferId, Buffer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pairs: Vec<Pair>,
}

impl TryFrom<Parts> for Problem {
    type Error = ProblemErrors;
    fn try_from(parts: Parts) -> Result<Self, ProblemErrors> {
        Self::new(parts.arenas, parts.buffers, parts.pairs)
    }
}

impl From<Problem> for Parts {
    fn from(problem: Problem) -> Self {
        Self {
            arenas: problem.arenas,
            buffers: problem.buffers,
            pairs: problem.pairs,
        }
    }
}

impl Problem {
    /// Validates arenas, buffers and pairs; reports everything that is wrong with them.
    pub fn new(
        arenas: Table<ArenaId, Arena>,
        mut buffers: Table<BufferId, Buffer>,
        pairs: Vec<Pair>,
    ) -> Result<Self, ProblemErrors> {
        if u32::try_from(buffers.len()).is_err() {
            return Err(ProblemErrors(vec![ProblemError::TooMany {
                count: buffers.len(),
            }]));
        }
        let mut errors = Vec::new();
        for arena in arenas.values().filter(|arena| arena.alignment == 0) {
            errors.push(ProblemError::Alignment {
                name: arena.name.clone(),
                alignment: 0,
            });
        }
        for buffer in buffers.values_mut() {
            tidy_extent(buffer, &mut errors);
        }
        if errors.is_empty() {
            for buffer in buffers.values() {
                validate_places(buffer, &arenas, &mut errors);
            }
        }
        let pair_of = validate_pairs(&pairs, buffers.len(), &mut errors);
        if !errors.is_empty() {
            return Err(ProblemErrors(errors));
        }
        let problem = Self {
            arenas,
            buffers,
            pairs,
            pair_of,
        };
        problem
            .validate_sums()
            .map_err(|e| ProblemErrors(vec![e]))?;
        let clashes = problem.fixed_clashes();
        if clashes.is_empty() {
            Ok(problem)
        } else {
            Err(ProblemErrors(clashes))
        }
    }

    /// A problem with one unlimited arena named `arena`.
    pub fn single(buffers: Vec<Buffer>) -> Result<Self, ProblemErrors> {
        Self::new(vec![Arena::new("arena")].into(), buffers.into(), Vec::new())
    }

    /// The arenas.
    pub fn arenas(&self) -> &Table<ArenaId, Arena> {
        &self.arenas
    }

    /// The buffers.
    pub fn buffers(&self) -> &Table<BufferId, Buffer> {
        &self.buffers
    }

    /// The pairs.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The pair of these two buffers, in either order.
    pub fn pair(&self, a: BufferId, b: BufferId) -> Option<&Pair> {
        if self.pairs.is_empty() {
            return None;
        }
        let position = self.pair_of.get(&(a.min(b), a.max(b)))?;
        Some(&self.pairs[*position])
    }

    /// The alignment that `buffer` has in `arena`: the least common multiple of both.
    pub fn alignment(&self, buffer: BufferId, arena: ArenaId) -> u64 {
        let both = (self.buffers[buffer].alignment, self.arenas[arena].alignment);
        lcm(both.0, both.1).expect("validated in Problem::new")
    }

    /// The first step at which everything is dead.
    pub fn horizon(&self) -> Step {
        let ends = self.buffers.values().map(|b| b.lifetime().end);
        ends.max().unwrap_or(Step(0))
    }

    /// What the buffers would take if nothing were shared, in bytes.
    pub fn naive_bytes(&self) -> u64 {
        self.buffers.values().map(Buffer::size).sum()
    }

    fn validate_sums(&self) -> Result<(), ProblemError> {
        let total = self.buffers.iter().map(|(id, buffer)| {
            let slack = buffer.arenas.iter().map(|&a| self.alignment(id, a) - 1);
            u128::from(buffer.size()) + u128::from(slack.max().unwrap_or(0))
        });
        let fixed_end = self.buffers.values().filter_map(|b| {
            let offset = b.fixed_offset?;
            Some(u128::from(offset) + u128::from(b.size()))
        });
        let total: u128 = total.sum::<u128>() + fixed_end.max().unwrap_or(0);
        if total <= u128::from(u64::MAX) {
            return Ok(());
        }
        let (load, step) = exact_max_load(self.buffers.values());
        if load <= u128::from(u64::MAX) {
            return Err(ProblemError::TotalOverflow { total });
        }
        let live = |b: &&Buffer| b.extent.iter().any(|r| r.steps.contains(step));
        let mut names: Vec<&str> = self
            .buffers
            .values()
            .filter(live)
            .map(|b| &*b.name)
            .collect();
        let more = names.len() > 8;
        names.truncate(8);
        let names = names.join(", ") + if more { ", …" } else { "" };
        Err(ProblemError::LoadOverflow { load, step, names })
    }

    /// Pairs of fixed buffers that clash, the first [`MAX_CLASHES`].
    fn fixed_clashes(&self) -> Vec<ProblemError> {
        let fixed = |(id, b): (BufferId, &Buffer)| b.fixed_offset.map(|offset| (id, offset));
        let mut fixed: Vec<(BufferId, u64)> = self.buffers.iter().filter_map(fixed).collect();
        fixed.sort_by_key(|&(id, _)| (self.buffers[id].lifetime().start, id));
        let mut clashes = Vec::new();
        let mut live: Vec<(BufferId, u64)> = Vec::new();
        for (b, bt) in fixed {
            let start = self.buffers[b].lifetime().start;
            live.retain(|&(a, _)| self.buffers[a].lifetime().end > start);
            for &(a, at) in &live {
                let together = self.buffers[a].arenas == self.buffers[b].arenas;
                if together && let Some(clash) = self.fixed_clash((a, at), (b, bt)) {
                    clashes.push(clash);
                }
            }
            if clashes.len() >= MAX_CLASHES {
                clashes.truncate(MAX_CLASHES);
                break;
            }
            live.push((b, bt));
        }
        clashes
    }

    fn fixed_clash(
        &self,
        (a, at): (BufferId, u64),
        (b, bt): (BufferId, u64),
    ) -> Option<ProblemError> {
        if let Some(pair) = self.pair(a, b) {
            let (lower, upper) = if pair.lower == a { (at, bt) } else { (bt, at) };
            if upper >= lower.saturating_add(pair.distance) {
                return None;
            }
        }
        let (first, second) = (&self.buffers[a], &self.buffers[b]);
        for ra in &first.extent {
            for rb in &second.extent {
                let (lo, hi) = ((at + ra.lo).max(bt + rb.lo), (at + ra.hi).min(bt + rb.hi));
                if ra.steps.overlaps(rb.steps) && lo < hi {
                    return Some(ProblemError::FixedClash {
                        first: first.name.clone(),
                        second: second.name.clone(),
                        step: ra.steps.start.max(rb.steps.start),
                        lo,
                        hi,
                    });
                }
            }
        }
        None
    }
}

/// The largest live sum of whole buffers without any limit on the sums, and its first step. Used
/// to explain problems whose sums do not fit `u64`.
fn exact_max_load<'a>(buffers: impl Iterator<Item = &'a Buffer>) -> (u128, Step) {
    let mut events = Vec::new();
    for rect in buffers.flat_map(|b| &b.extent) {
        events.push((rect.steps.start, 1_i8, rect.bytes()));
        events.push((rect.steps.end, -1, rect.bytes()));
    }
    events.sort_unstable();
    let (mut load, mut best) = (0_u128, (0_u128, Step(0)));
    for (step, sign, bytes) in events {
        if sign < 0 {
            load -= u128::from(bytes);
        } else {
            load += u128::from(bytes);
        }
        if load > best.0 {
            best = (load, step);
        }
    }
    best
}

/// At most this many clashes of given offsets are listed.
const MAX_CLASHES: usize = 1000;

/// Least common multiple, or nothing when it is 0 or beyond 64 bits.
pub(crate) fn lcm(a: u64, b: u64) -> Option<u64> {
    let divisor = gcd(a, b);
    if divisor == 0 {
        return None;
    }
    (a / divisor)
        .checked_mul(b)
        .filter(|&multiple| multiple > 0)
}

/// Greatest common divisor; `gcd(0, x) = x`.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn tidy_extent(buffer: &mut Buffer, errors: &mut Vec<ProblemError>) {
    let name = || buffer.name.clone();
    if buffer.alignment == 0 {
        errors.push(ProblemError::Alignment {
            name: name(),
            alignment: 0,
        });
    }
    for rect in &buffer.extent {
        if rect.steps.is_empty() {
            errors.push(ProblemError::EmptyLifetime {
                name: name(),
                lifetime: rect.steps,
            });
        }
        if rect.lo > rect.hi {
            errors.push(ProblemError::ReversedBytes {
                name: name(),
                lo: rect.lo,
                hi: rect.hi,
            });
        }
    }
    buffer.extent.retain(|rect| rect.lo != rect.hi);
    buffer.extent.sort_unstable();
    if let Some(step) = self_overlap(&buffer.extent) {
        errors.push(ProblemError::SelfOverlap {
            name: buffer.name.clone(),
            step,
        });
    }
}

/// A step at which two rectangles of an extent sorted by start share a byte. Sweeps over time with
/// the live byte ranges in a map, so that an extent of many rectangles costs O(m log m).
fn self_overlap(extent: &[Rect]) -> Option<Step> {
    let mut live: BTreeMap<u64, u64> = BTreeMap::new();
    let mut ends: Vec<&Rect> = extent.iter().collect();
    ends.sort_unstable_by_key(|rect| rect.steps.end);
    let mut ended = ends.into_iter().peekable();
    for rect in extent {
        while let Some(dead) = ended.next_if(|dead| dead.steps.end <= rect.steps.start) {
            live.remove(&dead.lo);
        }
        let below = live.range(..rect.hi).next_back();
        if below.is_some_and(|(_, &hi)| hi > rect.lo) {
            return Some(rect.steps.start);
        }
        live.insert(rect.lo, rect.hi);
    }
    None
}

fn validate_places(
    buffer: &Buffer,
    arenas: &Table<ArenaId, Arena>,
    errors: &mut Vec<ProblemError>,
) {
    let name = || buffer.name.clone();
    let unknown = |&arena: &ArenaId| arenas.get(arena).is_none();
    let mut distinct = buffer.arenas.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if buffer.arenas.is_empty()
        || distinct.len() != buffer.arenas.len()
        || distinct.iter().any(unknown)
    {
        errors.push(ProblemError::Arenas { name: name() });
        return;
    }
    for &arena in &buffer.arenas {
        let Some(alignment) = lcm(buffer.alignment, arenas[arena].alignment) else {
            let alignment = buffer.alignment;
            errors.push(ProblemError::Alignment {
                name: name(),
                alignment,
            });
            continue;
        };
        if let Some(offset) = buffer.fixed_offset
            && !offset.is_multiple_of(alignment)
        {
            errors.push(ProblemError::FixedMisaligned {
                name: name(),
                offset,
                alignment,
            });
        }
    }
    if buffer.fixed_offset.is_some() && buffer.arenas.len() != 1 {
        errors.push(ProblemError::FixedInSeveralArenas {
            name: name(),
            arenas: buffer.arenas.len(),
        });
    }
}

fn validate_pairs(
    pairs: &[Pair],
    buffers: usize,
    errors: &mut Vec<ProblemError>,
) -> BTreeMap<(BufferId, BufferId), usize> {
    let mut positions = BTreeMap::new();
    for (index, pair) in pairs.iter().enumerate() {
        let known = pair.lower.index() < buffers && pair.upper.index() < buffers;
        let ordered = (pair.lower.min(pair.upper), pair.lower.max(pair.upper));
        if !known || pair.lower == pair.upper || positions.insert(ordered, index).is_some() {
            errors.push(ProblemError::Pair { index });
        }
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(buffers: Vec<Buffer>) -> Vec<ProblemError> {
        Problem::single(buffers).unwrap_err().0
    }

    #[test]
    fn every_fault_is_reported() {
        let errors = refused(vec![
            Buffer::new("a", 3..3, 8),
            Buffer::new("b", 0..2, 8).aligned(0),
            Buffer::with_extent("c", vec![Rect::new(0..3, 0..8), Rect::new(2..4, 4..12)]),
        ]);
        assert_eq!(errors.len(), 3, "{errors:?}");
    }

    #[test]
    fn a_live_sum_beyond_64_bits_names_step_and_buffers() {
        let big = i64::MAX as u64;
        let errors = refused(vec![
            Buffer::new("a", 0..3, big),
            Buffer::new("b", 1..3, big),
            Buffer::new("c", 2..3, 4),
        ]);
        let ProblemError::LoadOverflow { load, step, names } = &errors[0] else {
            panic!("{errors:?}")
        };
        assert_eq!(
            (*load, *step, &**names),
            ((1 << 64) + 2, Step(2), "a, b, c")
        );
    }

    #[test]
    fn fixed_offsets_must_fit_each_other_and_the_alignment() {
        let errors = refused(vec![
            Buffer::new("a", 0..2, 2048).fixed_at(0),
            Buffer::new("d", 1..3, 2048).fixed_at(1024),
        ]);
        assert!(
            matches!(&errors[0], ProblemError::FixedClash { first, second, step, lo: 1024, hi: 2048 }
                if first == "a" && second == "d" && *step == Step(1)),
            "{errors:?}"
        );
        let errors = refused(vec![Buffer::new("a", 0..2, 8).aligned(16).fixed_at(24)]);
        assert!(matches!(errors[0], ProblemError::FixedMisaligned { .. }));
    }

    #[test]
    fn a_buffer_of_no_bytes_has_no_extent() {
        let problem = Problem::single(vec![Buffer::new("empty", 0..2, 0)]).unwrap();
        let buffer = &problem.buffers()[BufferId::from_index(0)];
        assert!(buffer.extent.is_empty() && buffer.size() == 0);
    }

    #[test]
    fn common_multiples_are_checked() {
        assert_eq!(lcm(24, 16), Some(48));
        assert_eq!(lcm(1 << 40, (1 << 40) + 1), None);
        assert_eq!(lcm(0, 0), None);
    }
}
