//! `inspect`: the peak and who lives there, one tensor, one step, and what would lower the peak.

mod advice;
mod tensor;

use crate::args::InspectArgs;
use crate::failure::{Diagnostic, Failure};
use crate::report::Out;
use crate::report::grid::{Grid, left, list, right, shorten, visible};
use crate::session::Session;
use crate::summary;
use crate::units::{both, bytes, count, exact, grouped, percent};
use advice::Advice;
use bayplan_planner::{Step, table};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Json {
    summary: summary::Json,
    ops: BTreeMap<String, usize>,
    heaviest_steps: Vec<StepJson>,
    advice: Vec<Advice>,
}

#[derive(Serialize)]
struct StepJson {
    step: u32,
    node: Option<String>,
    live_bytes: u64,
    live: Vec<table::BufferRow>,
    free_ranges: Vec<(u64, u64)>,
}

pub(crate) fn run(args: &InspectArgs, out: &mut Out) -> Result<(), Failure> {
    let session = super::open(&args.input, &args.planning, out)?;
    if let Some(name) = &args.tensor {
        return tensor::tensor(&session, name, out);
    }
    if let Some(number) = args.step {
        return step(&session, Step(number), out);
    }
    let advice = advice::advice(&session, args)?;
    if out.json {
        return out.value(&Json {
            summary: summary::json(&session, None),
            ops: ops(&session),
            heaviest_steps: heaviest(&session)
                .into_iter()
                .map(|(s, _)| step_json(&session, s))
                .collect(),
            advice,
        });
    }
    overview(&session, &advice, out)
}

/// How often each kind of operator occurs.
fn ops(session: &Session) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    if let Some(side) = &session.graph {
        for node in side.graph().nodes().values() {
            let kind = if node.op.is_empty() {
                "(no kind)"
            } else {
                &node.op
            };
            *kinds.entry(kind.to_owned()).or_insert(0) += 1;
        }
    }
    kinds
}

/// The five heaviest steps, heaviest first.
fn heaviest(session: &Session) -> Vec<(Step, u64)> {
    let figures = summary::Figures::of(session);
    let mut points = figures.profile.points().to_vec();
    points.retain(|&(_, load)| load > 0);
    points.sort_by_key(|&(step, load)| (std::cmp::Reverse(load), step));
    points.truncate(5);
    points
}

fn step_json(session: &Session, step: Step) -> StepJson {
    let live: Vec<_> = table::live_at(&session.checked, step)
        .into_iter()
        .filter(|r| session.is_temporary(r.arena))
        .collect();
    StepJson {
        step: step.0,
        node: session.step_name(step).map(str::to_owned),
        live_bytes: live_bytes(session, step),
        live,
        free_ranges: table::free_ranges(&session.checked, Session::arena(), step),
    }
}

fn live_bytes(session: &Session, step: Step) -> u64 {
    summary::Figures::of(session).profile.at(step)
}

fn overview(session: &Session, advice: &[Advice], out: &mut Out) -> Result<(), Failure> {
    out.lines(&summary::lines(session, out.width))?;
    let ops = ops(session);
    if !ops.is_empty() {
        let mut kinds: Vec<_> = ops.iter().collect();
        kinds.sort_by_key(|&(kind, count)| (std::cmp::Reverse(*count), kind));
        let mut shown: Vec<String> = kinds
            .iter()
            .take(12)
            .map(|(kind, count)| format!("{count} {}", visible(kind)))
            .collect();
        let more = kinds.len().saturating_sub(shown.len());
        if more > 0 {
            shown.push(format!("and {} more", crate::units::count(more, "kind")));
        }
        out.lines(&wrapped("ops       ", &shown, out.width))?;
    }
    out.line("")?;
    out.line("HEAVIEST STEPS")?;
    let mut grid = Grid::new(vec![
        right("step", 0),
        left("node", 0),
        right("live bytes", 0),
        right("of arena", 2),
        list("who lives there", 1),
    ]);
    for (step, load) in heaviest(session) {
        let live = table::live_at(&session.checked, step);
        let names: Vec<String> = live
            .iter()
            .filter(|r| session.is_temporary(r.arena))
            .take(4)
            .map(|r| format!("{} {}", shorten(&r.name, 24), bytes(r.size)))
            .collect();
        let share = if session.height() == 0 {
            0.0
        } else {
            load as f64 / session.height() as f64
        };
        grid.row(vec![
            step.to_string(),
            session.step_name(step).unwrap_or("").to_owned(),
            grouped(load),
            percent(share),
            names.join(", "),
        ]);
    }
    let width = out.width;
    out.text(&grid.lines(width))?;
    out.line("")?;
    out.line("WHAT WOULD LOWER IT")?;
    for item in advice {
        let saves = item
            .saves_bytes
            .map_or_else(String::new, |b| format!(" (saves {})", both(b)));
        out.line(&format!("- {}{saves}", visible(&item.what)))?;
    }
    Ok(())
}

