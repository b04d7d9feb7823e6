//! The command line as types. No behaviour.

mod memory;
mod planning;
mod run;

pub(crate) use memory::MemoryArgs;
pub(crate) use planning::{Bodies, Effort, InputValue, Planning, Reading, STOCK, Switch};
pub(crate) use run::{DeviceName, RunArgs};

use bayplan_planner::Strategy;
use clap::{Args, Parser, Subcommand, ValueEnum};
use planning::{alignment, size};
use std::path::PathBuf;

/// Plans memory for neural networks ahead of time.
#[derive(Parser, Debug)]
#[command(
    name = "bayplan",
    version,
    about,
    long_about = "Plans memory for neural networks ahead of time: where every tensor stands before the \
                  model runs, with a proved lower bound, an independent check and a replay of every byte.",
    after_help = "Exit codes: 0 yes; 1 no (does not fit, invalid, differs, undecided); 2 could not do it; \
                  3 our own fault.\n\
                  Ctrl-C while planning takes the best plan so far; once more, it ends the program (130).\n\
                  Every error has a code: `bayplan explain E0203` says more.",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    /// Print JSON to stdout (stable keys, whole bytes)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Use colour: auto (on a terminal), always, never
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Threads for planning, at most one a core (results do not depend on it); 0: all cores
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub(crate) threads: usize,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Plan a model: arena, lower bound, what is at the peak
    #[command(after_help = "Examples:
  bayplan plan model.json                      summary
  bayplan plan model.json -o model.plan.ron    and write the plan
  bayplan plan model.json --budget 256KiB      exit 1 if it does not fit, and what would
  bayplan plan model.json --arena sram=256K,psram=8M --pin 'conv_1.*=sram'
  bayplan plan model.json --keep model.plan.ron    what moved, and why
  bayplan plan model.json --time-limit 30s     search for up to half a minute; Ctrl-C: enough
  bayplan plan model.json --json | jq .arena_bytes")]
    Plan(PlanArgs),
    /// Show every tensor and node: the interpreter state table
    #[command(after_help = "Examples:
  bayplan table model.json
  bayplan table model.plan.ron --format csv > tensors.csv
  bayplan table model.plan.ron --nodes --format csv > nodes.csv")]
    Table(TableArgs),
    /// Explain a plan: the peak, one tensor, one step, what would lower it
    #[command(after_help = "Examples:
  bayplan inspect model.json
  bayplan inspect model.json --tensor conv_1/relu
  bayplan inspect model.plan.ron --step 12")]
    Inspect(InspectArgs),
    /// Check a plan file, or a CSV with offsets: every violation, or yes
    #[command(after_help = "Examples:
  bayplan check model.plan.ron
  bayplan check model.plan.ron --against model.json    and that it is for this very graph
  bayplan check model.plan.ron --prove                 and search again where a search proved the bound
  bayplan check solution.csv --capacity 1MiB")]
    Check(CheckArgs),
    /// Run every strategy and show them beside the bound
    #[command(after_help = "Examples:
  bayplan compare model.json
  bayplan compare model.tflite                    with the planners of the stock runtimes
  bayplan compare model.onnx --profile tflite     the same for any model")]
    Compare(CompareArgs),
    /// What grew, moved or appeared between two plans; exit 1 if an arena grew
    Diff(DiffArgs),
    /// Pack a CSV of buffers
    #[command(after_help = "Examples:
  bayplan pack buffers.csv                     height and bound
  bayplan pack buffers.csv --capacity 1MiB     exit 1 if no plan was found that fits
  bayplan pack buffers.csv --arena sram=256K,ram=1M    exit 1 if they do not suffice, and why
  bayplan pack buffers.csv -o solution.csv     the same buffers with offsets
  bayplan pack buffers.csv --node-limit 5000000    a longer search, the same plan every time

The CSV: a header with id, lower, upper (exclusive) or end (inclusive), size, and optionally
alignment, offset (given), gaps. Steps are half-open: lower..upper.")]
    Pack(PackArgs),
    /// Draw the bay plan: steps across, addresses up
    #[command(after_help = "Examples:
  bayplan draw model.json -o model.svg
  bayplan draw model.plan.ron -o model.html    one file, with hover and search")]
    Draw(DrawArgs),
    /// Run a model inside its plan: the same bytes on every machine
    #[command(after_help = "Examples:
  bayplan run model.onnx                            random inputs; times, hashes of outputs
  bayplan run model.onnx --input data=photo.npy --output-dir out
  bayplan run model.tflite --input x=random:7 --repeat 20
  bayplan run model.onnx --plan model.plan.ron      inside this very plan
  bayplan run model.onnx --dry-run                  the commands, with arena and offset of every operand
  bayplan run model.onnx --poison                   and that no byte is read that should not be
  bayplan run model.onnx --budget 32MiB             exit 1 before a byte is taken, if that is too little

