//! Buffers that do not fit together, into a capacity or into memories: found, as a table, as JSON.

use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::{Grid, left, right, visible};
use crate::report::wrap::hung;
use crate::session::{self, Session};
use crate::units::{count, exact, grouped};
use bayplan_planner::conflict::{Cause, Known, after, shortfalls, too_much};
use bayplan_planner::strategy::improve;
use bayplan_planner::{Answer, ArenaId, BufferId, Conflict, Options, Status, Strategy};
use serde::Serialize;
use std::cmp::Reverse;

/// Members that the table shows.
const SHOWN: usize = 24;

/// The keys of a conflict in JSON.
#[derive(Serialize)]
pub(crate) struct Json {
    capacity_bytes: u64,
    /// The memories that have so many bytes together, where memories were named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arenas: Vec<String>,
    /// `load`: all live at one step; `object`: each by itself is larger than any of these memories
    /// takes; `packing`: a search tried every place.
    cause: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// What is live at that step, rounded up where offsets are multiples of more than 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    live_bytes: Option<u64>,
    /// Whether the rest would fit without any one of them; false: not known.
    minimal: bool,
    members: Vec<Member>,
}

/// What does not fit, for JSON.
#[derive(Default, Serialize)]
pub(crate) struct Told {
    /// Buffers that do not fit together.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<Json>,
    /// More of them, where several memories lack something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more_conflicts: Vec<Json>,
}

impl Told {
    pub(crate) fn new(session: &Session, conflicts: &[Conflict]) -> Self {
        let mut all = conflicts.iter().map(|conflict| json(session, conflict));
        Self {
            conflict: all.next(),
            more_conflicts: all.collect(),
        }
    }
}

#[derive(Serialize)]
struct Member {
    name: String,
    bytes: u64,
    start: u32,
    end: u32,
    alignment: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    given_offset: Option<u64>,
}

/// What does not fit into so many bytes; nothing if all does, or if that is not known. `searching`: the exact
/// search may be asked.
pub(crate) fn find(
    session: &Session,
    capacity: u64,
    searching: bool,
) -> Result<Option<Conflict>, Failure> {
    let problem = session.checked.problem();
    let arenas: Vec<ArenaId> = session.temporaries().collect();
    if arenas.len() > 1 {
        return Ok(too_much(problem, &arenas, capacity));
    }
    let known = known(session, capacity);
    let answer = asked(session, searching, |options| {
        after(problem, Session::arena(), capacity, known, options)
    })?;
    Ok(match answer {
        Answer::Conflict(conflict) => Some(conflict),
        Answer::Fits(_) | Answer::Undecided(_) => None,
    })
}

/// What planning has shown of a capacity.
fn known(session: &Session, capacity: u64) -> Known {
    let bound = session.bounds.arenas[Session::arena()].bytes;
    // The bound of a plan from a file may be somebody else's word.
    let planned = session.status.is_some();
    if planned && bound > capacity {
        Known::Refuted
    } else if planned && session.effort.enough == Some(capacity) {
        Known::Undecided(bound)
    } else {
        Known::Nothing
    }
}

/// What does not fit into the memories that were asked for; nothing where that is not known.
pub(crate) fn lacks(session: &Session, searching: bool) -> Result<Vec<Conflict>, Failure> {
    let problem = session.as_asked();
    asked(session, searching, |options| shortfalls(&problem, options))
}

