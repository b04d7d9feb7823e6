//! Who owns each byte of every arena: a map from ranges to contents.

use crate::ir::{NodeId, TensorId};
use bayplan_planner::ids::Id;
use bayplan_planner::{ArenaId, Place};
use std::collections::BTreeMap;

/// What was written: a tensor in one version, or a node's scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) tensor: TensorId,
    pub(super) version: u32,
}

impl Content {
    /// Scratch is marked by a version that no state reaches.
    pub(super) fn scratch(node: NodeId) -> Self {
        Self {
            tensor: TensorId::from_index(node.index()),
            version: u32::MAX,
        }
    }

    pub(super) fn is_scratch(self) -> bool {
        self.version == u32::MAX
    }

    pub(super) fn scratch_of(self) -> NodeId {
        NodeId::from_index(self.tensor.index())
    }
}

/// Bytes `start..end` hold `content` from its byte `base` on.
#[derive(Clone, Copy, Debug)]
struct Owned {
    end: u64,
    content: Content,
    base: u64,
}

/// Disjoint ranges by arena and first byte.
#[derive(Default)]
pub(super) struct Owners {
    ranges: BTreeMap<(ArenaId, u64), Owned>,
}

impl Owners {
    /// The bytes at `place` now hold `content`, whole.
    pub(super) fn write(&mut self, place: Place, bytes: u64, content: Content) {
        let (arena, lo, hi) = (place.arena, place.offset, place.offset + bytes);
        self.split(arena, lo);
        self.split(arena, hi);
        let inside: Vec<(ArenaId, u64)> = self
            .ranges
            .range((arena, lo)..(arena, hi))
            .map(|(&key, _)| key)
            .collect();
        for key in inside {
            self.ranges.remove(&key);
        }
        let owned = Owned {
            end: hi,
            content,
            base: 0,
        };
        self.ranges.insert((arena, lo), owned);
    }

    /// Makes `at` a border between ranges.
    fn split(&mut self, arena: ArenaId, at: u64) {
        let before = self.ranges.range_mut((arena, 0)..(arena, at)).next_back();
        if let Some((&(_, start), owned)) = before
            && owned.end > at
        {
            let upper = Owned {
                base: owned.base + (at - start),
                ..*owned
            };
            owned.end = at;
            self.ranges.insert((arena, at), upper);
        }
    }

    /// The first bytes at `place` that are not `content` from its byte `base` on, and what is there.
    pub(super) fn first_other(
        &self,
        place: Place,
        bytes: u64,
        content: Content,
        base: u64,
    ) -> Option<(u64, u64, Option<Content>)> {
        let (arena, lo, hi) = (place.arena, place.offset, place.offset + bytes);
        let below = self.ranges.range((arena, 0)..=(arena, lo)).next_back();
        let start = below
            .filter(|(_, owned)| owned.end > lo)
            .map_or(lo, |(&(_, start), _)| start);
        let mut covered = lo;
        for (&(_, start), owned) in self.ranges.range((arena, start)..(arena, hi)) {
            if start > covered {
                return Some((covered, start, None));
            }
            let right =
                owned.content == content && owned.base + (covered - start) == base + (covered - lo);
            if !right {
                return Some((covered, owned.end.min(hi), Some(owned.content)));
            }
            covered = owned.end;
        }
        (covered < hi).then_some((covered, hi, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_split_and_keep_their_place_in_the_content() {
        let content = |index| Content {
            tensor: TensorId::from_index(index),
            version: 0,
        };
        let at = |offset| Place {
            arena: ArenaId::from_index(0),
            offset,
        };
        let mut owners = Owners::default();
        owners.write(at(0), 100, content(0));
        owners.write(at(40), 20, content(1));
        assert_eq!(owners.first_other(at(0), 40, content(0), 0), None);
        assert_eq!(owners.first_other(at(60), 40, content(0), 60), None);
        assert_eq!(
            owners.first_other(at(60), 40, content(0), 59),
            Some((60, 100, Some(content(0))))
        );
        assert_eq!(
            owners.first_other(at(0), 100, content(0), 0),
            Some((40, 60, Some(content(1))))
        );
        assert_eq!(
            owners.first_other(at(90), 20, content(0), 90),
            Some((100, 110, None))
        );
        assert_eq!(owners.first_other(at(45), 10, content(1), 5), None);
    }
}
