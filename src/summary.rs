//! The summary of a plan: a few lines that answer the first questions.

mod figures;
mod json;
pub(crate) mod kept;
mod load;
mod made;
mod rows;
pub(crate) mod spread;

pub(crate) use figures::Figures;
pub(crate) use json::{Json, Search, json, search};
use load::{peak, sparkline};
use made::{made_by, stopped};
use rows::row;

use crate::report::grid::visible;
use crate::report::wrap::{COLUMNS, hung};
use crate::session::{GraphSide, Session};
use crate::units::{bytes, count, exact, grouped, percent};
use bayplan_graph::Role;
use bayplan_graph::format::bodies::APART;
use bayplan_planner::{Status, Witness};

/// Tensors that are made and not given (results and outputs), and their bytes.
fn intermediates(side: &GraphSide) -> (usize, u64) {
    let graph = side.graph();
    let made = graph.tensors().iter().filter(|(id, t)| {
        matches!(t.role, Role::Activation | Role::Output) && side.lifetimes.get(*id).is_some()
    });
    made.fold((0, 0), |(n, sum), (_, t)| {
        (n + 1, sum.saturating_add(t.bytes))
    })
}

/// Nodes whose bodies are not in the plan.
fn unplanned_bodies(side: &GraphSide) -> Vec<String> {
    let nodes = side.graph().nodes().values();
    let apart = nodes.filter(|node| node.op.ends_with(APART));
    apart.map(|node| node.name.clone()).collect()
}

/// In-place offers taken, and all of them.
fn in_place(side: &GraphSide) -> (usize, usize) {
    let offers = side.part.decisions.iter().filter(|d| d.3 == "in-place");
    let taken = offers.clone().filter(|d| d.4 == "taken");
    (taken.count(), offers.count())
}

/// What the arena's base address must be a multiple of.
pub(crate) fn base_alignment(session: &Session) -> u64 {
    let problem = session.checked.problem();
    let arena = Session::arena();
    let inside = problem.buffers().iter().filter(|(id, b)| {
        session.checked.plan().places[*id].arena == arena && !b.extent.is_empty()
    });
    inside
        .map(|(id, _)| problem.alignment(id, arena))
        .max()
        .unwrap_or(1)
}

/// Whether the plan fits: yes; no, when every plan is proved to need more; nothing when undecided.
pub(crate) fn fits(session: &Session, budget: u64) -> Option<bool> {
    if session.height().saturating_add(session.persistent()) <= budget {
        return Some(true);
    }
    (proved(session) > budget).then_some(false)
}

/// Whether the plan is within a budget and within memories with sizes; nothing when that is not known, or not asked.
pub(crate) fn within(session: &Session, budget: Option<u64>) -> Option<bool> {
    match budget {
        Some(budget) => fits(session, budget),
        None => (session.asked.is_none() && spread::limited(session)).then_some(true),
    }
}

/// What every plan needs, in bytes: the bounds of all arenas.
pub(crate) fn proved(session: &Session) -> u64 {
    let bounds = session.bounds.arenas.iter();
    let apart = bounds.filter(|(arena, _)| !session.is_temporary(*arena));
    apart.fold(session.bound(), |sum, (_, bound)| {
        sum.saturating_add(bound.bytes)
    })
}

/// The first rows: what is taken, by memory where there are several, and why not less.
fn heads(session: &Session, figures: &Figures) -> Vec<[String; 4]> {
    let buffers = count(figures.buffers, "buffer");
    let together = match session.temporaries().count() {
        0 | 1 => format!(" for {buffers}"),
        memories => format!(" in {memories} memories, for {buffers}"),
    };
    let holds = format!("{}{together}", exact(figures.height));
    let mut rows = vec![[
        "arena".to_owned(),
        bytes(figures.height),
        holds,
        String::new(),
    ]];
    rows.extend(spread::rows(session));
    // Of several memories nothing may be known.
    if figures.known_bound().is_some() {
        rows.push([
            "bound".to_owned(),
            bytes(figures.bound),
            bound_reason(session),
            verdict(session, figures),
        ]);
    }
    rows
}

