//! Tables of text: columns that align, and columns that give way on a narrow terminal.
//!
//! Goes in: columns with a weight, rows of cells. Comes out: lines. If the lines do not fit, texts
//! are cut, the widest first, down to what can still be read; if that does not suffice, the columns
//! of least weight are left out and named in a line below; at last names are cut further.

use comfy_table::presets;
use comfy_table::{Cell, CellAlignment, Table};
use std::borrow::Cow;

/// A column.
pub(crate) struct Column {
    pub(crate) title: Cow<'static, str>,
    pub(crate) right: bool,
    /// Columns of smaller weight are left out first; 0: never.
    pub(crate) weight: u8,
    /// Where a text is cut that is too long.
    pub(crate) cut: Cut,
}

/// Where a text is cut.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    /// Names: their ends tell the most.
    Middle,
    /// Lists and sentences: their beginning does.
    End,
}

/// A column of text.
pub(crate) fn left(title: &'static str, weight: u8) -> Column {
    Column {
        title: title.into(),
        right: false,
        weight,
        cut: Cut::Middle,
    }
}

/// A column of lists or sentences, which are cut at their end.
pub(crate) fn list(title: &'static str, weight: u8) -> Column {
    Column {
        cut: Cut::End,
        ..left(title, weight)
    }
}

/// A column of numbers.
pub(crate) fn right(title: &'static str, weight: u8) -> Column {
    Column {
        title: title.into(),
        right: true,
        weight,
        cut: Cut::Middle,
    }
}

/// A column of numbers with a title from a file or a flag.
pub(crate) fn named(title: &str, weight: u8) -> Column {
    Column {
        title: visible(title).into(),
        ..right("", weight)
    }
}

/// Rows under columns.
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// The flag that shows what there is no room for.
    elsewhere: &'static str,
}

/// Blanks between columns.
const GAP: usize = 2;
/// The least width that a name is cut to.
const SHORTEST: usize = 10;
/// The least width that a name is cut to while columns could be left out instead.
const COMFORTABLE: usize = 28;
/// The same for texts of columns that can be left out.
const READABLE: usize = 20;

impl Grid {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            elsewhere: "--json",
        }
    }

    /// The flag that shows what there is no room for, if it is not `--json`.
    pub(crate) fn or(mut self, elsewhere: &'static str) -> Self {
        self.elsewhere = elsewhere;
        self
    }

    /// Whether lines of `width` characters have room for everything, uncut.
    pub(crate) fn fits(&mut self, width: Option<usize>) -> bool {
        self.drop_empty();
        let total: usize = self.widths().iter().map(|w| w + GAP).sum();
        width.is_none_or(|width| total <= width + GAP)
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows
            .push(cells.into_iter().map(|cell| visible(&cell)).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| chars(&c.title)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(chars(cell));
            }
        }
        widths
    }

    /// The lines, for a terminal of `width` characters, or as wide as needed.
    pub(crate) fn lines(mut self, width: Option<usize>) -> String {
        self.drop_empty();
        let hidden = width.map_or_else(Vec::new, |width| self.fit(width));
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(self.columns.iter().map(|c| c.title.as_ref()));
        for row in &self.rows {
            table.add_row(row.iter().map(Cell::new));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.columns[index].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut lines: String = table
            .lines()
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect();
        if !hidden.is_empty() {
            let hidden = hidden.join(", ");
            lines.push_str("(no room for: ");
            lines.push_str(&hidden);
            lines.push_str("; widen the terminal, or use ");
            lines.push_str(self.elsewhere);
            lines.push_str(")\n");
        }
        lines
    }

    /// Columns in which every cell is empty say nothing.
    fn drop_empty(&mut self) {
        for index in (0..self.columns.len()).rev() {
            let empty = !self.rows.is_empty() && self.rows.iter().all(|row| row[index].is_empty());
            if empty && self.columns[index].weight > 0 {
                self.remove(index);
            }
        }
    }

    fn remove(&mut self, index: usize) -> Cow<'static, str> {
        self.rows.iter_mut().for_each(|row| {
            row.remove(index);
        });
        self.columns.remove(index).title
    }

    /// Cuts texts and leaves out columns until a line fits. Returns what was left out.
    fn fit(&mut self, width: usize) -> Vec<Cow<'static, str>> {
        // Nothing follows the last column.
        let width = width + GAP;
        let mut hidden = Vec::new();
        loop {
            let widths = self.widths();
            let floors = self.floors(&widths);
            if total(&floors) <= width {
                let limit = widest_cut(&widths, &floors, width);
                self.cut(|column| limit.max(floors[column]));
                return hidden;
            }
            let candidates = (0..self.columns.len()).filter(|&i| self.columns[i].weight > 0);
            let Some(least) = candidates.min_by_key(|&i| self.columns[i].weight) else {
                let over = total(&floors) - width;
                let texts = (0..self.columns.len()).filter(|&i| !self.columns[i].right);
                if let Some(widest) = texts.max_by_key(|&i| floors[i]) {
                    let limit = floors[widest].saturating_sub(over).max(SHORTEST);
                    self.cut(|column| {
                        if column == widest {
                            limit
                        } else {
                            floors[column]
                        }
                    });
                }
                return hidden;
            };
            hidden.push(self.remove(least));
        }
    }

    /// The least width of each column at which it can still be read.
    fn floors(&self, widths: &[usize]) -> Vec<usize> {
        let floor = |(column, &width): (&Column, &usize)| match column {
            Column { right: true, .. } => width,
            Column { weight: 0, .. } => width.min(COMFORTABLE),
            _ => width.min(READABLE.max(chars(&column.title))),
        };
        self.columns.iter().zip(widths).map(floor).collect()
    }

    /// Cuts the texts of each column to its limit.
    fn cut(&mut self, limit: impl Fn(usize) -> usize) {
        for row in &mut self.rows {
            for (index, column) in self.columns.iter().enumerate().filter(|(_, c)| !c.right) {
                row[index] = match column.cut {
                    Cut::Middle => shorten(&row[index], limit(index)),
                    Cut::End => ended(&row[index], limit(index)),
                };
            }
        }
    }
}

