//! Writes a [`Scene`] as SVG: the document, its panels, axes and lines.
//!
//! Each plot is a nested `<svg>` in its own pixels, so that what does not fit is clipped and the
//! page's script can zoom it by its `viewBox` alone. Attributes `data-*` are for that script.

use super::axis::{self, Band};
use super::scene::{LEFT, PLOT, Panel, Scene, WIDTH};
use super::text::{self, coordinate, escape, px};
use super::{legend, marks};
use std::fmt::Write;

/// The style sheet, for the SVG by itself and inside the page.
pub(super) const STYLE: &str = include_str!("picture.css");

const PATTERNS: &str = r##"<defs>
<pattern id="bay-hatch" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="#16191d" stroke-opacity=".45" stroke-width="1" fill="none"/></pattern>
<pattern id="bay-dots" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="2" cy="2" r="1.1" fill="#16191d" fill-opacity=".5"/></pattern>
<pattern id="bay-conflict" width="9" height="9" patternUnits="userSpaceOnUse"><path d="M0 0L9 9M0 9L9 0" stroke="#d1242f" stroke-opacity=".35" stroke-width="1" fill="none"/></pattern>
<pattern id="bay-hole" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M-1 4L1 6M-1 -1L6 6M4 -1L6 1" stroke="#c2410c" stroke-width="1" fill="none"/></pattern>
</defs>
"##;

/// The whole picture. `alone`: with its title, and one to hover over each buffer; the page has both.
pub(super) fn document(scene: &Scene, alone: bool) -> String {
    let bottom = scene.panels.last().map_or(140.0, |p| axis_top(p) + 26.0) + names_height(scene);
    let legend = legend::write(scene, bottom + 16.0);
    let title = escape(&text::limited(&scene.details.title, 160));
    let cut = if alone { 0.0 } else { 34.0 };
    let (cut, height, page) = (
        px(cut),
        px(legend.bottom + 14.0 - cut),
        px(legend.bottom + 14.0),
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"bay\" viewBox=\"0 {cut} {0} {height}\" \
         width=\"{0}\" height=\"{height}\" role=\"img\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n{PATTERNS}\
         <rect class=\"bg\" width=\"{0}\" height=\"{page}\"/>\n\
         <text class=\"h1\" x=\"14\" y=\"28\">{title}</text>\n\
         <text class=\"soft\" x=\"14\" y=\"46\">steps to the right, addresses upwards</text>\n",
        px(WIDTH)
    );
    if scene.panels.is_empty() {
        out += "<text class=\"h2\" x=\"14\" y=\"96\">nothing to place</text>\n";
    }
    for (index, panel) in scene.panels.iter().enumerate() {
        self::panel(&mut out, scene, index, panel, alone);
    }
    step_names(&mut out, scene);
    out += &legend.markup;
    out + "</svg>\n"
}

/// Where the step axis under a panel begins.
fn axis_top(panel: &Panel) -> f64 {
    panel.load.top + panel.load.height
}

fn panel(out: &mut String, scene: &Scene, index: usize, panel: &Panel, hover: bool) {
    let _ = writeln!(out, "<g class=\"panel\" data-panel=\"{index}\">");
    heading(out, scene, panel);
    for (band, name) in [(&panel.bay, "address"), (&panel.load, "load")] {
        byte_axis(out, band, name);
        plot_start(out, band);
        grid(out, scene, band);
        if name == "address" {
            marks::bay(out, scene, panel, hover);
        } else {
            marks::load(out, scene, panel);
        }
        marks::peak(out, scene, panel, band);
        marks::lines(out, scene, panel, band);
        *out += "</svg>\n";
        marks::line_names(out, scene, panel, band);
    }
    marks::labels(out, scene, panel);
    step_axis(out, scene, panel);
    *out += "</g>\n";
}

fn heading(out: &mut String, scene: &Scene, panel: &Panel) {
    let name = &panel.summary.name;
    let top = panel.bay.top - 44.0;
    let facts = format!(
        "{} · {} of {}",
        text::bytes(panel.summary.height),
        text::counted(panel.buffers, "buffer"),
        text::bytes(panel.summary.naive_bytes)
    );
    let _ = writeln!(
        out,
        "<text class=\"h2\" x=\"{}\" y=\"{}\">{} <tspan class=\"soft\" font-weight=\"400\">{facts}</tspan></text>",
        px(LEFT),
        px(top + 16.0),
        escape(&text::limited(name, 80)),
    );
    marks::peak_name(out, scene, panel, top + 37.0);
}

