//! `plan`: the main job. Summary, plan file, budget.

use super::{budget, write};
use crate::args::{PlanArgs, Planning};
use crate::failure::{Diagnostic, Failure};
use crate::interrupt::WhilePlanning;
use crate::report::Out;
use crate::session::Session;
use crate::summary;
use crate::units::bytes;
use bayplan_planner::file::plan_file::{self, Format};
use std::path::Path;

pub(crate) fn run(args: &PlanArgs, out: &mut Out) -> Result<(), Failure> {
    // A wrong ending is told before any work is done.
    let format = args.output.as_deref().map(plan_format).transpose()?;
    let session = budget::within(args.budget, |enough| {
        let mut planning: Planning = args.planning.clone();
        planning.effort.enough = enough;
        planning.memory.budget = args.budget;
        crate::session::open(&args.input, &planning)
    })?;
    // From here on there is a plan to tell, whatever happens.
    let _told = WhilePlanning::new();
    super::warn(&session.warnings, out);
    let verdict = budget::judge(&session, args.budget, "budget")?;
    let no = verdict.as_ref().filter(|verdict| !verdict.is_yes());
    if let (Some(path), Some(format), None) = (&args.output, format, no) {
        write_plan(&session, path, format, &args.input)?;
    }
    if out.json {
        let mut json = summary::json(&session, args.budget);
        if let Some(verdict) = &verdict {
            json = verdict.judged(json, &session);
        }
        out.value(&json)?;
    } else {
        out.lines(&summary::lines(&session, out.width))?;
        let seal = summary::seal(&session);
        match (&args.output, no) {
            (_, Some(no)) => no.print(&session, out)?,
            (Some(path), None) => out.line(&format!("plan      {}, {seal}", path.display()))?,
            (None, None) => out.line(&format!("plan      {seal}"))?,
        }
        if let (Some(budget), None) = (args.budget, no) {
            let spare = budget - session.height() - session.persistent();
            out.line(&format!(
                "budget    {} suffice, {} to spare",
                bytes(budget),
                bytes(spare)
            ))?;
        }
    }
    no.map_or(Ok(()), |no| {
        Err(no.failure(&session, args.output.as_deref()))
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
