//! What is told when there is no plan: whose fault, where, and the way out.

use crate::failure::{CANNOT, Diagnostic, Failure, NO};
use crate::input;
use bayplan_graph::{Graph, GraphPlanError};
use bayplan_planner::check::{Refused, Violation};
use bayplan_planner::file::csv::CsvErrors;
use bayplan_planner::{PlannerFault, ProblemError, ProblemErrors};
use std::path::Path;

/// Given offsets that no plan can keep: the answer is no.
pub(crate) fn csv_no(path: &Path, errors: &CsvErrors) -> Failure {
    let overflow = errors.listed.iter().any(|e| e.code == "E0219");
    let told = errors.listed.iter().map(|e| {
        let place = if e.line > 0 {
            format!("{}:{}:{}: {}", path.display(), e.line, e.column, e.label)
        } else {
            format!("in {}", path.display())
        };
        let mut diagnostic = Diagnostic::new(e.code, e.message.clone()).note(place);
        diagnostic.help.clone_from(&e.help);
        diagnostic
    });
    Failure::Told {
        exit: if overflow { CANNOT } else { NO },
        diagnostics: told.collect(),
    }
}

/// `graph`: names the nodes of the steps that errors are about.
pub(crate) fn no_problem(errors: &ProblemErrors, graph: Option<&Graph>) -> Failure {
    let told = errors.0.iter().take(100).map(|error| {
        let help = match error {
            ProblemError::FixedClash { .. } => Some("give one of them another offset, or none"),
            ProblemError::FixedMisaligned { .. } => {
                Some("give it an offset that is a multiple, or none; or a smaller --align")
            }
            ProblemError::LoadOverflow { .. } => {
                Some("are the sizes in bytes, and are they right?")
            }
            _ => None,
        };
        let mut diagnostic = Diagnostic::new("E0501", error.to_string());
        diagnostic.notes.extend(running(error, graph));
        diagnostic.help = help.map(str::to_owned);
        diagnostic
    });
    let too_large = |error: &ProblemError| {
        matches!(
            error,
            ProblemError::LoadOverflow { .. } | ProblemError::TotalOverflow { .. }
        )
    };
    Failure::Told {
        exit: if errors.0.iter().any(too_large) {
            CANNOT
        } else {
            NO
        },
        diagnostics: told.collect(),
    }
}

/// Which node runs at the step of an error; steps are in file order.
fn running(error: &ProblemError, graph: Option<&Graph>) -> Option<String> {
    let (ProblemError::FixedClash { step, .. } | ProblemError::LoadOverflow { step, .. }) = error
    else {
        return None;
    };
    let node = graph?.nodes().values().nth(step.0 as usize)?;
    Some(format!("step {step} runs `{}`", node.name))
}

pub(crate) fn planner_failure(fault: &PlannerFault) -> Failure {
    match fault {
        PlannerFault::Defect(refused) => {
            let saved = (&refused.problem, &refused.plan);
            input::defect(&format!("{fault}: {}", refused.violations[0]), &saved)
        }
        PlannerFault::NoRoom(_) | PlannerFault::DoesNotFit { .. } | PlannerFault::TooLarge(_) => {
            Diagnostic::new("E0701", fault.to_string()).no()
        }
        _ => Diagnostic::new("E0105", fault.to_string()).cannot(),
    }
}

pub(crate) fn graph_failure(graph: &Graph, error: &GraphPlanError) -> Failure {
    match error {
        GraphPlanError::Problem(errors) => no_problem(errors, Some(graph)),
        GraphPlanError::Planner(fault) => planner_failure(fault),
        GraphPlanError::Defect { refused, checked } => {
            let saved = (checked.problem(), checked.plan());
            input::defect(
                &format!("a plan of ours failed the replay: {}", refused.clobbers[0]),
                &saved,
            )
        }
        GraphPlanError::Memory(error) => super::memory::refused(error),
        GraphPlanError::NoStock(_) => Diagnostic::new("E0108", error.to_string())
            .help("--profile tflite or --profile tflm")
            .cannot(),
        GraphPlanError::StockCannot(_) => Diagnostic::new("E0108", error.to_string()).cannot(),
        GraphPlanError::StockOverlaps { refused, .. } => Failure::Told {
            exit: NO,
            diagnostics: overlaps(refused),
        },
        GraphPlanError::StockWrong { .. } => hazard(error).map_or(Failure::No, Diagnostic::no),
        _ => Diagnostic::new("E0105", error.to_string()).cannot(),
    }
}

/// Offsets from a file that cannot all hold.
fn overlaps(refused: &Refused) -> Vec<Diagnostic> {
    // A claim falls with the places; that says nothing of its own.
    let places = refused
        .violations
        .iter()
        .filter(|violation| !matches!(violation, Violation::Claim { .. }));
    places
        .take(100)
        .map(|violation| {
            Diagnostic::new("E0604", violation.to_string())
                .note("the offsets are those of the offline plan in the file")
                .help("`bayplan plan` without --strategy stock makes a plan of our own, checked and certified")
        })
        .collect()
}

/// What the stock runtime would get wrong; nothing for any other error.
pub(crate) fn hazard(error: &GraphPlanError) -> Option<Diagnostic> {
    let GraphPlanError::StockWrong {
        planner,
        clobbers,
        chains,
    } = error
    else {
        return None;
    };
    let title = format!(
        "on the stock runtime this model computes wrong numbers: {}",
        clobbers[0]
    );
    let mut diagnostic = Diagnostic::new("E0603", title);
    let more = clobbers.len() - 1;
    if more > 0 {
        diagnostic.notes.push(format!("and {more} more"));
    }
    for chain in chains.iter().take(10) {
        let planner = planner.name();
        let note = format!("{planner} gives all of these the same bytes, in this order: {chain}");
        diagnostic.notes.push(note);
    }
    Some(diagnostic.help("a delegate such as XNNPACK, or an interpreter that preserves all tensors, is not affected; another order of the operators, or one view instead of two, avoids it"))
}
