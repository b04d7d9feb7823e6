//! `compare`: every strategy beside the bound.

use crate::args::{CompareArgs, Planning, Switch};
use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::{Grid, left, right};
use crate::session::{self, Session};
use crate::units::{bytes, grouped};
use bayplan_planner::Strategy;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Json {
    input: String,
    lower_bound_bytes: u64,
    naive_bytes: u64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    strategy: &'static str,
    in_place: bool,
    arena_bytes: u64,
    lower_bound_bytes: u64,
    ratio: f64,
    elapsed_ms: f64,
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
    let mut variants = vec![planning.clone()];
    if planning.in_place == Switch::On {
        variants.push(Planning {
            in_place: Switch::Off,
            ..planning.clone()
        });
    }
    for variant in &variants {
        for strategy in session::strategies(planning.strategy.as_deref()) {
            let alone = Planning {
                strategy: Some(strategy.name().to_owned()),
                ..variant.clone()
            };
            let session = session::open(input, &alone, out.colour)?;
            let in_place = session.graph.as_ref().is_some_and(|side| {
                side.part
                    .decisions
                    .iter()
                    .any(|d| d.3 == "in-place" && d.4 == "taken")
            });
            rows.push(row(&session, strategy, in_place));
            if best
                .as_ref()
                .is_none_or(|best| session.height() < best.height())
            {
                best = Some(session);
            }
        }
        // Without offers to decline, the second variant would be the first again.
        if !rows.iter().any(|row| row.in_place) {
            break;
        }
    }
    rows.sort_by_key(|row| (row.arena_bytes, !row.in_place));
    Ok(Json {
        input: input.display().to_string(),
        lower_bound_bytes: best.as_ref().map_or(0, Session::bound),
        naive_bytes: best.as_ref().map_or(0, Session::naive),
        rows,
    })
}

fn row(session: &Session, strategy: Strategy, in_place: bool) -> Row {
    let bound = session.bound();
    Row {
        strategy: strategy.name(),
        in_place,
        arena_bytes: session.height(),
        lower_bound_bytes: bound,
        ratio: if bound == 0 {
            1.0
        } else {
            session.height() as f64 / bound as f64
        },
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
    }
}

fn print(table: &Json, out: &mut Out) -> Result<(), Failure> {
    out.line(&format!(
        "{}: bound {} ({} bytes), {} if nothing were shared",
        table.input,
        bytes(table.lower_bound_bytes),
        grouped(table.lower_bound_bytes),
        bytes(table.naive_bytes)
    ))?;
    let any = table.rows.iter().any(|row| row.in_place);
    let mut grid = Grid::new(vec![
        left("strategy", 0),
        left("in-place", 3),
        right("arena", 0),
        right("bytes", 2),
        right("of bound", 1),
        right("ms", 1),
    ]);
    for row in &table.rows {
        grid.row(vec![
            row.strategy.into(),
            if !any {
                String::new()
            } else if row.in_place {
                "on".into()
            } else {
                "off".into()
            },
            bytes(row.arena_bytes),
            grouped(row.arena_bytes),
            format!("{:.4}", row.ratio),
            format!("{:.1}", row.elapsed_ms),
        ]);
    }
    let width = out.width;
    out.text(&grid.lines(width))
}
