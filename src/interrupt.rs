//! Ctrl-C. While a plan is being made, the first one asks for the best so far, and while that is told it changes
//! nothing; at any other time, and the second time, it ends the program at once with exit code 130.

use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const PLANNING: u8 = 1;
const ASKED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(IDLE);

/// What shells report of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Listens from now on. Where the system does not let us, Ctrl-C ends the program as ever.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if !moved(PLANNING, ASKED) {
            std::process::exit(INTERRUPTED);
        }
    });
}

fn moved(from: u8, to: u8) -> bool {
    STATE
        .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
}

/// Whether planning shall end. Once yes, always yes: what is planned after that ends at once as well.
pub(crate) fn asked() -> bool {
    STATE.load(Ordering::Relaxed) == ASKED
}

/// As long as there is one, Ctrl-C does not end the program the first time: while a plan is made, and where it
/// is told afterwards, until it is.
pub(crate) struct WhilePlanning {
    /// There was none before.
    first: bool,
}

impl WhilePlanning {
    pub(crate) fn new() -> Self {
        let first = moved(IDLE, PLANNING);
        Self { first }
    }
}

impl Drop for WhilePlanning {
    fn drop(&mut self) {
        if self.first {
            moved(PLANNING, IDLE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_within_does_not_end_the_telling() {
        let state = || STATE.load(Ordering::Relaxed);
        let told = WhilePlanning::new();
        drop(WhilePlanning::new());
        assert_eq!(state(), PLANNING, "Ctrl-C would lose the plan");
        drop(told);
        assert_eq!(state(), IDLE);
    }
}
