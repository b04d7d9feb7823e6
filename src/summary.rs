//! The summary of a plan: a few lines that answer the first questions.

mod figures;
mod json;
mod load;
pub(crate) mod spread;

pub(crate) use figures::Figures;
pub(crate) use json::{Json, Search, json, search};
use load::{peak, sparkline};

use crate::report::grid::visible;
use crate::session::{GraphSide, Session};
use crate::units::{bytes, count, exact, grouped, percent};
use bayplan_graph::Role;
use bayplan_graph::format::bodies::APART;
use bayplan_planner::Status;

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

/// What every plan needs, in bytes: the bounds of all arenas.
pub(crate) fn proved(session: &Session) -> u64 {
    let bounds = session.bounds.arenas.values();
    bounds.fold(0_u64, |sum, bound| sum.saturating_add(bound.bytes))
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
    if !spread::several(session) {
        rows.push([
            "bound".to_owned(),
            bytes(figures.bound),
            bound_reason(session),
            verdict(figures),
        ]);
    }
    rows
}

/// The lines of the summary.
pub(crate) fn lines(session: &Session, width: Option<usize>) -> Vec<String> {
    let figures = Figures::of(session);
    let mut rows = heads(session, &figures);
    let mut row = |label: &str, size: String, rest: String, end: String| {
        rows.push([label.to_owned(), size, rest, end]);
    };
    let saved = figures.naive.saturating_sub(figures.height);
    let end = format!("{} saved ({})", bytes(saved), percent(figures.reuse_rate));
    row(
        "without",
        bytes(figures.naive),
        "if nothing were shared".into(),
        end,
    );
    if session.persistent() > 0 {
        row(
            "state",
            bytes(session.persistent()),
            "kept from run to run, beside the arena".into(),
            String::new(),
        );
    }
    if let Some(offline) = &session.offline {
        row("offline", String::new(), offline.clone(), String::new());
    }
    if let Some(side) = &session.graph {
        let (used, unused) = side.graph().weight_bytes();
        if used + unused > 0 {
            let idle = if unused > 0 {
                format!("{} that no op reads", bytes(unused))
            } else {
                String::new()
            };
            row("weights", bytes(used), "outside the arena".into(), idle);
        }
        if side.graph().external_io() {
            let external = side
                .graph()
                .tensors()
                .iter()
                .filter(|(id, _)| side.graph().is_external(*id));
            let size = external.fold(0_u64, |sum, (_, t)| sum.saturating_add(t.bytes));
            row(
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
    // A long reason moves the last column for all rows alike.
    let wide = rows
        .iter()
        .map(|row| row[2].chars().count())
        .max()
        .unwrap_or(0);
    for [label, size, rest, end] in rows {
        let line = format!("{label:<9} {size:>9}    {rest:<wide$}    {end}");
        let fits = width.is_none_or(|width| line.trim_end().chars().count() <= width);
        if fits || end.is_empty() {
            lines.push(line.trim_end().to_owned());
        } else {
            lines.push(
                format!("{label:<9} {size:>9}    {rest}")
                    .trim_end()
                    .to_owned(),
            );
            lines.push(format!("{:>23}{end}", ""));
        }
    }
    lines.extend(spread::lines(session));
    lines.push(format!("load      {}", sparkline(session, &figures, width)));
    lines.extend(peak(session, &figures, width));
    lines.push(made_by(session));
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

fn verdict(figures: &Figures) -> String {
    if figures.optimal {
        return "optimal".into();
    }
    let gap = figures.height.saturating_sub(figures.bound);
    let share = if figures.bound == 0 {
        0.0
    } else {
        gap as f64 / figures.bound as f64
    };
    format!("gap {} ({}), not ruled out", bytes(gap), percent(share))
}

/// Why no plan can be smaller.
pub(crate) fn bound_reason(session: &Session) -> String {
    use bayplan_planner::Witness;
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
        Witness::Search { nodes } => format!(
            "a search over {} states found nothing lower possible",
            grouped(nodes)
        ),
        Witness::Placed { buffer } => {
            let name = visible(&session.checked.problem().buffers()[buffer].name);
            format!("`{name}` cannot be lower beside the given offsets")
        }
    }
}

fn made_by(session: &Session) -> String {
    let strategy = &session.checked.plan().strategy;
    let stopped = session.tried.iter().filter(|t| t.heights.is_none()).count();
    let cut = session.status.is_some_and(Status::was_cut);
    let stopped = if stopped > 0 && cut {
        format!(" ({stopped} stopped)")
    } else if stopped > 0 {
        format!(" ({stopped} gave up: too much lives together)")
    } else {
        String::new()
    };
    let tried = session.tried.len();
    let tried = if tried > 1 {
        format!(", best of {tried} tried{stopped}")
    } else {
        String::new()
    };
    let shares = session
        .graph
        .as_ref()
        .map(in_place)
        .filter(|&(_, offers)| offers > 0);
    let shares = shares.map_or_else(String::new, |(taken, offers)| {
        format!("; {taken} of {offers} in-place offers taken")
    });
    let stock = session.graph.as_ref().and_then(|side| side.part.stock);
    let strategy = stock.map_or(strategy.as_str(), |stock| stock.name());
    let profile = match session.profile.as_str() {
        "bayplan" => String::new(),
        profile => format!("; profile {profile}"),
    };
    format!("made by   {strategy}{tried}{shares}{profile}")
}

/// What cut planning short.
fn stopped(session: &Session) -> Option<String> {
    let by = cut_by(session.status?.name())?;
    Some(format!(
        "stopped   by {by}: another run may find another plan"
    ))
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
