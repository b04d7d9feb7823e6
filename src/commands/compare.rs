//! `compare`: every strategy beside the bound.

mod stock;

use crate::args::{CompareArgs, Planning, STOCK, Switch};
use crate::failure::Failure;
use crate::input::{self, Input, Model};
use crate::report::Out;
use crate::report::grid::{Column, Grid, left, named, right};
use crate::session::{self, GraphSide, Session};
use crate::summary;
use crate::units::{bytes, grouped};
use bayplan_graph::Graph;
use bayplan_graph::stock::Pinned;
use bayplan_planner::strategy::{assign, keep};
use bayplan_planner::{Problem, Status, Strategy};
use serde::Serialize;
use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

#[derive(Serialize)]
struct Json {
    input: String,
    lower_bound_bytes: u64,
    naive_bytes: u64,
    rows: Vec<Row>,
    /// What cut some of them short, or kept them from a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'static str>,
    /// Planners of the runtimes that load the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stock: Vec<stock::Row>,
}

/// What plans of the search are called.
const SEARCH: &str = "search";

#[derive(Serialize)]
struct Row {
    strategy: &'static str,
    in_place: bool,
    arena_bytes: u64,
    lower_bound_bytes: u64,
    ratio: f64,
    elapsed_ms: f64,
    /// Traffic that is not in the first choice, where there are several memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    spilled_traffic_bytes: Option<u128>,
    /// What the plan takes in each of several memories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arenas: Vec<Taken>,
    /// Whether it keeps within memories with sizes, where there are any. False: no plan that does was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    fits: Option<bool>,
}

#[derive(Serialize)]
struct Taken {
    name: String,
    bytes: u64,
}

pub(crate) fn run(args: &CompareArgs, out: &mut Out) -> Result<(), Failure> {
    let mut tables = Vec::new();
    for input in &args.inputs {
        tables.push(compare(input, &args.planning, out)?);
    }
    if out.json {
        return out.value(&tables);
    }
    for (index, table) in tables.iter().enumerate() {
        if index > 0 {
            out.line("")?;
        }
        print(table, out)?;
    }
    Ok(())
}

fn compare(input: &Path, planning: &Planning, out: &Out) -> Result<Json, Failure> {
    let mut rows = Vec::new();
    let mut best: Option<Session> = None;
    let mut cut = None;
    let (subject, planning) = Subject::load(input, planning)?;
    if let Subject::Model(model) = &subject {
        super::warn(&model.warnings(), out);
    }
    let stock = subject.stock(&planning, out)?;
    let ours = planning.strategy.clone().filter(|name| name != STOCK);
    for variant in subject.variants(&planning) {
        let alone = session::strategies(ours.as_deref()).into_iter().map(Some);
        let together = ours.is_none().then_some(None);
        let first = rows.len();
        for strategy in alone.chain(together) {
            let session = subject.plan(&variant, strategy)?;
            cut = cut.or(session.status.filter(|status| status.was_cut()));
            let name = strategy.map_or(SEARCH, Strategy::name);
            // Otherwise a strategy met the bound, or it was stopped.
            let made = &*session.checked.plan().strategy;
            if made == name || matches!(made, assign::NAME | keep::NAME) {
                let in_place = session.graph.as_ref().is_some_and(takes_in_place);
                rows.push(row(&session, name, in_place));
            }
            let rank = |session: &Session| {
                (
                    session.asked.is_some(),
                    spilled(session),
                    session.height(),
                    Reverse(session.bound()),
                )
            };
            if strategy.is_none() {
                rows[first..]
                    .iter_mut()
                    .for_each(|row| row.raise(session.bound()));
            }
            if best.as_ref().is_none_or(|best| rank(&session) < rank(best)) {
                best = Some(session);
            }
        }
        // Without offers to decline, the second variant would be the first again.
        if !rows.iter().any(|row| row.in_place) {
            break;
        }
    }
    rows.sort_by_key(|row| {
        let beyond = row.fits == Some(false);
        (
            beyond,
            row.spilled_traffic_bytes,
            row.arena_bytes,
            !row.in_place,
        )
    });
    Ok(Json {
        input: input.display().to_string(),
        lower_bound_bytes: best.as_ref().map_or(0, Session::bound),
        naive_bytes: best.as_ref().map_or(0, Session::naive),
        rows,
        stopped: cut.map(Status::name),
        stock,
    })
}

