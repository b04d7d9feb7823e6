//! What a run says of itself.

use super::data::Data;
use super::kept::hash;
use super::slowest::Slow;
use super::{Ran, Ready};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::visible;
use crate::session::Session;
use crate::units::{bytes, grouped, percent};
use bayplan_exec::Program;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Figures that are known before the run.
pub(super) struct Shown<'a> {
    args: &'a RunArgs,
    profile: String,
    /// Bytes of all arenas.
    pub(super) arenas: u64,
    /// Bytes of the constants that are read.
    pub(super) weights: u64,
    /// The plan's own figure for temporaries.
    arena_bytes: u64,
}

/// Figures of the run beside its outputs.
pub(super) struct Told<'a> {
    pub(super) device: &'static str,
    pub(super) difference: Option<f64>,
    pub(super) poisoned: Option<bool>,
    pub(super) slowest: Option<Vec<Slow>>,
    pub(super) given: &'a BTreeMap<String, Data>,
    /// Inputs that the model gives itself.
    pub(super) own: &'a BTreeMap<String, Vec<u8>>,
}

#[derive(Serialize)]
struct Json {
    input: String,
    device: &'static str,
    profile: String,
    arena_bytes: u64,
    persistent_bytes: u64,
    weight_bytes: u64,
    budget_bytes: Option<u64>,
    peak_device_bytes: u64,
    /// Everything is taken before the first run.
    device_allocations_after_load: u64,
    host_allocations_per_run: u64,
    host_bytes_per_run: u64,
    output_sha256: BTreeMap<String, String>,
    max_rel_diff: Option<f64>,
    poison_differs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest: Option<Vec<Slow>>,
    dispatches: usize,
    flops: u64,
    runs: usize,
    median_ms: f64,
    p95_ms: f64,
    streamed_bytes: u64,
    copies: u64,
    missed_copies: u64,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "keys of the report")]
struct Commands {
    input: String,
    arena_bytes: u64,
    weight_bytes: u64,
    commands: Vec<String>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(args: &'a RunArgs, session: &Session, program: &Program) -> Self {
        let constants = program.used.iter().map(|&id| program.constants[id].bytes);
        Self {
            args,
            profile: session.profile.clone(),
            arenas: program.arena_bytes(),
            weights: constants.fold(0, u64::saturating_add),
            arena_bytes: session.height(),
        }
    }

    fn input(&self) -> String {
        self.args.model.display().to_string()
    }
}

/// The commands, without running them.
pub(super) fn commands(program: &Program, shown: &Shown<'_>, out: &mut Out) -> Result<(), Failure> {
    let text = program.to_string();
    if out.json {
        return out.value(&Commands {
            input: shown.input(),
            arena_bytes: shown.arena_bytes,
            weight_bytes: shown.weights,
            commands: text.lines().map(str::to_owned).collect(),
        });
    }
    text.lines().try_for_each(|line| out.line(line))
}

/// The outcome.
pub(super) fn ran(
    ready: &Ready<'_>,
    ran: &Ran,
    shown: &Shown<'_>,
    told: &Told<'_>,
    out: &mut Out,
) -> Result<(), Failure> {
    let program = &ready.program;
    let (median, p95) = quantiles(&ran.times);
    if out.json {
        let outputs = program.outputs.iter().zip(&ran.outputs);
        let device = shown.arenas.saturating_add(shown.weights);
        return out.value(&Json {
            input: shown.input(),
            device: told.device,
            profile: shown.profile.clone(),
            arena_bytes: shown.arena_bytes,
            persistent_bytes: shown.arenas - shown.arena_bytes,
            weight_bytes: shown.weights,
            budget_bytes: shown.args.budget,
            peak_device_bytes: device,
            device_allocations_after_load: 0,
            host_allocations_per_run: ran.allocations.0,
            host_bytes_per_run: ran.allocations.1,
            output_sha256: outputs
                .map(|(port, bytes)| (port.name.clone(), hash(bytes)))
                .collect(),
            max_rel_diff: told.difference,
            poison_differs: told.poisoned.map(|same| !same),
            slowest: told.slowest.clone(),
            dispatches: program.dispatches().count(),
            flops: program.flops(),
            runs: ran.times.len(),
            median_ms: millis(median),
            p95_ms: millis(p95),
            streamed_bytes: 0,
            copies: 0,
            missed_copies: 0,
        });
    }
    for line in lines(ready, ran, shown, told, (median, p95)) {
        out.line(&line)?;
    }
    Ok(())
}

