//! The load over time in a line, and who lives at its heaviest step.

use super::Figures;
use crate::report::grid::{shorten, visible};
use crate::report::wrap::hung;
use crate::session::Session;
use crate::units::bytes;
use bayplan_planner::{BufferId, Lifetime, table};

/// The load over all steps: one character for each range of steps, its largest load.
pub(super) fn sparkline(session: &Session, figures: &Figures, width: Option<usize>) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let steps = session.checked.problem().horizon().0;
    if steps == 0 || figures.max_load == 0 {
        return "nothing lives in the arena".into();
    }
    let columns =
        u64::from(steps).min(width.map_or(64, |w| w.saturating_sub(12).clamp(8, 64)) as u64);
    let edge = |column: u64| u32::try_from(u64::from(steps) * column / columns).unwrap_or(u32::MAX);
    let bar = |column: u64| {
        let steps = Lifetime::new(edge(column), edge(column + 1));
        let load = figures.profile.max_during(steps);
        let level = (u128::from(load) * 8).div_ceil(u128::from(figures.max_load));
        if load == 0 {
            ' '
        } else {
            BARS[usize::try_from(level).unwrap_or(8).clamp(1, 8) - 1]
        }
    };
    (0..columns).map(bar).collect()
}

/// The heaviest step and the largest of what lives there.
pub(super) fn peak(session: &Session, figures: &Figures, columns: usize) -> Vec<String> {
    if figures.max_load == 0 {
        return Vec::new();
    }
    let (problem, plan) = (session.checked.problem(), session.checked.plan());
    let mut live = table::live_ids(&session.checked, figures.peak);
    live.retain(|&id| session.is_temporary(plan.places[id].arena));
    let told = |shown: usize| {
        let name = |&id: &BufferId| {
            let buffer = &problem.buffers()[id];
            let name = shorten(&visible(&buffer.name), 28);
            format!("{name} {}", bytes(buffer.size()))
        };
        let names: Vec<String> = live.iter().take(shown).map(name).collect();
        let more = match live.len().saturating_sub(shown) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let step = session.step_label(figures.peak);
        hung(
            "peak      ",
            &format!("{step}: {}{more}", names.join(", ")),
            columns,
        )
    };
    // Two lines for the sake of the names, if need be.
    let one = (2..=4).rev().map(told).find(|lines| lines.len() == 1);
    one.unwrap_or_else(|| told(2))
}
