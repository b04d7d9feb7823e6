//! What a run says of itself.

use super::data::{Data, kind};
use super::kept::hash;
use super::ready::{Ran, Ready};
use super::slowest::Slow;
use crate::args::{DeviceName, RunArgs};
use crate::failure::Failure;
use crate::report::Out;
use crate::report::grid::visible;
use crate::session::Session;
use crate::units::{bytes, count, grouped, percent};
use bayplan_exec::Program;
use bayplan_exec::cpu::Cpu;
use bayplan_exec::program::Port;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Figures that are known before the run.
pub(super) struct Shown<'a> {
    args: &'a RunArgs,
    profile: String,
    /// Bytes of all arenas.
    pub(super) arenas: u64,
    /// Bytes of the constants that are read.
    pub(super) weights: u64,
    /// Bytes that the device takes beside them.
    pub(super) beside: u64,
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
    /// Where the outputs were written; empty: nowhere.
    pub(super) files: &'a [PathBuf],
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
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    output_files: BTreeMap<String, String>,
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
            beside: match args.device {
                DeviceName::Reference => 0,
                DeviceName::Auto | DeviceName::Cpu => {
                    let beside = Cpu::beside(program);
                    beside.panels.saturating_add(beside.workspace)
                }
            },
            arena_bytes: session.height(),
        }
    }

    /// Bytes of arenas, weights, and what the device takes beside them.
    pub(super) fn taken(&self) -> u64 {
        let both = self.arenas.saturating_add(self.weights);
        both.saturating_add(self.beside)
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
        let files = program.outputs.iter().zip(told.files);
        let device = shown.taken();
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
            output_files: files
                .map(|(port, path)| (port.name.clone(), path.display().to_string()))
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
    quantiles: (Duration, Duration),
) -> Vec<String> {
    let mut lines = vec![format!(
        "run       {} on {}, profile {}",
        visible(&shown.input()),
        told.device,
        shown.profile
    )];
    lines.extend(inputs(&ready.program, told));
    lines.extend(memory(ready, shown));
    lines.extend(work(&ready.program, ran, quantiles));
    lines.extend(outputs(&ready.program, ran, told));
    lines.extend(verdicts(told));
    lines
}

fn inputs(program: &Program, told: &Told<'_>) -> Vec<String> {
    let line = |port: &Port| {
        let what = match told.given.get(&port.name) {
            None if told.own.contains_key(&port.name) => "as the model says".to_owned(),
            None => "random:1 (none was given)".to_owned(),
            Some(Data::Random(seed)) => format!("random:{seed}"),
            Some(Data::Array { path, .. } | Data::Raw { path, .. }) => visible(path),
        };
        format!("input     {} {}: {what}", visible(&port.name), kind(port))
    };
    program.inputs.iter().map(line).collect()
}

/// Arenas, weights, and the budget that they keep.
fn memory(ready: &Ready<'_>, shown: &Shown<'_>) -> Vec<String> {
    let (arena, others) = (shown.arena_bytes, shown.arenas - shown.arena_bytes);
    let others = match others {
        0 => String::new(),
        others => format!(", {} kept beside it", bytes(others)),
    };
    let weights = match ready.weights.own_bytes() {
        0 => "read in place".to_owned(),
        own => format!("{} of them computed or copied at load", bytes(own)),
    };
    let mut lines = vec![
        format!(
            "arena     {} ({} bytes), exactly as planned{others}",
            bytes(arena),
            grouped(arena)
        ),
        match shown.weights {
            0 => "weights   none".to_owned(),
            all => format!("weights   {}, {weights}", bytes(all)),
        },
    ];
    if let Some(budget) = shown.args.budget {
        let free = budget.saturating_sub(shown.taken());
        let (budget, free) = (bytes(budget), bytes(free));
        lines.push(format!("budget    {budget} suffice, {free} to spare"));
    }
    lines
}

fn work(program: &Program, ran: &Ran, (median, p95): (Duration, Duration)) -> [String; 2] {
    let dispatches = program.dispatches().count();
    let plural = if dispatches == 1 { "" } else { "es" };
    let rate = program.flops() as f64 / median.as_secs_f64().max(1e-9) / 1e9;
    let rate = match format!("{rate:.2}") {
        none if none == "0.00" => String::new(),
        rate => format!(", {rate} GFLOP/s"),
    };
    let times = match ran.times.len() {
        1 => format!("{} in one run", shown_time(median)),
        runs => format!(
            "median {}, p95 {} of {} runs",
            shown_time(median),
            shown_time(p95),
            grouped(runs as u64)
        ),
    };
    let allocations = usize::try_from(ran.allocations.0).unwrap_or(usize::MAX);
    [
        format!(
            "commands  {} dispatch{plural}, {} in a run",
            grouped(dispatches as u64),
            count(allocations, "heap allocation")
        ),
        format!("time      {times}{rate}"),
    ]
}

/// Outputs with the beginning of their hashes and their files.
fn outputs(program: &Program, ran: &Ran, told: &Told<'_>) -> Vec<String> {
    let line = |(at, (port, bytes)): (usize, (&Port, &Vec<u8>))| {
        let file = told.files.get(at);
        let file = file.map(|path| format!(", {}", visible(&path.display().to_string())));
        let (name, file) = (visible(&port.name), file.unwrap_or_default());
        let hash = &hash(bytes)[..16];
        format!("output    {name} {}: sha256 {hash}{file}", kind(port))
    };
    let outputs = program.outputs.iter().zip(&ran.outputs);
    outputs.enumerate().map(line).collect()
}

/// Where the time went, and what comparisons came to.
fn verdicts(told: &Told<'_>) -> Vec<String> {
    let slowest = told.slowest.iter().flatten().map(|slow| {
        let (name, kernel) = (visible(&slow.node), slow.kernel);
        let share = percent(slow.share);
        format!(
            "slowest   {:>8.2} ms {share:>7}  {:>7.2} GFLOP/s  {kernel:14} {name}",
            slow.ms, slow.gflops
        )
    });
    let mut lines: Vec<String> = slowest.collect();
    lines.extend(told.difference.map(|difference| match difference {
        0.0 => "compared  with the reference: the same outputs".to_owned(),
        some if some.is_infinite() => {
            "compared  with the reference: numbers there, none here, or the other way".to_owned()
        }
        some => {
            format!("compared  with the reference: at most {some:.1e} of the largest value apart")
        }
    }));
    lines.extend(told.poisoned.map(|same| {
        let other = if same { "the same" } else { "OTHER" };
        format!("poison    two patterns, {other} outputs")
    }));
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
        ms if ms < 0.01 => format!("{:.1} µs", ms * 1e3),
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1e3),
        ms if ms < 1000.0 => format!("{ms:.1} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    }
}
