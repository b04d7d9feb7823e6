//! Who of a class can still forbid that its bytes are written, so that a class of many members is decided in
//! about the time of a small one.
//!
//! Members join in order of the schedule, and a member that nobody needs any more forbids nothing at any
//! later step. A chain of in-place operators has a class as long as itself, of which two members count.

use crate::ir::TensorId;
use bayplan_planner::Step;
use std::ops::Range;

/// Members are looked through for what is over when there are this many, and twice as many as were left.
const FEW: usize = 16;

/// A member that has bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupant {
    pub(super) tensor: TensorId,
    /// Its bytes, from the start of the class: `lo..hi`.
    pub(super) lo: u64,
    pub(super) hi: u64,
    /// The step from which on nobody needs it; nothing where it must survive.
    pub(super) over: Option<Step>,
}

impl Occupant {
    /// Whether some of these bytes are its own.
    pub(super) fn meets(&self, bytes: &Range<u64>) -> bool {
        self.lo.max(bytes.start) < self.hi.min(bytes.end)
    }
}

/// What a class has to be asked before somebody joins it.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    /// In order of joining; some of them may be over.
    occupants: Vec<Occupant>,
    /// Number of occupants at which those that are over leave.
    full: usize,
    /// Offset in the class and given offset of the first member that has one. All that joined later agree.
    given: Option<(u64, u64)>,
}

impl Live {
    /// Adds a member at `step`. Afterwards nobody asks about earlier steps.
    pub(super) fn join(&mut self, occupant: Occupant, step: Step) {
        if self.occupants.len() >= self.full.max(FEW) {
            self.occupants
                .retain(|other| other.over.is_none_or(|over| over > step));
            self.full = 2 * self.occupants.len();
        }
        if occupant.lo < occupant.hi {
            self.occupants.push(occupant);
        }
    }

    /// Member number `index` of those that may count, in order of joining.
    pub(super) fn get(&self, index: usize) -> Option<Occupant> {
        self.occupants.get(index).copied()
    }

    /// Notes that the member at `offset` has the given offset `fixed`.
    pub(super) fn give(&mut self, offset: u64, fixed: u64) {
        self.given.get_or_insert((offset, fixed));
    }

    /// Whether a member at `offset` may have the given offset `fixed`.
    pub(super) fn agrees(&self, offset: u64, fixed: u64) -> bool {
        let start = fixed.checked_sub(offset);
        start.is_some()
            && self
                .given
                .is_none_or(|(at, given)| given.checked_sub(at) == start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bayplan_planner::ids::Id;

    fn occupant(tensor: usize, over: Option<u32>) -> Occupant {
        Occupant {
            tensor: TensorId::from_index(tensor),
            lo: 0,
            hi: 64,
            over: over.map(Step),
        }
    }

    #[test]
    fn of_a_long_chain_few_count_and_who_must_survive_stays_first() {
        let mut live = Live::default();
        live.join(occupant(0, None), Step(0));
        for step in 1..1000 {
            live.join(occupant(step as usize, Some(step + 2)), Step(step));
        }
        let left: Vec<usize> = (0..)
            .map_while(|i| live.get(i))
            .map(|o| o.tensor.index())
            .collect();
        assert!(left.len() <= FEW, "{left:?}");
        assert_eq!((left[0], left[left.len() - 1]), (0, 999));
        // Whoever is needed at the last step or after it is there.
        assert!(left.contains(&998), "{left:?}");
    }

    #[test]
    fn who_is_needed_stays_however_many_they_are() {
        let mut live = Live::default();
        for tensor in 0..100 {
            live.join(occupant(tensor, Some(200)), Step(0));
        }
        assert!((0..100).all(|i| live.get(i).is_some_and(|o| o.tensor.index() == i)));
    }

    #[test]
    fn given_offsets_agree_with_the_first() {
        let mut live = Live::default();
        assert!(live.agrees(8, 8) && !live.agrees(8, 7));
        live.give(8, 108);
        live.give(16, 116);
        assert!(live.agrees(0, 100) && live.agrees(4, 104));
        assert!(!live.agrees(0, 104) && !live.agrees(200, 100));
    }
}
