//! `pack`: the bare packer for a CSV of buffers.

use super::budget::{self, Verdict};
use super::plan::{plan_format, write_plan};
use super::write;
use crate::args::{Effort, MemoryArgs, PackArgs, Reading};
use crate::conflict;
use crate::failure::{Diagnostic, Failure};
use crate::input::{self, Input};
use crate::interrupt::WhilePlanning;
use crate::report::Out;
use crate::report::wrap::hung;
use crate::session::{self, Session};
use crate::summary;
use crate::units::bytes;
use bayplan_planner::file::csv;
use bayplan_planner::strategy::keep::Earlier;
use bayplan_planner::{Problem, Status};
use serde::Serialize;

#[derive(Serialize)]
struct Json {
    height: u64,
    /// Null where nothing is proved.
    lower_bound_bytes: Option<u64>,
    max_load_bytes: u64,
    buffers: usize,
    capacity: Option<u64>,
    /// Null when undecided.
    fits: Option<bool>,
    /// Why it is undecided, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Null where buffers may be in several memories and it is not known.
    optimal: Option<bool>,
    checked: bool,
    strategy: String,
    base_alignment: u64,
    search: summary::Search,
    elapsed_ms: f64,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    spread: Option<summary::spread::SpreadJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<summary::kept::KeptJson>,
    #[serde(flatten)]
    conflicts: conflict::Told,
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
        .into_fixed_offsets()
        .map_err(|errors| session::csv_no(&args.problem, &errors))?;
    let problem = session::aligned(problem, args.align)?;
    let problem = session::spread(problem, &args.memory)?;
    let earlier = session::earlier(&MemoryArgs {
        budget: args.capacity,
        ..args.memory.clone()
    })?;
    // From here on there is a plan to tell, whatever happens.
    let _told = WhilePlanning::new();
    let session = planned(args, problem, earlier.as_ref())?;
    let verdict = budget::judge(&session, args.capacity, "capacity")?;
    let no = verdict.as_ref().filter(|verdict| !verdict.is_yes());
    if no.is_none()
        && let Some(path) = &args.output
    {
        match format {
            Some(format) => write_plan(&session, path, format, &args.problem)?,
            None => write(path, &[&args.problem], &solution(&session)?)?,
        }
    }
    if out.json {
        out.value(&json(&session, args.capacity, verdict.as_ref()))?;
    } else {
        told(&session, args, no, out)?;
    }
    no.map_or(Ok(()), |no| {
        Err(no.failure(&session, args.output.as_deref()))
    })
}

/// The summary, the answer to a capacity, and where the plan is.
fn told(
    session: &Session,
    args: &PackArgs,
    no: Option<&Verdict>,
    out: &mut Out,
) -> Result<(), Failure> {
    out.lines(&summary::lines(session, out.width))?;
    if let Some(no) = no {
        return no.print(session, out);
    }
    if let Some(capacity) = args.capacity {
        out.lines(&spare(session, capacity, out.columns()))?;
    }
    if let Some(path) = &args.output {
        let seal = summary::seal(session);
        out.line(&format!("plan      {}, {seal}", path.display()))?;
    }
    Ok(())
}

/// How much of a capacity that suffices is left free; and that a lower plan was not looked for, if so.
fn spare(session: &Session, capacity: u64, columns: usize) -> Vec<String> {
    let free = capacity - session.height() - session.persistent();
    let mut text = format!("{} suffice, {} to spare", bytes(capacity), bytes(free));
    if session.status == Some(Status::Decided) {
        text +=
            "; whether a lower plan exists was not asked (leave out --capacity to look for one)";
    }
    hung("capacity  ", &text, columns)
}

/// The plan of a problem. With a capacity, the first one that is low enough.
fn planned(
    args: &PackArgs,
    problem: Problem,
    earlier: Option<&Earlier>,
) -> Result<Session, Failure> {
    let plan = |problem, enough| {
        let effort = Effort {
            enough,
            ..args.effort.clone()
        };
        let strategies = session::strategies(args.strategy.as_deref());
        let input = args.problem.display().to_string();
        session::plan_problem(input, problem, strategies, earlier, &effort)
    };
    if args.memory.arenas.is_none() && earlier.is_none() {
        return plan(problem, args.capacity);
    }
    let mut problem = Some(problem);
    budget::within(args.capacity, |enough| {
        // A million buffers are not copied unless there may be a second time.
        let again = args.capacity.and_then(|_| problem.clone());
        let this = std::mem::replace(&mut problem, again).expect("there is one capacity");
        plan(this, enough)
    })
}

fn json(session: &Session, capacity: Option<u64>, verdict: Option<&Verdict>) -> Json {
    let figures = summary::Figures::of(session);
    Json {
        height: figures.height,
        lower_bound_bytes: figures.known_bound(),
        max_load_bytes: figures.max_load,
        buffers: session.checked.problem().buffers().len(),
        capacity,
        fits: match verdict {
            Some(verdict) => verdict.fits,
            None => summary::within(session, capacity),
        },
        reason: verdict.and_then(|verdict| verdict.reason(session)),
        optimal: summary::spread::known(session, figures.optimal),
        checked: true,
        strategy: session.checked.plan().strategy.clone(),
        base_alignment: summary::base_alignment(session),
        search: summary::search(session, figures.optimal),
        elapsed_ms: session.elapsed.as_secs_f64() * 1000.0,
        spread: summary::spread::json(session),
        kept: summary::kept::json(session),
        conflicts: verdict.map_or_else(conflict::Told::default, |verdict| verdict.json(session)),
    }
}

fn solution(session: &Session) -> Result<String, Failure> {
    let written = csv::write(session.checked.problem(), Some(session.checked.plan()));
    written.map_err(|error| {
        Diagnostic::new(error.code(), error.to_string())
            .help("write a plan file instead (-o PLAN.ron or PLAN.json)")
            .cannot()
    })
}
