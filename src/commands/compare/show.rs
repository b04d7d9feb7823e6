//! The rows of `compare` as a table.

use super::{Json, Row, Taken, stock};
use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::{Column, Grid, left, named, right};
use crate::summary;
use crate::units::{bytes, grouped};

/// What is compared, and against what.
fn title(table: &Json) -> String {
    let naive = format!("{} if nothing were shared", bytes(table.naive_bytes));
    let bound = table.lower_bound_bytes;
    let (short, exact) = (bytes(bound), grouped(bound));
    format!("{}: bound {short} ({exact} bytes), {naive}", table.input)
}

/// The rows as a table, with what is to be said of it.
pub(super) fn print(table: &Json, out: &mut Out) -> Result<(), Failure> {
    out.line(&title(table))?;
    // What sets strategies apart is the height, or, in several memories, what is where.
    let first = table.rows.iter().find(|row| !row.arenas.is_empty());
    let grid = match first {
        Some(first) => memories(table, &first.arenas),
        None => heights(table),
    };
    let width = out.width;
    out.text(&grid.lines(width))?;
    if first.is_some() {
        out.line("spilled: traffic that is not in its first choice; the bytes come after it")?;
    }
    if let Some(by) = table.stopped.and_then(summary::cut_by) {
        out.line(&format!("stopped by {by}: another run may show other rows"))?;
    }
    stock::print(&table.stock, out)
}

fn switch(any: bool, row: &Row) -> String {
    match (any, row.in_place) {
        (false, _) => String::new(),
        (true, true) => "on".into(),
        (true, false) => "off".into(),
    }
}

fn heights(table: &Json) -> Grid {
    let any = table.rows.iter().any(|row| row.in_place);
    let mut columns = vec![
        left("strategy", 0),
        left("in-place", 3),
        right("arena", 0),
        right("bytes", 2),
        right("of bound", 1),
        right("ms", 1),
    ];
    columns.extend(verdict(table));
    let mut grid = Grid::new(columns);
    for row in &table.rows {
        let mut cells = vec![
            row.strategy.into(),
            switch(any, row),
            bytes(row.arena_bytes),
            grouped(row.arena_bytes),
            if row.lower_bound_bytes > 0 {
                format!("{:.4}", row.ratio)
            } else {
                String::new()
            },
            format!("{:.1}", row.elapsed_ms),
        ];
        cells.extend(verdict(table).map(|_| beyond(row)));
        grid.row(cells);
    }
    grid
}

/// The column for what does not fit, where there is something.
fn verdict(table: &Json) -> Option<Column> {
    let mut rows = table.rows.iter();
    rows.any(|row| row.fits == Some(false))
        .then(|| left("fits", 4))
}

fn beyond(row: &Row) -> String {
    match row.fits {
        Some(false) => "does not fit".into(),
        _ => String::new(),
    }
}

/// What each strategy takes in each memory, and what it spills.
fn memories(table: &Json, names: &[Taken]) -> Grid {
    let any = table.rows.iter().any(|row| row.in_place);
    let mut columns = vec![
        left("strategy", 0),
        left("in-place", 3),
        right("spilled", 0),
    ];
    columns.extend(names.iter().map(|taken| named(&taken.name, 1)));
    columns.extend([right("together", 1), right("ms", 2)]);
    columns.extend(verdict(table));
    let mut grid = Grid::new(columns);
    for row in &table.rows {
        let spilled = row.spilled_traffic_bytes.map_or_else(String::new, grouped);
        let mut cells = vec![row.strategy.into(), switch(any, row), spilled];
        cells.extend(row.arenas.iter().map(|taken| grouped(taken.bytes)));
        cells.extend([grouped(row.arena_bytes), format!("{:.1}", row.elapsed_ms)]);
        cells.extend(verdict(table).map(|_| beyond(row)));
        grid.row(cells);
    }
    grid
}
