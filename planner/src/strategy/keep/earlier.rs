//! An earlier plan, as far as it matters: who was where, and how high its arenas were.

use crate::ids::{BufferId, Id};
use crate::lifetime::Lifetime;
use crate::plan::{Place, Plan};
use crate::problem::{Problem, Rect};

/// A buffer of the earlier plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Old {
    /// Its name.
    pub name: String,
    /// What it covered.
    pub extent: Vec<Rect>,
    /// Position in [`Earlier::arenas`].
    pub arena: usize,
    /// Its offset in bytes.
    pub offset: u64,
}

/// The earlier plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Names and heights of its arenas.
    pub arenas: Vec<(String, u64)>,
    /// Its buffers that had an offset.
    pub buffers: Vec<Old>,
    /// Bytes that an arena may be higher for the sake of kept offsets: than it was, or, if that is more, than it is in a
    /// plan that keeps nothing.
    pub slack: u64,
    /// Bytes that all arenas together have, where that is known.
    pub budget: Option<u64>,
}

impl Earlier {
    /// The places of `plan`, a plan of `problem`; it need not be valid.
    pub fn of_plan(problem: &Problem, plan: &Plan) -> Self {
        Self::from_places(problem, |id| plan.places.get(id).copied())
    }

    /// The offsets that are given in `problem`.
    pub fn of_given(problem: &Problem) -> Self {
        Self::from_places(problem, |id| {
            let buffer = &problem.buffers()[id];
            let (arena, offset) = (buffer.arenas[0], buffer.fixed_offset?);
            Some(Place { arena, offset })
        })
    }

    fn from_places(problem: &Problem, place: impl Fn(BufferId) -> Option<Place>) -> Self {
        let names = problem
            .arenas()
            .values()
            .map(|arena| (arena.name.clone(), 0));
        let mut earlier = Self {
            arenas: names.collect(),
            ..Self::default()
        };
        for (id, buffer) in problem.buffers().iter() {
            let Some(Place { arena, offset }) = place(id) else {
                continue;
            };
            let Some((_, height)) = earlier.arenas.get_mut(arena.index()) else {
                continue;
            };
            // What has no bytes raises no arena, wherever it is.
            if !buffer.extent.is_empty() {
                *height = (*height).max(offset.saturating_add(buffer.size()));
            }
            earlier.buffers.push(Old {
                name: buffer.name.clone(),
                extent: buffer.extent.clone(),
                arena: arena.index(),
                offset,
            });
        }
        earlier
    }
}

impl Old {
    /// Bytes from its offset to the highest that it ever used.
    pub fn size(&self) -> u64 {
        self.extent.iter().map(|r| r.hi).max().unwrap_or(0)
    }

    /// From its first to its last step.
    pub fn lifetime(&self) -> Lifetime {
        let hull = self.extent.iter().map(|r| r.steps).reduce(Lifetime::hull);
        hull.unwrap_or(Lifetime::new(0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Buffer;

    #[test]
    fn what_has_no_bytes_raises_no_arena() {
        let mark = Buffer::with_extent("mark", Vec::new()).fixed_at(4096);
        let problem = Problem::single(vec![Buffer::new("a", 0..2, 64).fixed_at(0), mark]).unwrap();
        let earlier = Earlier::of_given(&problem);
        assert_eq!(earlier.arenas, [("arena".to_owned(), 64)]);
        assert_eq!(earlier.buffers[1].offset, 4096);
    }
}
