//! Buffers that do not fit into a capacity together: found, as a table, as JSON.

use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::{Grid, left, right};
use crate::session::{self, Session};
use crate::units::{count, exact, grouped};
use bayplan_planner::conflict::Cause;
use bayplan_planner::{Answer, BufferId, Conflict, Strategy, conflict};
use serde::Serialize;
use std::cmp::Reverse;

/// Members that the table shows.
const SHOWN: usize = 24;

/// The keys of a conflict in JSON.
#[derive(Serialize)]
pub(crate) struct Json {
    capacity_bytes: u64,
    /// `load`: all live at one step; `packing`: a search tried every place.
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

/// What does not fit into so many bytes of the arena; nothing if it does, or if that is not known.
pub(crate) fn find(session: &Session, capacity: u64) -> Result<Option<Conflict>, Failure> {
    let answer = session::watched(|report| {
        let strategies = Strategy::ALL.to_vec();
        let options = session::packing(strategies, &session.effort, report);
        let problem = session.checked.problem();
        conflict(problem, Session::arena(), capacity, &options)
    });
    match answer.map_err(|fault| session::planner_failure(&fault))? {
        Answer::Conflict(conflict) => Ok(Some(conflict)),
        Answer::Fits(_) | Answer::Undecided(_) => Ok(None),
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

pub(crate) fn json(session: &Session, conflict: &Conflict) -> Json {
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
        Cause::Packing { .. } => ("packing", None, None),
    };
    Json {
        capacity_bytes: conflict.capacity,
        cause,
        step,
        live_bytes,
        minimal: conflict.minimal,
        members: members(session, conflict).into_iter().map(member).collect(),
    }
}

/// What the members have in common.
pub(crate) fn reason(session: &Session, conflict: &Conflict) -> String {
    let those = count(conflict.members.len(), "buffer");
    let capacity = exact(conflict.capacity);
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
            let bytes = exact(bytes);
            format!("{those} live at {step} take {bytes}{rounded}; there are {capacity}")
        }
        Cause::Packing { .. } if conflict.minimal => {
            format!(
                "{those} do not fit into {capacity} together; without any one of them the others do"
            )
        }
        Cause::Packing { .. } => {
            format!(
                "{those} do not fit into {capacity} together; perhaps not all of them are needed for that"
            )
        }
    }
}

/// The members as a table.
pub(crate) fn print(session: &Session, conflict: &Conflict, out: &mut Out) -> Result<(), Failure> {
    out.line("")?;
    out.line(&format!("conflict  {}", reason(session, conflict)))?;
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
