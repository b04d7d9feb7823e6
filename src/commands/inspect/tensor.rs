//! Why one tensor is where it is.

use crate::failure::{Diagnostic, Failure};
use crate::report::Out;
use crate::report::grid::visible;
use crate::session::Session;
use crate::summary;
use crate::units::{both, count, grouped};
use bayplan_graph::table::NodeRow;
use bayplan_planner::{BufferId, Step, table};
use serde::Serialize;

#[derive(Serialize)]
struct TensorJson {
    tensor: Option<bayplan_graph::table::TensorRow>,
    buffer: table::BufferRow,
    rests_on: Vec<String>,
    under: Vec<String>,
    decisions: Vec<(String, String, String, String, String)>,
}

/// The buffer that holds a name: a tensor of the graph, or a buffer.
fn find(session: &Session, name: &str) -> Option<BufferId> {
    if let Some(side) = &session.graph {
        let tensor = side.graph().tensors().iter().find(|(_, t)| t.name == name);
        if let Some((id, _)) = tensor
            && let bayplan_graph::Home::In(buffer, _) = side.part.placement.tensors[id]
        {
            return Some(buffer);
        }
    }
    session
        .checked
        .problem()
        .buffers()
        .iter()
        .find(|(_, b)| b.name == name)
        .map(|(id, _)| id)
}

/// The name that is meant: as it stands, or that of the tensor with this id.
fn named(session: &Session, asked: &str) -> String {
    let by_id = || {
        let tensors = session.graph.as_ref()?.graph().tensors();
        let id: usize = asked.parse().ok()?;
        if tensors.values().any(|tensor| tensor.name == asked) {
            return None;
        }
        tensors.values().nth(id).map(|tensor| tensor.name.clone())
    };
    by_id().unwrap_or_else(|| asked.to_owned())
}

pub(super) fn tensor(session: &Session, asked: &str, out: &mut Out) -> Result<(), Failure> {
    let name = named(session, asked);
    let name = name.as_str();
    let peak = summary::Figures::of(session).peak;
    let row = session.graph.as_ref().and_then(|side| {
        side.source()
            .tensors(peak)
            .into_iter()
            .find(|r| r.name == name)
    });
    let Some(buffer) = find(session, name) else {
        return match row {
            Some(row) => {
                if out.json {
                    return out.value(&row);
                }
                out.line(&format!(
                    "{} is in no arena: {}, {}",
                    visible(name),
                    row.why,
                    both(row.bytes)
                ))?;
                out.line(&format!("tensor    {}", kind(&row)))?;
                out.lines(&nodes(session, row.id))
            }
            None => Err(unknown(session, name)),
        };
    };
    let rows = table::rows(&session.checked);
    let own = rows.iter().find(|r| r.id == buffer).cloned();
    let Some(own) = own else {
        return Err(unknown(session, name));
    };
    let meets: Vec<&table::BufferRow> = rows
        .iter()
        .filter(|r| r.id != buffer && r.arena == own.arena && r.lifetime.overlaps(own.lifetime))
        .collect();
    let rests_on = meets
        .iter()
        .filter(|r| {
            r.end == own.offset || (r.end < own.offset && own.offset - r.end < own.alignment)
        })
        .map(|r| r.name.clone());
    let under = meets
        .iter()
        .filter(|r| r.offset >= own.end && r.offset - own.end < r.alignment)
        .map(|r| r.name.clone());
    let decisions = session.graph.as_ref().map_or_else(Vec::new, |side| {
        side.part
            .decisions
            .iter()
            .filter(|d| d.1 == name || d.2 == name)
            .cloned()
            .collect()
    });
    let told = TensorJson {
        tensor: row,
        rests_on: rests_on.collect(),
        under: under.collect(),
        decisions,
        buffer: own,
    };
    if out.json {
        return out.value(&told);
    }
    tensor_text(session, name, &told, meets.len(), out)
}

/// `3: f32 1x8, activation`.
fn kind(row: &bayplan_graph::table::TensorRow) -> String {
    let shape = super::super::table::shape(row);
    let words = [row.dtype.as_deref().unwrap_or(""), &shape];
    let what = words.into_iter().filter(|word| !word.is_empty());
    let what: Vec<&str> = what.chain([row.role]).collect();
    format!("{}: {}", row.id, what.join(" "))
}

