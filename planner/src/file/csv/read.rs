//! Reads a CSV of buffers.
//!
//! Goes in: the text of a file from anywhere. Comes out: a [`Parsed`] problem, or everything that is
//! wrong with the file, each with its place. Time and memory grow linearly with the text.

use super::cell::{self, BLANKS, Cell, Line, capped};
use super::error::{CsvError, CsvErrors, Sink, Spot, shorten};
use super::header::{self, Header};
use super::parsed::{Dialect, Parsed};
use super::{codes, gaps};
use crate::ids::Table;
use crate::lifetime::Lifetime;
use crate::problem::{Buffer, Problem, Rect};
use std::collections::HashMap;

/// Reads the text of a CSV file. Offsets that it gives are kept apart from the problem; see
/// [`Parsed::with_fixed_offsets`] and [`Parsed::is_solution`].
pub fn read(text: &str) -> Result<Parsed, CsvErrors> {
    let mut sink = Sink::default();
    let mut lines = lines(text.strip_prefix('\u{feff}').unwrap_or(text));
    let Some(first) = lines.find(|&line| is_plain(line, &mut sink)) else {
        if sink.is_empty() {
            sink.push(no_lines);
        }
        return Err(sink.into_errors());
    };
    let Some(header) = header::read(first, &mut sink) else {
        return Err(sink.into_errors());
    };
    let mut rows = Rows::default();
    let mut cells = Vec::with_capacity(header.names.len());
    for line in lines {
        if is_plain(line, &mut sink) && split(line, &header, &mut cells, &mut sink) {
            rows.add(line, &header, &cells, &mut sink);
        }
    }
    if !sink.is_empty() {
        return Err(sink.into_errors());
    }
    rows.finish(&header)
}

/// The lines that are not blank.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = text.split('\n').enumerate().map(|(index, text)| Line {
        number: capped(index.saturating_add(1)),
        text: text.strip_suffix('\r').unwrap_or(text),
    });
    numbered.filter(|line| !line.text.trim_matches(BLANKS).is_empty())
}

/// Refuses comments and quotes.
fn is_plain(line: Line, sink: &mut Sink) -> bool {
    let whole = line.whole();
    if whole.text.starts_with('#') || whole.text.starts_with("//") {
        let message = "comments are not part of this format";
        sink.push(|| {
            CsvError::new(codes::COMMENT, whole.spot(), message, "this line has to go")
                .help("the first line is the header, such as `id,lower,upper,size`")
        });
        return false;
    }
    if let Some(quote) = whole.find('"') {
        let message = "quotes are not part of this format";
        sink.push(|| {
            CsvError::new(codes::QUOTE, quote.spot(), message, "found here")
                .help("write the cell without quotes; ids cannot contain commas")
        });
        return false;
    }
    true
}

fn no_lines() -> CsvError {
    CsvError::new(codes::NO_HEADER, Spot::WHOLE_FILE, "the file is empty", "")
        .help("it begins with a header such as `id,lower,upper,size`")
}

/// Fills `cells`, unless there are not as many as the header has names.
fn split<'t>(line: Line<'t>, header: &Header, cells: &mut Vec<Cell<'t>>, sink: &mut Sink) -> bool {
    let expected = header.names.len();
    cells.clear();
    cells.extend(line.cells().take(expected));
    let found = || line.text.matches(',').count().saturating_add(1);
    if cells.len() == expected && found() == expected {
        return true;
    }
    sink.push(|| {
        let message = format!("{} fields where the header names {expected}", found());
        let label = format!("{expected} fields are expected here");
        CsvError::new(codes::FIELD_COUNT, line.whole().spot(), message, label)
    });
    false
}

/// What has been read so far.
#[derive(Default)]
struct Rows<'t> {
    first_line: HashMap<&'t str, u32>,
    buffers: Vec<Buffer>,
    lines: Vec<u32>,
    offsets: Vec<Option<u64>>,
    spots: Vec<Option<Spot>>,
}

