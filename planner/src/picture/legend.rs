//! Under the panels: what the marks mean, and what is claimed about the heights.

use super::scene::{LEFT, Panel, Scene, WIDTH};
use super::text::{self, escape, px};
use crate::table::{self, ArenaSummary};
use std::fmt::Write;

/// Markup, and the y at which it ends.
pub(super) struct Legend {
    pub(super) markup: String,
    pub(super) bottom: f64,
}

/// Writes the legend from `top` on, only with what occurs, then the footer.
pub(super) fn write(scene: &Scene, top: f64) -> Legend {
    let mut markup = String::from("<g class=\"legend\">");
    let (mut x, mut y) = (LEFT, top);
    for (sample, words) in entries(scene) {
        let wide = 30.0 + text::width(words) * 11.0 + 12.0;
        if x + wide > WIDTH - 10.0 {
            (x, y) = (LEFT, y + 20.0);
        }
        let _ = write!(
            markup,
            "<g transform=\"translate({} {})\">{sample}<text x=\"30\" y=\"4\">{words}</text></g>",
            px(x),
            px(y)
        );
        x += wide;
    }
    if scene.panels.is_empty() {
        y -= 20.0;
    }
    markup += "</g>\n";
    for line in footer(scene) {
        y += 20.0;
        let (x, y) = (px(LEFT), px(y + 4.0));
        let _ = writeln!(
            markup,
            "<text class=\"soft foot\" x=\"{x}\" y=\"{y}\">{}</text>",
            escape(&line)
        );
    }
    Legend { markup, bottom: y }
}

fn swatch(class: &str) -> String {
    format!("<path class=\"{class}\" d=\"M2 -6h22v12h-22z\"/>")
}

fn filled(pattern: &str) -> String {
    swatch("b c1") + &format!("<path fill=\"url(#bay-{pattern})\" d=\"M2 -6h22v12h-22z\"/>")
}

fn stroke(class: &str) -> String {
    format!("<line class=\"{class}\" x1=\"2\" x2=\"24\" y1=\"0\" y2=\"0\"/>")
}

fn entries(scene: &Scene) -> Vec<(String, &'static str)> {
    let any = |test: &dyn Fn(&Panel) -> bool| scene.panels.iter().any(test);
    let items = |p: &Panel, test: &dyn Fn(&super::scene::Item) -> bool| p.items.iter().any(test);
    let hole = |p: &Panel| !table::free_ranges(scene.plan, p.arena, p.summary.peak_step).is_empty();
    let hatched = "<path class=\"hole\" fill=\"url(#bay-hole)\" d=\"M2 -6h22v12h-22z\"/>";
    let all = [
        (any(&|_| true), swatch("b c0"), "buffer, coloured by name"),
        (
            any(&|p| items(p, &|i| i.at_peak)),
            swatch("b p c0"),
            "live at the peak",
        ),
        (
            any(&|p| items(p, &|i| i.conflicts)),
            "<path class=\"b x c1\" d=\"M2 -6h22v12h-22z\"/><path fill=\"url(#bay-conflict)\" d=\"M2 -6h22v12h-22z\"/>".to_owned(),
            if scene.details.budget.is_some() {
                "do not fit under the budget together"
            } else {
                "do not fit together"
            },
        ),
        (
            any(&|p| items(p, &|i| i.fixed)),
            filled("dots"),
            "fixed offset",
        ),
        (
            any(&|p| items(p, &|i| i.scratch)),
            filled("hatch"),
            "scratch",
        ),
        (
            !scene.details.members.is_empty(),
            swatch("m"),
            "tensor sharing a buffer",
        ),
        (
            any(&|p| !p.dust.path().is_empty()),
            swatch("dust"),
            "many thin buffers",
        ),
        (any(&|_| true), swatch("pk"), "heaviest step"),
        (any(&hole), hatched.to_owned(), "hole at the peak"),
        (any(&|_| true), stroke("hl"), "height"),
        (
            any(&|p| p.summary.bound.is_some()),
            stroke("bl"),
            "lower bound",
        ),
        (
            any(&|p| scene.limit(p.arena).is_some()),
            stroke("gl"),
            if scene.details.budget.is_some() {
                "budget"
            } else {
                "capacity"
            },
        ),
    ];
    all.into_iter()
        .filter(|(occurs, ..)| *occurs)
        .map(|(_, sample, words)| (sample, words))
        .collect()
}

/// `gap 12.0 KiB (1.2 %)`, `optimal`, or that nothing is proved.
pub(super) fn verdict(summary: &ArenaSummary) -> String {
    match (summary.optimal, summary.gap()) {
        (true, _) => "optimal".into(),
        (false, Some(0)) => "meets its bound".into(),
        (false, Some(gap)) => {
            let share = 100.0 * gap as f64 / summary.height.max(1) as f64;
            format!("gap {} ({share:.1} %)", text::bytes(gap))
        }
        (false, None) => "nothing proved".into(),
    }
}

fn footer(scene: &Scene) -> Vec<String> {
    let strategy = text::limited(&scene.plan.plan().strategy, 60);
    let mut lines = Vec::new();
    for panel in &scene.panels {
        let summary = &panel.summary;
        let mut line = format!(
            "{}: strategy {strategy} · height {} ({} bytes)",
            text::limited(&summary.name, 60),
            text::bytes(summary.height),
            text::thousands(summary.height)
        );
        if let Some(bound) = summary.bound {
            let _ = write!(
                line,
                " · bound {} ({} bytes)",
                text::bytes(bound),
                text::thousands(bound)
            );
        }
        let _ = write!(line, " · {}", verdict(summary));
        lines.push(line);
    }
    let (drawn, total) = scene.drawn();
    if drawn < total {
        lines.push(format!(
            "{} of {} buffers drawn; the others are too thin or too many to see and are merged into grey",
            text::thousands(drawn as u64),
            text::thousands(total as u64)
        ));
    }
    if scene.hidden_arenas > 0 {
        lines.push(format!(
            "{} not drawn",
            text::counted(scene.hidden_arenas, "more arena")
        ));
    }
    if scene.panels.is_empty() {
        lines.push(format!("strategy {strategy} · height 0 B"));
    }
    lines
}
