//! Where the time of a run goes.

use super::ready::{Ready, fault};
use crate::failure::Failure;
use bayplan_exec::run::Watcher;
use bayplan_exec::{Command, Device, Memory};
use serde::Serialize;
use std::time::{Duration, Instant};

/// A node and its time in one run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Slow {
    pub(super) node: String,
    pub(super) kernel: &'static str,
    pub(super) ms: f64,
    /// Of all dispatches together.
    pub(super) share: f64,
    pub(super) gflops: f64,
}

/// Measures each command.
struct Clock {
    begun: Instant,
    times: Vec<Duration>,
}

impl Watcher for Clock {
    fn before(&mut self, _position: usize, _arenas: &mut [&mut [u8]]) {
        self.begun = Instant::now();
    }

    fn after(&mut self, position: usize, _arenas: &mut [&mut [u8]]) {
        self.times[position] = self.begun.elapsed();
    }
}

impl Ready<'_> {
    /// The commands of one more run that take longest.
    pub(super) fn slowest(
        &self,
        device: &mut dyn Device,
        count: u64,
    ) -> Result<Vec<Slow>, Failure> {
        let inputs = self.slices();
        let mut memory = Memory::new(&self.program);
        let mut outputs = self.blank();
        let mut clock = Clock {
            begun: Instant::now(),
            times: vec![Duration::ZERO; self.program.commands.len()],
        };
        let mut arenas = memory.windows();
        let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
        for _ in 0..2 {
            // The second run finds its memory warm.
            self.once(device, &inputs, (&mut arenas, &mut windows), &mut clock)
                .map_err(|error| fault(&error))?;
        }
        let all: f64 = clock.times.iter().map(Duration::as_secs_f64).sum();
        let mut slow: Vec<Slow> = self
            .program
            .commands
            .iter()
            .zip(&clock.times)
            .filter_map(|(command, time)| {
                let Command::Dispatch(dispatch) = command else {
                    return None;
                };
                let seconds = time.as_secs_f64();
                Some(Slow {
                    node: self.program.plan().graph().nodes()[dispatch.node]
                        .name
                        .clone(),
                    kernel: dispatch.kernel.name(),
                    ms: seconds * 1e3,
                    share: seconds / all.max(1e-12),
                    gflops: dispatch.kernel.flops() as f64 / seconds.max(1e-12) / 1e9,
                })
            })
            .collect();
        slow.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        slow.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(slow)
    }
}
