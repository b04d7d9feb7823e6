//! `convert`: graph to graph, plan to plan, either to CSV.

use super::write;
use crate::args::ConvertArgs;
use crate::commands::plan::plan_format;
use crate::failure::{Diagnostic, Failure};
use crate::input::{self, Input};
use crate::report::Out;
use crate::session;
use bayplan_graph::format::own::{self, Syntax};
use bayplan_planner::file::{csv, plan_file};
use bayplan_planner::{Plan, Problem};

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<(), Failure> {
    let ending = args
        .output
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    if !matches!(&*ending, "json" | "ron" | "csv") {
        return Err(Diagnostic::new(
            "E0801",
            format!(
                "cannot write `{}`: its ending is not .json, .ron or .csv",
                args.output.display()
            ),
        )
        .cannot());
    }
    let input = match input::load(&args.input, &args.planning.reading)? {
        Input::Graph(model) => {
            let other = model.under(&session::profile(&args.planning))?;
            let model = other.map_or(model, Box::new);
            super::warn(&model.warnings(), out);
            Input::Graph(model)
        }
        other => other,
    };
    let text = match input {
        Input::Graph(model) if ending != "csv" => {
            let syntax = if ending == "json" {
                Syntax::Json
            } else {
                Syntax::Ron
            };
            own::text(&model.file, syntax)
        }
        Input::Graph(model) => {
            let session = {
                let (graph, planning) = (&model.graph, &args.planning);
                let pinned = session::pinned(&model, planning)?;
                super::kept_within(session::plan_graph(
                    String::new(),
                    graph,
                    &pinned,
                    planning,
                )?)?
            };
            buffers(session.checked.problem(), None)?
        }
        Input::Plan(file) if ending != "csv" => {
            let text = plan_file::to_text(&file, plan_format(&args.output)?);
            text.map_err(|error| Diagnostic::new(error.code(), error.to_string()).cannot())?
        }
        Input::Plan(file) => {
            let session = session::from_file(args.input.display().to_string(), *file)?;
            buffers(session.checked.problem(), Some(session.checked.plan()))?
        }
        Input::Problem(parsed) if ending == "csv" => {
            let problem = parsed.with_fixed_offsets();
            buffers(
                &problem.map_err(|errors| session::csv_no(&args.input, &errors))?,
                None,
            )?
        }
        Input::Problem(_) => {
            return Err(
                Diagnostic::new("E0801", "a CSV of buffers is no graph, and no plan yet")
                    .help("`bayplan pack FILE.csv -o PLAN.ron` makes a plan of it")
                    .cannot(),
            );
        }
    };
    write(&args.output, &[&args.input], &text)?;
    if out.json {
        let output = args.output.display().to_string();
        return out.value(&std::collections::BTreeMap::from([("output", output)]));
    }
    out.line(&format!("wrote     {}", args.output.display()))
}

fn buffers(problem: &Problem, plan: Option<&Plan>) -> Result<String, Failure> {
    let written = csv::write(problem, plan);
    written.map_err(|error| {
        Diagnostic::new(error.code(), error.to_string())
            .help("write a plan file instead (.ron or .json)")
            .cannot()
    })
}
