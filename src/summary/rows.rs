//! Rows of the summary: label, size, text, and what is at the end.

use crate::report::wrap::hung;

/// Characters before the third column.
const INDENT: usize = 23;
/// Between the third column and the last.
const GAP: usize = 4;

/// `label     size    text`, with further lines where the text is too long.
pub(super) fn row(label: &str, size: &str, text: &str, columns: usize) -> Vec<String> {
    hung(&format!("{label:<9} {size:>9}    "), text, columns)
}

/// Rows with the last column aligned, memories by themselves, as far as there is room; where there is none at all, it
/// goes to a line of its own.
pub(super) fn aligned(rows: &[[String; 4]], columns: usize) -> Vec<String> {
    let chars = |text: &str| text.chars().count();
    let memory = |row: &[String; 4]| row[0].starts_with(' ');
    let room = |row: &[String; 4]| columns.saturating_sub(INDENT + GAP + chars(&row[3]));
    let wide = |of_memories: bool| {
        let short = |row: &&[String; 4]| {
            memory(row) == of_memories && (row[3].is_empty() || chars(&row[2]) <= room(row))
        };
        let short = rows.iter().filter(short).map(|row| chars(&row[2]));
        short.max().unwrap_or(0)
    };
    let (others, memories) = (wide(false), wide(true));
    let mut lines = Vec::new();
    for cells in rows {
        let [label, size, rest, end] = cells;
        let wide = if memory(cells) { memories } else { others };
        let wide = wide.min(room(cells));
        if !end.is_empty() && chars(rest) <= wide {
            let text = format!("{rest:<wide$}{:GAP$}{end}", "");
            lines.push(format!("{label:<9} {size:>9}    {text}"));
            continue;
        }
        lines.extend(row(label, size, rest, columns));
        if !end.is_empty() {
            lines.extend(row("", "", end, columns));
        }
    }
    lines
}