/// Who makes it and who reads it, where anybody does.
fn nodes(session: &Session, id: u32) -> Vec<String> {
    let Some(side) = &session.graph else {
        return Vec::new();
    };
    let rows = side.source().nodes(|_| 0);
    let names = |uses: &dyn Fn(&NodeRow) -> bool| {
        let these = rows.iter().filter(|row| uses(row));
        let names: Vec<String> = these.map(|row| visible(&row.name)).collect();
        names.join(", ")
    };
    let made = names(&|row| row.output_ids.contains(&id));
    let read = names(&|row| row.input_ids.contains(&Some(id)));
    let lines = [("made by", made), ("read by", read)].into_iter();
    let lines = lines.filter(|(_, names)| !names.is_empty());
    lines
        .map(|(label, names)| format!("{label:<9} {names}"))
        .collect()
}

fn tensor_text(
    session: &Session,
    name: &str,
    told: &TensorJson,
    meets: usize,
    out: &mut Out,
) -> Result<(), Failure> {
    let TensorJson {
        tensor,
        buffer,
        rests_on,
        under,
        decisions,
    } = told;
    let arena = &session.checked.problem().arenas()[buffer.arena].name;
    out.line(&visible(name))?;
    if let Some(row) = tensor {
        out.line(&format!("tensor    {}", kind(row)))?;
        out.lines(&nodes(session, row.id))?;
    }
    let place = tensor
        .as_ref()
        .and_then(|row| row.place)
        .map_or(buffer.offset, |place| place.offset);
    let size = tensor.as_ref().map_or(buffer.size, |row| row.bytes);
    out.line(&format!(
        "place     `{}` {}..{}: {}",
        visible(arena),
        grouped(place),
        grouped(place + size),
        both(size)
    ))?;
    let life = tensor
        .as_ref()
        .and_then(|row| row.lifetime)
        .unwrap_or(buffer.lifetime);
    let why = tensor
        .as_ref()
        .map_or_else(String::new, |row| format!(", {}", row.why));
    let last = Step(life.end.0.saturating_sub(1));
    out.line(&format!(
        "lives     {} to {}{}",
        session.step_label(life.start),
        session.step_label(last),
        visible(&why)
    ))?;
    if let Some(row) = tensor.as_ref().filter(|row| !row.shares_with.is_empty()) {
        out.line(&format!(
            "shares    with {}",
            visible(&row.shares_with.join(", "))
        ))?;
    }
    let reason = if buffer.fixed {
        "its offset is given".into()
    } else if meets == 0 {
        "nothing else is live with it in this arena".into()
    } else if buffer.offset == 0 {
        format!(
            "the lowest place; {} live with it at some step",
            count(meets, "other buffer")
        )
    } else if rests_on.is_empty() {
        format!(
            "a gap among {} that live with it",
            count(meets, "other buffer")
        )
    } else {
        format!("right above {}", visible(&rests_on.join(", ")))
    };
    out.line(&format!("here as   {reason}"))?;
    if let Some(why) = summary::spread::why_spilled(session, buffer.id) {
        out.line(&format!("spilled   {why}"))?;
    }
    if !under.is_empty() {
        out.line(&format!("under     {}", visible(&under.join(", "))))?;
    }
    if buffer.at_peak && buffer.arena == Session::arena() && !summary::spread::several(session) {
        let peak = session.step_label(summary::Figures::of(session).peak);
        out.line(&format!("peak      it lives at the heaviest step, {peak}"))?;
    }
    for (node, input, output, question, answer) in decisions {
        out.line(&format!(
            "{question:<9} at `{}`: `{}` in the bytes of `{}`: {}",
            visible(node),
            visible(output),
            visible(input),
            visible(answer)
        ))?;
    }
    Ok(())
}

fn unknown(session: &Session, name: &str) -> Failure {
    let graph = session.graph.as_ref().map(|side| {
        side.graph()
            .tensors()
            .values()
            .map(|t| t.name.clone())
            .collect::<Vec<_>>()
    });
    let names = graph.unwrap_or_else(|| {
        session
            .checked
            .problem()
            .buffers()
            .values()
            .map(|b| b.name.clone())
            .collect()
    });
    let lower = name.to_lowercase();
    let close: Vec<String> = names
        .into_iter()
        .filter(|n| n.to_lowercase().contains(&lower))
        .take(5)
        .collect();
    let diagnostic = Diagnostic::new("E0107", format!("there is no tensor or buffer `{name}`"));
    let help = if close.is_empty() {
        "`bayplan table` lists all".to_owned()
    } else {
        format!("did you mean {}?", close.join(", "))
    };
    diagnostic.help(help).cannot()
}
