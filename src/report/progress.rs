//! A progress bar for work over half a second, on a terminal only.

use crate::args::Colour;
use bayplan_planner::Tried;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shows how many strategies have run and the lowest height so far.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    best: std::sync::Mutex<u64>,
}

impl Progress {
    pub(crate) fn new(strategies: usize, colour: Colour) -> Self {
        let bar =
            ProgressBar::with_draw_target(Some(strategies as u64), ProgressDrawTarget::hidden());
        let template = "{spinner} {pos}/{len} strategies  [{bar:24}] {elapsed}  {msg}";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style.progress_chars("=> "));
        let progress = Self {
            bar,
            started: Instant::now(),
            best: std::sync::Mutex::new(u64::MAX),
        };
        progress.show_later(colour);
        progress
    }

    /// Shows itself once half a second has gone by; the thread ends with the bar.
    fn show_later(&self, colour: Colour) {
        if colour == Colour::Never && !std::io::stderr().is_terminal()
            || !std::io::stderr().is_terminal()
        {
            return;
        }
        let bar = self.bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            if !bar.is_finished() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(100));
            }
        });
    }

    /// One strategy more has run.
    pub(crate) fn step(&self, tried: &Tried) {
        let heights = tried
            .heights
            .as_ref()
            .and_then(|heights| heights.values().next());
        let height = heights.copied().unwrap_or(u64::MAX);
        if let Ok(mut best) = self.best.lock() {
            *best = height.min(*best);
            self.bar
                .set_message(format!("best {}", crate::units::bytes(*best)));
        }
        self.bar.inc(1);
    }

    /// Takes the bar away; returns the time since the start.
    pub(crate) fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.started.elapsed()
    }
}
