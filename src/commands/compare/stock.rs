//! `compare` for models that stock runtimes load: their planners beside ours, like with like, and
//! where the difference comes from.
//!
//! Every figure is a load or a height that was computed; the parts add up:
//! `its arena − the most that lives at once under our rules, inputs reused
//!  = inputs kept + sharing + results kept + packing`.

use crate::args::Planning;
use crate::failure::Failure;
use crate::input::Model;
use crate::report::Out;
use crate::report::diagnostics;
use crate::report::grid::{Grid, left, right};
use crate::session;
use crate::units::{bytes, grouped};
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{GraphPlan, GraphPlanError, PlanOptions, Policy, Profile, StockPlanner};
use bayplan_planner::Options;
use serde::Serialize;

/// A stock planner beside ours.
#[derive(Serialize)]
pub(super) struct Row {
    planner: &'static str,
    profile: &'static str,
    /// Whether it obeys an offline plan in the file.
    offline_plan: bool,
    /// Its arena; nothing where it has none that computes the right numbers.
    arena_bytes: Option<u64>,
    /// Our arena under the same rules (inputs kept where the stock planner keeps them).
    ours_bytes: u64,
    /// Our arena where inputs may be overwritten.
    ours_reusing_inputs_bytes: u64,
    parts: Option<Parts>,
    /// Why there is no arena.
    refused: Option<String>,
}

/// Bytes of the difference between its arena and what lives at once in ours, by cause.
#[derive(Serialize)]
struct Parts {
    /// Inputs are kept to the end.
    inputs_kept: i128,
    /// In-place and views that it does not take.
    sharing: i128,
    /// Results that nobody reads are kept to the end.
    results_kept: i128,
    /// Its arena beyond what lives at once under its own rules.
    packing: i128,
}

/// All stock planners on `model`.
pub(super) fn rows(model: &Model, planning: &Planning, out: &Out) -> Result<Vec<Row>, Failure> {
    let allowed = session::policy(planning);
    let mut rows = Vec::new();
    for profile in [Profile::tflite(), Profile::tflm()] {
        rows.push(row(model, &profile, planning, allowed, out)?);
    }
    Ok(rows)
}

fn row(
    model: &Model,
    profile: &Profile,
    planning: &Planning,
    allowed: Policy,
    out: &Out,
) -> Result<Row, Failure> {
    let other = model.under(profile)?;
    let model = other.as_ref().unwrap_or(model);
    let planner = profile.stock.expect("both profiles have one");
    let micro = planner == StockPlanner::MicroGreedy;
    let options = |reuse_inputs: bool| PlanOptions {
        profile: profile.clone(),
        alignment: planning.align,
        policy: Policy {
            reuse_inputs,
            ..allowed
        },
        packing: Options::default(),
    };
    let told = |error: GraphPlanError| session::graph_failure(&model.graph, &error);
    let ours = |reuse| bayplan_graph::plan(model.graph.clone(), &options(reuse)).map_err(told);
    let (kept, reused) = (ours(micro)?, ours(true)?);
    let mut row = Row {
        planner: planner.name(),
        profile: profile.name,
        offline_plan: micro && model.offline.is_some(),
        arena_bytes: None,
        ours_bytes: kept.certified.arena_bytes(),
        ours_reusing_inputs_bytes: reused.certified.arena_bytes(),
        parts: None,
        refused: None,
    };
    let pinned = match (micro, &model.offline) {
        (true, Some(Ok(pinned))) => pinned.clone(),
        (true, Some(Err(why))) => {
            row.refused = Some(why.clone());
            return Ok(row);
        }
        _ => Pinned::new(),
    };
    match stock::plan(model.graph.clone(), &options(micro), &pinned) {
        Ok(plan) => {
            row.arena_bytes = Some(plan.certified.arena_bytes());
            row.parts = Some(parts(&plan, &kept, &reused));
        }
        Err(error) => {
            if let Some(hazard) = session::hazard(&error) {
                diagnostics::print(out.colour, &[hazard.warning()]);
            }
            row.refused = Some(error.to_string());
        }
    }
    Ok(row)
}

fn parts(stock: &GraphPlan, kept: &GraphPlan, reused: &GraphPlan) -> Parts {
    let load = |plan: &GraphPlan| i128::from(plan.max_load());
    let held = i128::from(stock::load(stock));
    Parts {
        inputs_kept: load(kept) - load(reused),
        sharing: load(stock) - load(kept),
        results_kept: held - load(stock),
        packing: i128::from(stock.certified.arena_bytes()) - held,
    }
}

/// The rows as a table, or nothing where there are none.
pub(super) fn print(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut grid = Grid::new(vec![
        left("stock planner", 0),
        left("profile", 1),
        right("its arena", 0),
        right("ours", 0),
        right("inputs reused", 0),
        right("inputs kept", 3),
        right("sharing", 3),
        right("results kept", 2),
        right("packing", 3),
    ]);
    for row in rows {
        let part = |pick: fn(&Parts) -> i128| {
            row.parts
                .as_ref()
                .map_or_else(|| "-".into(), |parts| signed(pick(parts)))
        };
        grid.row(vec![
            row.planner.into(),
            row.profile.into(),
            row.arena_bytes.map_or_else(|| "none".into(), grouped),
            grouped(row.ours_bytes),
            grouped(row.ours_reusing_inputs_bytes),
            part(|parts| parts.inputs_kept),
            part(|parts| parts.sharing),
            part(|parts| parts.results_kept),
            part(|parts| parts.packing),
        ]);
    }
    out.line("")?;
    let width = out.width;
    out.text(&grid.lines(width))?;
    notes(rows, out)
}

fn notes(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    for row in rows {
        if let Some(why) = &row.refused {
            out.line(&format!("{}: {why}", row.planner))?;
        } else if row.offline_plan {
            out.line(&format!(
                "{}: with the offline plan in the file",
                row.planner
            ))?;
        }
        let Some(arena) = row.arena_bytes else {
            continue;
        };
        let least = row.ours_bytes.min(row.ours_reusing_inputs_bytes);
        if least < arena {
            let (name, saved) = (row.planner, bytes(arena - least));
            out.line(&format!(
                "{name}: {saved} less with ours ({:.1} %)",
                100.0 * (arena - least) as f64 / arena as f64
            ))?;
        }
    }
    Ok(())
}

fn signed(part: i128) -> String {
    let digits = grouped(part.unsigned_abs());
    if part < 0 {
        format!("-{digits}")
    } else {
        digits
    }
}