Inputs that are not given are random:1 (floats from -1 to 1, bytes of any value, other numbers 0 or 1).")]
    Run(RunArgs),
    /// Convert between graph files (.ron, .json), plan files and CSV
    #[command(after_help = "Examples:
  bayplan convert model.json model.ron         graph to graph
  bayplan convert model.json buffers.csv       the buffers that the model needs
  bayplan convert model.plan.ron plan.json     plan to plan")]
    Convert(ConvertArgs),
    /// Explain an error code
    Explain {
        /// A code such as E0203; none: list all
        code: Option<String>,
    },
    /// Say what this build can do on this machine
    Doctor,
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man {
        /// A verb; none: the command itself
        verb: Option<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// Model (.tflite, .onnx), graph (.json, .ron) or CSV of buffers
    pub(crate) input: PathBuf,
    /// Write the plan here (.ron or .json)
    #[arg(short, long, value_name = "PLAN")]
    pub(crate) output: Option<PathBuf>,
    /// Bytes that there are (64KiB, 32M, 65536); exit 1 if they do not suffice
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = size)]
    pub(crate) budget: Option<u64>,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Args, Debug)]
pub(crate) struct TableArgs {
    /// Model, graph, CSV of buffers, or plan file
    pub(crate) input: PathBuf,
    /// How to print
    #[arg(long, value_enum, default_value_t = TableFormat::Text, value_name = "FORMAT")]
    pub(crate) format: TableFormat,
    /// The nodes, in order of execution, instead of the tensors (text, csv, md)
    #[arg(long)]
    pub(crate) nodes: bool,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Text,
    Csv,
    Json,
    Md,
}

#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// Model, graph, CSV of buffers, or plan file
    pub(crate) input: PathBuf,
    /// Why this tensor (or buffer) is where it is: its name, or its id in `table`
    #[arg(long, value_name = "NAME|ID", conflicts_with = "step")]
    pub(crate) tensor: Option<String>,
    /// Who lives at this step
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<u32>,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Plan file, or CSV whose rows all have an offset
    pub(crate) plan: PathBuf,
    /// The graph that it must be for
    #[arg(long, value_name = "INPUT")]
    pub(crate) against: Option<PathBuf>,
    /// Bytes that there are
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = size)]
    pub(crate) capacity: Option<u64>,
    /// Search again for bounds that a search proved, from the buffers alone (a CSV with offsets claims none)
    #[arg(long)]
    pub(crate) prove: bool,
    #[command(flatten)]
    pub(crate) effort: Effort,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Models, graphs or CSVs of buffers
    #[arg(required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The plan before
    pub(crate) before: PathBuf,
    /// The plan after
    pub(crate) after: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct PackArgs {
    /// CSV of buffers
    pub(crate) problem: PathBuf,
    /// Bytes that there are: the first plan that fits will do; exit 1 if none was found
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = size)]
    pub(crate) capacity: Option<u64>,
    /// Write the plan here (.csv: the buffers with offsets; .ron, .json: a plan file)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Run only this strategy
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Strategy::ALL.map(Strategy::name)))]
    pub(crate) strategy: Option<String>,
    /// Align every offset to N bytes, beside what the file states
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = alignment)]
    pub(crate) align: Option<u64>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) effort: Effort,
}

#[derive(Args, Debug)]
pub(crate) struct DrawArgs {
    /// Model, graph, CSV of buffers, or plan file
    pub(crate) input: PathBuf,
    /// Picture to write (.svg or .html)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Draw a line at this many bytes, and mark what does not fit below it together (exit code 0 all the same)
    #[arg(long, alias = "capacity", value_name = "SIZE", allow_negative_numbers = true, value_parser = size)]
    pub(crate) budget: Option<u64>,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Model, graph, plan file or CSV
    pub(crate) input: PathBuf,
    /// What to write; the ending says the format
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn no_verb_has_two_arguments_of_one_name() {
        Cli::command().debug_assert();
    }
}
