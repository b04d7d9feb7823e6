//! The nodes of the state table, for people: who runs when, with how much live, and on what.
//!
//! Operands are told by name where the lines have room for all names, else by id.

use super::Rows;
use super::export::input_ids;
use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::{Grid, left, list, right};
use crate::session::GraphSide;
use crate::units::{count, grouped};
use bayplan_graph::table::NodeRow;

pub(super) fn text(side: &GraphSide, rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    if rows.nodes.is_empty() {
        return Ok(());
    }
    out.line(&format!(
        "NODES in order of execution ({})",
        count(side.graph().nodes().len(), "step")
    ))?;
    let width = out.width;
    let mut named = node_grid(rows, |row| (row.inputs.join(" "), row.outputs.join(" ")));
    if named.fits(width) {
        return out.text(&named.lines(width));
    }
    let numbered = node_grid(rows, |row| {
        let outputs: Vec<String> = row.output_ids.iter().map(u32::to_string).collect();
        (input_ids(row), outputs.join(" "))
    });
    out.line("(tensors as ids; `-`: an operand that is left out)")?;
    out.text(&numbered.lines(width))
}

/// The nodes, with what they read and make as `operands` says it.
fn node_grid(rows: &Rows, operands: impl Fn(&NodeRow) -> (String, String)) -> Grid {
    let mut grid = Grid::new(vec![
        right("step", 0),
        left("node", 0),
        left("op", 4),
        right("live bytes", 5),
        right("scratch", 1),
        list("reads", 3),
        list("makes", 2),
    ])
    .or("--nodes --format csv");
    for row in &rows.nodes {
        let scratch = if row.scratch_bytes > 0 {
            grouped(row.scratch_bytes)
        } else {
            String::new()
        };
        let (reads, makes) = operands(row);
        grid.row(vec![
            row.step.to_string(),
            row.name.clone(),
            row.op.clone(),
            grouped(row.live_bytes),
            scratch,
            reads,
            makes,
        ]);
    }
    grid
}
