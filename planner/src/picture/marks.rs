//! What is drawn inside the plots: buffers, holes, members, the peak, lines, and their words.

use super::area::Area;
use super::axis::Band;
use super::label::{self, Label, Taken};
use super::load;
use super::scene::{Item, LEFT, PLOT, Panel, Scene};
use super::text::{self, coordinate, escape, px};
use crate::ids::BufferId;
use crate::table;
use std::fmt::Write;

/// A rectangle as a path, with enough decimals to be zoomed.
fn path(areas: &[Area], decimals: usize) -> String {
    let mut out = String::new();
    for area in areas {
        let [x, w] = [area.x, area.w].map(|v| coordinate(v, decimals));
        let _ = write!(out, "M{x} {}h{w}v{}h-{w}z", px(area.y), px(area.h));
    }
    out
}

/// Everything at its address.
pub(super) fn bay(out: &mut String, scene: &Scene, panel: &Panel, hover: bool) {
    let dust = panel.dust.path();
    if !dust.is_empty() {
        let _ = writeln!(out, "<path class=\"dust\" d=\"{dust}\"/>");
    }
    *out += "<g class=\"bufs\">\n";
    for item in &panel.items {
        buffer(out, scene, item, hover);
    }
    *out += "</g>\n";
    holes(out, scene, panel);
    for (area, _) in members(scene, panel) {
        let d = path(&[area], scene.frame.decimals());
        let _ = writeln!(out, "<path class=\"m\" d=\"{d}\"/>");
    }
}

fn buffer(out: &mut String, scene: &Scene, item: &Item, hover: bool) {
    let d = path(&item.areas, scene.frame.decimals());
    let thin = item.areas.iter().all(|a| a.w < 3.0 || a.h < 3.0);
    let edge = match (thin, item.conflicts, item.at_peak) {
        (true, true, _) => "t x",
        (true, false, _) => "t",
        (false, true, _) => "b x",
        (false, false, true) => "b p",
        (false, false, false) => "b",
    };
    let colour = scene.colour(item.id);
    let _ = write!(
        out,
        "<path class=\"{edge} c{colour}\" data-b=\"{}\" d=\"{d}\"",
        item.id
    );
    if hover {
        let _ = writeln!(out, "><title>{}</title></path>", title(scene, item.id));
    } else {
        *out += "/>\n";
    }
    for (_, pattern) in [
        (item.scratch, "hatch"),
        (item.fixed, "dots"),
        (item.conflicts, "conflict"),
    ]
    .iter()
    .filter(|(is, _)| *is && !thin)
    {
        let _ = writeln!(
            out,
            "<path class=\"over\" fill=\"url(#bay-{pattern})\" d=\"{d}\"/>"
        );
    }
}

/// What hovering shows: the name, where, when, and the notes.
fn title(scene: &Scene, id: BufferId) -> String {
    let buffer = &scene.plan.problem().buffers()[id];
    let offset = scene.plan.plan().places[id].offset;
    let mut lines = format!(
        "{}\n{} bytes ({}) at {}..{}\nsteps {}",
        text::limited(&buffer.name, 200),
        text::thousands(buffer.size()),
        text::bytes(buffer.size()),
        text::thousands(offset),
        text::thousands(offset + buffer.size()),
        buffer.lifetime()
    );
    for (key, value) in scene.lines(id) {
        let _ = write!(lines, "\n{key}: {value}");
    }
    escape(&lines)
}

fn holes(out: &mut String, scene: &Scene, panel: &Panel) {
    let summary = &panel.summary;
    let (x, w) = peak_x(scene, panel, 9.0);
    for (lo, hi) in table::free_ranges(scene.plan, panel.arena, summary.peak_step) {
        let y = panel.bay.y(hi);
        let h = panel.bay.y(lo) - y;
        if h >= 1.0 {
            let _ = writeln!(
                out,
                "<path class=\"hole\" {} fill=\"url(#bay-hole)\" d=\"{}\"><title>hole: {} free at the peak</title></path>",
                zoomed(panel, 9.0, y, h),
                path(&[Area { x, y, w, h }], 3),
                text::bytes(hi - lo)
            );
        }
    }
}

