//! `compare` for models that stock runtimes load: their planners beside ours, like with like, and
//! where the difference comes from.
//!
//! Every figure is a load or a height that was computed; the parts add up:
//! `its arena − ours with inputs reused
//!  = inputs kept + sharing + results kept + packing − our packing`.

use crate::args::Planning;
use crate::failure::Failure;
use crate::input::Model;
use crate::report::Out;
use crate::report::diagnostics;
use crate::report::grid::visible;
use crate::session;
use crate::units::{exact, grouped, percent};
use bayplan_graph::stock::{self, Pinned};
use bayplan_graph::{GraphPlan, GraphPlanError, PlanOptions, Policy, Profile, StockPlanner};
use bayplan_planner::Strategy;
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

/// Bytes of the difference between its arena and ours with inputs reused, by cause.
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
    /// Our arena beyond what lives at once under ours: what our packing loses.
    our_packing: i128,
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
        memory: None,
        profile: profile.clone(),
        alignment: planning.align,
        policy: Policy {
            reuse_inputs,
            ..allowed
        },
        packing: session::packing(Strategy::ALL.to_vec(), &planning.effort, &|_| {}),
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
        our_packing: i128::from(reused.certified.arena_bytes()) - load(reused),
    }
}

/// A paragraph for each stock planner, or nothing where there are none.
pub(super) fn print(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    for row in rows {
        out.line("")?;
        let runtime = match row.profile {
            "tflm" => "TensorFlow Lite Micro",
            _ => "LiteRT",
        };
        let (planner, profile) = (row.planner, row.profile);
        out.line(&format!(
            "{planner}, the stock planner of {runtime} (--profile {profile})"
        ))?;
        arenas(row, out)?;
        if let (Some(arena), Some(parts)) = (row.arena_bytes, &row.parts) {
            causes(arena, row.ours_reusing_inputs_bytes, parts, out)?;
        }
    }
    Ok(())
}

/// Its arena, and ours under the same rules.
fn arenas(row: &Row, out: &mut Out) -> Result<(), Failure> {
    let offline = if row.offline_plan {
        ", with the offline plan in the file"
    } else {
        ""
    };
    match (row.arena_bytes, &row.refused) {
        (Some(arena), _) => out.line(&format!("its arena  {:>15}{offline}", exact(arena)))?,
        (None, why) => {
            let why = visible(why.as_deref().unwrap_or_default());
            out.line(&format!("its arena  none: {why}"))?;
        }
    }
    let (kept, reused) = (row.ours_bytes, row.ours_reusing_inputs_bytes);
    let ours = |size: u64, how: &str| {
        let less = row
            .arena_bytes
            .map_or_else(String::new, |arena| beside(size, arena));
        let line = format!("ours       {:>15}  {how:<21}  {less}", exact(size));
        line.trim_end().to_owned()
    };
    if kept != reused {
        out.line(&ours(kept, "inputs kept, as there"))?;
    }
    let how = if kept == reused && row.profile != "tflm" {
        "inputs kept or reused"
    } else {
        "inputs reused"
    };
    out.line(&ours(reused, how))
}

/// `256 less (6.4 %)`.
fn beside(ours: u64, arena: u64) -> String {
    let share = |part: u64| percent(part as f64 / arena as f64);
    match (arena.checked_sub(ours), ours.checked_sub(arena)) {
        (Some(0), _) => "as large".into(),
        (Some(less), _) => format!("{} less ({})", grouped(less), share(less)),
        (None, Some(more)) if arena > 0 => format!("{} more ({})", grouped(more), share(more)),
        _ => String::new(),
    }
}

/// Where the difference comes from: every cause that is not zero.
fn causes(arena: u64, ours: u64, parts: &Parts, out: &mut Out) -> Result<(), Failure> {
    let all = [
        (
            parts.inputs_kept,
            "inputs: it keeps them to the end of the run",
        ),
        (
            parts.sharing,
            "sharing: in-place and views of ours that it does not take",
        ),
        (
            parts.results_kept,
            "results that nobody reads: it keeps them to the end",
        ),
        (
            parts.packing,
            "packing: its arena is larger than what lives at once in it",
        ),
        (
            -parts.our_packing,
            "our packing and alignment: our arena is larger than what lives at once",
        ),
    ];
    let some: Vec<_> = all.into_iter().filter(|(part, _)| *part != 0).collect();
    if some.is_empty() {
        return Ok(());
    }
    let difference = i128::from(arena) - i128::from(ours);
    out.line(&format!(
        "the difference of {} bytes is made of",
        signed(difference)
    ))?;
    for (part, what) in some {
        out.line(&format!("{:>20}  {what}", signed(part)))?;
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
