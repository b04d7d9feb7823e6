//! The load under each bay: bands of single buffers stacked while there are few, else one area.

use super::axis::{Band, Frame};
use super::text::{coordinate, px};
use crate::check::CheckedPlan;
use crate::ids::{ArenaId, BufferId};
use crate::lifetime::Lifetime;
use crate::sweep::Profile;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Bands × changes beyond which single bands could not be told apart anyway.
const MOST_PIECES: usize = 40_000;
/// Columns a pixel into which a long profile is gathered, each with its largest load.
const COLUMNS: f64 = 4.0;

/// A rectangle's band through time: (step, lower byte) from each step on, until `end`.
struct Ribbon {
    id: BufferId,
    bytes: u64,
    steps: Lifetime,
    floors: Vec<(u32, u64)>,
}

/// One path for each buffer rectangle, the earliest at the bottom; nothing when there are too many.
pub(super) fn stacked(
    plan: &CheckedPlan,
    arena: ArenaId,
    frame: &Frame,
    band: &Band,
) -> Option<Vec<(BufferId, String)>> {
    let mut ribbons = ribbons(plan, arena);
    let changes: BTreeSet<u32> = ribbons
        .iter()
        .flat_map(|r| [r.steps.start.0, r.steps.end.0])
        .collect();
    if ribbons.len().saturating_mul(changes.len()) > MOST_PIECES {
        return None;
    }
    for &step in &changes {
        let mut floor = 0;
        for ribbon in &mut ribbons {
            if ribbon.steps.start.0 <= step && step < ribbon.steps.end.0 {
                if ribbon.floors.last().is_none_or(|&(_, last)| last != floor) {
                    ribbon.floors.push((step, floor));
                }
                floor += ribbon.bytes;
            }
        }
    }
    let paths = ribbons.iter().map(|r| (r.id, outline(r, frame, band)));
    Some(paths.collect())
}

fn ribbons(plan: &CheckedPlan, arena: ArenaId) -> Vec<Ribbon> {
    let mut ribbons = Vec::new();
    for (id, buffer) in plan.problem().buffers().iter() {
        if plan.plan().places[id].arena == arena {
            ribbons.extend(buffer.extent.iter().map(|rect| Ribbon {
                id,
                bytes: rect.bytes(),
                steps: rect.steps,
                floors: Vec::new(),
            }));
        }
    }
    ribbons.sort_by_key(|r| (r.steps.start, r.id));
    ribbons
}

/// Forward along its upper edge, back along its lower one.
fn outline(ribbon: &Ribbon, frame: &Frame, band: &Band) -> String {
    let x = |step: u32| coordinate(frame.x(step), frame.decimals());
    let mut path = String::new();
    for (index, &(step, floor)) in ribbon.floors.iter().enumerate() {
        let y = px(band.y(floor + ribbon.bytes));
        let _ = match index {
            0 => write!(path, "M{} {y}", x(step)),
            _ => write!(path, "H{}V{y}", x(step)),
        };
    }
    let _ = write!(path, "H{}", x(ribbon.steps.end.0));
    for &(step, floor) in ribbon.floors.iter().rev() {
        let _ = write!(path, "V{}H{}", px(band.y(floor)), x(step));
    }
    path + "z"
}

/// The whole load as one area. Long profiles are gathered into narrow columns, each as high as its
/// heaviest step.
pub(super) fn area(profile: &Profile, frame: &Frame, band: &Band) -> String {
    let mut points: Vec<(f64, u64)> = Vec::new();
    let gathered = profile.points().len() as f64 > COLUMNS * frame.width;
    for &(step, load) in profile.points() {
        let x = frame.x(step.0);
        let x = if gathered {
            (x * COLUMNS).floor() / COLUMNS
        } else {
            x
        };
        match points.last_mut() {
            // Before and after the change share the column; its heaviest step shows.
            Some(last) if gathered && last.0 >= x => last.1 = last.1.max(load),
            _ => points.push((x, load)),
        }
    }
    let mut path = format!("M0 {}", px(band.height));
    for (x, load) in points {
        let _ = write!(
            path,
            "H{}V{}",
            coordinate(x, frame.decimals()),
            px(band.y(load))
        );
    }
    path + "z"
}

#[cfg(test)]
mod tests {
    use super::super::tests::{chain, plan_of};
    use super::*;
    use crate::ids::Id;
    use crate::problem::Buffer;

    const FRAME: Frame = Frame {
        first: 0,
        end: 4,
        width: 40.0,
    };
    const BAND: Band = Band {
        top: 0.0,
        height: 10.0,
        head: 0.0,
        most: 10,
    };

    #[test]
    fn a_ribbon_drops_when_one_below_it_dies() {
        let plan = plan_of(vec![Buffer::new("a", 0..2, 4), Buffer::new("b", 1..4, 2)]);
        let paths = stacked(&plan, ArenaId::from_index(0), &FRAME, &BAND).unwrap();
        assert_eq!(paths[0].1, "M0 6H20V10H0z");
        assert_eq!(paths[1].1, "M10 4H20V8H40V10H20V6H10z");
    }

    #[test]
    fn the_area_follows_the_profile() {
        let live = [(Lifetime::new(0, 2), 4), (Lifetime::new(1, 4), 2)];
        let path = area(&Profile::new(live), &FRAME, &BAND);
        assert_eq!(path, "M0 10H0V6H10V4H20V8H40V10z");
    }

    #[test]
    fn many_bands_are_not_told_apart() {
        let plan = chain(300);
        assert!(stacked(&plan, ArenaId::from_index(0), &FRAME, &BAND).is_none());
    }
}
