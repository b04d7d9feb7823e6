//! Tables of text: columns that align, and columns that give way on a narrow terminal.
//!
//! Goes in: columns with a weight, rows of cells. Comes out: lines. If the lines do not fit, the
//! columns of least weight are left out first and named in a line below; then the widest cells of
//! shrinkable columns are cut in the middle.

use comfy_table::presets;
use comfy_table::{Cell, CellAlignment, Table};

/// A column.
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) right: bool,
    /// Columns of smaller weight are left out first; 0: never.
    pub(crate) weight: u8,
}

/// A column of text.
pub(crate) const fn left(title: &'static str, weight: u8) -> Column {
    Column {
        title,
        right: false,
        weight,
    }
}

/// A column of numbers.
pub(crate) const fn right(title: &'static str, weight: u8) -> Column {
    Column {
        title,
        right: true,
        weight,
    }
}

/// Rows under columns.
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// The least width that a name is cut to.
const SHORTEST: usize = 10;
/// The least width that a name is cut to while columns could be left out instead.
const COMFORTABLE: usize = 28;

impl Grid {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
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
        let mut widths: Vec<usize> = self.columns.iter().map(|c| chars(c.title)).collect();
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
        table.set_header(self.columns.iter().map(|c| c.title));
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
            lines.push_str("; widen the terminal, or use --format csv)\n");
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

    fn remove(&mut self, index: usize) -> &'static str {
        self.rows.iter_mut().for_each(|row| {
            row.remove(index);
        });
        self.columns.remove(index).title
    }

    /// Leaves out columns, then shortens names, until a line fits. Returns what was left out.
    fn fit(&mut self, width: usize) -> Vec<&'static str> {
        let mut hidden = Vec::new();
        loop {
            let widths = self.widths();
            let total: usize = widths.iter().map(|w| w + 2).sum();
            if total <= width {
                return hidden;
            }
            let candidates = (0..self.columns.len()).filter(|&i| self.columns[i].weight > 0);
            let Some(least) = candidates.min_by_key(|&i| self.columns[i].weight) else {
                let over = total - width;
                let texts = (0..self.columns.len()).filter(|&i| !self.columns[i].right);
                if let Some(widest) = texts.max_by_key(|&i| widths[i]) {
                    let limit = widths[widest].saturating_sub(over).max(SHORTEST);
                    self.rows
                        .iter_mut()
                        .for_each(|row| row[widest] = shorten(&row[widest], limit));
                }
                return hidden;
            };
            // A name may be cut down to this before a column goes.
            let name = (0..self.columns.len())
                .find(|&i| !self.columns[i].right && self.columns[i].weight == 0);
            if let Some(name) = name {
                let limit = widths[name].saturating_sub(total - width);
                if limit >= widths[name].min(COMFORTABLE) {
                    self.rows
                        .iter_mut()
                        .for_each(|row| row[name] = shorten(&row[name], limit));
                    return hidden;
                }
            }
            hidden.push(self.remove(least));
        }
    }
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
        assert!(text.contains("no room for: why"), "{text}");
        let rows = text.lines().take(3);
        assert!(
            rows.clone().all(|line| line.chars().count() <= 36),
            "{text}"
        );
        let tiny = grid().lines(Some(24));
        assert!(tiny.contains('…'), "{tiny}");
    }

    #[test]
    fn shortened_names_keep_both_ends() {
        assert_eq!(shorten("block_1/expand/relu", 11), "block…/relu");
        assert_eq!(shorten("abc", 11), "abc");
    }
}