/// Traffic that is not in the first choice, where there are several memories.
fn spilled(session: &Session) -> Option<u128> {
    let plan = session.checked.plan();
    let spilled = || assign::spilled(session.checked.problem(), |id| plan.places[id].arena);
    summary::spread::several(session).then(spilled)
}

/// What the strategies are compared on, loaded once.
enum Subject {
    Model(Box<Model>),
    Graph(Arc<Graph>),
    Problem(Box<Problem>),
}

impl Subject {
    /// The subject, and the flags that hold: those of the plan where a plan is given.
    fn load(path: &Path, planning: &Planning) -> Result<(Self, Planning), Failure> {
        let mut planning = planning.clone();
        let subject = match input::load(path, &planning.reading)? {
            Input::Graph(model) => {
                let other = model.under(&session::profile(&planning))?;
                Self::Model(other.map_or(model, Box::new))
            }
            Input::Problem(parsed) => {
                let problem = parsed.with_fixed_offsets();
                let problem = problem.map_err(|errors| session::csv_no(path, &errors))?;
                let problem = session::aligned(problem, planning.align)?;
                Self::Problem(Box::new(session::spread(problem, &planning.memory)?))
            }
            Input::Plan(file) => {
                let session = session::from_file(path.display().to_string(), *file)?;
                match session.graph {
                    Some(side) => {
                        session::adopt(&mut planning, &session.profile, &side.part);
                        Self::Graph(side.graph().clone())
                    }
                    None => Self::Problem(Box::new(session.checked.into_parts().0)),
                }
            }
        };
        Ok((subject, planning))
    }

