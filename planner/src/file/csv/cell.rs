//! Lines, cells and the numbers in them.
//!
//! Goes in: the text of the file. Comes out: trimmed pieces that remember where they were; columns
//! are counted only when an error needs one.

use super::codes;
use super::error::{CsvError, Sink, Spot, shorten};

/// What separates words inside a cell and may surround it.
pub(super) const BLANKS: [char; 2] = [' ', '\t'];

/// One line of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    /// 1-based.
    pub(super) number: u32,
    pub(super) text: &'t str,
}

impl<'t> Line<'t> {
    /// The cells, trimmed.
    pub(super) fn cells(self) -> impl Iterator<Item = Cell<'t>> {
        let mut next = 0;
        self.text.split(',').map(move |raw| {
            let indent = raw.len() - raw.trim_start_matches(BLANKS).len();
            let at = next + indent;
            next += raw.len() + 1;
            let text = raw.trim_matches(BLANKS);
            Cell {
                line: self,
                at,
                text,
            }
        })
    }

    /// The whole line, trimmed.
    pub(super) fn whole(self) -> Cell<'t> {
        let at = self.text.len() - self.text.trim_start_matches(BLANKS).len();
        let text = self.text.trim_matches(BLANKS);
        Cell {
            line: self,
            at,
            text,
        }
    }
}

/// A trimmed piece of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'t> {
    line: Line<'t>,
    /// Where in the line, in bytes.
    at: usize,
    pub(super) text: &'t str,
}

impl Cell<'_> {
    pub(super) fn spot(self) -> Spot {
        let before = self.line.text.get(..self.at).unwrap_or("");
        Spot {
            line: self.line.number,
            column: capped(before.chars().count()).saturating_add(1),
            width: capped(self.text.chars().count()).max(1),
        }
    }

    /// From the start of this cell to the end of `other` when it is the next one, else `other`.
    pub(super) fn spot_to(self, other: Self) -> Spot {
        let between = self.line.text.get(self.at..other.at);
        if between.is_none_or(|text| text.matches(',').count() != 1) {
            return other.spot();
        }
        let (from, to) = (self.spot(), other.spot());
        let width = to.column.saturating_add(to.width) - from.column;
        Spot { width, ..from }
    }

    /// The words in it, separated by blanks.
    pub(super) fn words(self) -> impl Iterator<Item = Self> {
        let mut next = self.at;
        let words = self.text.split(BLANKS).map(move |text| {
            let at = next;
            next += text.len() + 1;
            Cell { at, text, ..self }
        });
        words.filter(|word| !word.text.is_empty())
    }

    /// The part from the first `needle` on, one character wide.
    pub(super) fn find(self, needle: char) -> Option<Self> {
        let at = self.text.find(needle)?;
        let text = &self.text[at..at + needle.len_utf8()];
        Some(Cell {
            at: self.at + at,
            text,
            ..self
        })
    }
}

