//! Random problems: plain and ragged extents, alignments, given offsets, arenas, pairs.

use crate::oracle;
use crate::tape::Tape;
use bayplan_planner::ids::Id;
use bayplan_planner::{Arena, ArenaId, Buffer, BufferId, Lifetime, Pair, Problem, Proof, Rect};

/// What kind of problem.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one independent choice"
)]
pub(crate) struct Kind {
    /// At most this many buffers.
    pub(crate) buffers: usize,
    /// Steps of time.
    pub(crate) steps: u32,
    /// At most this many bytes a buffer.
    pub(crate) bytes: u64,
    /// Alignments of buffers and arenas.
    pub(crate) alignments: &'static [u64],
    /// At most this many arenas.
    pub(crate) arenas: usize,
    /// Whether arenas may have capacities and largest objects.
    pub(crate) limits: bool,
    /// Whether some extents are not plain.
    pub(crate) ragged: bool,
    /// Whether some offsets are given.
    pub(crate) fixed: bool,
    /// Whether some pairs may overlap at a distance.
    pub(crate) pairs: bool,
}

/// Everything at once, small enough to paint.
pub(crate) const SMALL: Kind = Kind {
    buffers: 12,
    steps: 12,
    bytes: 80,
    alignments: &[1, 2, 3, 8, 16, 24, 64],
    arenas: 3,
    limits: true,
    ragged: true,
    fixed: true,
    pairs: true,
};

/// As [`SMALL`], but every plan is acceptable.
pub(crate) const UNLIMITED: Kind = Kind {
    limits: false,
    ..SMALL
};

/// Up to 200 buffers.
pub(crate) const LARGE: Kind = Kind {
    buffers: 200,
    steps: 60,
    bytes: 500,
    ..UNLIMITED
};

/// A problem.
pub(crate) fn problem(t: &mut Tape, kind: Kind) -> Problem {
    let extra = if t.chance(30) {
        t.index(kind.arenas)
    } else {
        0
    };
    let arenas: Vec<Arena> = (0..=extra).map(|index| arena(t, kind, index)).collect();
    // Some problems have one alignment throughout, some have none.
    let alignments = match t.below(3) {
        0 => &kind.alignments[..1],
        1 => std::slice::from_ref(&kind.alignments[t.index(kind.alignments.len())]),
        _ => kind.alignments,
    };
    let (with_fixed, with_pairs) = (kind.fixed && t.chance(40), kind.pairs && t.chance(30));
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut wishes: Vec<Option<u64>> = Vec::new();
    let mut pairs: Vec<Pair> = Vec::new();
    while t.next_row() {
        if with_pairs && t.chance(25) && !buffers.is_empty() {
            pairs.push(pair(t, kind, buffers.len()));
        }
        wishes.push((with_fixed && t.chance(25)).then(|| t.below(1 + 2 * kind.bytes)));
        let alignment = t.pick(alignments);
        let allowed = allowed(t, arenas.len());
        let buffer = Buffer::with_extent(format!("b{}", buffers.len()), extent(t, kind));
        buffers.push(buffer.aligned(alignment).in_arenas(allowed));
    }
    fix_some(&wishes, &arenas, &mut buffers, &pairs);
    Problem::new(arenas.into(), buffers.into(), pairs).expect("generated problems are valid")
}

fn arena(t: &mut Tape, kind: Kind, index: usize) -> Arena {
    let mut arena = Arena::new(format!("arena{index}"));
    if t.chance(20) {
        arena.alignment = t.pick(kind.alignments);
    }
    if kind.limits && t.chance(30) {
        arena.capacity = Some(t.below(kind.bytes * 6));
    }
    if kind.limits && t.chance(10) {
        arena.largest_object = Some(t.below(kind.bytes * 2));
    }
    arena
}

fn allowed(t: &mut Tape, arenas: usize) -> Vec<ArenaId> {
    let mut order: Vec<ArenaId> = (0..arenas).map(ArenaId::from_index).collect();
    if arenas > 1 {
        let first = t.index(arenas);
        order.rotate_left(first);
        order.truncate(1 + t.index(arenas));
    }
    order
}