/// The characters of a line with columns of these widths, and the gap after the last.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + GAP).sum()
}

/// The largest limit to which columns can be cut, where their floors allow, so that a line fits.
fn widest_cut(widths: &[usize], floors: &[usize], width: usize) -> usize {
    let at = |limit: usize| -> usize {
        let cut = widths.iter().zip(floors);
        cut.map(|(&natural, &floor)| natural.min(limit.max(floor)) + GAP)
            .sum()
    };
    let most = widths.iter().copied().max().unwrap_or(0);
    let (mut fits, mut beyond) = (0, most + 1);
    while fits + 1 < beyond {
        let middle = fits.midpoint(beyond);
        if at(middle) <= width {
            fits = middle;
        } else {
            beyond = middle;
        }
    }
    fits
}

/// Cuts the end off a text that is too long.
fn ended(text: &str, limit: usize) -> String {
    if chars(text) <= limit || limit < 3 {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit - 1).collect();
    format!("{}…", kept.trim_end_matches([' ', ',']))
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Names come from files: what controls a terminal, or turns the direction of text, must not reach
/// one.
pub(crate) fn visible(text: &str) -> String {
    let harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| if harmful(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Cuts the middle out of a text that is too long: its ends tell the most.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let length = chars(text);
    if length <= limit || limit < 3 {
        return text.to_owned();
    }
    let head = (limit - 1) / 2;
    let tail = limit - 1 - head;
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(length - tail).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![
            left("name", 0),
            right("bytes", 0),
            left("why", 1),
            left("empty", 2),
        ]);
        grid.row(
            [
                "block_1/expand/relu",
                "4,816,896",
                "last read by block_1/depthwise",
                "",
            ]
            .map(str::to_owned)
            .to_vec(),
        );
        grid.row(
            ["x\u{1b}[31m", "12", "graph output", ""]
                .map(str::to_owned)
                .to_vec(),
        );
        grid
    }

    #[test]
    fn columns_align_and_empty_ones_go() {
        let expected = "\
name                     bytes  why
block_1/expand/relu  4,816,896  last read by block_1/depthwise
x\u{fffd}[31m                      12  graph output
";
        assert_eq!(grid().lines(None), expected);
    }

    #[test]
    fn a_narrow_terminal_loses_the_lightest_column_then_the_middle_of_names() {
        let text = grid().lines(Some(36));
        assert!(
            text.contains("no room for: why; widen the terminal, or use --json"),
            "{text}"
        );
        let rows = text.lines().take(3);
        assert!(
            rows.clone().all(|line| line.chars().count() <= 36),
            "{text}"
        );
        let tiny = grid().lines(Some(24));
        assert!(tiny.contains('…'), "{tiny}");
    }

    #[test]
    fn long_texts_are_cut_before_a_column_goes() {
        let mut grid = Grid::new(vec![left("name", 0), list("reads", 1), right("bytes", 2)]);
        let name = "a/very/long/name/of/a/tensor/that/nobody/reads/twice";
        let reads = format!("{name}, {name}");
        grid.row(vec![name.into(), reads, "12".into()]);
        assert!(!grid.fits(Some(100)) && grid.fits(None));
        let text = grid.lines(Some(70));
        assert_eq!(
            text,
            "\
name                            reads                           bytes
a/very/long/na…ody/reads/twice  a/very/long/name/of/a/tensor/…     12
"
        );
    }

    #[test]
    fn a_table_that_just_fits_is_left_alone() {
        let natural = grid().lines(None);
        let widest = natural.lines().map(chars).max();
        assert_eq!(grid().lines(widest), natural);
        assert!(grid().fits(widest) && !grid().fits(widest.map(|w| w - 1)));
    }

    #[test]
    fn shortened_names_keep_both_ends() {
        assert_eq!(shorten("block_1/expand/relu", 11), "block…/relu");
        assert_eq!(shorten("abc", 11), "abc");
    }
}
