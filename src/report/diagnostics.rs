//! Diagnostics as text: code, place, label, notes, help.

use super::grid::visible;
use super::wrap::{COLUMNS, hung};
use super::{choice, remark};
use crate::args::Colour;
use crate::failure::{Diagnostic, Spot};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;
use std::io::IsTerminal;

/// Lines around the place that are shown.
const CONTEXT: usize = 0;
/// Longest piece of a line that is shown, in characters.
const MAX_LINE: usize = 160;

/// Columns that stand before the words of a note.
const MARGIN: usize = 9;

/// The answer no, where there is nothing else to say as data.
#[derive(Serialize)]
pub(crate) struct Refusal<'a> {
    errors: Vec<Told<'a>>,
}

#[derive(Serialize)]
struct Told<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

impl<'a> Refusal<'a> {
    pub(crate) fn new(diagnostics: &'a [Diagnostic]) -> Self {
        let told = diagnostics.iter().map(|diagnostic| Told {
            code: diagnostic.code,
            message: &diagnostic.title,
            notes: &diagnostic.notes,
            help: diagnostic.help.as_deref(),
        });
        Self {
            errors: told.collect(),
        }
    }
}

/// Prints diagnostics to stderr.
pub(crate) fn print(colour: Colour, diagnostics: &[Diagnostic]) {
    let plain = match choice(colour) {
        anstream::ColorChoice::Never => true,
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => false,
        anstream::ColorChoice::Auto => !std::io::stderr().is_terminal(),
    };
    let blocks: Vec<String> = diagnostics.iter().map(|d| render(d, plain)).collect();
    remark(colour, &blocks.join("\n\n"));
}

fn render(diagnostic: &Diagnostic, plain: bool) -> String {
    let clean = |text: &str| text.split('\n').map(visible).collect::<Vec<_>>().join("\n");
    let title = clean(&diagnostic.title);
    let wrapped = |text: &str| {
        let lines = text
            .split('\n')
            .flat_map(|line| hung("", line, COLUMNS - MARGIN));
        lines.collect::<Vec<_>>().join("\n")
    };
    let notes: Vec<String> = diagnostic.notes.iter().map(|note| wrapped(note)).collect();
    let help = diagnostic.help.as_deref().map(wrapped);
    let label = diagnostic
        .spot
        .as_ref()
        .map_or_else(String::new, |spot| clean(&spot.label));
    let renderer = if plain {
        Renderer::plain()
    } else {
        Renderer::styled()
    };
    let level = if diagnostic.warning {
        Level::WARNING
    } else {
        Level::ERROR
    };
    let excerpt = diagnostic.spot.as_ref().map(Excerpt::new);
    let mut group = Group::with_title(level.primary_title(&title).id(diagnostic.code));
    if let (Some(spot), Some(excerpt)) = (&diagnostic.spot, &excerpt) {
        let annotation = AnnotationKind::Primary
            .span(excerpt.span.clone())
            .label(&label);
        let snippet = Snippet::source(&excerpt.text)
            .line_start(spot.line)
            .path(&spot.path);
        group = group.element(snippet.annotation(annotation));
    }
    for note in &notes {
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help));
    }
    renderer.render(&[group])
}

/// The line of a place, cut to what fits, and the place's bytes in it.
struct Excerpt {
    text: String,
    span: std::ops::Range<usize>,
}

impl Excerpt {
    fn new(spot: &Spot) -> Self {
        let line = spot
            .text
            .lines()
            .nth(spot.line.saturating_sub(1) + CONTEXT)
            .unwrap_or("");
        let first = spot.column.saturating_sub(1);
        let skip = first.saturating_sub(MAX_LINE / 2);
        let text: String = line
            .chars()
            .skip(skip)
            .take(MAX_LINE)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let byte = |chars: usize| {
            text.char_indices()
                .nth(chars)
                .map_or(text.len(), |(at, _)| at)
        };
        let from = byte(first - skip);
        let to = byte(first - skip + spot.width.max(1)).max(from);
        Self {
            text,
            span: from..to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_line_is_underlined() {
        let diagnostic = Diagnostic::new("E0203", "lifetime of `b3` is empty")
            .at(Spot {
                path: "problem.csv".into(),
                text: "id,lower,upper,size\n\n\nb3,9,3,4\n".into(),
                line: 4,
                column: 4,
                width: 3,
                label: "starts at step 9, is dead from step 3".into(),
            })
            .help("lifetimes are half-open");
        let text = render(&diagnostic, true);
        let expected = "\
error[E0203]: lifetime of `b3` is empty
 --> problem.csv:4:4
  |
4 | b3,9,3,4
  |    ^^^ starts at step 9, is dead from step 3
  |
  = help: lifetimes are half-open";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_place() {
        let long = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let spot = Spot {
            path: "f".into(),
            text: long.into(),
            line: 1,
            column: 5001,
            width: 1,
            label: "here".into(),
        };
        let excerpt = Excerpt::new(&spot);
        assert!(excerpt.text.len() <= MAX_LINE && &excerpt.text[excerpt.span] == "X");
    }
}
