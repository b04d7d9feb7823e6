//! The page: summaries, search, the picture, and a script that lets one look closer.
//!
//! Everything is in the one file. The picture is the same SVG (without hover titles: the page has
//! its own), so it also shows where scripts do not run. Data for the script travel as JSON in a
//! `<script>` that no name can close.

use super::scene::{LEFT, PLOT, Panel, Scene};
use super::text::{self, escape};
use super::{legend, svg};
use crate::ids::{BufferId, Id};
use crate::table::{self, BufferRow};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Beyond this many buffers the page knows only those that are drawn.
const MOST_ROWS: usize = 150_000;
/// Operator names that travel with the page.
const MOST_OPS: usize = 100_000;
/// Rows of the table of what is live at a peak.
const MOST_LIVE: usize = 100;

/// The whole page.
pub(super) fn page(scene: &Scene) -> String {
    let title = escape(&text::limited(&scene.details.title, 160));
    let json = serde_json::to_string(&Data::new(scene)).unwrap_or_else(|_| "null".into());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         {}\
         <div class=\"bar\"><input id=\"search\" type=\"search\" placeholder=\"find a buffer\" aria-label=\"find a buffer\">\
         <button id=\"reset\" type=\"button\">whole picture</button>\
         <span id=\"found\">wheel zooms along the steps, dragging moves, hovering tells</span></div>\n\
         {}{}<div id=\"tip\" role=\"tooltip\"></div>\n\
         <script type=\"application/json\" id=\"plan\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        arenas(scene),
        svg::document(scene, false),
        live(scene),
        text::script_safe(&json)
    )
}

/// One line for each arena.
fn arenas(scene: &Scene) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table><tr><th>arena</th><th>height</th><th>bound</th><th>verdict</th>\
         <th>max load</th><th>at step</th><th>buffers</th><th>sum of buffers</th>\
         <th>saved by placing</th><th>fragmentation</th></tr>\n",
    );
    for panel in &scene.panels {
        let s = &panel.summary;
        let exact = |b: u64| {
            format!(
                "<td title=\"{0} bytes\">{1}</td>",
                text::thousands(b),
                text::bytes(b)
            )
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td>{}{}<td>{}</td>{}<td>{}</td><td>{}</td>{}<td>{:.1} %</td><td>{:.1} %</td></tr>",
            escape(&text::limited(&s.name, 80)),
            exact(s.height),
            s.bound.map_or("<td>none</td>".into(), exact),
            escape(&legend::verdict(s)),
            exact(s.max_load),
            text::thousands(u64::from(s.peak_step.0)),
            text::thousands(panel.buffers as u64),
            exact(s.naive_bytes),
            100.0 * s.reuse_rate,
            100.0 * s.fragmentation
        );
    }
    out + "</table></div>\n"
}

/// Who is live at each peak, the largest first.
fn live(scene: &Scene) -> String {
    let mut out = String::new();
    for panel in &scene.panels {
        let mut rows = table::live_at(scene.plan, panel.summary.peak_step);
        rows.retain(|row| row.arena == panel.arena);
        let op = scene.details.step_name(panel.summary.peak_step.0);
        let op = op.map_or(String::new(), |name| {
            format!(" ({})", text::limited(name, 80))
        });
        let _ = writeln!(
            out,
            "<details><summary>{}: {} live at step {}{}</summary>\n\
             <div class=\"wide\"><table><tr><th>buffer</th><th>bytes</th><th>offset</th><th>end</th><th>steps</th></tr>",
            escape(&text::limited(&panel.summary.name, 80)),
            text::counted(rows.len(), "buffer"),
            text::thousands(u64::from(panel.summary.peak_step.0)),
            escape(&op)
        );
        for row in rows.iter().take(MOST_LIVE) {
            let [size, offset, end] = [row.size, row.offset, row.end].map(text::thousands);
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{size}</td><td>{offset}</td><td>{end}</td><td>{}</td></tr>",
                escape(&text::limited(&row.name, 160)),
                row.lifetime
            );
        }
        if rows.len() > MOST_LIVE {
            let rest = text::counted(rows.len() - MOST_LIVE, "smaller buffer");
            let _ = writeln!(out, "<tr><td>and {rest}</td></tr>");
        }
        out += "</table></div></details>\n";
    }
    out
}

