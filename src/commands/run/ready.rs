//! Runs of a program: several in the same memory, beside the reference, under poison.

use super::kept;
use crate::failure::{Diagnostic, Failure};
use crate::report::progress::Bar;
use bayplan_exec::poison::{self, Poison};
use bayplan_exec::reference::Reference;
use bayplan_exec::run::{Fault, Given, Unwatched, Watcher, run as execute};
use bayplan_exec::{Device, Memory, Program, Weights};
use std::time::{Duration, Instant};

/// Everything that a run needs.
pub(super) struct Ready<'f> {
    pub(super) program: Program,
    pub(super) weights: Weights<'f>,
    pub(super) inputs: Vec<Vec<u8>>,
}

/// What came of it.
pub(super) struct Ran {
    pub(super) outputs: Vec<Vec<u8>>,
    pub(super) times: Vec<Duration>,
    /// Heap allocations of the last run, and their bytes.
    pub(super) allocations: (u64, u64),
}

pub(super) fn fault(fault: &Fault) -> Failure {
    Diagnostic::new("E1003", fault.to_string())
        .help("the inputs decide which indices the run computes: give others by --input")
        .cannot()
}

impl Ready<'_> {
    /// Runs several times in the same memory; outputs are those of the last run.
    pub(super) fn repeated(&self, device: &mut dyn Device, times: u64) -> Result<Ran, Failure> {
        let inputs = self.slices();
        let mut memory = Memory::new(&self.program);
        let mut ran = Ran {
            outputs: self.blank(),
            times: Vec::new(),
            allocations: (0, 0),
        };
        let bar = Bar::new("running");
        for done in 0..times {
            let mut arenas = memory.windows();
            let mut outputs: Vec<&mut [u8]> =
                ran.outputs.iter_mut().map(Vec::as_mut_slice).collect();
            let started = Instant::now();
            let mut ended = Ok(());
            let info = allocation_counter::measure(|| {
                ended = self.once(device, &inputs, (&mut arenas, &mut outputs), &mut Unwatched);
            });
            ran.times.push(started.elapsed());
            ended.map_err(|error| fault(&error))?;
            ran.allocations = (info.count_total, info.bytes_total);
            bar.share(
                usize::try_from(done + 1).unwrap_or(0),
                usize::try_from(times).unwrap_or(0),
            );
        }
        Ok(ran)
    }

    pub(super) fn blank(&self) -> Vec<Vec<u8>> {
        let ports = self.program.outputs.iter();
        ports.map(|port| vec![0; port.bytes]).collect()
    }

    pub(super) fn slices(&self) -> Vec<&[u8]> {
        self.inputs.iter().map(Vec::as_slice).collect()
    }

    pub(super) fn once<'b>(
        &self,
        device: &mut dyn Device,
        inputs: &[&[u8]],
        (arenas, outputs): (&mut [&'b mut [u8]], &mut [&'b mut [u8]]),
        watcher: &mut dyn Watcher,
    ) -> Result<(), Fault> {
        let mut given = Given {
            arenas,
            inputs,
            outputs,
        };
        execute(&self.program, &self.weights, device, &mut given, watcher)
    }

    /// The largest difference to the reference, as a share of the largest value.
    pub(super) fn compared(&self, ran: &Ran) -> Result<f64, Failure> {
        // What is kept from run to run must have seen as many runs.
        let kept = self.program.arenas.values().any(|arena| arena.persistent);
        let times = if kept { ran.times.len() as u64 } else { 1 };
        let exact = self.repeated(&mut Reference, times)?;
        let ports = self
            .program
            .outputs
            .iter()
            .zip(&ran.outputs)
            .zip(&exact.outputs);
        let each = ports.map(|((port, here), there)| kept::difference(port, here, there));
        Ok(each.fold(0.0, f64::max))
    }

    /// Whether two patterns in all bytes that no command should read give the same outputs, and what must survive does.
    pub(super) fn poisoned(&self, device: &mut dyn Device) -> Result<bool, Failure> {
        let poison = Poison::new(&self.program);
        let inputs = self.slices();
        let (mut outcomes, mut survived) = (Vec::new(), true);
        for pattern in poison::PATTERNS {
            let mut memory = Memory::new(&self.program);
            let mut outputs = self.blank();
            let mut arenas = memory.windows();
            poison.fill(&mut arenas, pattern);
            let mut windows: Vec<&mut [u8]> = outputs.iter_mut().map(Vec::as_mut_slice).collect();
            let mut watcher = poison.watcher(pattern);
            self.once(device, &inputs, (&mut arenas, &mut windows), &mut watcher)
                .map_err(|error| fault(&error))?;
            survived &= watcher.lost().is_empty();
            outcomes.push(outputs);
        }
        Ok(survived && outcomes[0] == outcomes[1])
    }
}
