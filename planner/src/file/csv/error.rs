//! What is wrong with a CSV file, and where.

use std::fmt;

/// At most this many errors are listed; further ones are counted.
pub const MAX_LISTED: usize = 100;

/// A place on one line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// 1-based; 0 means the whole file.
    pub(super) line: u32,
    /// 1-based, in characters.
    pub(super) column: u32,
    /// In characters, at least 1.
    pub(super) width: u32,
}

impl Spot {
    pub(super) const WHOLE_FILE: Self = Self {
        line: 0,
        column: 1,
        width: 1,
    };
}

/// One thing that is wrong with a CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvError {
    /// 1-based line; 0 when it is about the whole file.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// Characters to underline, at least 1.
    pub width: u32,
    /// Key into [`CODES`](super::CODES).
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What was found, or is expected, at the place. May be empty for the whole file.
    pub label: String,
    /// A way out.
    pub help: Option<String>,
}

impl CsvError {
    pub(super) fn new(
        code: &'static str,
        spot: Spot,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self {
            line: spot.line,
            column: spot.column,
            width: spot.width,
            code,
            message: message.into(),
            label: label.into(),
            help: None,
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        write!(f, "error[{}]: {}", self.code, self.message)?;
        if !self.label.is_empty() {
            write!(f, " ({})", self.label)?;
        }
        Ok(())
    }
}

impl std::error::Error for CsvError {}

/// Everything that is wrong with a CSV file, in the order of its lines. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvErrors {
    /// The first [`MAX_LISTED`] errors.
    pub listed: Vec<CsvError>,
    /// How many more there are.
    pub unlisted: usize,
}

impl fmt::Display for CsvErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.listed.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{error}")?;
        }
        if self.unlisted > 0 {
            write!(f, "\nand {} more", self.unlisted)?;
        }
        Ok(())
    }
}

impl std::error::Error for CsvErrors {}

/// Collects errors; those beyond the cap are counted without being made.
#[derive(Default)]
pub(super) struct Sink {
    listed: Vec<CsvError>,
    unlisted: usize,
}

impl Sink {
    pub(super) fn push(&mut self, make: impl FnOnce() -> CsvError) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(make());
        } else {
            self.unlisted = self.unlisted.saturating_add(1);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(super) fn into_errors(self) -> CsvErrors {
        CsvErrors {
            listed: self.listed,
            unlisted: self.unlisted,
        }
    }
}

/// The text as it can be quoted in a message: its first characters, control characters replaced.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 40;
    let mut characters = text.chars();
    let shown = characters.by_ref().take(MOST);
    let mut short: String = shown
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_beyond_the_cap_are_counted() {
        let mut sink = Sink::default();
        for _ in 0..250 {
            sink.push(|| CsvError::new("E0201", Spot::WHOLE_FILE, "bad", ""));
        }
        let errors = sink.into_errors();
        assert_eq!((errors.listed.len(), errors.unlisted), (100, 150));
        assert!(errors.to_string().ends_with("\nand 150 more"));
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(shorten("a\u{1b}[1m"), "a\u{fffd}[1m");
        assert_eq!(shorten(&"x".repeat(41)), "x".repeat(40) + "…");
        assert_eq!(shorten(&"x".repeat(40)), "x".repeat(40));
    }
}
