//! What must not matter: when time starts, what buffers are called, in which unit bytes are.

use crate::generate::{self, Kind, SMALL, UNLIMITED, later, with};
use crate::tape::{Tape, check};
use bayplan_planner::{Arena, Bounds, Buffer, Place, Problem, Rect, Strategy};

/// Changes problems in a way that must multiply every offset by the number that comes with it.
fn every_strategy(kind: Kind, change: impl Fn(&Problem, &mut Tape) -> (Problem, u64)) {
    let make = |t: &mut Tape| generate::problem(t, kind);
    check(700, kind.buffers, make, |problem, t| {
        let (changed, unit) = change(problem, t);
        for strategy in Strategy::ALL {
            let (before, after) = (strategy.run(problem), strategy.run(&changed));
            let scaled = before.places.values().map(|place| Place {
                offset: place.offset * unit,
                ..*place
            });
            assert_eq!(after.places, scaled.collect(), "{}", strategy.name());
        }
        let (before, after) = (Bounds::new(problem), Bounds::new(&changed));
        for (arena, bound) in before.arenas.iter() {
            assert_eq!(after.arenas[arena].bytes, bound.bytes * unit);
        }
    });
}

fn same_arena(arena: Arena) -> Arena {
    arena
}

#[test]
fn a_shift_in_time_moves_nothing() {
    every_strategy(SMALL, |problem, t| {
        let by = u32::try_from(1 + t.below(1000)).expect("small");
        let shift = |mut buffer: Buffer| {
            buffer.extent.iter_mut().for_each(|r| *r = later(*r, by));
            buffer
        };
        (with(problem, shift, same_arena, |d| d), 1)
    });
}

#[test]
fn names_move_nothing() {
    every_strategy(SMALL, |problem, t| {
        let salt = t.below(1 << 32);
        let rename = |mut buffer: Buffer| {
            buffer.name = format!("{:x}", salt ^ buffer.name.len() as u64);
            buffer
        };
        let arenas = |mut arena: Arena| {
            arena.name = "other".into();
            arena
        };
        (with(problem, rename, arenas, |d| d), 1)
    });
}

/// Holds with alignments too, as long as these are multiplied as well: then every offset, gap and
/// rounding that a strategy compares is multiplied by the same number, and every order of sizes,
/// areas and loads stays what it was.
#[test]
fn another_unit_of_bytes_multiplies_every_offset() {
    every_strategy(SMALL, |problem, t| {
        let k = 2 + t.below(1000);
        let rect = |rect: Rect| Rect {
            lo: rect.lo * k,
            hi: rect.hi * k,
            ..rect
        };
        let scale = |mut buffer: Buffer| {
            buffer.extent.iter_mut().for_each(|r| *r = rect(*r));
            buffer.alignment *= k;
            buffer.fixed_offset = buffer.fixed_offset.map(|offset| offset * k);
            buffer
        };
        let arenas = |mut arena: Arena| {
            arena.alignment *= k;
            arena.capacity = arena.capacity.map(|bytes| bytes * k);
            arena.largest_object = arena.largest_object.map(|bytes| bytes * k);
            arena
        };
        (with(problem, scale, arenas, |d| d * k), k)
    });
}

/// Without alignment the unit may also be finer than the sizes: nothing rounds.
#[test]
fn sizes_alone_scale_where_nothing_is_aligned() {
    const PLAIN: Kind = Kind {
        alignments: &[1],
        ..UNLIMITED
    };
    every_strategy(PLAIN, |problem, t| {
        let k = 2 + t.below(1000);
        let scale = |mut buffer: Buffer| {
            for rect in &mut buffer.extent {
                (rect.lo, rect.hi) = (rect.lo * k, rect.hi * k);
            }
            buffer.fixed_offset = buffer.fixed_offset.map(|offset| offset * k);
            buffer
        };
        (with(problem, scale, same_arena, |d| d * k), k)
    });
}