fn lines(
    ready: &Ready<'_>,
    ran: &Ran,
    shown: &Shown<'_>,
    told: &Told<'_>,
    (median, p95): (Duration, Duration),
) -> Vec<String> {
    let program = &ready.program;
    let mut lines = vec![format!(
        "run       {} on {}, profile {}",
        visible(&shown.input()),
        told.device,
        shown.profile
    )];
    for port in &program.inputs {
        let what = match told.given.get(&port.name) {
            None if told.own.contains_key(&port.name) => "as the model says".to_owned(),
            None => "random:1 (none was given)".to_owned(),
            Some(Data::Random(seed)) => format!("random:{seed}"),
            Some(Data::Array { path, .. } | Data::Raw { path, .. }) => visible(path),
        };
        lines.push(format!("input     {} {}", visible(&port.name), what));
    }
    let others = shown.arenas - shown.arena_bytes;
    let others = if others > 0 {
        format!(", {} kept beside it", bytes(others))
    } else {
        String::new()
    };
    lines.push(format!(
        "arena     {} ({} bytes), exactly as planned{others}",
        bytes(shown.arena_bytes),
        grouped(shown.arena_bytes)
    ));
    let own = ready.weights.own_bytes();
    lines.push(format!(
        "weights   {}, {} of them not in place in the file",
        bytes(shown.weights),
        bytes(own)
    ));
    lines.push(format!(
        "commands  {} dispatches, {} heap allocations in a run",
        grouped(program.dispatches().count() as u64),
        grouped(ran.allocations.0)
    ));
    let rate = program.flops() as f64 / median.as_secs_f64().max(1e-9) / 1e9;
    let runs = ran.times.len();
    let noun = if runs == 1 { "run" } else { "runs" };
    lines.push(format!(
        "time      median {}, p95 {} of {runs} {noun}, {rate:.2} GFLOP/s",
        shown_time(median),
        shown_time(p95)
    ));
    for (port, bytes) in program.outputs.iter().zip(&ran.outputs) {
        let dims = port
            .shape
            .iter()
            .flatten()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join("x");
        lines.push(format!(
            "output    {} {dims} sha256 {}",
            visible(&port.name),
            &hash(bytes)[..16]
        ));
    }
    for slow in told.slowest.iter().flatten() {
        let (name, kernel) = (visible(&slow.node), slow.kernel);
        let share = percent(slow.share);
        lines.push(format!(
            "slowest   {:>8.2} ms {share:>7}  {:>7.2} GFLOP/s  {kernel:14} {name}",
            slow.ms, slow.gflops
        ));
    }
    if let Some(difference) = told.difference {
        lines.push(format!(
            "compared  largest difference {difference:.3e} of the largest value"
        ));
    }
    match told.poisoned {
        Some(true) => lines.push("poison    two patterns, the same outputs".into()),
        Some(false) => lines.push("poison    two patterns, OTHER outputs".into()),
        None => {}
    }
    if let Some(folder) = &shown.args.output_dir {
        lines.push(format!(
            "written   {}",
            visible(&folder.display().to_string())
        ));
    }
    lines
}

fn quantiles(times: &[Duration]) -> (Duration, Duration) {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = |share: usize| {
        sorted
            .get((sorted.len().saturating_sub(1) * share).div_ceil(100))
            .copied()
            .unwrap_or_default()
    };
    (at(50), at(95))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn shown_time(time: Duration) -> String {
    match millis(time) {
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1e3),
        ms if ms < 1000.0 => format!("{ms:.1} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    }
}
