//! The header row: which column is where.

use super::cell::{Cell, Line};
use super::codes;
use super::error::{CsvError, Sink, shorten};

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// Name of the buffer: `id`, `buffer`, `buffer_id`.
    Id,
    /// First step at which it is live: `lower`, `begin`, `start`.
    Lower,
    /// First step at which it is dead: `upper`.
    Upper,
    /// Last step at which it is live: `end`.
    End,
    /// Bytes: `size`.
    Size,
    /// Its offset is a multiple of this: `alignment`.
    Alignment,
    /// Where it is: `offset`.
    Offset,
    /// When it is absent or partly in use: `gaps`.
    Gaps,
    /// Text that is passed over: `hint`.
    Hint,
}

const SPELLINGS: [(&str, Column); 13] = [
    ("id", Column::Id),
    ("buffer", Column::Id),
    ("buffer_id", Column::Id),
    ("lower", Column::Lower),
    ("begin", Column::Lower),
    ("start", Column::Lower),
    ("upper", Column::Upper),
    ("end", Column::End),
    ("size", Column::Size),
    ("alignment", Column::Alignment),
    ("offset", Column::Offset),
    ("gaps", Column::Gaps),
    ("hint", Column::Hint),
];

const KNOWN: &str = "columns are `id`, `lower` (or `begin`, `start`), `upper` or `end`, `size`, \
                     `alignment`, `offset`, `gaps`, `hint`";

impl Column {
    fn named(text: &str) -> Option<Self> {
        let same = |(spelling, _): &&(&str, Self)| text.eq_ignore_ascii_case(spelling);
        SPELLINGS.iter().find(same).map(|&(_, column)| column)
    }
}

/// A header in which every required column is found once.
#[derive(Clone, Debug)]
pub(super) struct Header<'t> {
    pub(super) id: usize,
    pub(super) lower: usize,
    /// Position of `upper` or `end`.
    pub(super) end: usize,
    /// It is `end`: the last step, not the first dead one.
    pub(super) inclusive: bool,
    pub(super) size: usize,
    pub(super) alignment: Option<usize>,
    pub(super) offset: Option<usize>,
    pub(super) gaps: Option<usize>,
    /// The names as spelled, by position; unknown ones have no column.
    pub(super) names: Vec<(Option<Column>, &'t str)>,
}

/// Reads the header. Unknown names are reported, yet the rows can still be read without them.
pub(super) fn read<'t>(line: Line<'t>, sink: &mut Sink) -> Option<Header<'t>> {
    if !line.cells().any(|cell| Column::named(cell.text).is_some()) {
        sink.push(|| no_header(line));
        return None;
    }
    let mut names = Vec::new();
    let mut found: [Option<(usize, Cell<'t>)>; 9] = [None; 9];
    let mut clear = true;
    for (position, cell) in line.cells().enumerate() {
        let column = Column::named(cell.text);
        names.push((column, cell.text));
        let Some(column) = column else {
            sink.push(|| unknown(cell, position));
            continue;
        };
        if let Some((_, first)) = found[column as usize] {
            sink.push(|| twice(first, cell));
            clear = false;
        } else {
            found[column as usize] = Some((position, cell));
        }
    }
    if let (Some((_, upper)), Some((_, end))) =
        (found[Column::Upper as usize], found[Column::End as usize])
    {
        sink.push(|| two_ends(upper, end));
        clear = false;
    }
    let header = arrange(
        line,
        found.map(|f| f.map(|(position, _)| position)),
        names,
        sink,
    );
    header.filter(|_| clear)
}

/// Requires the required columns; `at` holds positions by [`Column`].
fn arrange<'t>(
    line: Line<'t>,
    at: [Option<usize>; 9],
    names: Vec<(Option<Column>, &'t str)>,
    sink: &mut Sink,
) -> Option<Header<'t>> {
    let at = |column: Column| at[column as usize];
    let end = at(Column::Upper).or(at(Column::End));
    for (position, name) in [
        (at(Column::Id), "`id`"),
        (at(Column::Lower), "`lower`"),
        (end, "`upper` or `end`"),
        (at(Column::Size), "`size`"),
    ] {
        if position.is_none() {
            sink.push(|| missing(line, name));
        }
    }
    Some(Header {
        id: at(Column::Id)?,
        lower: at(Column::Lower)?,
        end: end?,
        inclusive: at(Column::End).is_some(),
        size: at(Column::Size)?,
        alignment: at(Column::Alignment),
        offset: at(Column::Offset),
        gaps: at(Column::Gaps),
        names,
    })
}

fn no_header(line: Line) -> CsvError {
    CsvError::new(
        codes::NO_HEADER,
        line.whole().spot(),
        "the first line is not a header",
        "column names are expected here, such as `id,lower,upper,size`",
    )
}

fn unknown(cell: Cell, position: usize) -> CsvError {
    let message = if cell.text.is_empty() {
        format!("column {} has no name", position + 1)
    } else {
        format!("unknown column `{}`", shorten(cell.text))
    };
    CsvError::new(
        codes::UNKNOWN_COLUMN,
        cell.spot(),
        message,
        "this is no column of the format",
    )
    .help(KNOWN)
}

fn twice(first: Cell, second: Cell) -> CsvError {
    CsvError::new(
        codes::COLUMN_TWICE,
        second.spot(),
        format!("column `{}` is given twice", second.text),
        format!(
            "means the same as `{}` in column {}",
            first.text,
            first.spot().column
        ),
    )
    .help("remove one of them")
}

fn two_ends(upper: Cell, end: Cell) -> CsvError {
    CsvError::new(
        codes::TWO_ENDS,
        end.spot(),
        format!("there are both `{}` and `{}`", upper.text, end.text),
        "one of them has to go",
    )
    .help("`upper` is the first step at which a buffer is dead, `end` the last at which it is live")
}

fn missing(line: Line, name: &str) -> CsvError {
    CsvError::new(
        codes::MISSING_COLUMN,
        line.whole().spot(),
        format!("there is no column {name}"),
        "the columns of this file",
    )
    .help(KNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes_of(text: &str) -> (bool, Vec<&'static str>) {
        let mut sink = Sink::default();
        let header = read(Line { number: 1, text }, &mut sink);
        let listed = sink.into_errors().listed;
        (
            header.is_some(),
            listed.iter().map(|error| error.code).collect(),
        )
    }

    #[test]
    fn columns_come_in_any_order_and_case() {
        let mut sink = Sink::default();
        let line = Line {
            number: 1,
            text: "Size, END ,hint,Begin,Buffer_ID,gaps",
        };
        let header = read(line, &mut sink).unwrap();
        assert!(sink.is_empty());
        assert_eq!(
            (header.size, header.end, header.lower, header.id),
            (0, 1, 3, 4)
        );
        assert_eq!(
            (header.gaps, header.offset, header.inclusive),
            (Some(5), None, true)
        );
    }

    #[test]
    fn every_fault_of_a_header_has_its_code() {
        for (text, readable, codes) in [
            ("id,lower,upper,size", true, &[][..]),
            ("id,lower,upper,size,bank", true, &["E0205"]),
            ("id,lower,upper,size,", true, &["E0205"]),
            ("id,lower,upper,size,begin", false, &["E0206"]),
            ("id,lower,upper,size,end", false, &["E0208"]),
            ("id,size", false, &["E0207", "E0207"]),
            ("id,lower,upper,bytes", false, &["E0205", "E0207"]),
            ("a,0,3,4096", false, &["E0201"]),
        ] {
            assert_eq!(codes_of(text), (readable, codes.to_vec()), "{text}");
        }
    }
}
