//! Errors of files as diagnostics, with their places in the text.

use super::source::Source;
use crate::failure::{CANNOT, Diagnostic, Failure, Spot};
use bayplan_graph::facts;
use bayplan_graph::format::own::GraphFileError;
use bayplan_planner::file::csv::CsvErrors;

pub(super) fn csv_failure(source: &Source, errors: &CsvErrors) -> Failure {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for error in &errors.listed {
        let mut diagnostic = Diagnostic::new(error.code, error.message.clone());
        if error.line > 0 {
            let (line, column, width) = (
                error.line as usize,
                error.column as usize,
                error.width as usize,
            );
            diagnostic = diagnostic.at(source.spot(line, column, width, error.label.clone()));
        } else {
            diagnostic = diagnostic.note(format!("in {}", source.path));
        }
        diagnostic.help.clone_from(&error.help);
        diagnostics.push(diagnostic);
    }
    if errors.unlisted > 0
        && let Some(last) = diagnostics.last_mut()
    {
        last.notes.push(format!(
            "and {} more errors in {}",
            errors.unlisted, source.path
        ));
    }
    Failure::Told {
        exit: CANNOT,
        diagnostics,
    }
}

pub(super) fn graph_failure(source: &Source, error: &GraphFileError) -> Failure {
    let in_file = |d: Diagnostic| d.note(format!("in {}", source.path));
    match error {
        GraphFileError::Syntax {
            line,
            column,
            message,
        } => {
            let diagnostic = Diagnostic::new("E0401", format!("this is no graph: {message}"));
            diagnostic
                .at(source.spot(*line, (*column).max(1), 1, "here"))
                .help("docs/graph-format.md lists the keys of a graph file")
                .cannot()
        }
        GraphFileError::Graph(errors) => {
            let told = errors.0.iter().take(100).map(|error| {
                    let diagnostic = Diagnostic::new("E0402", error.to_string());
                    match declared(source, error.subject()) {
                        Some(spot) => diagnostic.at(spot),
                        None => in_file(diagnostic),
                    }
                });
            let mut diagnostics: Vec<Diagnostic> = told.collect();
            let more = errors.0.len().saturating_sub(diagnostics.len());
            if let Some(last) = diagnostics.last_mut().filter(|_| more > 0) {
                last.notes.push(format!("and {more} more errors"));
            }
            Failure::Told {
                exit: CANNOT,
                diagnostics,
            }
        }
        GraphFileError::ShapeOverflow { .. } => in_file(Diagnostic::new("E0404", error.to_string()))
            .help("are the dimensions right?")
            .cannot(),
        GraphFileError::Unsized { .. } => in_file(Diagnostic::new("E0404", error.to_string()))
            .help("state `bytes`, or `dtype` and `shape`; for a custom operator --ops FILE.ron can say its result's shape")
            .cannot(),
        GraphFileError::Empty => in_file(Diagnostic::new("E0103", error.to_string())).cannot(),
        _ => in_file(Diagnostic::new("E0403", error.to_string())).cannot(),
    }
}

/// Where a tensor or node of this name is declared in the text of a graph: the first place that
/// reads `"name": "NAME"` (JSON) or `name: "NAME"` (RON).
fn declared(source: &Source, name: &str) -> Option<Spot> {
    let quoted = serde_json::to_string(name).ok()?;
    let is_key = |before: &str| {
        let key = before
            .trim_end()
            .strip_suffix(':')
            .map(|key| key.trim_end().trim_end_matches('"'));
        key.is_some_and(|key| key.ends_with("name"))
    };
    let (at, _) = source
        .text
        .match_indices(&quoted)
        .find(|&(at, _)| is_key(&source.text[..at]))?;
    let line_start = source.text[..at]
        .rfind('\n')
        .map_or(0, |line_break| line_break + 1);
    let line = source.text[..at].matches('\n').count() + 1;
    let column = source.text[line_start..at].chars().count() + 1;
    Some(source.spot(line, column, quoted.chars().count(), "declared here"))
}

pub(super) fn facts_failure(source: &Source, error: &facts::FactsError) -> Failure {
    let diagnostic = Diagnostic::new("E0405", format!("cannot use the operator facts: {error}"));
    match error {
        facts::FactsError::Syntax { line, column, .. } => {
            diagnostic.at(source.spot(*line, *column, 1, "here"))
        }
        _ => diagnostic.note(format!("in {}", source.path)),
    }
    .help("docs/graph-format.md shows a facts file")
    .cannot()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are_declared() {
        let text = "{\"tensors\":[\n {\"name\": \"a\"}],\n\"ops\":[{\"inputs\":[\"a\"]}]}";
        let source = Source {
            path: "g.json".into(),
            text: text.into(),
        };
        let spot = declared(&source, "a").unwrap();
        assert_eq!((spot.line, spot.column, spot.width), (2, 11, 3));
        assert!(declared(&source, "b").is_none());
    }
}
