//! A progress bar for work over half a second, on a terminal only.
//!
//! ```text
//! ⠹ strategies 2/12  [=====>                  ] 23 %  4s  best 55.9 MiB, bound 55.4 MiB, gap 495 KiB (0.9 %)
//! ⠹ search  4s  best 1.02 MiB, bound 1.00 MiB, gap 23.5 KiB (2.3 %)  1,480,192 nodes, 369,000 a second
//! ```

use crate::interrupt;
use crate::units::{bytes, grouped, percent};
use bayplan_planner::{Progress, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Parts of the bar; strategies report them as their share of what there is to place.
const PARTS: u64 = 1000;
/// Between two changes of the words.
const PAUSE: Duration = Duration::from_millis(100);
/// Nodes a second are those of the last while, not of the last change.
const WINDOW: Duration = Duration::from_secs(1);

/// One line that says what is being done.
pub(crate) struct Bar {
    bar: ProgressBar,
    shown: Mutex<Shown>,
}

/// What was last shown.
struct Shown {
    at: Option<Instant>,
    searching: bool,
    /// When how many nodes were counted, a while ago.
    mark: (Instant, u64),
    rate: u64,
}

impl Bar {
    /// For work that says nothing about how far it is.
    pub(crate) fn new(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::hidden());
        let this = Self {
            bar,
            shown: Mutex::new(Shown {
                at: None,
                searching: false,
                mark: (Instant::now(), 0),
                rate: 0,
            }),
        };
        this.look("{spinner} {prefix}  {elapsed}  {wide_msg}");
        this.bar.set_prefix(what.to_owned());
        this.show_later();
        this
    }

    fn look(&self, template: &str) {
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        self.bar.set_style(style.progress_chars("=> "));
    }

    /// Shows itself once half a second has gone by; the thread ends with the bar.
    fn show_later(&self) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            if !bar.is_finished() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(PAUSE);
            }
        });
    }

    /// For work that knows how far it is.
    pub(crate) fn share(&self, done: usize, of: usize) {
        self.look("{spinner} {prefix}  [{bar:24}] {percent} %  {elapsed}");
        let share = done as u64 * PARTS / (of as u64).max(1);
        self.bar.set_position(share.min(PARTS));
    }

    /// How far planning is.
    pub(crate) fn report(&self, progress: &Progress) {
        // Whoever finds it busy has nothing newer to say.
        let Ok(mut shown) = self.shown.try_lock() else {
            return;
        };
        let now = Instant::now();
        if shown.at.is_some_and(|at| now - at < PAUSE) {
            return;
        }
        shown.at = Some(now);
        let best = best(progress);
        match progress.stage {
            Stage::Strategies {
                ended,
                of,
                placed,
                buffers,
            } => {
                self.look("{spinner} {prefix}  [{bar:24}] {percent} %  {elapsed}  {wide_msg}");
                self.bar.set_prefix(format!("strategies {ended}/{of}"));
                let share = u128::from(placed) * u128::from(PARTS) / u128::from(buffers.max(1));
                self.bar
                    .set_position(u64::try_from(share).unwrap_or(PARTS).min(PARTS));
                self.bar.set_message(best);
            }
            Stage::Improvement => {
                self.look("{spinner} {prefix}  {elapsed}  {wide_msg}");
                self.bar.set_prefix("improvement");
                self.bar.set_message(best);
            }
            Stage::Search { nodes } => {
                if !shown.searching || nodes < shown.mark.1 {
                    self.look("{spinner} {prefix}  {elapsed}  {wide_msg}");
                    self.bar.set_prefix("search");
                    *shown = Shown {
                        searching: true,
                        mark: (now, nodes),
                        ..*shown
                    };
                }
                let (since, before) = shown.mark;
                let passed = (now - since).as_secs_f64();
                if now - since >= WINDOW || shown.rate == 0 {
                    shown.rate = a_second(nodes - before, passed);
                }
                if now - since >= WINDOW {
                    shown.mark = (now, nodes);
                }
                let rate = grouped(shown.rate);
                let nodes = grouped(nodes);
                self.bar
                    .set_message(format!("{best}  {nodes} nodes, {rate} a second"));
            }
            _ => {}
        }
        if interrupt::asked() {
            self.bar.set_message("stopping");
        }
    }
}

impl Drop for Bar {
    /// Takes the line away.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate for people; casts from floats saturate"
)]
fn a_second(nodes: u64, seconds: f64) -> u64 {
    if seconds > 0.0 {
        (nodes as f64 / seconds / 1000.0).round() as u64 * 1000
    } else {
        0
    }
}

/// `best 1.02 MiB, bound 1.00 MiB, gap 23.5 KiB (2.3 %)`.
fn best(progress: &Progress) -> String {
    let bound = progress.bound;
    let Some(height) = progress.height else {
        return format!("bound {}", bytes(bound));
    };
    let gap = height.saturating_sub(bound);
    let share = percent(gap as f64 / bound.max(1) as f64);
    let (height, bound, gap) = (bytes(height), bytes(bound), bytes(gap));
    format!("best {height}, bound {bound}, gap {gap} ({share})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_name_best_bound_and_gap() {
        let mut progress = Progress {
            stage: Stage::Search { nodes: 7 },
            height: Some(1100),
            bound: 1000,
        };
        let words = "best 1.07 KiB, bound 1000 B, gap 100 B (10.0 %)";
        assert_eq!(best(&progress), words);
        progress.height = None;
        assert_eq!(best(&progress), "bound 1000 B");
        assert_eq!(a_second(1500, 0.5), 3000);
    }
}
