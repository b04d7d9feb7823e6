//! The flags of `run`.

use super::Planning;
use super::planning::{size, whole};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// Model (.tflite, .onnx) or executable graph (.json, .ron)
    pub(crate) model: PathBuf,
    /// Run this plan, which must be one of the model; otherwise one is made
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// Where to run
    #[arg(long, value_enum, default_value_t = DeviceName::Auto, value_name = "DEVICE")]
    pub(crate) device: DeviceName,
    /// Run N times, for times and to see that nothing changes
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = times)]
    pub(crate) repeat: u64,
    /// Write every output here, as NAME.npy; the folder is made if need be
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Run there as well and tell the largest difference; exit 1 if it is beyond a thousandth of the largest value
    #[arg(long, value_enum, value_name = "DEVICE")]
    pub(crate) compare: Option<Against>,
    /// Print the commands and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Bytes for arenas, weights and what the device needs beside them; exit 1 before any is taken if they do not suffice
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = size)]
    pub(crate) budget: Option<u64>,
    /// Show the N nodes that take longest
    #[arg(long, value_name = "N", value_parser = whole)]
    pub(crate) slowest: Option<u64>,
    /// Fill what no command should read with two patterns, in two runs that must not differ
    #[arg(long)]
    pub(crate) poison: bool,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

/// A number of runs.
fn times(text: &str) -> Result<u64, String> {
    match whole(text)? {
        0 => Err("a model runs once at least".into()),
        times => Ok(times),
    }
}

/// A device.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    /// The fastest there is: cpu
    Auto,
    /// Fast, within a stated tolerance
    Cpu,
    /// Plain loops in a fixed order: the same bits everywhere
    Reference,
}

/// What a run is compared with.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// The reference interpreter
    Reference,
}
