//! `table`: the interpreter state table, for people (text, md) and machines (csv, json).

mod export;
mod nodes;

use crate::args::{TableArgs, TableFormat};
use crate::failure::{Diagnostic, Failure};
use crate::report::Out;
use crate::report::grid::{Grid, left, list, right, visible};
use crate::session::Session;
use crate::summary;
use crate::units::{bytes, grouped, percent};
use bayplan_graph::Role;
use bayplan_graph::table::{NodeRow, TensorRow};
use bayplan_planner::{ArenaId, Lifetime, Step, table};
use serde::Serialize;

/// What shows everything of the tensors where there is no room.
const CSV: &str = "--format csv";

#[derive(Serialize)]
struct Json<'a> {
    summary: summary::Json,
    arenas: Vec<ArenaJson>,
    roles: Vec<RoleRow>,
    tensors: &'a [TensorRow],
    scratch: Vec<table::BufferRow>,
    nodes: &'a [NodeRow],
}

#[derive(Serialize)]
struct ArenaJson {
    name: String,
    bytes: u64,
    lower_bound_bytes: Option<u64>,
    optimal: bool,
    buffers: usize,
    max_load_bytes: u64,
    peak_step: u32,
    fragmentation: f64,
}

#[derive(Serialize)]
struct RoleRow {
    role: &'static str,
    tensors: usize,
    bytes: u64,
}

pub(crate) fn run(args: &TableArgs, out: &mut Out) -> Result<(), Failure> {
    let session = super::open(&args.input, &args.planning, out)?;
    let format = if out.json {
        TableFormat::Json
    } else {
        args.format
    };
    let figures = summary::Figures::of(&session);
    let rows = Rows::of(&session, figures.peak);
    if args.nodes && session.graph.is_none() {
        let title = format!("`{}` has buffers and no nodes", session.input);
        return Err(Diagnostic::new("E0107", title)
            .help("leave out --nodes")
            .cannot());
    }
    match format {
        TableFormat::Text if args.nodes => match &session.graph {
            Some(side) => nodes::text(side, &rows, out),
            None => Ok(()),
        },
        TableFormat::Csv if args.nodes => export::nodes_csv(&rows, out),
        TableFormat::Md if args.nodes => export::nodes_markdown(&rows, out),
        TableFormat::Text => text(&session, &rows, out),
        TableFormat::Csv => export::csv(&session, &rows, out),
        TableFormat::Md => export::markdown(&session, &rows, out),
        TableFormat::Json => out.value(&Json {
            summary: summary::json(&session, None),
            arenas: arenas(&session),
            roles: roles(&session),
            tensors: &rows.tensors,
            scratch: rows.scratch,
            nodes: &rows.nodes,
        }),
    }
}

/// The rows of a plan: tensors and nodes of a graph, or the buffers of a CSV.
struct Rows {
    tensors: Vec<TensorRow>,
    /// Buffers that hold no tensor: scratch blocks, or all buffers of a CSV.
    scratch: Vec<table::BufferRow>,
    nodes: Vec<NodeRow>,
}

impl Rows {
    fn of(session: &Session, peak: Step) -> Self {
        let buffers = table::rows(&session.checked);
        let Some(side) = &session.graph else {
            return Self {
                tensors: Vec::new(),
                scratch: buffers,
                nodes: Vec::new(),
            };
        };
        let blocks: std::collections::BTreeSet<_> = side
            .part
            .placement
            .scratch
            .values()
            .flatten()
            .copied()
            .collect();
        let load = figures_load(session);
        Self {
            tensors: side.source().tensors(peak),
            scratch: buffers
                .into_iter()
                .filter(|row| blocks.contains(&row.id))
                .collect(),
            nodes: side.source().nodes(|step| load.at(step)),
        }
    }
}

fn figures_load(session: &Session) -> bayplan_planner::sweep::Profile {
    summary::Figures::of(session).profile
}

fn arenas(session: &Session) -> Vec<ArenaJson> {
    let summaries = table::summaries(&session.checked);
    let row = |arena: &table::ArenaSummary| ArenaJson {
        name: arena.name.clone(),
        bytes: arena.height,
        lower_bound_bytes: arena.bound,
        optimal: arena.optimal,
        buffers: arena.buffers,
        max_load_bytes: arena.max_load,
        peak_step: arena.peak_step.0,
        fragmentation: arena.fragmentation,
    };
    summaries.values().map(row).collect()
}

fn roles(session: &Session) -> Vec<RoleRow> {
    let Some(side) = &session.graph else {
        return Vec::new();
    };
    let tensors = side.graph().tensors();
    let row = |role: Role| {
        let these = tensors.values().filter(|t| t.role == role);
        RoleRow {
            role: role.name(),
            tensors: these.clone().count(),
            bytes: these.fold(0, |sum, t| sum.saturating_add(t.bytes)),
        }
    };
    Role::ALL
        .into_iter()
        .map(row)
        .filter(|row| row.tensors > 0)
        .collect()
}

fn tensor_columns() -> Vec<crate::report::grid::Column> {
    vec![
        right("id", 8),
        left("name", 0),
        left("type", 6),
        left("shape", 5),
        right("bytes", 0),
        left("role", 4),
        right("first", 7),
        right("last", 7),
        right("offset", 9),
        right("end", 3),
        list("shares with", 2),
        left("why it lives", 1),
    ]
}

