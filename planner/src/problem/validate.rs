//! The rules of a problem, each checked once, in [`Problem::new`].

use super::error::ProblemError;
use super::{Arena, Buffer, Pair, Problem, Rect};
use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::lifetime::Step;
use crate::numbers::gcd;
use std::collections::BTreeMap;

impl Problem {
    pub(super) fn validate_sums(&self) -> Result<(), ProblemError> {
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
    pub(super) fn fixed_clashes(&self) -> Vec<ProblemError> {
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
pub(super) fn lcm(a: u64, b: u64) -> Option<u64> {
    let divisor = gcd(a, b);
    if divisor == 0 {
        return None;
    }
    (a / divisor)
        .checked_mul(b)
        .filter(|&multiple| multiple > 0)
}

pub(super) fn tidy_extent(buffer: &mut Buffer, errors: &mut Vec<ProblemError>) {
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

pub(super) fn validate_places(
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
    if let Some(offset) = buffer.fixed_offset
        && offset.checked_add(buffer.size()).is_none()
    {
        errors.push(ProblemError::FixedBeyond {
            name: name(),
            offset,
        });
    }
    if buffer.fixed_offset.is_some() && buffer.arenas.len() != 1 {
        errors.push(ProblemError::FixedInSeveralArenas {
            name: name(),
            arenas: buffer.arenas.len(),
        });
    }
}

pub(super) fn validate_pairs(
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

    #[test]
    fn common_multiples_are_checked() {
        assert_eq!(lcm(24, 16), Some(48));
        assert_eq!(lcm(1 << 40, (1 << 40) + 1), None);
        assert_eq!(lcm(0, 0), None);
    }
}