/// Members with something to see, and what they are called.
pub(super) fn members<'a>(
    scene: &'a Scene,
    panel: &'a Panel,
) -> impl Iterator<Item = (Area, &'a str)> {
    let here = scene.details.members.iter().filter(|member| {
        let place = scene.plan.plan().places.get(member.buffer);
        place.is_some_and(|place| place.arena == panel.arena)
    });
    here.filter_map(|member| {
        let area = scene.area(&panel.bay, member.buffer, member.rect);
        (area.w >= 1.0 && area.h >= 1.0).then_some((area, &*member.label))
    })
}

/// The load, stacked by buffer where that can be seen.
pub(super) fn load(out: &mut String, scene: &Scene, panel: &Panel) {
    let bands = load::stacked(scene.plan, panel.arena, &scene.frame, &panel.load);
    if let Some(bands) = bands {
        let edge = if bands.len() <= 60 { "a" } else { "t" };
        for (id, d) in bands {
            let colour = scene.colour(id);
            let _ = writeln!(
                out,
                "<path class=\"{edge} c{colour}\" data-b=\"{id}\" d=\"{d}\"/>"
            );
        }
    } else {
        let d = load::area(&panel.summary.load_profile, &scene.frame, &panel.load);
        let _ = writeln!(out, "<path class=\"sum\" d=\"{d}\"/>");
    }
}

/// What the page's script needs to keep a mark at the peak step at least `least` pixels wide.
fn zoomed(panel: &Panel, least: f64, y: f64, h: f64) -> String {
    let [least, y, h] = [least, y, h].map(px);
    let step = panel.summary.peak_step;
    format!("data-peak=\"{step}\" data-least=\"{least}\" data-y=\"{y}\" data-h=\"{h}\"")
}

/// Start and width of the peak step in pixels, never narrower than `least`.
fn peak_x(scene: &Scene, panel: &Panel, least: f64) -> (f64, f64) {
    let w = scene.frame.step_width();
    let x = scene.frame.x(panel.summary.peak_step.0);
    let wide = w.max(least);
    ((x - (wide - w) / 2.0).clamp(0.0, PLOT - wide), wide)
}

/// The peak step as a band.
pub(super) fn peak(out: &mut String, scene: &Scene, panel: &Panel, band: &Band) {
    let (x, w) = peak_x(scene, panel, 2.0);
    let h = band.height;
    let d = path(&[Area { x, y: 0.0, w, h }], scene.frame.decimals());
    let zoom = zoomed(panel, 2.0, 0.0, h);
    let narrow = if w < 6.0 { " narrow" } else { "" };
    let _ = writeln!(out, "<path class=\"pk{narrow}\" {zoom} d=\"{d}\"/>");
}

/// "peak: step N (operator)" above the plot.
pub(super) fn peak_name(out: &mut String, scene: &Scene, panel: &Panel, y: f64) {
    let step = panel.summary.peak_step;
    let mut words = format!("peak: step {}", text::thousands(u64::from(step.0)));
    if let Some(name) = scene.details.step_name(step.0) {
        let _ = write!(words, " ({})", text::limited(name, 48));
    }
    let load = text::bytes(panel.summary.max_load);
    let _ = write!(words, ", {load} live");
    let x = scene.frame.x(step.0) + scene.frame.step_width() / 2.0;
    let half = text::width(&words) * 11.0 / 2.0;
    let anchor = match x {
        x if x < half => "start",
        x if x > PLOT - half => "end",
        _ => "middle",
    };
    let _ = writeln!(
        out,
        "<text class=\"pt\" text-anchor=\"{anchor}\" data-x=\"{0}\" x=\"{1}\" y=\"{2}\">{3}</text>",
        px(x),
        px(LEFT + x),
        px(y),
        escape(&words)
    );
}

