//! Buffers that fit each other are joined, and placed as one.
//!
//! Goes in: a problem. Comes out: one with fewer buffers, each plan of which is a plan of the first.
//!
//! - *Rows.* Where exactly one buffer of some size ends as exactly one of that size starts, both take
//!   the same bytes, one after the other.
//! - *Stacks.* Buffers with equal lifetimes lie on top of each other.
//!
//! ```text
//! ┌───┬────┐      ┌────────┐          ┌────────┐
//! │ a │ b  │ row  │  a b   │ stack    │        │
//! ├───┴────┤  →   ├────────┤   →      │ a b c  │
//! │   c    │      │   c    │          └────────┘
//! └────────┘      └────────┘
//! ```
//!
//! Both are repeated while they find anything. This is a heuristic (the best plan need not be of this kind),
//! but what was cut apart by such cuts comes together again, and what remains is small.

use crate::ids::{ArenaId, BufferId, Table};
use crate::lifetime::Lifetime;
use crate::plan::Place;
use crate::problem::{Buffer, Problem};

/// What a joined buffer is made of.
#[derive(Clone, Copy)]
enum Part {
    One(BufferId),
    /// Both at the same offset.
    Row(u32, u32),
    /// The second one this far above the first.
    Stack(u32, u32, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    arena: ArenaId,
    alignment: u64,
    steps: Lifetime,
    size: u64,
    part: u32,
}

/// A smaller problem and how it was made.
pub(super) struct Folded {
    pub(super) problem: Problem,
    parts: Vec<Part>,
    /// The part that each of its buffers stands for.
    roots: Vec<u32>,
}

/// Joins what fits; nothing where fewer than half of the buffers would go, or `stop` says so.
pub(super) fn fold(problem: &Problem, stop: &dyn Fn() -> bool) -> Option<Folded> {
    if !problem.pairs().is_empty() || problem.buffers().is_empty() {
        return None;
    }
    let (mut parts, mut pieces, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (id, buffer) in problem.buffers().iter() {
        let part = u32::try_from(parts.len()).expect("ids are u32");
        parts.push(Part::One(id));
        match piece(problem, id, part) {
            Some(piece) => pieces.push(piece),
            None => rest.push((buffer.clone(), part)),
        }
    }
    if stop() || is_hopeless(&pieces) {
        return None;
    }
    loop {
        let before = pieces.len();
        rows(&mut pieces, &mut parts, stop)?;
        stacks(&mut pieces, &mut parts);
        if stop() {
            return None;
        }
        if pieces.len() == before {
            break;
        }
        let first = before + rest.len() == problem.buffers().len();
        if first && 8 * pieces.len() > 7 * before {
            return None; // it will not come to half
        }
    }
    if 2 * (pieces.len() + rest.len()) > problem.buffers().len() {
        return None;
    }
    let joined = pieces.iter().map(|piece| {
        let buffer = Buffer::new("", piece.steps, piece.size).aligned(piece.alignment);
        (buffer.in_arenas(vec![piece.arena]), piece.part)
    });
    rest.extend(joined);
    let (buffers, roots): (Vec<Buffer>, Vec<u32>) = rest.into_iter().unzip();
    // Sums may have grown beyond 64 bits by alignment.
    let problem = Problem::new(problem.arenas().clone(), buffers.into(), Vec::new()).ok()?;
    Some(Folded {
        problem,
        parts,
        roots,
    })
}

/// From this many pieces on, a sample tells whether folding is worth its time.
const MANY: usize = 1 << 16;
/// One piece in so many is in the sample.
const SAMPLE: u64 = 16;

/// Whether far too few of many pieces can be joined, by a sample: all pieces of some sizes for rows, all of
/// some lifetimes for stacks.
fn is_hopeless(pieces: &[Piece]) -> bool {
    let chosen = |of: fn(&Piece) -> u64| -> Vec<Piece> {
        let pieces = pieces.iter().filter(|piece| {
            let mixed = of(piece).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            mixed.is_multiple_of(SAMPLE)
        });
        pieces.copied().collect()
    };
    if pieces.len() < MANY {
        return false;
    }
    let mut sizes = chosen(|piece| piece.size);
    let mut lives = chosen(|piece| {
        let (start, end) = piece.steps.into();
        u64::from(start) << 32 | u64::from(end)
    });
    let before = [sizes.len(), lives.len()];
    if before.iter().any(|&count| count < MANY / 64) {
        return false;
    }
    let parts = &mut Vec::new();
    let _ = rows(&mut sizes, parts, &|| false);
    stacks(&mut lives, parts);
    // A part of the first pass, in sixteenths; an eighth is what it takes.
    let joined = |before: usize, after: usize| 16 * (before - after) / before;
    joined(before[0], sizes.len()) + joined(before[1], lives.len()) < 2
}

fn piece(problem: &Problem, id: BufferId, part: u32) -> Option<Piece> {
    let buffer = &problem.buffers()[id];
    let ([rect], [arena]) = (&buffer.extent[..], &buffer.arenas[..]) else {
        return None;
    };
    let plain = rect.lo == 0 && buffer.fixed_offset.is_none();
    plain.then_some(Piece {
        arena: *arena,
        alignment: problem.alignment(id, *arena),
        steps: rect.steps,
        size: rect.hi,
        part,
    })
}

fn join(parts: &mut Vec<Part>, part: Part) -> u32 {
    parts.push(part);
    u32::try_from(parts.len() - 1).expect("at most twice as many parts as buffers")
}

/// Positions in `keys` of those that nobody else has, by key.
fn unique<K: Ord + Copy>(mut keys: Vec<(K, usize)>) -> Vec<(K, usize)> {
    keys.sort_unstable();
    let groups = keys.chunk_by(|a, b| a.0 == b.0);
    groups
        .filter(|group| group.len() == 1)
        .map(|group| group[0])
        .collect()
}

/// Joins pieces of one size of which one starts as the other ends, and no third one does either. Nothing if
/// `stop` says so on the way: a million pieces take a while.
fn rows(pieces: &mut Vec<Piece>, parts: &mut Vec<Part>, stop: &dyn Fn() -> bool) -> Option<()> {
    let key = |piece: &Piece, step| (piece.arena, piece.alignment, piece.size, step);
    let indexed = || pieces.iter().enumerate();
    let starts = unique(indexed().map(|(i, p)| (key(p, p.steps.start), i)).collect());
    if stop() {
        return None;
    }
    let ends = unique(indexed().map(|(i, p)| (key(p, p.steps.end), i)).collect());
    if stop() {
        return None;
    }
    let mut next = vec![usize::MAX; pieces.len()];
    let mut follows = vec![false; pieces.len()];
    for (key, first) in ends {
        if let Ok(at) = starts.binary_search_by_key(&key, |&(key, _)| key) {
            next[first] = starts[at].1;
            follows[starts[at].1] = true;
        }
    }
    if stop() {
        return None;
    }
    let mut joined = Vec::new();
    for first in (0..pieces.len()).filter(|&index| !follows[index]) {
        let mut row = pieces[first];
        let mut at = next[first];
        while at != usize::MAX {
            row.part = join(parts, Part::Row(row.part, pieces[at].part));
            row.steps = row.steps.hull(pieces[at].steps);
            at = next[at];
        }
        joined.push(row);
    }
    *pieces = joined;
    Some(())
}

/// Joins pieces with equal lifetimes.
fn stacks(pieces: &mut Vec<Piece>, parts: &mut Vec<Part>) {
    pieces.sort_unstable();
    let mut joined: Vec<Piece> = Vec::new();
    for &piece in &*pieces {
        if let Some(last) = joined.last_mut()
            && (last.arena, last.alignment, last.steps)
                == (piece.arena, piece.alignment, piece.steps)
            && let Some(above) = last.size.checked_next_multiple_of(last.alignment)
            && let Some(size) = above.checked_add(piece.size)
        {
            last.part = join(parts, Part::Stack(last.part, piece.part, above));
            last.size = size;
        } else {
            joined.push(piece);
        }
    }
    *pieces = joined;
}

impl Folded {
    /// The places of the first problem's buffers, from those of the folded one's.
    pub(super) fn unfold(&self, places: &Table<BufferId, Place>) -> Table<BufferId, Place> {
        let count = self.parts.iter().filter(|p| matches!(p, Part::One(_)));
        let nowhere = Place {
            arena: places[places.ids().next().expect("not empty")].arena,
            offset: 0,
        };
        let mut unfolded = Table::filled(nowhere, count.count());
        let mut at = vec![nowhere; self.parts.len()];
        for (&root, &place) in self.roots.iter().zip(places.values()) {
            at[root as usize] = place;
        }
        // Whatever is joined is so behind its parts.
        for (index, &part) in self.parts.iter().enumerate().rev() {
            let place: Place = at[index];
            match part {
                Part::One(id) => unfolded[id] = place,
                Part::Row(a, b) => {
                    at[a as usize] = place;
                    at[b as usize] = place;
                }
                Part::Stack(a, b, above) => {
                    let offset = place.offset + above;
                    at[a as usize] = place;
                    at[b as usize] = Place { offset, ..place };
                }
            }
        }
        unfolded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn what_was_cut_comes_together_again() {
        let problem = Problem::single(vec![
            Buffer::new("a", 0..3, 4),
            Buffer::new("b", 3..9, 4),
            Buffer::new("c", 0..9, 7),
            Buffer::new("d", 9..10, 11),
        ]);
        let folded = fold(&problem.unwrap(), &|| false).unwrap();
        let buffers: Vec<_> = folded.problem.buffers().values().collect();
        assert_eq!(buffers.len(), 1);
        assert_eq!(
            (buffers[0].lifetime(), buffers[0].size()),
            (Lifetime::new(0, 10), 11)
        );
        let arena = ArenaId::from_index(0);
        let places = Table::filled(Place { arena, offset: 5 }, 1);
        let places = folded.unfold(&places);
        let offsets: Vec<u64> = places.values().map(|place| place.offset).collect();
        assert_eq!(offsets, [5, 5, 9, 5]);
    }

    #[test]
    fn stacks_keep_the_alignment_of_the_arena() {
        let mut arena = crate::problem::Arena::new("arena");
        arena.alignment = 4;
        let buffers = vec![Buffer::new("a", 0..3, 5), Buffer::new("b", 0..3, 6)];
        let problem = Problem::new(vec![arena].into(), buffers.into(), Vec::new());
        let folded = fold(&problem.unwrap(), &|| false).unwrap();
        assert_eq!(folded.problem.buffers().values().next().unwrap().size(), 14);
    }

    #[test]
    fn folding_can_be_stopped_on_the_way() {
        let problem = Problem::single(vec![
            Buffer::new("a", 0..3, 4),
            Buffer::new("b", 3..9, 4),
            Buffer::new("c", 0..9, 7),
        ]);
        let problem = problem.unwrap();
        let looks = std::cell::Cell::new(0_u32);
        assert!(fold(&problem, &|| looks.replace(looks.get() + 1) > 100).is_some());
        for last in 0..looks.get() {
            let left = std::cell::Cell::new(last);
            let stop = || left.replace(left.get().saturating_sub(1)) == 0;
            assert!(fold(&problem, &stop).is_none(), "{last}");
        }
    }

    #[test]
    fn three_of_a_size_do_not_choose() {
        let problem = Problem::single(vec![
            Buffer::new("a", 0..3, 4),
            Buffer::new("b", 3..9, 4),
            Buffer::new("c", 3..8, 4),
        ]);
        assert!(fold(&problem.unwrap(), &|| false).is_none());
    }

    /// So many pairs of buffers, the second of each beginning `gap` steps behind the end of the first.
    fn pairs(gap: u32) -> Vec<Piece> {
        let arena = ArenaId::from_index(0);
        let half = u32::try_from(MANY).unwrap() / 2;
        let halves = (0..half).flat_map(|n| {
            let at = 20 * (n % 4096);
            [(at, at + 5), (at + 5 + gap, at + 9 + gap)].map(|steps| (n, Lifetime::from(steps)))
        });
        let pieces = halves.enumerate().map(|(part, (n, steps))| Piece {
            arena,
            alignment: 1,
            steps,
            size: 1 + u64::from(n),
            part: u32::try_from(part).unwrap(),
        });
        pieces.collect()
    }

    #[test]
    fn a_sample_of_many_tells_whether_they_fold() {
        assert!(!is_hopeless(&pairs(0)));
        // Lifetimes occur eight times each: stacks.
        assert!(!is_hopeless(&pairs(1)));
        let mut apart = pairs(1);
        for (piece, n) in apart.iter_mut().zip(0_u32..) {
            piece.steps = Lifetime::new(2 * n, 2 * n + 1 + n % 7);
        }
        assert!(is_hopeless(&apart));
        apart.truncate(MANY - 1);
        assert!(!is_hopeless(&apart), "few are folded to see");
    }
}
