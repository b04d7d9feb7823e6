//! Memories that do not suffice: what is missing in which, and what would do.

use super::budget::can_search;
use crate::conflict::{listed, memories};
use crate::failure::Diagnostic;
use crate::report::grid::visible;
use crate::session::Session;
use crate::units::{count, exact, grouped};
use bayplan_planner::conflict::Cause;
use bayplan_planner::{ArenaId, BufferId, Conflict};
use std::cmp::Reverse;

/// Buffers that a note lists.
const SHOWN: usize = 8;

/// The refusal; without conflicts, none that fits was found, and none is ruled out.
pub(super) fn diagnostic(session: &Session, conflicts: &[Conflict]) -> Diagnostic {
    let mut told = match conflicts.first() {
        Some(first) => Diagnostic::new("E0701", title(session, first)),
        None => Diagnostic::new("E0701", undecided(session)),
    };
    told.notes
        .extend(conflicts.iter().map(|one| who(session, one)));
    match conflicts.first().map(|first| first.cause) {
        Some(Cause::Load { .. }) => {
            told.notes
                .push("no plan can help: they are live at once".into());
        }
        Some(Cause::Object { .. }) => {
            told.notes
                .push("no plan can help: a buffer is in one piece".into());
        }
        Some(Cause::Packing { .. }) => {
            told.notes
                .push("the limit is the packing: a search tried every place".into());
        }
        None => {
            if session.temporaries().count() == 1 {
                let least = exact(session.bound());
                told.notes
                    .push(format!("every plan needs {least} at least"));
            }
            let known = "no plan that fits was found, and none is ruled out";
            told.notes.push(known.into());
        }
    }
    told.notes.extend(enough(session));
    told.help(help(session, conflicts))
}

fn title(session: &Session, first: &Conflict) -> String {
    let names = memories(session, first);
    let has = match &names[..] {
        [one] => format!("memory `{}` has", visible(one)),
        names => format!("the memories {} have together", listed(names)),
    };
    let capacity = exact(first.capacity);
    match first.cause {
        Cause::Load { bytes, .. } => {
            let missing = exact(bytes.saturating_sub(first.capacity));
            format!("{has} {capacity}, {missing} too few")
        }
        Cause::Object { .. } => {
            let largest = members(session, first)[0];
            let buffer = &session.checked.problem().buffers()[largest];
            let (name, size) = (visible(&buffer.name), exact(buffer.size()));
            match &names[..] {
                [one] => format!(
                    "`{name}` has {size}; memory `{}` takes {capacity} at most",
                    visible(one)
                ),
                names => format!(
                    "`{name}` has {size}; none of {} takes more than {capacity}",
                    listed(names)
                ),
            }
        }
        Cause::Packing { .. } => {
            format!("{has} {capacity}, in which not everything has a place")
        }
    }
}

/// In which memories there was no room.
fn undecided(session: &Session) -> String {
    let over = beyond(session).map(|(_, name, _)| name);
    let mut names: Vec<String> = over.collect();
    if names.is_empty() {
        names = objects(session).map(|(name, _)| name).collect();
    }
    let what = if names.len() == 1 {
        "memory"
    } else {
        "the memories"
    };
    format!("no plan was found that fits into {what} {}", listed(&names))
}

/// Memories that the plan goes beyond: which, their names, and the bytes that it takes there.
fn beyond(session: &Session) -> impl Iterator<Item = (ArenaId, String, u64)> {
    let heights = session.checked.plan().heights.iter();
    let over = heights.filter(|(id, _)| session.overflows(*id));
    over.map(|(id, &height)| (id, session.limits(id).name.clone(), height))
}

/// The members, the largest first.
fn members(session: &Session, conflict: &Conflict) -> Vec<BufferId> {
    let mut members = conflict.members.clone();
    let buffers = session.checked.problem().buffers();
    members.sort_by_key(|&id| (Reverse(buffers[id].size()), id));
    members
}

fn who(session: &Session, conflict: &Conflict) -> String {
    let buffers = session.checked.problem().buffers();
    let members = members(session, conflict);
    let shown = members.iter().take(SHOWN).map(|&id| {
        let name = visible(&buffers[id].name);
        format!("{name} {}", grouped(buffers[id].size()))
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = match members.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    let names = listed(&memories(session, conflict));
    let number = count(members.len(), "buffer");
    let what = match conflict.cause {
        Cause::Load { step, .. } => {
            let step = session.step_label(step);
            format!("at {step}, {number} that can only be in {names}")
        }
        Cause::Object { .. } => format!("{number} that can only be in {names}, and too large"),
        Cause::Packing { .. } => format!("{number} that can only be in {names}"),
    };
    format!("{what}: {shown}{more}")
}

/// What would do: the plan that goes beyond.
fn enough(session: &Session) -> Option<String> {
    let over = beyond(session).map(|(id, name, height)| {
        let more = height - session.limits(id).capacity.unwrap_or(height);
        format!(
            "{} in `{}` ({} more)",
            exact(height),
            visible(&name),
            grouped(more)
        )
    });
    let mut over: Vec<String> = over.collect();
    over.extend(objects(session).map(|(name, size)| format!("`:max={size}` for `{name}`")));
    (!over.is_empty()).then(|| format!("a plan was found with {}", over.join(" and ")))
}

/// Memories in which the plan has a larger buffer than they may hold, and its size.
fn objects(session: &Session) -> impl Iterator<Item = (String, u64)> {
    let (problem, places) = (session.checked.problem(), &session.checked.plan().places);
    let arenas = problem.arenas().ids();
    arenas.filter_map(move |id| {
        let limit = session.limits(id).largest_object?;
        let here = problem
            .buffers()
            .iter()
            .filter(|(buffer, _)| places[*buffer].arena == id);
        let largest = here.map(|(_, buffer)| buffer.size()).max().unwrap_or(0);
        (largest > limit).then(|| (visible(&session.limits(id).name), largest))
    })
}

fn help(session: &Session, conflicts: &[Conflict]) -> String {
    let objects = conflicts
        .iter()
        .any(|c| matches!(c.cause, Cause::Object { .. }));
    let last = session.temporaries().last();
    let open = last.is_some_and(|last| session.limits(last).capacity.is_none());
    let ways = if conflicts.is_empty() && can_search(session) {
        "a longer search may find it, or rule it out: --node-limit N or --time-limit TIME"
    } else if conflicts.is_empty() {
        "the search behind all strategies may find it, or rule it out: leave out --strategy"
    } else if objects {
        "a memory that takes it: more bytes, a larger `:max=`, or another `--pin`"
    } else if open {
        "more bytes there, or fewer pins to it"
    } else {
        "a larger memory, or one more behind it without a size (such as `,dram`)"
    };
    ways.into()
}