fn plot_start(out: &mut String, band: &Band) {
    let (w, h) = (px(PLOT), px(band.height));
    let _ = writeln!(
        out,
        "<svg class=\"plot\" x=\"{}\" y=\"{}\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" preserveAspectRatio=\"none\">\
         <rect class=\"field\" x=\"-1\" width=\"{}\" height=\"{h}\"/>",
        px(LEFT),
        px(band.top),
        px(PLOT + 2.0)
    );
}

fn grid(out: &mut String, scene: &Scene, band: &Band) {
    let (mut rows, mut path) = (String::new(), String::new());
    for byte in axis::byte_ticks(band) {
        let _ = write!(rows, "M0 {}h{}", px(band.y(byte)), px(PLOT));
    }
    for step in axis::step_ticks(&scene.frame, 11.0) {
        let x = coordinate(scene.frame.x(step), scene.frame.decimals());
        let _ = write!(path, "M{x} 0v{}", px(band.height));
    }
    let _ = writeln!(
        out,
        "<path class=\"grid\" data-rows=\"{rows}\" d=\"{rows}{path}\"/>"
    );
}

fn byte_axis(out: &mut String, band: &Band, name: &str) {
    let _ = write!(out, "<g class=\"soft\" text-anchor=\"end\">");
    for byte in axis::byte_ticks(band) {
        let y = band.top + band.y(byte);
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"{}\" y=\"{}\">{}</text>",
            px(LEFT - 6.0),
            px(y + 4.0),
            text::tick_bytes(byte)
        );
    }
    let (x, y) = (13.0, band.top + band.height / 2.0);
    let _ = writeln!(
        out,
        "<text class=\"soft\" text-anchor=\"middle\" transform=\"translate({} {}) rotate(-90)\">{name}</text></g>",
        px(x),
        px(y)
    );
}

fn step_axis(out: &mut String, scene: &Scene, panel: &Panel) {
    let y = axis_top(panel) + 14.0;
    let _ = write!(out, "<g class=\"steps\" data-y=\"{}\">", px(y));
    for step in axis::step_ticks(&scene.frame, 11.0) {
        let _ = write!(
            out,
            "<text class=\"soft\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
            px(LEFT + scene.frame.x(step)),
            px(y),
            text::thousands(u64::from(step))
        );
    }
    let _ = writeln!(
        out,
        "</g><text class=\"soft\" x=\"{}\" y=\"{}\">step</text>",
        px(LEFT + PLOT + 26.0),
        px(y)
    );
}

/// Room under the last panel for operator names, where there are few enough steps to write them.
fn names_height(scene: &Scene) -> f64 {
    let names = shown_names(scene).map(|(_, name)| text::width(&name) * 10.0);
    let widest = names.fold(0.0, f64::max);
    if widest > 0.0 { widest + 8.0 } else { 0.0 }
}

fn shown_names<'a>(scene: &'a Scene) -> impl Iterator<Item = (u32, String)> + 'a {
    let fits = scene.frame.step_width() >= 13.0 && !scene.panels.is_empty();
    let steps = scene.frame.first..scene.frame.end;
    steps.take(if fits { 200 } else { 0 }).filter_map(|step| {
        let name = scene.details.step_name(step)?;
        Some((step, text::shorten(name, 12.0, 3)?))
    })
}

fn step_names(out: &mut String, scene: &Scene) {
    let Some(last) = scene.panels.last() else {
        return;
    };
    *out += "<g class=\"ops\" text-anchor=\"end\" font-size=\"10\">";
    for (step, name) in shown_names(scene) {
        let x = scene.frame.x(step) + scene.frame.step_width() / 2.0;
        let _ = write!(
            out,
            "<text class=\"soft\" data-x=\"{}\" data-turn=\"{1}\" transform=\"translate({2} {1}) rotate(-90)\">{3}</text>",
            px(x),
            px(axis_top(last) + 22.0),
            px(LEFT + x + 3.5),
            escape(&name)
        );
    }
    *out += "</g>\n";
}
