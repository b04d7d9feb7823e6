//! Whether to stop: the caller's wish and the time limit, and which of them it was.

use super::Options;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// Who cut a run short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Time = 1,
    Cancelled = 2,
}

/// Asked by everything that takes long.
pub(super) struct Stop<'a> {
    cancel: Option<&'a (dyn Fn() -> bool + Sync)>,
    deadline: Option<Instant>,
    /// The first reason to stop; 0: none.
    reason: AtomicU8,
}

impl<'a> Stop<'a> {
    /// The time begins to run.
    pub(super) fn new(options: &Options<'a>) -> Self {
        let deadline = options.time_limit;
        Self {
            cancel: options.cancel,
            // A limit beyond the clock is none.
            deadline: deadline.and_then(|limit| Instant::now().checked_add(limit)),
            reason: AtomicU8::new(0),
        }
    }

    /// Whether to stop; once yes, always yes.
    pub(super) fn asked(&self) -> bool {
        if self.reason.load(Ordering::Relaxed) > 0 {
            return true;
        }
        let reason = if self.cancel.is_some_and(|cancel| cancel()) {
            Reason::Cancelled
        } else if self.deadline.is_some_and(|end| Instant::now() >= end) {
            Reason::Time
        } else {
            return false;
        };
        let first = (0, reason as u8);
        let _ =
            self.reason
                .compare_exchange(first.0, first.1, Ordering::Relaxed, Ordering::Relaxed);
        true
    }

    /// Why the run was cut short; nothing if it was not.
    pub(super) fn reason(&self) -> Option<Reason> {
        match self.reason.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Reason::Time),
            _ => Some(Reason::Cancelled),
        }
    }
}
