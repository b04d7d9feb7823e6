//! The state table for machines (CSV) and for documents (Markdown).

use super::{Rows, last, shape, tensor_cells};
use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::visible;
use crate::session::Session;
use crate::units::grouped;
use bayplan_graph::table::NodeRow;

pub(super) fn csv(session: &Session, rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    out.line("id,name,type,shape,bytes,role,first,last,arena,offset,end,shares_with,why")?;
    let arenas = session.checked.problem().arenas();
    for row in &rows.tensors {
        let life = row.lifetime;
        let cells = [
            row.id.to_string(),
            row.name.clone(),
            row.dtype.clone().unwrap_or_default(),
            shape(row),
            row.bytes.to_string(),
            row.role.to_owned(),
            life.map(|l| l.start.to_string()).unwrap_or_default(),
            life.map(last).unwrap_or_default(),
            row.place
                .map(|p| arenas[p.arena].name.clone())
                .unwrap_or_default(),
            row.place.map(|p| p.offset.to_string()).unwrap_or_default(),
            row.place
                .map(|p| (p.offset + row.bytes).to_string())
                .unwrap_or_default(),
            row.shares_with.join(" "),
            row.why.clone(),
        ];
        let line = cells.map(|cell| quoted(&cell)).join(",") + "\n";
        out.text(&line)?;
    }
    for row in &rows.scratch {
        let role = if rows.tensors.is_empty() {
            "buffer"
        } else {
            "scratch"
        };
        let (first, end) = (row.lifetime.start.to_string(), last(row.lifetime));
        let id = if rows.tensors.is_empty() {
            row.id.to_string()
        } else {
            String::new()
        };
        let cells = [
            id,
            row.name.clone(),
            String::new(),
            String::new(),
            row.size.to_string(),
            role.to_owned(),
            first,
            end,
            arenas[row.arena].name.clone(),
            row.offset.to_string(),
            row.end.to_string(),
            String::new(),
            String::new(),
        ];
        let line = cells.map(|cell| quoted(&cell)).join(",") + "\n";
        out.text(&line)?;
    }
    Ok(())
}

/// Ids of the operands of a node; `-` where an optional one is left out.
pub(super) fn input_ids(row: &NodeRow) -> String {
    let id = |id: &Option<u32>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    row.input_ids.iter().map(id).collect::<Vec<_>>().join(" ")
}

/// What is told of a node to other programs. Names may hold blanks, so tensors are told by id.
fn node_cells(row: &NodeRow) -> [String; 7] {
    let outputs: Vec<String> = row.output_ids.iter().map(u32::to_string).collect();
    [
        row.step.to_string(),
        row.name.clone(),
        row.op.clone(),
        row.live_bytes.to_string(),
        row.scratch_bytes.to_string(),
        input_ids(row),
        outputs.join(" "),
    ]
}

pub(super) fn nodes_csv(rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    out.line("step,node,op,live_bytes,scratch_bytes,reads,makes")?;
    for row in &rows.nodes {
        let line = node_cells(row).map(|cell| quoted(&cell)).join(",") + "\n";
        out.text(&line)?;
    }
    Ok(())
}

pub(super) fn nodes_markdown(rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    out.line("| step | node | op | live bytes | scratch bytes | reads | makes |")?;
    out.line("|---:|---|---|---:|---:|---|---|")?;
    for row in &rows.nodes {
        let cells = node_cells(row).map(|text| visible(&text).replace('|', "\\|"));
        out.line(&format!("| {} |", cells.join(" | ")))?;
    }
    Ok(())
}

/// RFC 4180: quotes only where needed.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

pub(super) fn markdown(session: &Session, rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    let cell = |text: &str| visible(text).replace('|', "\\|");
    out.line("| id | name | type | shape | bytes | role | first | last | arena | offset | end | shares with | why |")?;
    out.line("|---:|---|---|---|---:|---|---:|---:|---|---:|---:|---|---|")?;
    let arenas = session.checked.problem().arenas();
    for row in &rows.tensors {
        let [.., first, last, offset, end, shares, why] = &tensor_cells(row)[..] else {
            continue;
        };
        let [_, _, dtype, shape, bytes, role, ..] = &tensor_cells(row)[..] else {
            continue;
        };
        let arena = row
            .place
            .map(|p| arenas[p.arena].name.clone())
            .unwrap_or_default();
        let id = row.id.to_string();
        let cells = [
            &id, &row.name, dtype, shape, bytes, role, first, last, &arena, offset, end, shares,
            why,
        ];
        out.line(&format!("| {} |", cells.map(|text| cell(text)).join(" | ")))?;
    }
    for row in &rows.scratch {
        let graph = !rows.tensors.is_empty();
        let id = if graph {
            String::new()
        } else {
            row.id.to_string()
        };
        let role = if graph { "scratch" } else { "buffer" };
        out.line(&format!(
            "| {id} | {} | | | {} | {role} | {} | {} | {} | {} | {} | | |",
            cell(&row.name),
            grouped(row.size),
            row.lifetime.start,
            last(row.lifetime),
            cell(&arenas[row.arena].name),
            grouped(row.offset),
            grouped(row.end)
        ))?;
    }
    Ok(())
}
