//! The only code that prints. Data goes to stdout through [`Out`], everything else to stderr.

pub(crate) mod codes;
pub(crate) mod diagnostics;
pub(crate) mod grid;
pub(crate) mod progress;
pub(crate) mod wrap;

use crate::args::Colour;
use crate::failure::Failure;
use anstream::AutoStream;
use serde::Serialize;
use std::io::{IsTerminal, StdoutLock, Write};

/// Standard output, with colour only where it is wanted.
pub(crate) struct Out {
    stream: AutoStream<StdoutLock<'static>>,
    /// Characters in a line of the terminal; none when it is not one.
    pub(crate) width: Option<usize>,
    pub(crate) json: bool,
    pub(crate) colour: Colour,
    /// Something was printed.
    pub(crate) used: bool,
}

impl Out {
    pub(crate) fn new(colour: Colour, json: bool) -> Self {
        let choice = choice(colour);
        let terminal = std::io::stdout().is_terminal();
        let from_terminal =
            || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let columns = std::env::var("COLUMNS")
            .ok()
            .and_then(|columns| columns.parse().ok());
        Self {
            stream: AutoStream::new(std::io::stdout().lock(), choice),
            width: if terminal {
                columns.or_else(from_terminal)
            } else {
                columns
            },
            json,
            colour,
            used: false,
        }
    }

    /// Characters of a line: those of the terminal, or as many as people expect.
    pub(crate) fn columns(&self) -> usize {
        self.width.unwrap_or(wrap::COLUMNS)
    }

    /// Prints a line; what would control the terminal, line breaks too, is made visible.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.used = true;
        writeln!(self.stream, "{}", grid::visible(line))?;
        Ok(())
    }

    /// Prints lines.
    pub(crate) fn lines(&mut self, lines: &[String]) -> Result<(), Failure> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Prints text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.used = true;
        self.stream.write_all(text.as_bytes())?;
        Ok(())
    }

    /// Prints a value as JSON.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).expect("reports are plain data");
        self.text(&text)?;
        self.text("\n")
    }

    /// Everything is really out.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.stream.flush()?;
        Ok(())
    }
}

/// What the streams shall do about colour.
pub(crate) fn choice(colour: Colour) -> anstream::ColorChoice {
    match colour {
        Colour::Auto => anstream::ColorChoice::Auto,
        Colour::Always => anstream::ColorChoice::Always,
        Colour::Never => anstream::ColorChoice::Never,
    }
}

/// Tells something beside the data (stderr). A closed stderr is nobody's business.
pub(crate) fn remark(colour: Colour, text: &str) {
    let mut stream = AutoStream::new(std::io::stderr().lock(), choice(colour));
    let _ = writeln!(stream, "{text}");
}
