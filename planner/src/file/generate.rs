//! Random problems, plans and damaged text for the tests of the file formats.

use crate::ids::{ArenaId, BufferId, Id, Table};
use crate::lifetime::Step;
use crate::plan::{Claim, Place, Plan};
use crate::problem::{Buffer, Problem, Rect};
use crate::witness::{Bound, Witness};
use proptest::prelude::*;

/// Windows one after the other, some of them whole, some steps apart.
fn extent() -> impl Strategy<Value = Vec<Rect>> {
    let period = (0_u32..3, 1_u32..5, 0_u64..40, 1_u64..40, any::<bool>());
    (0_u32..50, prop::collection::vec(period, 0..6)).prop_map(|(mut at, periods)| {
        let mut rects = Vec::new();
        for (pause, steps, lo, bytes, whole) in periods {
            let start = at + pause;
            at = start + steps;
            let bytes = if whole { 0..80 } else { lo..lo + bytes };
            rects.push(Rect::new(start..at, bytes));
        }
        rects
    })
}

fn buffer() -> impl Strategy<Value = (Buffer, bool)> {
    let name = prop_oneof![Just(""), Just("/é"), Just("#1"), Just(":0 x"), Just("//")];
    let alignment = prop_oneof![3 => Just(1_u64), 1 => 1_u64..100];
    (name, extent(), alignment, any::<bool>()).prop_map(|(name, extent, alignment, fixed)| {
        (Buffer::with_extent(name, extent).aligned(alignment), fixed)
    })
}

/// Problems of one arena with distinct names; where `fixed`, some buffers lie beside each other.
pub(super) fn problem(fixed: bool) -> impl Strategy<Value = Problem> {
    prop::collection::vec(buffer(), 0..12).prop_map(move |buffers| {
        let mut top = 0_u64;
        let buffers = buffers.into_iter().enumerate();
        let buffers = buffers.map(|(index, (mut buffer, here))| {
            buffer.name = format!("b{index}{}", buffer.name);
            if fixed && here {
                let offset = top.next_multiple_of(buffer.alignment);
                top = offset + buffer.size();
                buffer.fixed_offset = Some(offset);
            }
            buffer
        });
        Problem::single(buffers.collect()).unwrap()
    })
}

fn claim() -> impl Strategy<Value = Claim> {
    let load = (any::<u32>(), any::<u64>()).prop_map(|(step, alignment)| Witness::Load {
        step: Step(step),
        alignment,
    });
    let placed = (0_usize..9).prop_map(|buffer| Witness::Placed {
        buffer: BufferId::from_index(buffer),
    });
    let witness = prop_oneof![Just(Witness::Nothing), load, placed];
    (witness, any::<u64>(), 0..3).prop_map(|(witness, bytes, kind)| match kind {
        0 => Claim::Optimal(witness),
        1 => Claim::Within(Bound { bytes, witness }),
        _ => Claim::Stopped,
    })
}

/// A problem with a plan that claims anything.
pub(super) fn planned() -> impl Strategy<Value = (Problem, Plan)> {
    (problem(true), claim(), any::<u64>(), "[a-z\"\\\\é\n]{0,8}").prop_map(
        |(problem, claim, seed, strategy)| {
            let arena = ArenaId::from_index(0);
            let ids = problem.buffers().ids();
            let places = ids.map(|id| Place {
                arena,
                offset: seed.rotate_left(u32::try_from(id.index()).unwrap()),
            });
            let plan = Plan {
                strategy,
                heights: vec![seed].into(),
                claims: vec![claim].into(),
                places: places.collect::<Table<_, _>>(),
            };
            (problem, plan)
        },
    )
}

/// Replaces, removes and repeats pieces of `text`.
pub(super) fn damage(text: &str, hits: &[(usize, usize, String)]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (at, length, piece) in hits {
        let start = at % (characters.len() + 1);
        let end = (start + length).min(characters.len());
        characters.splice(start..end, piece.chars());
    }
    characters.into_iter().collect()
}

/// Places, lengths and replacements for [`damage`].
pub(super) fn hits() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    let piece = prop_oneof![
        "[-0-9@:,\\n\\r \"#/()\\[\\]{}a-zé\u{feff}]{0,4}",
        Just("18446744073709551616".to_owned()),
        Just("4294967295".to_owned()),
        Just("-1".to_owned()),
        Just("((((((((".to_owned()),
    ];
    prop::collection::vec((any::<usize>(), 0_usize..6, piece), 1..6)
}
