//! `plan`: the main job. Summary, plan file, budget.

use super::write;
use crate::args::PlanArgs;
use crate::failure::{Diagnostic, Failure, NO};
use crate::report::Out;
use crate::session::Session;
use crate::summary;
use crate::units::{both, bytes, exact, grouped};
use bayplan_planner::file::plan_file::{self, Format};
use bayplan_planner::{Bounds, Witness, table};
use std::path::Path;

pub(crate) fn run(args: &PlanArgs, out: &mut Out) -> Result<(), Failure> {
    // A wrong ending is told before any work is done.
    let format = args.output.as_deref().map(plan_format).transpose()?;
    let mut planning = args.planning.clone();
    planning.memory.budget = args.budget;
    let session = super::open(&args.input, &planning, out)?;
    let verdict = args
        .budget
        .map(|budget| verdict(&session, budget))
        .filter(|v| !v.fits);
    if let (Some(path), Some(format), None) = (&args.output, format, &verdict) {
        write_plan(&session, path, format, &args.input)?;
    }
    if out.json {
        out.value(&summary::json(&session, args.budget))?;
    } else {
        out.lines(&summary::lines(&session, out.width))?;
        match (&args.output, &verdict) {
            (_, Some(_)) => {}
            (Some(path), None) => out.line(&format!(
                "plan      {}, {}",
                path.display(),
                summary::seal(&session)
            ))?,
            (None, None) => out.line(&format!("plan      {}", summary::seal(&session)))?,
        }
        if let (Some(budget), None) = (args.budget, &verdict) {
            let spare = budget - session.height() - session.persistent();
            out.line(&format!(
                "budget    {} suffice, {} to spare",
                bytes(budget),
                bytes(spare)
            ))?;
        }
    }
    verdict.map_or(Ok(()), |verdict| {
        Err(verdict.failure(args.output.as_deref()))
    })
}

pub(crate) fn plan_format(path: &Path) -> Result<Format, Failure> {
    Format::of(path).map_err(|error| Diagnostic::new(error.code(), error.to_string()).cannot())
}

pub(crate) fn write_plan(
    session: &Session,
    path: &Path,
    format: Format,
    input: &Path,
) -> Result<(), Failure> {
    let text = plan_file::to_text(&session.file(), format);
    let text = text.map_err(|error| Diagnostic::new(error.code(), error.to_string()).cannot())?;
    write(path, &[input], &text)
}

/// The answer to a budget.
pub(crate) struct Verdict {
    pub(crate) fits: bool,
    diagnostic: Diagnostic,
}

impl Verdict {
    fn failure(mut self, output: Option<&Path>) -> Failure {
        if let Some(path) = output {
            self.diagnostic
                .notes
                .push(format!("{} was not written", path.display()));
        }
        Failure::Told {
            exit: NO,
            diagnostics: vec![self.diagnostic],
        }
    }

    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        self.diagnostic
    }
}

/// Whether the plan fits `budget`, and if not: what is needed, where, by whom, and whether another
/// plan could do.
pub(crate) fn verdict(session: &Session, budget: u64) -> Verdict {
    let state = session.persistent();
    let needed = session.height().saturating_add(state);
    let bounds: &Bounds = &session.bounds;
    let proved: u64 = bounds.arenas.values().map(|bound| bound.bytes).sum();
    let figures = summary::Figures::of(session);
    let title = format!(
        "a budget of {} does not suffice: {} are needed",
        exact(budget),
        exact(needed)
    );
    let mut diagnostic = Diagnostic::new("E0701", title);
    let smallest = if figures.optimal {
        format!(
            "the smallest budget that works is {}: no plan is smaller",
            both(needed)
        )
    } else {
        format!(
            "the smallest budget that works with these settings is {}",
            both(needed)
        )
    };
    diagnostic = diagnostic.note(smallest);
    if state > 0 {
        diagnostic = diagnostic.note(format!(
            "{} of them are variables, kept from run to run",
            exact(state)
        ));
    }
    diagnostic = diagnostic.note(format!(
        "the fullest step is {}: {}",
        session.step_label(figures.peak),
        live(session, &figures)
    ));
    let (reason, help) = limit(session, budget, proved);
    Verdict {
        fits: needed <= budget,
        diagnostic: diagnostic.note(reason).help(help),
    }
}

/// What the limit is, and the way out.
fn limit(session: &Session, budget: u64, proved: u64) -> (String, String) {
    let at_least = exact(proved);
    if proved <= budget {
        let reason = format!(
            "the limit is the packing: every plan needs {at_least} at least, none of {} or less was found, and none is ruled out",
            exact(budget)
        );
        return (reason, "a longer search may find it, or rule it out".into());
    }
    let bound = session.bounds.arenas.get(Session::arena());
    if bound.is_some_and(|bound| matches!(bound.witness, Witness::Placed { .. })) {
        let why = summary::bound_reason(session);
        let reason = format!("the limit is the given offsets: {at_least} at least ({why})");
        return (reason, "give other offsets, or none".into());
    }
    let why = summary::bound_reason(session);
    let reason =
        format!("the limit is the live bytes, no plan can help: {at_least} at least ({why})");
    let mut ways = vec!["smaller or fewer live buffers"];
    if let Some(side) = &session.graph {
        ways = vec![
            "smaller inputs",
            "narrower element types",
            "fewer tensors at that step",
        ];
        if !side.part.policy.reuse_inputs {
            ways.insert(0, "--reuse-inputs, if inputs may be overwritten");
        }
    }
    (reason, format!("what helps: {}", ways.join("; ")))
}

fn live(session: &Session, figures: &summary::Figures) -> String {
    const SHOWN: usize = 12;
    let rows: Vec<_> = table::live_at(&session.checked, figures.peak)
        .into_iter()
        .filter(|r| session.is_temporary(r.arena))
        .collect();
    let names: Vec<String> = rows
        .iter()
        .take(SHOWN)
        .map(|row| format!("{} {}", row.name, grouped(row.size)))
        .collect();
    let more = rows.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{} in {}{more}", exact(figures.max_load), names.join(", "))
}