    /// The stock planners, on what their runtimes load or where their profile is asked for.
    fn stock(&self, planning: &Planning, out: &Out) -> Result<Vec<stock::Row>, Failure> {
        match self {
            Self::Model(model) if model.tflite || planning.profile != "bayplan" => {
                stock::rows(model, planning, out)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// With in-place as asked, and without.
    fn variants(&self, planning: &Planning) -> Vec<Planning> {
        let mut variants = vec![planning.clone()];
        if planning.in_place == Switch::On && !matches!(self, Self::Problem(_)) {
            variants.push(Planning {
                in_place: Switch::Off,
                ..planning.clone()
            });
        }
        variants
    }

    fn graph(&self) -> Option<&Arc<Graph>> {
        match self {
            Self::Model(model) => Some(&model.graph),
            Self::Graph(graph) => Some(graph),
            Self::Problem(_) => None,
        }
    }

    /// With one strategy, or with all of them and the search behind them.
    fn plan(&self, planning: &Planning, strategy: Option<Strategy>) -> Result<Session, Failure> {
        if let Self::Problem(problem) = self {
            let problem = problem.as_ref().clone();
            return session::plan_problem(
                String::new(),
                problem,
                session::strategies(strategy.map(Strategy::name)),
                None,
                &planning.effort,
            );
        }
        let graph = self.graph().expect("what is no problem is a graph");
        let alone = Planning {
            strategy: strategy.map(|strategy| strategy.name().to_owned()),
            ..planning.clone()
        };
        session::plan_graph(String::new(), graph, &Pinned::new(), &alone)
    }
}

impl Row {
    /// The search may have proved a higher bound than each strategy by itself knows.
    fn raise(&mut self, bound: u64) {
        if bound > self.lower_bound_bytes {
            self.lower_bound_bytes = bound;
            self.ratio = self.arena_bytes as f64 / bound as f64;
        }
    }
}

fn takes_in_place(side: &GraphSide) -> bool {
    side.part
        .decisions
        .iter()
        .any(|d| d.3 == "in-place" && d.4 == "taken")
}

fn row(session: &Session, strategy: &'static str, in_place: bool) -> Row {
    let bound = session.bound();
    Row {
        strategy,
        in_place,
        arena_bytes: session.height(),
        lower_bound_bytes: bound,
        ratio: if bound == 0 {
            1.0
        } else {
            session.height() as f64 / bound as f64
        },
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
        spilled_traffic_bytes: spilled(session),
        arenas: taken(session),
        fits: summary::spread::limited(session).then_some(session.asked.is_none()),
    }
}

/// What a plan takes in each of several memories.
fn taken(session: &Session) -> Vec<Taken> {
    if !summary::spread::several(session) {
        return Vec::new();
    }
    let heights = &session.checked.plan().heights;
    let taken = session.temporaries().map(|arena| Taken {
        name: session.limits(arena).name.clone(),
        bytes: heights[arena],
    });
    taken.collect()
}

/// What is compared, and against what.
fn title(table: &Json) -> String {
    let naive = format!("{} if nothing were shared", bytes(table.naive_bytes));
    let bound = table.lower_bound_bytes;
    let (short, exact) = (bytes(bound), grouped(bound));
    format!("{}: bound {short} ({exact} bytes), {naive}", table.input)
}

fn print(table: &Json, out: &mut Out) -> Result<(), Failure> {
    out.line(&title(table))?;
    // What sets strategies apart is the height, or, in several memories, what is where.
    let first = table.rows.iter().find(|row| !row.arenas.is_empty());
    let grid = match first {
        Some(first) => memories(table, &first.arenas),
        None => heights(table),
    };
    let width = out.width;
    out.text(&grid.lines(width))?;
    if first.is_some() {
        out.line("spilled: traffic that is not in its first choice; the bytes come after it")?;
    }
    if let Some(by) = table.stopped.and_then(summary::cut_by) {
        out.line(&format!("stopped by {by}: another run may show other rows"))?;
    }
    stock::print(&table.stock, out)
}

fn switch(any: bool, row: &Row) -> String {
    match (any, row.in_place) {
        (false, _) => String::new(),
        (true, true) => "on".into(),
        (true, false) => "off".into(),
    }
}

fn heights(table: &Json) -> Grid {
    let any = table.rows.iter().any(|row| row.in_place);
    let mut columns = vec![
        left("strategy", 0),
        left("in-place", 3),
        right("arena", 0),
        right("bytes", 2),
        right("of bound", 1),
        right("ms", 1),
    ];
    columns.extend(verdict(table));
    let mut grid = Grid::new(columns);
    for row in &table.rows {
        let mut cells = vec![
            row.strategy.into(),
            switch(any, row),
            bytes(row.arena_bytes),
            grouped(row.arena_bytes),
            if row.lower_bound_bytes > 0 {
                format!("{:.4}", row.ratio)
            } else {
                String::new()
            },
            format!("{:.1}", row.elapsed_ms),
        ];
        cells.extend(verdict(table).map(|_| beyond(row)));
        grid.row(cells);
    }
    grid
}

/// The column for what does not fit, where there is something.
fn verdict(table: &Json) -> Option<Column> {
    let mut rows = table.rows.iter();
    rows.any(|row| row.fits == Some(false))
        .then(|| left("fits", 4))
}

fn beyond(row: &Row) -> String {
    match row.fits {
        Some(false) => "does not fit".into(),
        _ => String::new(),
    }
}

/// What each strategy takes in each memory, and what it spills.
fn memories(table: &Json, names: &[Taken]) -> Grid {
    let any = table.rows.iter().any(|row| row.in_place);
    let mut columns = vec![
        left("strategy", 0),
        left("in-place", 3),
        right("spilled", 0),
    ];
    columns.extend(names.iter().map(|taken| named(&taken.name, 1)));
    columns.extend([right("together", 1), right("ms", 2)]);
    columns.extend(verdict(table));
    let mut grid = Grid::new(columns);
    for row in &table.rows {
        let spilled = row.spilled_traffic_bytes.map_or_else(String::new, grouped);
        let mut cells = vec![row.strategy.into(), switch(any, row), spilled];
        cells.extend(row.arenas.iter().map(|taken| grouped(taken.bytes)));
        cells.extend([grouped(row.arena_bytes), format!("{:.1}", row.elapsed_ms)]);
        cells.extend(verdict(table).map(|_| beyond(row)));
        grid.row(cells);
    }
    grid
}
