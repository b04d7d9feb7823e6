//! The summary of a plan: a few lines that answer the first questions.

use crate::conflict;
use crate::report::grid::{shorten, visible};
use crate::session::{GraphSide, Session};
use crate::units::{bytes, count, exact, grouped, percent};
use bayplan_graph::Role;
use bayplan_graph::format::bodies::APART;
use bayplan_planner::sweep::Profile;
use bayplan_planner::{BufferId, Claim, Status, Step, table};
use serde::Serialize;

/// The stable keys of `plan --json`.
#[derive(Serialize)]
pub(crate) struct Json {
    schema: u32,
    input: String,
    profile: String,
    arena_bytes: u64,
    persistent_bytes: u64,
    total_bytes: u64,
    weight_bytes: u64,
    unused_weight_bytes: u64,
    naive_bytes: u64,
    max_load_bytes: u64,
    lower_bound_bytes: u64,
    order_bound_bytes: Option<u64>,
    packing_optimal: bool,
    order_optimal: Option<bool>,
    base_alignment: u64,
    buffers: usize,
    tensors: usize,
    intermediate_tensors: usize,
    intermediate_bytes: u64,
    steps: u32,
    peak_step: u32,
    peak_node: Option<String>,
    fragmentation: f64,
    reuse_rate: f64,
    allocations: usize,
    in_place_taken: usize,
    strategy: String,
    order: &'static str,
    checked: bool,
    certified: bool,
    unplanned_bodies: Vec<String>,
    budget_bytes: Option<u64>,
    fits: Option<bool>,
    search: Search,
    elapsed_ms: f64,
    /// Buffers that do not fit together.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<conflict::Json>,
    /// What is told beside the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// What the exact search did, and what it was allowed.
#[derive(Serialize)]
pub(crate) struct Search {
    /// Why planning ended; null for a plan from a file.
    status: Option<&'static str>,
    nodes: u64,
    node_limit: Option<u64>,
    time_limit_ms: Option<u64>,
    seed: u64,
}

pub(crate) fn search(session: &Session) -> Search {
    let effort = &session.effort;
    let time = effort.time_limit.map(|time| time.as_millis());
    Search {
        status: session.status.map(Status::name),
        nodes: session.nodes,
        node_limit: effort.node_limit,
        time_limit_ms: time.map(|time| u64::try_from(time).unwrap_or(u64::MAX)),
        seed: effort.seed,
    }
}

impl Json {
    /// The answer to a budget, where more is known than the plan and its bounds say.
    pub(crate) fn judged(self, fits: Option<bool>, conflict: Option<conflict::Json>) -> Self {
        Self {
            fits,
            conflict,
            ..self
        }
    }
}

/// Figures that both forms show.
pub(crate) struct Figures {
    pub(crate) height: u64,
    pub(crate) bound: u64,
    pub(crate) optimal: bool,
    pub(crate) naive: u64,
    pub(crate) max_load: u64,
    pub(crate) peak: Step,
    pub(crate) fragmentation: f64,
    pub(crate) reuse_rate: f64,
    /// Blocks that have to be allocated at load: arenas that are not empty.
    pub(crate) allocations: usize,
    /// Buffers in the first arena.
    pub(crate) buffers: usize,
    pub(crate) profile: Profile,
}

impl Figures {
    pub(crate) fn of(session: &Session) -> Self {
        let summaries = table::summaries(&session.checked);
        let naive = session.naive();
        let heights = session.checked.plan().heights.values();
        let arena = summaries.values().next();
        let height = session.height();
        let ratio = |part: u64, whole: u64| {
            if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            }
        };
        Self {
            height,
            bound: session.bound(),
            optimal: session
                .checked
                .plan()
                .claims
                .values()
                .all(|claim| matches!(claim, Claim::Optimal(_))),
            naive,
            max_load: arena.map_or(0, |a| a.max_load),
            peak: arena.map_or(Step(0), |a| a.peak_step),
            fragmentation: arena.map_or(0.0, |a| a.fragmentation),
            reuse_rate: ratio(naive.saturating_sub(height), naive),
            allocations: heights.filter(|&&height| height > 0).count(),
            buffers: arena.map_or(0, |a| a.buffers),
            profile: arena.map(|a| a.load_profile.clone()).unwrap_or_default(),
        }
    }
}

