//! `pack`: the bare packer for a CSV of buffers.

use super::write;
use crate::args::{MemoryArgs, PackArgs, Reading};
use crate::commands::plan::{plan_format, verdict, write_plan};
use crate::failure::{Diagnostic, Failure, NO};
use crate::input::{self, Input};
use crate::report::Out;
use crate::session::{self, Session};
use crate::summary;
use bayplan_planner::file::csv;
use serde::Serialize;

#[derive(Serialize)]
struct Json {
    height: u64,
    lower_bound_bytes: u64,
    max_load_bytes: u64,
    buffers: usize,
    capacity: Option<u64>,
    /// Null when undecided.
    fits: Option<bool>,
    optimal: bool,
    checked: bool,
    strategy: String,
    base_alignment: u64,
    elapsed_ms: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    spread: Option<summary::spread::SpreadJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<summary::spread::KeptJson>,
}

pub(crate) fn run(args: &PackArgs, out: &mut Out) -> Result<(), Failure> {
    let csv_output = args
        .output
        .as_deref()
        .filter(|p| p.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")));
    let format = match (&args.output, csv_output) {
        (Some(path), None) => Some(plan_format(path)?),
        _ => None,
    };
    let Input::Problem(parsed) = input::load(&args.problem, &Reading::default())? else {
        return Err(Diagnostic::new(
            "E0104",
            format!("`{}` is no CSV of buffers", args.problem.display()),
        )
        .help("`bayplan plan` plans graphs")
        .cannot());
    };
    let problem = parsed
        .with_fixed_offsets()
        .map_err(|errors| session::csv_no(&args.problem, &errors))?;
    let problem = session::aligned(problem, args.align)?;
    let problem = session::spread(problem, &args.memory)?;
    let earlier = session::earlier(&MemoryArgs {
        budget: args.capacity,
        ..args.memory.clone()
    })?;
    let strategies = session::strategies(args.strategy.as_deref());
    let session = session::plan_problem(
        args.problem.display().to_string(),
        problem,
        strategies,
        earlier.as_ref(),
        out.colour,
    )?;
    let fits = args
        .capacity
        .map(|capacity| summary::fits(&session, capacity));
    let good = fits.is_none_or(|fits| fits == Some(true));
    if good && let Some(path) = &args.output {
        match format {
            Some(format) => write_plan(&session, path, format, &args.problem)?,
            None => write(path, &[&args.problem], &solution(&session)?)?,
        }
    }
    if out.json {
        out.value(&json(&session, args.capacity, fits.flatten()))?;
    } else {
        out.lines(&summary::lines(&session, out.width))?;
        if good && let Some(path) = &args.output {
            out.line(&format!(
                "plan      {}, {}",
                path.display(),
                summary::seal(&session)
            ))?;
        }
    }
    match args.capacity {
        Some(capacity) if !good => Err(Failure::Told {
            exit: NO,
            diagnostics: vec![verdict(&session, capacity).into_diagnostic()],
        }),
        _ => Ok(()),
    }
}

fn json(session: &Session, capacity: Option<u64>, fits: Option<bool>) -> Json {
    let figures = summary::Figures::of(session);
    Json {
        height: figures.height,
        lower_bound_bytes: figures.bound,
        max_load_bytes: figures.max_load,
        buffers: session.checked.problem().buffers().len(),
        capacity,
        fits,
        optimal: figures.optimal,
        checked: true,
        strategy: session.checked.plan().strategy.clone(),
        base_alignment: summary::base_alignment(session),
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
        spread: summary::spread::json(session),
        kept: summary::spread::kept_json(session),
    }
}

fn solution(session: &Session) -> Result<String, Failure> {
    let written = csv::write(session.checked.problem(), Some(session.checked.plan()));
    written.map_err(|error| Diagnostic::new(error.code(), error.to_string()).cannot())
}