/// id, name, panel, offset, size, start, end, colour, flags, rectangles (null for just one).
type Row = (
    BufferId,
    String,
    usize,
    u64,
    u64,
    u32,
    u32,
    usize,
    u8,
    Option<Vec<crate::problem::Rect>>,
);

/// What the script reads; the order within a row is repeated there.
#[derive(Serialize)]
struct Data {
    first: u32,
    end: u32,
    left: f64,
    plot: f64,
    panels: Vec<PanelData>,
    ops: Vec<String>,
    buffers: Vec<Row>,
    notes: BTreeMap<BufferId, Vec<(String, String)>>,
    members: Vec<(BufferId, String, u32, u32, u64, u64)>,
}

#[derive(Serialize)]
struct PanelData {
    name: String,
    top: f64,
    height: f64,
    head: f64,
    most: u64,
}

impl Data {
    fn new(scene: &Scene) -> Self {
        let panels = scene.panels.iter().map(|p| PanelData {
            name: text::limited(&p.summary.name, 80),
            top: p.bay.top,
            height: p.bay.height,
            head: p.bay.head,
            most: p.bay.most,
        });
        let buffers = rows(scene);
        let noted = buffers.iter().map(|row| (row.0, scene.lines(row.0)));
        let ops = scene.details.step_names.iter().take(MOST_OPS);
        let known: BTreeSet<BufferId> = buffers.iter().map(|row| row.0).collect();
        let members = scene
            .details
            .members
            .iter()
            .filter(|m| known.contains(&m.buffer));
        Self {
            first: scene.frame.first,
            end: scene.frame.end,
            left: LEFT,
            plot: PLOT,
            panels: panels.collect(),
            ops: ops.map(|name| text::limited(name, 80)).collect(),
            notes: noted.filter(|(_, notes)| !notes.is_empty()).collect(),
            members: members
                .map(|m| {
                    let (start, end, lo, hi) = m.rect.into();
                    (m.buffer, text::limited(&m.label, 120), start, end, lo, hi)
                })
                .collect(),
            buffers,
        }
    }
}

fn rows(scene: &Scene) -> Vec<Row> {
    let drawn = |p: &Panel| p.items.iter().map(|i| i.id).collect::<Vec<_>>();
    let drawn: BTreeSet<BufferId> = scene.panels.iter().flat_map(drawn).collect();
    let mut all = table::rows(scene.plan);
    all.retain(|row| row.size > 0);
    if all.len() > MOST_ROWS {
        all.retain(|row| drawn.contains(&row.id));
    }
    all.sort_unstable_by_key(|row| row.id.index());
    let rows = all.iter().filter_map(|row| {
        let panel = scene.panels.iter().position(|p| p.arena == row.arena)?;
        Some(self::row(scene, row, panel, drawn.contains(&row.id)))
    });
    rows.collect()
}

fn row(scene: &Scene, row: &BufferRow, panel: usize, drawn: bool) -> Row {
    let flags = [
        row.at_peak,
        row.fixed,
        scene.details.is_scratch(row.id),
        drawn,
    ];
    let flags = flags
        .iter()
        .rev()
        .fold(0, |bits, &flag| bits << 1 | u8::from(flag));
    let extent = &scene.plan.problem().buffers()[row.id].extent;
    (
        row.id,
        text::limited(&row.name, 200),
        panel,
        row.offset,
        row.size,
        row.lifetime.start.0,
        row.lifetime.end.0,
        scene.colour(row.id),
        flags,
        (extent.len() > 1).then(|| extent.clone()),
    )
}