fn extent(t: &mut Tape, kind: Kind) -> Vec<Rect> {
    let short =
        |limit: u32, t: &mut Tape| u32::try_from(t.below(u64::from(limit))).expect("steps are u32");
    let (start, end) = if t.chance(8) {
        (0, kind.steps)
    } else {
        let start = short(kind.steps, t);
        let longest = (kind.steps - start).min(1 + short(kind.steps, t));
        (start, start + 1 + short(longest, t))
    };
    let size = if t.chance(3) {
        0
    } else {
        1 + t.below(kind.bytes)
    };
    let plain = vec![Rect::new(start..end, 0..size)];
    if !kind.ragged || size < 2 || !t.chance(40) {
        return plain;
    }
    let cut = 1 + t.below(size - 1);
    let middle = start + (end - start) / 2;
    match t.below(4) {
        // The tail is free from the middle on.
        0 if middle > start => vec![
            Rect::new(start..middle, 0..size),
            Rect::new(middle..end, 0..cut),
        ],
        // Windows with gaps between them.
        1 => (start..end)
            .step_by(2)
            .map(|s| Rect::new(s..s + 1, 0..size))
            .collect(),
        // A hole in the bytes (empty if the cut is at the end).
        2 => vec![
            Rect::new(start..end, 0..cut),
            Rect::new(start..end, cut + (size - cut) / 2..size),
        ],
        _ => cells(t, start..end, size),
    }
}

/// Any set of cells of a grid of 3 byte ranges and up to 4 windows; some may touch.
fn cells(t: &mut Tape, steps: std::ops::Range<u32>, size: u64) -> Vec<Rect> {
    let mut rects = vec![Rect::new(steps.start..steps.start + 1, 0..size)];
    let borders = [0, size / 3, size * 2 / 3, size];
    let width = ((steps.end - steps.start) / 4).max(1);
    let mut start = steps.start + 1;
    while start < steps.end {
        let end = (start + width).min(steps.end);
        for bytes in borders.windows(2).filter(|b| b[0] < b[1]) {
            if t.chance(50) {
                rects.push(Rect::new(start..end, bytes[0]..bytes[1]));
            }
        }
        start = end;
    }
    rects
}

/// A pair of the buffer to come and an earlier one.
fn pair(t: &mut Tape, kind: Kind, new: usize) -> Pair {
    let both = [t.index(new), new].map(BufferId::from_index);
    let lower = t.index(2);
    Pair {
        lower: both[lower],
        upper: both[1 - lower],
        distance: t.below(kind.bytes),
        proof: Proof::DiagonalOverlap { op: "conv".into() },
    }
}

/// Gives the offsets wished for, rounded down, where they do not clash with those given before.
fn fix_some(wishes: &[Option<u64>], arenas: &[Arena], buffers: &mut [Buffer], pairs: &[Pair]) {
    let mut given: Vec<(BufferId, u64)> = Vec::new();
    for (index, wish) in wishes.iter().enumerate() {
        let id = BufferId::from_index(index);
        let (&[arena], &Some(wish)) = (&buffers[index].arenas[..], wish) else {
            continue;
        };
        let (a, b) = (buffers[index].alignment, arenas[arena.index()].alignment);
        let unit = (1..=b).map(|k| a * k).find(|multiple| multiple % b == 0);
        let offset = wish - wish % unit.expect("there is a common multiple");
        let free = given.iter().all(|&(other, at)| {
            buffers[other.index()].arenas != buffers[index].arenas
                || oracle::excused(pairs, (id, offset), (other, at))
                || !oracle::meet((&buffers[index], offset), (&buffers[other.index()], at))
        });
        if free {
            buffers[index].fixed_offset = Some(offset);
            given.push((id, offset));
        }
    }
}

/// The same problem with other buffers and arenas; must be valid.
pub(crate) fn with(
    problem: &Problem,
    change_buffer: impl Fn(Buffer) -> Buffer,
    change_arena: impl Fn(Arena) -> Arena,
    change_distance: impl Fn(u64) -> u64,
) -> Problem {
    let buffers = problem.buffers().values().cloned().map(change_buffer);
    let arenas = problem.arenas().values().cloned().map(change_arena);
    let pairs = problem.pairs().iter().cloned().map(|pair| Pair {
        distance: change_distance(pair.distance),
        ..pair
    });
    Problem::new(arenas.collect(), buffers.collect(), pairs.collect()).expect("still valid")
}

/// The same rectangle, later.
pub(crate) fn later(rect: Rect, by: u32) -> Rect {
    let steps = Lifetime::new(rect.steps.start.0 + by, rect.steps.end.0 + by);
    Rect { steps, ..rect }
}