/// A count as far as `u32` goes.
pub(super) fn capped(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Why digits are no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotNumber {
    Empty,
    Negative,
    NotWhole,
    TooLarge,
}

/// A whole number in decimal digits and nothing else.
pub(super) fn digits(text: &str) -> Result<u64, NotNumber> {
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() {
        return Err(NotNumber::Empty);
    }
    if let Some(rest) = text.strip_prefix('-')
        && !rest.is_empty()
        && all_digits(rest)
    {
        return Err(NotNumber::Negative);
    }
    if !all_digits(text) {
        return Err(NotNumber::NotWhole);
    }
    text.parse().map_err(|_| NotNumber::TooLarge)
}

/// The number in a cell of the column `name`.
pub(super) fn number(cell: Cell, name: &str, sink: &mut Sink) -> Option<u64> {
    match digits(cell.text) {
        Ok(number) => Some(number),
        Err(fault) => {
            sink.push(|| not_number(cell, name, fault));
            None
        }
    }
}

/// As [`number`], but nothing is `None` and no error.
pub(super) fn optional(cell: Cell, name: &str, sink: &mut Sink) -> Result<Option<u64>, ()> {
    if cell.text.is_empty() {
        return Ok(None);
    }
    number(cell, name, sink).map(Some).ok_or(())
}

fn not_number(cell: Cell, name: &str, fault: NotNumber) -> CsvError {
    let (code, what, label) = match fault {
        NotNumber::Empty => (
            codes::NOT_A_NUMBER,
            "is empty",
            "a whole number is needed here".to_owned(),
        ),
        NotNumber::Negative => (
            codes::NOT_A_NUMBER,
            "is negative",
            format!("found {}", shorten(cell.text)),
        ),
        NotNumber::NotWhole => (
            codes::NOT_A_NUMBER,
            "is not a whole number",
            format!("found `{}`", shorten(cell.text)),
        ),
        NotNumber::TooLarge => (
            codes::TOO_LARGE,
            "does not fit in 64 bits",
            format!("the largest number is {}", u64::MAX),
        ),
    };
    CsvError::new(
        code,
        cell.spot(),
        format!("`{}` {what}", shorten(name)),
        label,
    )
}

/// The step that a number means; 1 more when it names the last step instead of the first dead one.
pub(super) fn step(number: u64, inclusive: bool) -> Option<u32> {
    let number = number.checked_add(u64::from(inclusive))?;
    u32::try_from(number).ok()
}

/// Step numbers stop below 2^32.
pub(super) fn step_too_large(cell: Cell, name: &str) -> CsvError {
    let message = format!("`{}` is too large for a time step", shorten(name));
    CsvError::new(
        codes::TOO_LARGE,
        cell.spot(),
        message,
        "time steps must be below 2^32",
    )
    .help("only the order of the steps matters: number them anew from 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_trimmed_and_know_their_columns() {
        let line = Line {
            number: 7,
            text: " é,\t12 ,,x ",
        };
        let cells: Vec<Cell> = line.cells().collect();
        let found: Vec<_> = cells
            .iter()
            .map(|cell| (cell.text, cell.spot().column, cell.spot().width))
            .collect();
        assert_eq!(found, [("é", 2, 1), ("12", 5, 2), ("", 9, 1), ("x", 10, 1)]);
        assert_eq!(cells[0].spot_to(cells[1]).width, 5);
        assert_eq!(cells[0].spot_to(cells[3]), cells[3].spot());
        assert_eq!(line.whole().spot().column, 2);
    }

    #[test]
    fn words_know_their_columns() {
        let line = Line {
            number: 1,
            text: "a,  1-2\t 3-4",
        };
        let cell = line.cells().last().unwrap();
        let words: Vec<_> = cell.words().map(|w| (w.text, w.spot().column)).collect();
        assert_eq!(words, [("1-2", 5), ("3-4", 10)]);
        assert_eq!(cell.find('-').unwrap().spot().column, 6);
    }

    #[test]
    fn numbers_are_digits_up_to_64_bits() {
        assert_eq!(digits("007"), Ok(7));
        assert_eq!(digits("18446744073709551615"), Ok(u64::MAX));
        for (text, fault) in [
            ("", NotNumber::Empty),
            ("-64", NotNumber::Negative),
            ("-", NotNumber::NotWhole),
            ("+1", NotNumber::NotWhole),
            ("1.0", NotNumber::NotWhole),
            ("1_000", NotNumber::NotWhole),
            ("٣", NotNumber::NotWhole),
            ("18446744073709551616", NotNumber::TooLarge),
        ] {
            assert_eq!(digits(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn an_inclusive_end_is_one_more() {
        assert_eq!(step(3, false), Some(3));
        assert_eq!(step(3, true), Some(4));
        assert_eq!(step(u64::from(u32::MAX), false), Some(u32::MAX));
        assert_eq!(step(u64::from(u32::MAX), true), None);
        assert_eq!(step(u64::MAX, true), None);
    }
}
