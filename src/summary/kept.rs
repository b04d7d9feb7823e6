//! An earlier plan whose offsets were kept: what moved, and why.

use super::spread::several;
use crate::report::grid::{shorten, visible};
use crate::report::wrap::hung;
use crate::session::Session;
use crate::units::{bytes, count, grouped};
use bayplan_planner::BufferId;
use bayplan_planner::strategy::keep::{Fate, Kept, Old, Why};
use serde::Serialize;

/// Moved buffers that the summary lists.
const LISTED: usize = 5;

/// What became of the earlier plan.
#[derive(Serialize)]
pub(crate) struct KeptJson {
    stay: usize,
    new: usize,
    moved: usize,
    gone: usize,
    moves: Vec<MoveJson>,
    new_names: Vec<String>,
    gone_names: Vec<String>,
}

#[derive(Serialize)]
struct MoveJson {
    name: String,
    from_arena: String,
    from: u64,
    to_arena: String,
    to: u64,
    reason: String,
}

/// Lines on what moved.
pub(super) fn lines(session: &Session, columns: usize) -> Vec<String> {
    let Some(kept) = &session.kept else {
        return Vec::new();
    };
    let [stay, new, moved, gone] = kept.counts();
    let mut lines = vec![format!(
        "kept      {} of {} stay, {moved} moved, {new} new, {gone} gone",
        grouped(stay as u64),
        count(stay + moved + gone, "earlier buffer")
    )];
    if session.height() > session.bound() && stay > 0 {
        lines.extend(hung("          ", &fresh(session, kept), columns));
    }
    let moves = moves(session, kept);
    for one in moves.iter().take(LISTED) {
        let place = |arena: &str, offset: u64| {
            if several(session) || one.from_arena != one.to_arena {
                format!("{} {}", visible(arena), grouped(offset))
            } else {
                grouped(offset)
            }
        };
        let text = format!(
            "{} from {} to {}: {}",
            shorten(&visible(&one.name), 28),
            place(&one.from_arena, one.from),
            place(&one.to_arena, one.to),
            one.reason
        );
        lines.extend(hung("moved     ", &text, columns));
    }
    let more = moves.len().saturating_sub(LISTED);
    if more > 0 {
        let more = grouped(more as u64);
        lines.push(format!("          and {more} more (--json lists all)"));
    }
    lines
}

/// What the plan would be without the earlier one.
fn fresh(session: &Session, kept: &Kept) -> String {
    let Some(heights) = &kept.fresh else {
        return "they stay within the height of before; a plan without them was not tried".into();
    };
    let height = session.temporaries().map(|arena| heights[arena]);
    let height = height.fold(0, u64::saturating_add);
    format!(
        "without --keep, the best plan found takes {}",
        bytes(height)
    )
}

fn moves(session: &Session, kept: &Kept) -> Vec<MoveJson> {
    let problem = session.checked.problem();
    let moved = kept.fates.iter().filter_map(|(id, fate)| match fate {
        Fate::Moved { from, why } => Some((id, from, why)),
        _ => None,
    });
    let row = |(id, from, why): (BufferId, &Old, &Why)| {
        let place = session.checked.plan().places[id];
        let buffer = &problem.buffers()[id];
        let mut reason = words(why);
        if buffer.size() != from.size() {
            let (before, now) = (grouped(from.size()), grouped(buffer.size()));
            reason = format!("{reason} ({before} bytes before, {now} now)");
        } else if buffer.lifetime() != from.lifetime() {
            let (before, now) = (from.lifetime(), buffer.lifetime());
            reason = format!("{reason} (live in {before} before, {now} now)");
        }
        MoveJson {
            name: buffer.name.clone(),
            from_arena: kept.arenas[from.arena].0.clone(),
            from: from.offset,
            to_arena: problem.arenas()[place.arena].name.clone(),
            to: place.offset,
            reason,
        }
    };
    moved.map(row).collect()
}

fn words(why: &Why) -> String {
    match why {
        Why::Collides { with } => format!("it would meet `{}`", visible(with)),
        Why::Arena => "its memory is gone, or may not hold it now".into(),
        Why::Given => "its offset is given now".into(),
        Why::Misaligned => "its old offset is not aligned".into(),
        Why::Capacity => "it would end beyond the capacity".into(),
        Why::MadeRoom => "it makes room".into(),
    }
}

/// What became of the earlier plan, for JSON.
pub(crate) fn json(session: &Session) -> Option<KeptJson> {
    let kept = session.kept.as_ref()?;
    let [stay, new, moved, gone] = kept.counts();
    let buffers = session.checked.problem().buffers();
    let fresh = kept.fates.iter().filter(|(_, fate)| **fate == Fate::New);
    Some(KeptJson {
        stay,
        new,
        moved,
        gone,
        moves: moves(session, kept),
        new_names: fresh.map(|(id, _)| buffers[id].name.clone()).collect(),
        gone_names: kept.gone.iter().map(|old| old.name.clone()).collect(),
    })
}