/// The JSON of a plan. `budget`: bytes that there are, where asked.
pub(crate) fn json(session: &Session, budget: Option<u64>) -> Json {
    let figures = Figures::of(session);
    let graph = session.graph.as_ref();
    let (weights, unused) = graph.map_or((0, 0), |side| side.graph().weight_bytes());
    let (intermediates, intermediate_bytes) = graph.map_or((0, 0), intermediates);
    let total = figures.height + session.persistent();
    Json {
        schema: bayplan_planner::file::plan_file::SCHEMA,
        input: session.input.clone(),
        profile: session.profile.clone(),
        arena_bytes: figures.height,
        persistent_bytes: session.persistent(),
        total_bytes: total,
        weight_bytes: weights,
        unused_weight_bytes: unused,
        naive_bytes: figures.naive,
        max_load_bytes: figures.max_load,
        lower_bound_bytes: figures.bound,
        order_bound_bytes: None,
        packing_optimal: figures.optimal,
        order_optimal: None,
        base_alignment: base_alignment(session),
        buffers: session.checked.problem().buffers().len(),
        tensors: graph.map_or(0, |side| side.graph().tensors().len()),
        intermediate_tensors: intermediates,
        intermediate_bytes,
        steps: session.checked.problem().horizon().0,
        peak_step: figures.peak.0,
        peak_node: session.step_name(figures.peak).map(str::to_owned),
        fragmentation: figures.fragmentation,
        reuse_rate: figures.reuse_rate,
        allocations: figures.allocations,
        in_place_taken: graph.map_or(0, |side| in_place(side).0),
        strategy: session.checked.plan().strategy.clone(),
        order: "file",
        checked: true,
        certified: graph.is_some(),
        unplanned_bodies: graph.map_or_else(Vec::new, unplanned_bodies),
        budget_bytes: budget,
        fits: budget.and_then(|budget| fits(session, budget)),
        search: search(session),
        conflict: None,
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
        warnings: session.warnings.iter().map(|w| w.title.clone()).collect(),
    }
}

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

/// The lines of the summary.
pub(crate) fn lines(session: &Session, width: Option<usize>) -> Vec<String> {
    let figures = Figures::of(session);
    let mut rows: Vec<[String; 4]> = Vec::new();
    let mut row = |label: &str, size: String, rest: String, end: String| {
        rows.push([label.to_owned(), size, rest, end]);
    };
    let holds = format!(
        "{} for {}",
        exact(figures.height),
        count(figures.buffers, "buffer")
    );
    row("arena", bytes(figures.height), holds, String::new());
    row(
        "bound",
        bytes(figures.bound),
        bound_reason(session),
        verdict(&figures),
    );
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

/// The load over all steps: one character for each range of steps, its largest load.
fn sparkline(session: &Session, figures: &Figures, width: Option<usize>) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = session.checked.problem().horizon().0;
    if steps == 0 || figures.max_load == 0 {
        return "nothing lives in the arena".into();
    }
    let columns =
        u64::from(steps).min(width.map_or(64, |w| w.saturating_sub(12).clamp(8, 64)) as u64);
    let table = figures.profile.range_max();
    let edge = |column: u64| u32::try_from(u64::from(steps) * column / columns).unwrap_or(u32::MAX);
    let bar = |column: u64| {
        let load = table.max(bayplan_planner::Lifetime::new(
            edge(column),
            edge(column + 1),
        ));
        let level = (u128::from(load) * 8).div_ceil(u128::from(figures.max_load));
        if load == 0 {
            ' '
        } else {
            BARS[usize::try_from(level).unwrap_or(8).clamp(1, 8) - 1]
        }
    };
    (0..columns).map(bar).collect()
}

/// The heaviest step and the largest of what lives there.
fn peak(session: &Session, figures: &Figures, width: Option<usize>) -> Vec<String> {
    if figures.max_load == 0 {
        return Vec::new();
    }
    let arena = Session::arena();
    let (problem, plan) = (session.checked.problem(), session.checked.plan());
    let mut live = table::live_ids(&session.checked, figures.peak);
    live.retain(|&id| plan.places[id].arena == arena);
    let told = |shown: usize| {
        let name = |&id: &BufferId| {
            let buffer = &problem.buffers()[id];
            let name = shorten(&visible(&buffer.name), 28);
            format!("{name} {}", bytes(buffer.size()))
        };
        let names: Vec<String> = live.iter().take(shown).map(name).collect();
        let more = match live.len().saturating_sub(shown) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let step = session.step_label(figures.peak);
        format!("peak      {step}: {}{more}", names.join(", "))
    };
    let fits = |line: &String| width.is_none_or(|width| line.chars().count() <= width);
    let line = (1..=4).rev().map(told).find(fits);
    vec![line.unwrap_or_else(|| told(1))]
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
