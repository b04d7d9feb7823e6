//! States that were searched in vain.
//!
//! A state is the set of open items with their lowest offsets; what is placed matters only through
//! those. If no completion exists, none does for the same state reached otherwise, in another order,
//! or in a later turn with the same or a smaller capacity. Keys are 128 bits of two independent hashes: among
//! 2^24 states, the chance that any two collide is below 2^-80.

use super::keys::mixed;

/// Slots at first, and at most (16 MiB).
const FEW: usize = 1 << 10;
const MANY: usize = 1 << 20;
/// Slots that a key may be in.
const WAYS: usize = 4;

pub(super) struct Failed {
    slots: Vec<(u64, u64)>,
    used: usize,
    turn: usize,
}

/// A set of (item, offset), in any order.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Key(u64, u64);

impl Key {
    pub(super) fn add(&mut self, item: u32, offset: i32) {
        let word = u64::from(item) << 32 | u64::from(offset.cast_unsigned());
        self.0 = self.0.wrapping_add(mixed(word));
        self.1 = self.1.wrapping_add(mixed(word ^ 0xA5A5_5A5A_C3C3_3C3C));
    }
}

impl Failed {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            used: 0,
            turn: 0,
        }
    }

    fn ways(&self, key: (u64, u64)) -> std::ops::Range<usize> {
        let groups = (self.slots.len() / WAYS) as u64;
        let first = usize::try_from(key.0 % groups).expect("there are fewer groups") * WAYS;
        first..first + WAYS
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        let key = (key.0, key.1);
        !self.slots.is_empty() && self.slots[self.ways(key)].contains(&key)
    }

    /// Remembers a state; when there is no room left, another one is forgotten.
    pub(super) fn insert(&mut self, key: Key) {
        if self.used * 2 >= self.slots.len() && self.slots.len() < MANY {
            let larger = (self.slots.len() * 4).clamp(FEW, MANY);
            let kept = std::mem::replace(&mut self.slots, vec![(0, 0); larger]);
            self.used = 0;
            kept.into_iter()
                .filter(|slot| *slot != (0, 0))
                .for_each(|slot| self.put(slot));
        }
        self.put((key.0, key.1));
    }

    fn put(&mut self, key: (u64, u64)) {
        let ways = self.ways(key);
        let free = self.slots[ways.clone()]
            .iter()
            .position(|slot| *slot == (0, 0));
        self.used += usize::from(free.is_some());
        self.turn = (self.turn + 1) % WAYS;
        self.slots[ways.start + free.unwrap_or(self.turn)] = key;
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.used = 0;
    }
}