/// Tensors by arena, then by offset and first step; what is outside comes last.
fn text(session: &Session, rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    out.lines(&summary::lines(session, out.width))?;
    for (id, arena) in session.checked.problem().arenas().iter() {
        let height = session.checked.plan().heights[id];
        let lines = arena_grid(rows, id);
        if lines.is_empty() {
            continue;
        }
        out.line("")?;
        out.line(&format!(
            "ARENA `{}`  {} ({} bytes)   ● lives at the heaviest step",
            visible(&arena.name),
            bytes(height),
            grouped(height)
        ))?;
        let width = out.width;
        out.text(&lines.lines(width))?;
    }
    if let Some(side) = &session.graph {
        outside(rows, out)?;
        if !rows.nodes.is_empty() {
            out.line("")?;
        }
        nodes::text(side, rows, out)?;
        totals(session, out)?;
    }
    health(session, out)
}

fn arena_grid(rows: &Rows, arena: ArenaId) -> Grid {
    let mut lines: Vec<(u64, u32, u64, Vec<String>)> = Vec::new();
    for row in &rows.tensors {
        if let (Some(place), Some(life)) = (row.place, row.lifetime)
            && place.arena == arena
        {
            lines.push((
                place.offset,
                life.start.0,
                u64::from(row.id),
                tensor_cells(row),
            ));
        }
    }
    for row in rows.scratch.iter().filter(|row| row.arena == arena) {
        let role = if rows.tensors.is_empty() {
            ""
        } else {
            "scratch"
        };
        let mark = if row.at_peak { "● " } else { "" };
        let cells = vec![
            if role.is_empty() {
                row.id.to_string()
            } else {
                String::new()
            },
            format!("{mark}{}", row.name),
            String::new(),
            String::new(),
            grouped(row.size),
            role.into(),
            row.lifetime.start.to_string(),
            last(row.lifetime),
            grouped(row.offset),
            grouped(row.end),
            String::new(),
            if row.fixed {
                "offset given".into()
            } else {
                String::new()
            },
        ];
        lines.push((row.offset, row.lifetime.start.0, 1 << 32, cells));
    }
    lines.sort_by_key(|line| (line.0, line.1, line.2));
    let mut grid = Grid::new(tensor_columns()).or(CSV);
    for line in lines {
        grid.row(line.3);
    }
    grid
}

fn tensor_cells(row: &TensorRow) -> Vec<String> {
    let mark = if row.at_peak { "● " } else { "" };
    let offset = row.place.map(|place| place.offset);
    vec![
        row.id.to_string(),
        format!("{mark}{}", row.name),
        row.dtype.clone().unwrap_or_default(),
        shape(row),
        grouped(row.bytes),
        row.role.into(),
        row.lifetime
            .map(|life| life.start.to_string())
            .unwrap_or_default(),
        row.lifetime.map(last).unwrap_or_default(),
        offset.map(grouped).unwrap_or_default(),
        offset
            .map(|offset| grouped(offset + row.bytes))
            .unwrap_or_default(),
        row.shares_with.join(" "),
        row.why.clone(),
    ]
}

/// The last step at which something lives.
fn last(life: Lifetime) -> String {
    life.end.0.saturating_sub(1).to_string()
}

pub(super) fn shape(row: &TensorRow) -> String {
    let dims = row.shape.as_ref().map(|dims| {
        dims.iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join("x")
    });
    dims.map(|dims| {
        if dims.is_empty() {
            "scalar".into()
        } else {
            dims
        }
    })
    .unwrap_or_default()
}

fn outside(rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    let mut grid = Grid::new(vec![
        right("id", 8),
        left("name", 0),
        left("type", 6),
        left("shape", 5),
        right("bytes", 0),
        left("role", 4),
        left("why", 1),
    ])
    .or(CSV);
    for row in rows.tensors.iter().filter(|row| row.place.is_none()) {
        grid.row(vec![
            row.id.to_string(),
            row.name.clone(),
            row.dtype.clone().unwrap_or_default(),
            shape(row),
            grouped(row.bytes),
            row.role.into(),
            row.why.clone(),
        ]);
    }
    if grid.is_empty() {
        return Ok(());
    }
    out.line("")?;
    out.line("OUTSIDE the arenas")?;
    let width = out.width;
    out.text(&grid.lines(width))
}

fn totals(session: &Session, out: &mut Out) -> Result<(), Failure> {
    out.line("")?;
    out.line("TOTALS by role")?;
    let mut grid = Grid::new(vec![
        left("role", 0),
        right("tensors", 0),
        right("bytes", 0),
    ]);
    for row in roles(session) {
        grid.row(vec![
            row.role.into(),
            grouped(row.tensors as u64),
            grouped(row.bytes),
        ]);
    }
    let width = out.width;
    out.text(&grid.lines(width))
}

/// The three figures of every memory report: peak, allocations, fragmentation; and reuse.
fn health(session: &Session, out: &mut Out) -> Result<(), Failure> {
    let figures = summary::Figures::of(session);
    out.line("")?;
    out.line(&format!(
        "reuse          {}   of the bytes that would be needed if nothing were shared",
        percent(figures.reuse_rate)
    ))?;
    out.line(&format!(
        "fragmentation  {}   of the arena is free even at the heaviest step",
        percent(figures.fragmentation)
    ))?;
    out.line(&format!(
        "allocations    {} at load, 0 while running",
        figures.allocations
    ))?;
    out.line(&format!(
        "base           aligned to {}",
        summary::base_alignment(session)
    ))
}