/// The lines of the summary.
pub(crate) fn lines(session: &Session, width: Option<usize>) -> Vec<String> {
    let figures = Figures::of(session);
    let mut rows = heads(session, &figures);
    let mut add = |label: &str, size: String, rest: String, end: String| {
        rows.push([label.to_owned(), size, rest, end]);
    };
    let saved = figures.naive.saturating_sub(figures.height);
    let end = format!("{} saved ({})", bytes(saved), percent(figures.reuse_rate));
    add(
        "without",
        bytes(figures.naive),
        "if nothing were shared".into(),
        end,
    );
    if session.persistent() > 0 {
        add(
            "state",
            bytes(session.persistent()),
            "kept from run to run, beside the arena".into(),
            String::new(),
        );
    }
    if let Some(offline) = &session.offline {
        add("offline", String::new(), offline.clone(), String::new());
    }
    if let Some(side) = &session.graph {
        let (used, unused) = side.graph().weight_bytes();
        if used + unused > 0 {
            let idle = if unused > 0 {
                format!("{} that no op reads", bytes(unused))
            } else {
                String::new()
            };
            add("weights", bytes(used), "outside the arena".into(), idle);
        }
        if side.graph().external_io() {
            let external = side
                .graph()
                .tensors()
                .iter()
                .filter(|(id, _)| side.graph().is_external(*id));
            let size = external.fold(0_u64, |sum, (_, t)| sum.saturating_add(t.bytes));
            add(
                "caller",
                bytes(size),
                "inputs and outputs in the caller's memory".into(),
                String::new(),
            );
        }
    }
    let mut lines: Vec<String> = session.graph.as_ref().map(model).into_iter().collect();
    let apart = session
        .graph
        .as_ref()
        .map_or_else(Vec::new, unplanned_bodies);
    if let Some(first) = apart.first() {
        let what = count(apart.len(), "operator");
        let first = visible(first);
        lines.push(format!(
            "apart     the bodies of {what} are not planned: `{first}` is the first"
        ));
    }
    let columns = width.unwrap_or(COLUMNS);
    lines.extend(rows::aligned(&rows, columns));
    lines.extend(spread::lines(session, columns));
    lines.extend(kept::lines(session, columns));
    lines.push(format!("load      {}", sparkline(session, &figures, width)));
    lines.extend(peak(session, &figures, columns));
    lines.extend(hung("made by   ", &made_by(session), columns));
    lines.extend(stopped(session));
    lines
}

fn model(side: &GraphSide) -> String {
    let graph = side.graph();
    let (made, size) = intermediates(side);
    let given = graph
        .tensors()
        .values()
        .filter(|t| t.role == Role::Input)
        .count();
    let name = visible(graph.name());
    let what = format!(
        "{}, {}, {} of {}",
        count(graph.nodes().len(), "op"),
        count(given, "input"),
        count(made, "intermediate tensor"),
        bytes(size)
    );
    format!("model     {name}: {what}")
}

fn verdict(session: &Session, figures: &Figures) -> String {
    if figures.optimal {
        return "optimal".into();
    }
    let gap = figures.height.saturating_sub(figures.bound);
    if spread::several(session) {
        return format!("{} more; traffic comes first", bytes(gap));
    }
    let share = if figures.bound == 0 {
        0.0
    } else {
        gap as f64 / figures.bound as f64
    };
    let known = if session.nodes == 0 && session.status.is_some() {
        "not searched"
    } else {
        "not ruled out"
    };
    format!("gap {} ({}), {known}", bytes(gap), percent(share))
}

/// Why no plan can be smaller.
pub(crate) fn bound_reason(session: &Session) -> String {
    if spread::several(session) {
        return spread::bound_reason(session);
    }
    let Some(bound) = session.bounds.arenas.get(Session::arena()) else {
        return String::new();
    };
    match bound.witness {
        Witness::Nothing => "nothing has to be placed".into(),
        Witness::Load { step, alignment } => {
            let live = session.checked.problem().buffers().values().filter(|b| {
                b.arenas == [Session::arena()] && b.extent.iter().any(|r| r.steps.contains(step))
            });
            let rounded = if alignment > 1 {
                format!(" at multiples of {alignment}")
            } else {
                String::new()
            };
            format!(
                "{} live at {}{rounded}",
                count(live.count(), "buffer"),
                session.step_label(step)
            )
        }
        Witness::Search { nodes } => {
            format!("nothing lower, by a search over {} states", grouped(nodes))
        }
        Witness::Placed { buffer } => {
            let name = visible(&session.checked.problem().buffers()[buffer].name);
            format!("`{name}` cannot be lower beside the given offsets")
        }
    }
}

/// In words, what cut planning short that ended with this status.
pub(crate) fn cut_by(status: &str) -> Option<&'static str> {
    if status == Status::TimeLimit.name() {
        return Some("the time limit");
    }
    (status == Status::Cancelled.name()).then_some("Ctrl-C")
}

/// `checked`, and `certified` where there is a graph.
pub(crate) fn seal(session: &Session) -> &'static str {
    if session.graph.is_some() {
        "checked and certified"
    } else {
        "checked"
    }
}