fn asked<T>(
    session: &Session,
    searching: bool,
    ask: impl FnOnce(&Options<'_>) -> Result<T, bayplan_planner::PlannerFault>,
) -> Result<T, Failure> {
    let answer = session::watched(|report| {
        let mut options = session::packing(Strategy::ALL.to_vec(), &session.effort, report);
        // A time limit that is used up is not begun again.
        if !searching || session.status.is_some_and(Status::was_cut) {
            options.work_limit = Some(0);
            options.improve = improve::Effort::of(0);
        }
        ask(&options)
    });
    answer.map_err(|fault| session::planner_failure(&fault))
}

/// The memories that a conflict is about, by name; none where no memories were named.
pub(crate) fn memories(session: &Session, conflict: &Conflict) -> Vec<String> {
    if session.asked.is_none() && session.temporaries().count() < 2 {
        return Vec::new();
    }
    let arenas = std::iter::once(&conflict.arena).chain(&conflict.beside);
    arenas.map(|&id| session.limits(id).name.clone()).collect()
}

/// `` `sram` and `ram` ``.
pub(crate) fn listed(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", visible(name)))
        .collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Members, the largest first.
fn members(session: &Session, conflict: &Conflict) -> Vec<BufferId> {
    let buffers = session.checked.problem().buffers();
    let mut members = conflict.members.clone();
    members.sort_by_key(|&id| {
        let buffer = &buffers[id];
        (Reverse(buffer.size()), buffer.lifetime().start, id)
    });
    members
}

fn json(session: &Session, conflict: &Conflict) -> Json {
    let problem = session.checked.problem();
    let member = |id: BufferId| {
        let buffer = &problem.buffers()[id];
        Member {
            name: buffer.name.clone(),
            bytes: buffer.size(),
            start: buffer.lifetime().start.0,
            end: buffer.lifetime().end.0,
            alignment: problem.alignment(id, conflict.arena),
            given_offset: buffer.fixed_offset,
        }
    };
    let (cause, step, live_bytes) = match conflict.cause {
        Cause::Load { step, bytes, .. } => ("load", Some(step.0), Some(bytes)),
        Cause::Object { .. } => ("object", None, None),
        Cause::Packing { .. } => ("packing", None, None),
    };
    Json {
        capacity_bytes: conflict.capacity,
        arenas: memories(session, conflict),
        cause,
        step,
        live_bytes,
        minimal: conflict.minimal,
        members: members(session, conflict).into_iter().map(member).collect(),
    }
}

/// What the members have in common.
pub(crate) fn reason(session: &Session, conflict: &Conflict) -> String {
    let number = conflict.members.len();
    let those = count(number, "buffer");
    let capacity = exact(conflict.capacity);
    let names = memories(session, conflict);
    let where_to = match &names[..] {
        // It is about the bytes of a flag, however many memories there are.
        names if names.is_empty() || session.asked.is_none() => String::new(),
        names => format!(" in {}", listed(names)),
    };
    match conflict.cause {
        Cause::Load {
            step,
            alignment,
            bytes,
        } => {
            let step = session.step_label(step);
            let rounded = if alignment > 1 {
                format!(" at multiples of {alignment}")
            } else {
                String::new()
            };
            let take = if number == 1 { "takes" } else { "take" };
            let bytes = exact(bytes);
            format!(
                "{those} live at {step} {take} {bytes}{rounded}; there are {capacity}{where_to}"
            )
        }
        Cause::Object { limit } => {
            let are = if number == 1 { "is" } else { "are" };
            let limit = exact(limit);
            match &names[..] {
                [one] => format!(
                    "{those} {are} too large for {}: it takes {limit} at most",
                    listed(std::slice::from_ref(one))
                ),
                names => format!(
                    "{those} {are} too large for each of {}: the largest takes {limit}",
                    listed(names)
                ),
            }
        }
        Cause::Packing { .. } if number == 1 => {
            format!("{those} does not fit into {capacity}{where_to} where it may lie")
        }
        Cause::Packing { .. } => {
            let rest = if conflict.minimal {
                "without any one of them the others do"
            } else {
                "perhaps not all of them are needed for that"
            };
            format!("{those} do not fit into {capacity}{where_to} together; {rest}")
        }
    }
}

/// The members as a table.
pub(crate) fn print(session: &Session, conflict: &Conflict, out: &mut Out) -> Result<(), Failure> {
    out.line("")?;
    out.lines(&hung(
        "conflict  ",
        &reason(session, conflict),
        out.columns(),
    ))?;
    let mut grid = Grid::new(vec![
        left("name", 0),
        right("bytes", 0),
        right("steps", 0),
        right("alignment", 1),
        right("given at", 2),
    ]);
    let problem = session.checked.problem();
    let members = members(session, conflict);
    let aligned = members
        .iter()
        .any(|&id| problem.alignment(id, conflict.arena) > 1);
    for &id in members.iter().take(SHOWN) {
        let buffer = &problem.buffers()[id];
        let alignment = problem.alignment(id, conflict.arena);
        grid.row(vec![
            buffer.name.clone(),
            grouped(buffer.size()),
            buffer.lifetime().to_string(),
            if aligned {
                grouped(alignment)
            } else {
                String::new()
            },
            buffer.fixed_offset.map_or_else(String::new, grouped),
        ]);
    }
    let width = out.width;
    out.text(&grid.lines(width))?;
    let rest = &members[members.len().min(SHOWN)..];
    if !rest.is_empty() {
        let bytes: u64 = rest.iter().map(|&id| problem.buffers()[id].size()).sum();
        let more = count(rest.len(), "more buffer");
        out.line(&format!("and {more} of {}", exact(bytes)))?;
    }
    Ok(())
}
