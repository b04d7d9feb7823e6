//! Problems that nobody has: numbers near every limit, and all features at once.

use crate::tape::Tape;
use bayplan_planner::ids::Id;
use bayplan_planner::{Arena, ArenaId, Buffer, BufferId, Pair, Problem, Proof, Rect};

pub(crate) const MAX: u64 = u64::MAX;

/// How large sizes are: multiples of the first, and so much more.
const SCALES: [(u64, u64); 12] = [
    (1, 0),
    (1, 0),
    (3, 1),
    (1 << 12, 0),
    (1 << 22, 3),
    (1 << 25, 1),
    (1 << 26, 3),
    (1 << 28, 1),
    (1 << 31, 5),
    (1 << 40, 9),
    (1 << 56, 1),
    (MAX / 48, 3),
];

const ALIGNMENTS: [u64; 14] = [
    1,
    1,
    1,
    2,
    3,
    8,
    64,
    1 << 20,
    1 << 29,
    (1 << 31) - 1,
    1 << 31,
    1 << 40,
    1 << 60,
    1 << 63,
];

fn size(t: &mut Tape, (unit, noise): (u64, u64)) -> u64 {
    if t.chance(4) {
        return 0;
    }
    unit * (1 + t.below(8)) + t.below(noise + 1)
}

fn alignment(t: &mut Tape, unit: u64) -> u64 {
    match t.below(8) {
        0..=4 => 1,
        5 => unit,
        _ => t.pick(&ALIGNMENTS),
    }
}

fn extent(t: &mut Tape, scale: (u64, u64), base: u32, coarse: bool) -> Vec<Rect> {
    let start = base + u32::try_from(t.below(10)).expect("small");
    if coarse {
        // Much fits each other: there is something to fold.
        let start = base + (start - base) / 5 * 5;
        return vec![Rect::new(start..start + 5, 0..size(t, scale))];
    }
    let end = match t.below(20) {
        0 => u32::MAX,
        _ => start + 1 + u32::try_from(t.below(5)).expect("small"),
    };
    let bytes = size(t, scale);
    if bytes < 3 || !t.chance(30) {
        return vec![Rect::new(start..end, 0..bytes)];
    }
    // Any cells of a grid of three windows and three ranges of bytes.
    let third = (end - start).div_ceil(3);
    let cuts = [0, 1 + t.below(bytes / 2), bytes - bytes / 3, bytes];
    let mut rects = Vec::new();
    for window in 0..3 {
        let from = start.saturating_add(window * third).min(end);
        let to = from.saturating_add(third).min(end);
        for bytes in cuts.windows(2).filter(|cut| cut[0] < cut[1]) {
            if from < to && t.chance(60) {
                rects.push(Rect::new(from..to, bytes[0]..bytes[1]));
            }
        }
    }
    rects
}

fn arena(t: &mut Tape, unit: u64, index: usize) -> Arena {
    let limit = |t: &mut Tape| match t.below(8) {
        0 => 0,
        1 => 1,
        2 => MAX,
        3 => MAX - 1,
        _ => unit.saturating_mul(t.below(30)) + t.below(3),
    };
    Arena {
        capacity: t.chance(35).then(|| limit(t)),
        largest_object: t.chance(10).then(|| limit(t)),
        alignment: if t.chance(15) { alignment(t, unit) } else { 1 },
        ..Arena::new(format!("arena{index}"))
    }
}

fn given(t: &mut Tape, unit: u64, alignment: u64) -> u64 {
    let offset = match t.below(6) {
        0 => 0,
        1 => MAX - unit.min(MAX / 2) * 8,
        2 => 1 << t.below(64),
        _ => unit.saturating_mul(t.below(20)),
    };
    offset - offset % alignment
}

/// A problem; nothing where the numbers drawn make none.
pub(crate) fn problem(t: &mut Tape) -> Option<Problem> {
    let scale = t.pick(&SCALES);
    let base = t.pick(&[0, 0, 0, u32::MAX - 16]);
    let count = if t.chance(25) { 1 + t.index(3) } else { 1 };
    let arenas: Vec<Arena> = (0..count).map(|index| arena(t, scale.0, index)).collect();
    let (fixed, paired, same) = (t.chance(30), t.chance(30), t.chance(50));
    let coarse = t.chance(25);
    let (mut buffers, mut pairs): (Vec<Buffer>, Vec<Pair>) = (Vec::new(), Vec::new());
    while t.next_row() {
        let name = format!("b{}", t.below(30));
        let mut buffer = Buffer::with_extent(name, extent(t, scale, base, coarse));
        if !same {
            buffer.alignment = alignment(t, scale.0);
        }
        let mut allowed: Vec<ArenaId> = (0..count).map(ArenaId::from_index).collect();
        allowed.rotate_left(t.index(count));
        allowed.truncate(1 + t.index(count));
        buffer.arenas = allowed;
        buffer.traffic = t.pick(&[None, None, None, Some(0), Some(MAX), Some(7)]);
        if fixed && t.chance(20) {
            if t.chance(30) {
                buffer.extent.clear();
            }
            buffer.arenas.truncate(1);
            buffer.fixed_offset = Some(given(t, scale.0, buffer.alignment));
        }
        for other in 0..buffers.len() {
            if paired && t.chance(30) {
                let distance = match t.below(8) {
                    0 => 0,
                    1 => MAX,
                    2 => MAX / 2,
                    3 => 1,
                    _ => scale.0.saturating_mul(t.below(9)),
                };
                let ends = [other, buffers.len()].map(BufferId::from_index);
                let lower = t.index(2);
                pairs.push(Pair {
                    lower: ends[lower],
                    upper: ends[1 - lower],
                    distance,
                    proof: Proof::DiagonalOverlap { op: "conv".into() },
                });
            }
        }
        buffers.push(buffer);
    }
    Problem::new(arenas.into(), buffers.into(), pairs).ok()
}