impl<'t> Rows<'t> {
    fn add(&mut self, line: Line, header: &Header, cells: &[Cell<'t>], sink: &mut Sink) {
        let name = self.name(line, cells[header.id], sink);
        let lifetime = lifetime(header, cells, sink);
        let size = cell::number(cells[header.size], header.names[header.size].1, sink);
        let alignment = alignment(header, cells, sink);
        let extent = extent(header, cells, lifetime, size, sink);
        let offset = optional(header, header.offset, cells, sink);
        let (Some(extent), Some(alignment), Ok(offset)) = (extent, alignment, offset) else {
            return;
        };
        let spot = offset.and(header.offset).map(|at| cells[at].spot());
        self.buffers
            .push(Buffer::with_extent(name, extent).aligned(alignment));
        self.lines.push(line.number);
        self.offsets.push(offset);
        self.spots.push(spot);
    }

    fn name(&mut self, line: Line, cell: Cell<'t>, sink: &mut Sink) -> &'t str {
        let name = cell.text;
        if let Some(why) = name_fault(name) {
            let message = format!("this id {why}");
            sink.push(|| {
                CsvError::new(codes::BAD_ID, cell.spot(), message, "an id is needed here")
            });
        } else if let Some(first) = self.first_line.insert(name, line.number) {
            self.first_line.insert(name, first);
            sink.push(|| {
                let message = format!("id `{}` is given twice", shorten(name));
                let label = format!("first on line {first}");
                CsvError::new(codes::SAME_ID, cell.spot(), message, label)
            });
        }
        name
    }

    fn finish(self, header: &Header) -> Result<Parsed, CsvErrors> {
        let problem = Problem::single(self.buffers).map_err(|errors| {
            let mut sink = Sink::default();
            for error in &errors.0 {
                sink.push(|| CsvError::new(codes::SUMS, Spot::WHOLE_FILE, error.to_string(), ""));
            }
            sink.into_errors()
        })?;
        Ok(Parsed {
            problem,
            offsets: Table::from(self.offsets),
            lines: Table::from(self.lines),
            dialect: Dialect::of(header),
            offset_spots: Table::from(self.spots),
        })
    }
}

/// Why text is no id, in words that follow "this id".
pub(super) fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().any(char::is_control) {
        Some("contains a control character")
    } else {
        None
    }
}

fn lifetime(header: &Header, cells: &[Cell], sink: &mut Sink) -> Option<Lifetime> {
    let (from, to) = (cells[header.lower], cells[header.end]);
    let mut read = |cell: Cell, position: usize, inclusive: bool| {
        let name = header.names[position].1;
        let number = cell::number(cell, name, sink)?;
        let step = cell::step(number, inclusive);
        if step.is_none() {
            sink.push(|| cell::step_too_large(cell, name));
        }
        step
    };
    let start = read(from, header.lower, false);
    let end = read(to, header.end, header.inclusive);
    let lifetime = Lifetime::new(start?, end?);
    if lifetime.is_empty() {
        sink.push(|| empty_lifetime(header, cells, lifetime));
        return None;
    }
    Some(lifetime)
}

fn empty_lifetime(header: &Header, cells: &[Cell], lifetime: Lifetime) -> CsvError {
    let (from, to) = (cells[header.lower], cells[header.end]);
    let message = format!("lifetime of `{}` is empty", shorten(cells[header.id].text));
    let (label, help) = if header.inclusive {
        (
            format!(
                "starts at step {}, is last live at step {}",
                from.text, to.text
            ),
            "`end` is the last step at which the buffer is live",
        )
    } else {
        (
            format!(
                "starts at step {}, is dead from step {}",
                lifetime.start, lifetime.end
            ),
            "lifetimes are half-open: `upper` is the first step at which the buffer is dead",
        )
    };
    CsvError::new(codes::EMPTY_LIFETIME, from.spot_to(to), message, label).help(help)
}

/// The number in an optional column; `Err` when it is there and wrong.
fn optional(
    header: &Header,
    position: Option<usize>,
    cells: &[Cell],
    sink: &mut Sink,
) -> Result<Option<u64>, ()> {
    position.map_or(Ok(None), |position| {
        cell::optional(cells[position], header.names[position].1, sink)
    })
}

fn alignment(header: &Header, cells: &[Cell], sink: &mut Sink) -> Option<u64> {
    let alignment = optional(header, header.alignment, cells, sink)
        .ok()?
        .unwrap_or(1);
    let position = header.alignment.filter(|_| alignment == 0);
    position.map_or(Some(alignment), |position| {
        sink.push(|| {
            let name = shorten(cells[header.id].text);
            let message = format!("alignment of `{name}` is 0");
            let spot = cells[position].spot();
            CsvError::new(codes::ALIGNMENT_ZERO, spot, message, "must be at least 1")
                .help("leave the cell empty where any offset will do")
        });
        None
    })
}

fn extent(
    header: &Header,
    cells: &[Cell],
    lifetime: Option<Lifetime>,
    size: Option<u64>,
    sink: &mut Sink,
) -> Option<Vec<Rect>> {
    let gaps = match header.gaps {
        None => Vec::new(),
        Some(position) => gaps::parse(cells[position], header.inclusive, sink)?,
    };
    let owner = gaps::Owner {
        name: cells[header.id].text,
        lifetime: lifetime?,
        size: size?,
    };
    Some(gaps::extent(owner, &gaps, sink))
}