fn step(session: &Session, step: Step, out: &mut Out) -> Result<(), Failure> {
    let horizon = session.checked.problem().horizon().0;
    if step.0 >= horizon {
        return Err(Diagnostic::new("E0107", format!("there is no step {step}"))
            .help(format!("steps run from 0 to {}", horizon.saturating_sub(1)))
            .cannot());
    }
    let told = step_json(session, step);
    let several = summary::spread::several(session);
    if out.json {
        return out.value(&told);
    }
    let share = if session.height() == 0 {
        0.0
    } else {
        told.live_bytes as f64 / session.height() as f64
    };
    out.line(&format!(
        "{}: {} live in {}, {} of the {}",
        session.step_label(step),
        exact(told.live_bytes),
        count(told.live.len(), "buffer"),
        percent(share),
        if several { "memories" } else { "arena" }
    ))?;
    let arenas = session.checked.problem().arenas();
    let mut grid = Grid::new(vec![
        left("buffer", 0),
        right("bytes", 0),
        left("memory", 4),
        right("offset", 2),
        right("end", 1),
        left("steps", 3),
    ]);
    for row in &told.live {
        grid.row(vec![
            row.name.clone(),
            grouped(row.size),
            if several {
                arenas[row.arena].name.clone()
            } else {
                String::new()
            },
            grouped(row.offset),
            grouped(row.end),
            row.lifetime.to_string(),
        ]);
    }
    let width = out.width;
    out.text(&grid.lines(width))?;
    if !several {
        return out.line(&format!("free      {}", free(&told.free_ranges)));
    }
    for arena in session.temporaries() {
        let ranges = table::free_ranges(&session.checked, arena, step);
        let name = visible(&arenas[arena].name);
        out.line(&format!("free      {name}: {}", free(&ranges)))?;
    }
    Ok(())
}

/// Ranges that nobody uses, in words.
fn free(ranges: &[(u64, u64)]) -> String {
    let ranges: Vec<String> = ranges
        .iter()
        .map(|&(lo, hi)| format!("{}..{} ({})", grouped(lo), grouped(hi), bytes(hi - lo)))
        .collect();
    if ranges.is_empty() {
        "nothing under the arena's height".to_owned()
    } else {
        ranges.join(", ")
    }
}

/// A list after a title, in lines of at most `width` characters; those after the first are indented.
fn wrapped(title: &str, items: &[String], width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = title.to_owned();
    let indent = title.chars().count();
    for (place, item) in items.iter().enumerate() {
        let comma = if place + 1 < items.len() { "," } else { "" };
        let chars = line.chars().count();
        let full =
            width.is_some_and(|width| chars + 1 + item.chars().count() + comma.len() > width);
        if full && chars > indent {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if chars > indent {
            line.push(' ');
        }
        line.push_str(item);
        line.push_str(comma);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_break_between_items_and_never_in_one() {
        let items = ["12 Add", "3 Conv", "and 2 kinds more"].map(str::to_owned);
        let lines = |width| wrapped("ops  ", &items, width);
        assert_eq!(lines(None), ["ops  12 Add, 3 Conv, and 2 kinds more"]);
        assert_eq!(
            lines(Some(21)),
            ["ops  12 Add, 3 Conv,", "     and 2 kinds more"]
        );
        assert_eq!(
            lines(Some(5)),
            ["ops  12 Add,", "     3 Conv,", "     and 2 kinds more"]
        );
    }
}
