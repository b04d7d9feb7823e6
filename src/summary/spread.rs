//! Several memories: what each holds, what was spilled and why.

use super::row;
use crate::report::grid::{shorten, visible};
use crate::session::Session;
use crate::units::{bytes, count, grouped, percent};
use bayplan_planner::spill::{self, Reason, Residency, Spilled};
use bayplan_planner::strategy::keep::Fate;
use bayplan_planner::table::{self, ArenaSummary};
use bayplan_planner::{ArenaId, BufferId};
use serde::Serialize;

/// Spilled buffers that the summary lists.
const LISTED: usize = 5;

/// One memory.
#[derive(Serialize)]
pub(crate) struct MemoryJson {
    name: String,
    bytes: u64,
    capacity_bytes: Option<u64>,
    free_bytes: Option<u64>,
    /// What it has too little, where the plan does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_bytes: Option<u64>,
    largest_object_bytes: Option<u64>,
    alignment: u64,
    max_load_bytes: u64,
    peak_step: u32,
    /// Null where nothing is proved.
    lower_bound_bytes: Option<u64>,
    buffers: usize,
}

/// What several memories hold together.
#[derive(Serialize)]
pub(crate) struct SpreadJson {
    arenas: Vec<MemoryJson>,
    traffic_bytes: u128,
    resident_traffic_bytes: u128,
    /// Null where the plan does not fit: with other limits than asked for, others are possible.
    resident_traffic_bound: Option<u128>,
    /// No plan spills less; null: not known.
    traffic_optimal: Option<bool>,
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

/// The memories of temporaries, where they were named; nothing for the one arena without limits.
fn named(session: &Session) -> Option<Vec<(ArenaId, ArenaSummary)>> {
    let arenas: Vec<ArenaId> = session.temporaries().collect();
    if arenas.len() < 2 && !arenas.iter().any(|&id| has_limits(session, id)) {
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

fn has_limits(session: &Session, id: ArenaId) -> bool {
    let arena = session.limits(id);
    arena.capacity.is_some() || arena.largest_object.is_some()
}

/// Whether any memory has a limit.
pub(crate) fn limited(session: &Session) -> bool {
    let mut arenas = session.checked.problem().arenas().ids();
    arenas.any(|id| has_limits(session, id))
}

/// Whether a plan is optimal; of several memories, nothing where that is not proved.
pub(crate) fn known(session: &Session, optimal: bool) -> Option<bool> {
    (optimal || !several(session)).then_some(optimal)
}

/// Why no plan takes fewer bytes in all memories together.
pub(super) fn bound_reason(session: &Session) -> String {
    let Some(step) = session.floor().step else {
        return "what each memory needs by itself".into();
    };
    let live = table::live_at(&session.checked, step);
    let live = live.iter().filter(|row| session.is_temporary(row.arena));
    let live = count(live.count(), "buffer");
    format!("{live} live at {}", session.step_label(step))
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
    let row = |(id, summary): (ArenaId, ArenaSummary)| {
        let arena = session.limits(id);
        let of = arena.capacity.map_or("no limit".to_owned(), |capacity| {
            format!("of {}", bytes(capacity))
        });
        let holds = format!(
            "{of}: {}, {} live",
            count(summary.buffers, "buffer"),
            bytes(summary.max_load)
        );
        let rest = arena.capacity.map_or_else(String::new, |capacity| {
            match capacity.checked_sub(summary.height) {
                Some(free) => format!("{} free", bytes(free)),
                None => format!("{} too few", bytes(summary.height - capacity)),
            }
        });
        let label = format!("  {}", shorten(&visible(&arena.name), 7));
        [label, bytes(summary.height), holds, rest]
    };
    named.into_iter().map(row).collect()
}

/// What the traffic of a plan is counted in.
fn unit(session: &Session) -> &'static str {
    if session.graph.is_some() {
        "read and written"
    } else {
        "of bytes × steps"
    }
}

/// Lines on spilled traffic.
pub(super) fn lines(session: &Session, columns: usize) -> Vec<String> {
    if !several(session) {
        return Vec::new();
    }
    let held = &spill::residency(&session.checked);
    let share = |part: u128| {
        if held.traffic == 0 {
            1.0
        } else {
            part as f64 / held.traffic as f64
        }
    };
    let ideal = match most_resident(session, held) {
        None => String::new(),
        Some(most) if most == held.resident => "; no plan has more".to_owned(),
        Some(most) => format!("; no plan has more than {}", percent(share(most))),
    };
    let text = format!("{} in the first choice{ideal}", unit(session));
    let mut lines = row("traffic", &percent(share(held.resident)), &text, columns);
    for one in held.spilled.iter().take(LISTED) {
        let buffer = &session.checked.problem().buffers()[one.buffer];
        let to = visible(&session.checked.problem().arenas()[one.to].name);
        let name = shorten(&visible(&buffer.name), 24);
        let text = format!("{name} to {to}: {}", reason(session, one));
        lines.extend(row("spilled", &bytes(buffer.size()), &text, columns));
    }
    let more = held.spilled.len().saturating_sub(LISTED);
    if more > 0 {
        let text = format!("and {} more (--json lists all)", grouped(more as u64));
        lines.extend(row("", "", &text, columns));
    }
    lines
}

/// Whether each buffer has at most two memories to choose from: what is spilled then counts once.
fn simple(session: &Session) -> bool {
    let mut buffers = session.checked.problem().buffers().values();
    buffers.all(|buffer| buffer.arenas.len() <= 2)
}

/// The most traffic that any plan has in the first choice, as far as is known; nothing for a plan beyond the limits.
fn most_resident(session: &Session, held: &Residency) -> Option<u128> {
    let proved = session.spills_least && simple(session);
    let most = if proved { held.resident } else { held.bound };
    session.asked.is_none().then_some(most)
}

/// Whether it is proved that no plan spills less.
fn spills_least(session: &Session, held: &Residency) -> bool {
    let proved = session.spills_least
        || held.spilled.is_empty()
        || (simple(session) && held.bound == held.resident);
    proved && session.asked.is_none()
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

/// The memories for JSON, where temporaries are in several or in a limited one.
pub(crate) fn json(session: &Session) -> Option<SpreadJson> {
    let named = named(session)?;
    let problem = session.checked.problem();
    let held = spill::residency(&session.checked);
    let mut floors = session.floor().arenas;
    if session.asked.is_some() {
        // Of limits that were moved nothing follows.
        let own = named.iter().map(|(id, _)| session.bounds.arenas[*id].bytes);
        floors = own.collect();
    }
    let memory = |((id, summary), floor): ((ArenaId, ArenaSummary), u64)| {
        let arena = session.limits(id);
        let missing = arena.capacity.map(|c| summary.height.saturating_sub(c));
        MemoryJson {
            name: arena.name.clone(),
            bytes: summary.height,
            capacity_bytes: arena.capacity,
            free_bytes: arena.capacity.map(|c| c.saturating_sub(summary.height)),
            largest_object_bytes: arena.largest_object,
            alignment: arena.alignment,
            max_load_bytes: summary.max_load,
            peak_step: summary.peak_step.0,
            missing_bytes: missing.filter(|&missing| missing > 0),
            lower_bound_bytes: (floor > 0 || summary.height == 0).then_some(floor),
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
        arenas: named.into_iter().zip(floors).map(memory).collect(),
        traffic_bytes: held.traffic,
        resident_traffic_bytes: held.resident,
        resident_traffic_bound: most_resident(session, &held),
        traffic_optimal: spills_least(session, &held).then_some(true),
        spilled: spilled.collect(),
    })
}
