//! The flags about memories and about an earlier plan.

use crate::arenas::{self, Arenas, Pin};
use clap::Args;
use std::path::PathBuf;

/// Memories, and an earlier plan.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Memories")]
pub(crate) struct MemoryArgs {
    /// Memories for the temporaries, the fastest first: NAME=SIZE each (sram=256K,psram=8M), with
    /// `:max=SIZE` (largest object) and `:align=N` where needed; the last may be without a size. One named
    /// `persistent` takes the variables
    #[arg(long = "arena", value_name = "NAME=SIZE,...", value_parser = arenas::arenas)]
    pub(crate) arenas: Option<Arenas>,
    /// Whatever has a name that the regular expression matches has to be in this memory (may be
    /// repeated; the first that matches counts)
    #[arg(long = "pin", value_name = "REGEX=NAME", value_parser = arenas::pin)]
    pub(crate) pins: Vec<Pin>,
    /// Keep the offsets of an earlier plan (a plan file, or a CSV with offsets) where possible
    #[arg(long, value_name = "PLAN")]
    pub(crate) keep: Option<PathBuf>,
    /// Bytes that an arena may be higher so that more offsets are kept: than in the earlier plan or, if that
    /// is more, than without --keep
    #[arg(long, value_name = "SIZE", default_value = "0", allow_negative_numbers = true, value_parser = super::planning::size, requires = "keep")]
    pub(crate) keep_slack: u64,
    /// Bytes that there are; set by the verbs that are told.
    #[arg(skip)]
    pub(crate) budget: Option<u64>,
}
