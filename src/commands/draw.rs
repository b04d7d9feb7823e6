//! `draw`: the bay plan as SVG or one HTML file.

use super::{budget, write};
use crate::args::DrawArgs;
use crate::conflict;
use crate::failure::{Diagnostic, Failure};
use crate::report::Out;
use crate::session::{self, GraphSide, Session};
use crate::summary;
use crate::units::{count, grouped};
use bayplan_graph::Home;
use bayplan_planner::conflict::Cause;
use bayplan_planner::picture::{self, Details, Member};
use bayplan_planner::{BufferId, Conflict, Rect, Table};

pub(crate) fn run(args: &DrawArgs, out: &mut Out) -> Result<(), Failure> {
    let ending = args
        .output
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    let draw = match &*ending {
        "svg" => picture::svg,
        "html" | "htm" => picture::html,
        _ => {
            return Err(Diagnostic::new(
                "E0801",
                format!(
                    "cannot draw `{}`: its ending is not .svg or .html",
                    args.output.display()
                ),
            )
            .cannot());
        }
    };
    let session = session::open(&args.input, &args.planning)?;
    super::warn(&session.warnings, out);
    let verdict = budget::judge(&session, args.budget, "budget")?;
    let no = verdict.filter(|verdict| !verdict.is_yes());
    let mut details = details(&session, args.budget);
    for found in no.iter().flat_map(|no| &no.conflicts) {
        mark(&session, found, &mut details);
    }
    details.conflict.sort_unstable();
    details.conflict.dedup();
    write(
        &args.output,
        &[&args.input],
        &draw(&session.checked, &details),
    )?;
    if out.json {
        let json = summary::json(&session, args.budget);
        return out.value(&match &no {
            Some(no) => no.judged(json, &session),
            None => json,
        });
    }
    if let Some(no) = &no {
        out.lines(&no.headlines(&session, out))?;
    }
    out.line(&format!(
        "picture   {}, {}",
        args.output.display(),
        summary::seal(&session)
    ))
}

/// Marks the buffers that do not fit together, and says so where they are hovered over.
fn mark(session: &Session, found: &Conflict, details: &mut Details) {
    details.conflict.extend(&found.members);
    let names = conflict::memories(session, found);
    let bytes = format!("{} bytes", grouped(found.capacity));
    let room = match &names[..] {
        [] => bytes,
        names => format!("{}, {bytes}", conflict::listed(names)),
    };
    for &id in &found.members {
        let others = found.members.len() - 1;
        let why = match found.cause {
            Cause::Object { .. } => format!("too large for {room}"),
            _ if others == 0 => format!("does not fit into {room}"),
            _ => format!("with {} does not fit into {room}", count(others, "other")),
        };
        details.notes[id].push(("conflict".into(), why));
    }
}

fn details(session: &Session, budget: Option<u64>) -> Details {
    let title = match &session.graph {
        Some(side) => side.graph().name().to_owned(),
        None => session.input.clone(),
    };
    let mut details = Details {
        title,
        notes: Table::filled(Vec::new(), session.checked.problem().buffers().len()),
        budget,
        capacities: session.asked.as_ref().map_or_else(Table::new, |asked| {
            asked.values().map(|arena| arena.capacity).collect()
        }),
        ..Details::default()
    };
    if let Some(side) = &session.graph {
        let nodes = side.graph().nodes();
        details.step_names = side
            .certified
            .schedule()
            .order()
            .iter()
            .map(|&n| nodes[n].name.clone())
            .collect();
        tensors(session, side, &mut details);
        for &block in side.part.placement.scratch.values().flatten() {
            details.notes[block].push(("role".into(), "scratch".into()));
        }
    }
    details
}

/// Notes on every buffer's tensors; members where several share it.
fn tensors(session: &Session, side: &GraphSide, details: &mut Details) {
    let peak = summary::Figures::of(session).peak;
    let rows = side.source().tensors(peak);
    let mut holds: Table<BufferId, usize> = Table::filled(0, details.notes.len());
    let home = |id| match side.part.placement.tensors[id] {
        Home::In(buffer, offset) => Some((buffer, offset)),
        Home::Outside | Home::Nowhere => None,
    };
    for (buffer, _) in side.graph().tensors().ids().filter_map(home) {
        holds[buffer] += 1;
    }
    for (id, row) in side.graph().tensors().ids().zip(&rows) {
        let Some((buffer, offset)) = home(id) else {
            continue;
        };
        let shape = row.shape.as_ref().map(|dims| {
            dims.iter()
                .map(u64::to_string)
                .collect::<Vec<_>>()
                .join("x")
        });
        let kind = [row.dtype.clone(), shape]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let told = [kind, row.role.to_owned(), row.why.clone()]
            .into_iter()
            .filter(|part| !part.is_empty());
        details.notes[buffer].push((row.name.clone(), told.collect::<Vec<_>>().join(", ")));
        if let Some(steps) = row.lifetime.filter(|_| holds[buffer] > 1) {
            details.members.push(Member {
                buffer,
                label: row.name.clone(),
                rect: Rect {
                    steps,
                    lo: offset,
                    hi: offset + row.bytes,
                },
            });
        }
    }
}
