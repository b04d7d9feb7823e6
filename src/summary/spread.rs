//! Several memories, and an earlier plan: what each holds, what was spilled and why, what moved.

use crate::report::grid::{shorten, visible};
use crate::session::Session;
use crate::units::{bytes, count, grouped, percent};
use bayplan_planner::spill::{self, Reason, Residency, Spilled};
use bayplan_planner::strategy::keep::{Fate, Kept, Why};
use bayplan_planner::table::{self, ArenaSummary};
use bayplan_planner::{ArenaId, BufferId};
use serde::Serialize;

/// Spilled or moved buffers that the summary lists.
const LISTED: usize = 5;

/// One memory.
#[derive(Serialize)]
pub(crate) struct MemoryJson {
    name: String,
    bytes: u64,
    capacity_bytes: Option<u64>,
    free_bytes: Option<u64>,
    largest_object_bytes: Option<u64>,
    alignment: u64,
    max_load_bytes: u64,
    peak_step: u32,
    lower_bound_bytes: u64,
    buffers: usize,
}

/// What several memories hold together.
#[derive(Serialize)]
pub(crate) struct SpreadJson {
    arenas: Vec<MemoryJson>,
    traffic_bytes: u128,
    resident_traffic_bytes: u128,
    resident_traffic_bound: u128,
    spilled: Vec<SpilledJson>,
}

#[derive(Serialize)]
struct SpilledJson {
    name: String,
    bytes: u64,
    traffic_bytes: u128,
    wanted: String,
    arena: String,
    reason: String,
}

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

/// The memories of temporaries, where they were named; nothing for the one arena without limits.
fn named(session: &Session) -> Option<Vec<(ArenaId, ArenaSummary)>> {
    let problem = session.checked.problem();
    let arenas: Vec<ArenaId> = session.temporaries().collect();
    let limited = |&id: &ArenaId| {
        let arena = &problem.arenas()[id];
        arena.capacity.is_some() || arena.largest_object.is_some()
    };
    if arenas.len() < 2 && !arenas.iter().any(limited) {
        return None;
    }
    let summaries = table::summaries(&session.checked);
    Some(
        arenas
            .into_iter()
            .map(|id| (id, summaries[id].clone()))
            .collect(),
    )
}

/// Whether temporaries are in several memories.
pub(crate) fn several(session: &Session) -> bool {
    session.temporaries().count() > 1
}

/// Rows of the summary, one a memory: label, size, what it holds, what is free.
pub(super) fn rows(session: &Session) -> Vec<[String; 4]> {
    let Some(named) = named(session) else {
        return Vec::new();
    };
    let arenas = session.checked.problem().arenas();
    let row = |(id, summary): (ArenaId, ArenaSummary)| {
        let capacity = arenas[id].capacity;
        let of = capacity.map_or("no limit".to_owned(), |capacity| {
            format!("of {}", bytes(capacity))
        });
        let holds = format!(
            "{of}: {}, at most {} live",
            count(summary.buffers, "buffer"),
            bytes(summary.max_load)
        );
        let free = capacity.map(|capacity| capacity.saturating_sub(summary.height));
        let free = free.map_or_else(String::new, |free| format!("{} free", bytes(free)));
        let label = format!("  {}", shorten(&visible(&arenas[id].name), 12));
        [label, bytes(summary.height), holds, free]
    };
    named.into_iter().map(row).collect()
}

/// Lines on spilled traffic and on what moved.
pub(super) fn lines(session: &Session) -> Vec<String> {
    let mut lines = Vec::new();
    if several(session) {
        lines.extend(spilled_lines(session, &spill::residency(&session.checked)));
    }
    if let Some(kept) = &session.kept {
        lines.extend(kept_lines(session, kept));
    }
    lines
}

/// What the traffic of a plan is counted in.
fn unit(session: &Session) -> &'static str {
    if session.graph.is_some() {
        "the bytes read and written"
    } else {
        "bytes × steps"
    }
}

fn spilled_lines(session: &Session, held: &Residency) -> Vec<String> {
    let share = |part: u128| {
        if held.traffic == 0 {
            1.0
        } else {
            part as f64 / held.traffic as f64
        }
    };
    let ideal = if held.bound == held.resident {
        "no plan has more".to_owned()
    } else {
        format!("no plan has more than {}", percent(share(held.bound)))
    };
    let what = unit(session);
    let shown = percent(share(held.resident));
    let mut lines = vec![format!(
        "traffic   {shown:>9}    of {what} in the first choice; {ideal}"
    )];
    for one in held.spilled.iter().take(LISTED) {
        let buffer = &session.checked.problem().buffers()[one.buffer];
        let to = &session.checked.problem().arenas()[one.to].name;
        lines.push(format!(
            "spilled   {:>9}    {} to {}: {}",
            bytes(buffer.size()),
            shorten(&visible(&buffer.name), 24),
            visible(to),
            reason(session, one)
        ));
    }
    let more = held.spilled.len().saturating_sub(LISTED);
    if more > 0 {
        lines.push(format!("{:>23}and {more} more (--json lists all)", ""));
    }
    lines
}

