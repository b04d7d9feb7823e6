//! States that were searched in vain.
//!
//! A state is the set of open items with their lowest offsets; what is placed matters only through
//! those. If no completion exists within a capacity, none does within that or a smaller one for the same
//! state reached otherwise, in another order, or in a later turn. Keys are 128 bits of two independent
//! hashes: among 2^24 states, the chance that any two collide is below 2^-80.

use super::keys::mixed;

/// Slots at first, and at most (24 MiB).
const FEW: usize = 1 << 10;
const MANY: usize = 1 << 20;
/// Slots that a key may be in.
const WAYS: usize = 4;

/// Nothing has this: nothing is searched in no bytes.
const FREE: Slot = Slot {
    key: (0, 0),
    capacity: 0,
};

/// A state, and the largest capacity in bytes within which it failed.
#[derive(Clone, Copy)]
struct Slot {
    key: (u64, u64),
    capacity: u64,
}

pub(super) struct Failed {
    slots: Vec<Slot>,
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

    /// Whether a state failed within `capacity` or more.
    pub(super) fn contains(&self, key: Key, capacity: u64) -> bool {
        let key = (key.0, key.1);
        let failed = |slot: &Slot| slot.key == key && slot.capacity >= capacity;
        !self.slots.is_empty() && self.slots[self.ways(key)].iter().any(failed)
    }

    /// Remembers a state; when there is no room left, another one is forgotten.
    pub(super) fn insert(&mut self, key: Key, capacity: u64) {
        if self.used * 2 >= self.slots.len() && self.slots.len() < MANY {
            let larger = (self.slots.len() * 4).clamp(FEW, MANY);
            let kept = std::mem::replace(&mut self.slots, vec![FREE; larger]);
            self.used = 0;
            let kept = kept.into_iter().filter(|slot| slot.capacity > 0);
            kept.for_each(|slot| self.put(slot));
        }
        let key = (key.0, key.1);
        self.put(Slot { key, capacity });
    }

    fn put(&mut self, slot: Slot) {
        let ways = self.ways(slot.key);
        let group = &mut self.slots[ways];
        let fits = |other: &Slot| other.capacity == 0 || other.key == slot.key;
        let at = group.iter().position(fits);
        self.used += usize::from(at.is_some_and(|at| group[at].capacity == 0));
        self.turn = (self.turn + 1) % WAYS;
        let old = &mut group[at.unwrap_or(self.turn)];
        let same = old.key == slot.key;
        let capacity = if same {
            slot.capacity.max(old.capacity)
        } else {
            slot.capacity
        };
        *old = Slot { capacity, ..slot };
    }
}