/// A horizontal line: class, class of its name, byte, name.
type Line = (&'static str, &'static str, u64, String);

fn horizontals(scene: &Scene, panel: &Panel) -> Vec<Line> {
    let summary = &panel.summary;
    let named = |name: &str, bytes: u64| format!("{name} {}", text::bytes(bytes));
    let mut lines = vec![("hl", "", summary.height, named("height", summary.height))];
    if let Some((name, limit)) = scene.limit(panel.arena) {
        lines.push(("gl", "gt", limit, named(name, limit)));
    }
    if let Some(bound) = summary.bound {
        lines.push(("bl", "soft", bound, named("bound", bound)));
    }
    lines
}

/// Height, bound and budget (or capacity) across a plot.
pub(super) fn lines(out: &mut String, scene: &Scene, panel: &Panel, band: &Band) {
    for (class, _, byte, _) in horizontals(scene, panel) {
        if byte <= band.most {
            let y = px(band.y(byte));
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"-9\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/>",
                px(PLOT + 9.0)
            );
        }
    }
}

/// The lines' names to the right, moved apart where they would touch.
pub(super) fn line_names(out: &mut String, scene: &Scene, panel: &Panel, band: &Band) {
    let mut names = horizontals(scene, panel);
    let height = panel.summary.height;
    if panel.summary.bound == Some(height) {
        names.retain(|line| line.0 != "bl");
        names[0].3 = format!("height = bound {}", text::bytes(height));
    }
    names.sort_by_key(|line| std::cmp::Reverse(line.2));
    let mut free = band.top + 4.0;
    for (_, class, byte, name) in names {
        let above = if byte > band.most { " ↑" } else { "" };
        let y = (band.top + band.y(byte.min(band.most)) + 4.0).max(free);
        free = y + 14.0;
        let _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{name}{above}</text>",
            px(LEFT + PLOT + 6.0),
            px(y)
        );
    }
}

/// Names inside rectangles; the largest rectangles choose first.
pub(super) fn labels(out: &mut String, scene: &Scene, panel: &Panel) {
    let mut wanted: Vec<(Area, &str, Option<String>)> = members(scene, panel)
        .map(|(area, name)| (area, name, None))
        .collect();
    for item in panel.items.iter().filter(|i| !scene.has_members(i.id)) {
        let buffer = &scene.plan.problem().buffers()[item.id];
        let largest = item
            .areas
            .iter()
            .copied()
            .max_by(|a, b| (a.w * a.h).total_cmp(&(b.w * b.h)));
        let size = Some(text::bytes(buffer.size()));
        wanted.extend(largest.map(|area| (area, &*buffer.name, size)));
    }
    wanted.sort_by(|a, b| (b.0.w * b.0.h).total_cmp(&(a.0.w * a.0.h)));
    let mut taken = Taken::default();
    *out += "<g class=\"labels\">\n";
    for (area, name, size) in wanted {
        let label = label::fit(name, size.as_deref(), &area);
        if let Some(label) = label.filter(|label| taken.take(label)) {
            word(out, &label, panel.bay.top);
        }
    }
    *out += "</g>\n";
}

fn word(out: &mut String, label: &Label, top: f64) {
    let turn = if label.upwards { " rotate(-90)" } else { "" };
    let (x, y) = (px(LEFT + label.x), px(top + label.y));
    let line = label.size * label::LINE;
    let first = -line * (label.lines.len() as f64 - 1.0) / 2.0;
    let mut spans = String::new();
    for (index, text) in label.lines.iter().enumerate() {
        let dy = if index == 0 { first } else { line };
        let soft = if index + 1 == label.lines.len() && label.detailed {
            " fill-opacity=\".7\""
        } else {
            ""
        };
        let _ = write!(
            spans,
            "<tspan x=\"0\" dy=\"{}\"{soft}>{}</tspan>",
            px(dy),
            escape(text)
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"l\" font-size=\"{}\" transform=\"translate({x} {y}){turn}\">{spans}</text>",
        px(label.size)
    );
}