/// Why a buffer is not in the memory that it would rather be in, in words.
fn reason(session: &Session, one: &Spilled) -> String {
    let (buffer, reason) = (one.buffer, one.reason);
    let name = visible(&session.checked.problem().arenas()[one.from].name);
    if kept_there(session, buffer) {
        return "it was kept there".into();
    }
    match reason {
        Reason::TooLarge { limit } => format!("{name} takes {} at most", bytes(limit)),
        Reason::Crowded { step, others } => {
            format!("{name} has {} of others at step {step}", bytes(others))
        }
        Reason::Unpacked => format!("no packing in {name} was found with it"),
    }
}

/// Whether a buffer is where an earlier plan had it, and could have been elsewhere.
fn kept_there(session: &Session, buffer: BufferId) -> bool {
    let kept = session.kept.as_ref();
    kept.is_some_and(|kept| kept.fates[buffer] == Fate::Stays)
}

/// Why a buffer is not in the memory that it would rather be in; nothing if it is.
pub(crate) fn why_spilled(session: &Session, buffer: BufferId) -> Option<String> {
    if !several(session) {
        return None;
    }
    let held = spill::residency(&session.checked);
    let one = held.spilled.iter().find(|one| one.buffer == buffer)?;
    Some(reason(session, one))
}

fn kept_lines(session: &Session, kept: &Kept) -> Vec<String> {
    let [stay, new, moved, gone] = kept.counts();
    let mut lines = vec![format!(
        "kept      {} of {} stay, {moved} moved, {new} new, {gone} gone",
        grouped(stay as u64),
        count(stay + moved + gone, "earlier buffer")
    )];
    let moves = moves(session, kept);
    for one in moves.iter().take(LISTED) {
        let place = |arena: &str, offset: u64| {
            if several(session) || one.from_arena != one.to_arena {
                format!("{} {}", visible(arena), grouped(offset))
            } else {
                grouped(offset)
            }
        };
        lines.push(format!(
            "moved     {} from {} to {}: {}",
            shorten(&visible(&one.name), 28),
            place(&one.from_arena, one.from),
            place(&one.to_arena, one.to),
            one.reason
        ));
    }
    let more = moves.len().saturating_sub(LISTED);
    if more > 0 {
        lines.push(format!("          and {more} more (--json lists all)"));
    }
    lines
}

fn moves(session: &Session, kept: &Kept) -> Vec<MoveJson> {
    let problem = session.checked.problem();
    let moved = kept.fates.iter().filter_map(|(id, fate)| match fate {
        Fate::Moved { from, why } => Some((id, from, why)),
        _ => None,
    });
    let row = |(id, from, why): (BufferId, &bayplan_planner::strategy::keep::Old, &Why)| {
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

/// The memories for JSON, where temporaries are in several or in a limited one.
pub(crate) fn json(session: &Session) -> Option<SpreadJson> {
    let named = named(session)?;
    let problem = session.checked.problem();
    let held = spill::residency(&session.checked);
    let memory = |(id, summary): (ArenaId, ArenaSummary)| {
        let arena = &problem.arenas()[id];
        MemoryJson {
            name: arena.name.clone(),
            bytes: summary.height,
            capacity_bytes: arena.capacity,
            free_bytes: arena.capacity.map(|c| c.saturating_sub(summary.height)),
            largest_object_bytes: arena.largest_object,
            alignment: arena.alignment,
            max_load_bytes: summary.max_load,
            peak_step: summary.peak_step.0,
            lower_bound_bytes: session.bounds.arenas[id].bytes,
            buffers: summary.buffers,
        }
    };
    let spilled = held.spilled.iter().map(|one| SpilledJson {
        name: problem.buffers()[one.buffer].name.clone(),
        bytes: problem.buffers()[one.buffer].size(),
        traffic_bytes: one.traffic,
        wanted: problem.arenas()[one.from].name.clone(),
        arena: problem.arenas()[one.to].name.clone(),
        reason: reason(session, one),
    });
    Some(SpreadJson {
        arenas: named.into_iter().map(memory).collect(),
        traffic_bytes: held.traffic,
        resident_traffic_bytes: held.resident,
        resident_traffic_bound: held.bound,
        spilled: spilled.collect(),
    })
}

/// What became of the earlier plan, for JSON.
pub(crate) fn kept_json(session: &Session) -> Option<KeptJson> {
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
