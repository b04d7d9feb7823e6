//! `inspect`: the peak and who lives there, one tensor, one step, and what would lower the peak.

use crate::args::{InspectArgs, Planning, Switch};
use crate::failure::{Diagnostic, Failure};
use crate::report::Out;
use crate::report::grid::{Grid, left, right, shorten, visible};
use crate::session::{self, GraphSide, Session};
use crate::summary;
use crate::units::{both, bytes, count, exact, grouped, percent};
use bayplan_planner::{BufferId, Step, table};
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

#[derive(Serialize)]
struct Advice {
    what: String,
    /// Bytes of the arena that it would save, where another plan was made to find out.
    saves_bytes: Option<u64>,
}

#[derive(Serialize)]
struct TensorJson {
    tensor: Option<bayplan_graph::table::TensorRow>,
    buffer: table::BufferRow,
    rests_on: Vec<String>,
    under: Vec<String>,
    decisions: Vec<(String, String, String, String, String)>,
}

pub(crate) fn run(args: &InspectArgs, out: &mut Out) -> Result<(), Failure> {
    let session = session::open(&args.input, &args.planning, out.colour)?;
    if let Some(name) = &args.tensor {
        return tensor(&session, name, out);
    }
    if let Some(number) = args.step {
        return step(&session, Step(number), out);
    }
    let advice = advice(&session, args, out)?;
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
        .filter(|r| r.arena == Session::arena())
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
    out.line(&summary::text(session, out.width))?;
    let ops = ops(session);
    if !ops.is_empty() {
        let mut kinds: Vec<_> = ops.iter().collect();
        kinds.sort_by_key(|&(kind, count)| (std::cmp::Reverse(*count), kind));
        let shown: Vec<String> = kinds
            .iter()
            .take(12)
            .map(|(kind, count)| format!("{count} {}", visible(kind)))
            .collect();
        out.line(&format!("ops       {}", shown.join(", ")))?;
    }
    out.line("\nHEAVIEST STEPS")?;
    let mut grid = Grid::new(vec![
        right("step", 0),
        left("node", 0),
        right("live bytes", 0),
        right("of arena", 2),
        left("who lives there", 1),
    ]);
    for (step, load) in heaviest(session) {
        let live = table::live_at(&session.checked, step);
        let names: Vec<String> = live
            .iter()
            .filter(|r| r.arena == Session::arena())
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
    out.line("\nWHAT WOULD LOWER IT")?;
    for item in advice {
        let saves = item
            .saves_bytes
            .map_or_else(String::new, |b| format!(" (saves {})", both(b)));
        out.line(&format!("- {}{saves}", visible(&item.what)))?;
    }
    Ok(())
}

/// Ways to a lower peak. What a flag would save is found out by planning with it.
fn advice(session: &Session, args: &InspectArgs, out: &Out) -> Result<Vec<Advice>, Failure> {
    let figures = summary::Figures::of(session);
    let mut advice = Vec::new();
    if figures.optimal && figures.height > 0 {
        let what = format!(
            "not the packing: {} is proved to be the least for this order and sharing",
            bytes(figures.height)
        );
        advice.push(Advice {
            what,
            saves_bytes: None,
        });
    } else if figures.height > figures.bound {
        let what = format!(
            "perhaps a better packing: at most {} lie between this plan and the bound",
            bytes(figures.height - figures.bound)
        );
        advice.push(Advice {
            what,
            saves_bytes: None,
        });
    }
    let Some(side) = &session.graph else {
        return Ok(advice);
    };
    for (variant, flag) in variants(side, &args.planning) {
        let other = session::plan_graph(String::new(), side.graph().clone(), &variant, out.colour)?;
        if other.height() < session.height() {
            advice.push(Advice {
                what: flag.into(),
                saves_bytes: Some(session.height() - other.height()),
            });
        }
    }
    advice.extend(refused_at_peak(session, side, figures.peak));
    Ok(advice)
}

/// Flags that are off and might help.
fn variants(side: &GraphSide, planning: &Planning) -> Vec<(Planning, &'static str)> {
    let policy = side.part.policy;
    let mut base = planning.clone();
    session::adopt(&mut base, &side.part);
    let mut variants = Vec::new();
    if !policy.reuse_inputs {
        let reuse = Planning {
            reuse_inputs: true,
            ..base.clone()
        };
        variants.push((
            reuse,
            "--reuse-inputs: let inputs be overwritten after their last reader",
        ));
    }
    if !policy.in_place {
        let on = Planning {
            in_place: Switch::On,
            ..base.clone()
        };
        variants.push((
            on,
            "--in-place on: let results take the bytes of operands that die",
        ));
    }
    if !policy.views {
        let on = Planning {
            views: Switch::On,
            ..base
        };
        variants.push((on, "--views on: give views no bytes of their own"));
    }
    variants
}

/// In-place offers of the node at the peak that were refused, with the reason.
fn refused_at_peak(session: &Session, side: &GraphSide, peak: Step) -> Vec<Advice> {
    let Some(node) = session.step_name(peak) else {
        return Vec::new();
    };
    let refused = side
        .part
        .decisions
        .iter()
        .filter(|d| d.0 == node && d.4 != "taken");
    refused
        .take(5)
        .map(|d| Advice {
            what: format!(
                "at the peak `{}` may not take the bytes of `{}`: {}",
                d.2, d.1, d.4
            ),
            saves_bytes: None,
        })
        .collect()
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

fn tensor(session: &Session, name: &str, out: &mut Out) -> Result<(), Failure> {
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
                ))
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
    if !under.is_empty() {
        out.line(&format!("under     {}", visible(&under.join(", "))))?;
    }
    if buffer.at_peak && buffer.arena == Session::arena() {
        out.line("peak      it lives at the heaviest step: making it smaller lowers the bound")?;
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

fn step(session: &Session, step: Step, out: &mut Out) -> Result<(), Failure> {
    let horizon = session.checked.problem().horizon().0;
    if step.0 >= horizon {
        return Err(Diagnostic::new("E0107", format!("there is no step {step}"))
            .help(format!("steps run from 0 to {}", horizon.saturating_sub(1)))
            .cannot());
    }
    let told = step_json(session, step);
    if out.json {
        return out.value(&told);
    }
    let share = if session.height() == 0 {
        0.0
    } else {
        told.live_bytes as f64 / session.height() as f64
    };
    out.line(&format!(
        "{}: {} live in {}, {} of the arena",
        session.step_label(step),
        exact(told.live_bytes),
        count(told.live.len(), "buffer"),
        percent(share)
    ))?;
    let mut grid = Grid::new(vec![
        left("buffer", 0),
        right("bytes", 0),
        right("offset", 2),
        right("end", 1),
        left("steps", 3),
    ]);
    for row in &told.live {
        grid.row(vec![
            row.name.clone(),
            grouped(row.size),
            grouped(row.offset),
            grouped(row.end),
            row.lifetime.to_string(),
        ]);
    }
    let width = out.width;
    out.text(&grid.lines(width))?;
    let free: Vec<String> = told
        .free_ranges
        .iter()
        .map(|&(lo, hi)| format!("{}..{} ({})", grouped(lo), grouped(hi), bytes(hi - lo)))
        .collect();
    let free = if free.is_empty() {
        "nothing under the arena's height".to_owned()
    } else {
        free.join(", ")
    };
    out.line(&format!("free      {free}"))
}
