//! The flags that verbs share, and how their values are read.

use super::MemoryArgs;
use bayplan_graph::Profile;
use bayplan_planner::Strategy;
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How a model is read.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Facts about operators: scratch, in-place pairs, shapes
    #[arg(long, value_name = "FILE.ron")]
    pub(crate) ops: Option<PathBuf>,
    /// Number of a named dimension of an .onnx model (may be repeated)
    #[arg(long = "dim", value_name = "NAME=N", value_parser = dimension)]
    pub(crate) dims: Vec<(String, u64)>,
    /// Shape of an input of an .onnx or .tflite model; for `run` also its data (may be repeated)
    #[arg(id = "given", long = "input", value_name = "NAME=1x3x224x224", value_parser = input)]
    pub(crate) inputs: Vec<(String, InputValue)>,
    /// Bodies of a model's branches and loops: planned inline, or apart (not planned, with a warning)
    #[arg(long, value_enum, default_value_t = Bodies::Inline, value_name = "inline|apart", hide_possible_values = true)]
    pub(crate) bodies: Bodies,
    /// Pass over declared shapes of an .onnx model that contradict inference
    #[arg(long)]
    pub(crate) ignore_declared: bool,
}

/// What `--input` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputValue {
    /// A shape.
    Shape(Vec<u64>),
    /// A file, or `random:SEED`.
    Data(String),
}

impl Reading {
    /// Shapes of inputs.
    pub(crate) fn shapes(&self) -> BTreeMap<String, Vec<u64>> {
        let shape = |(name, value): &(String, InputValue)| match value {
            InputValue::Shape(shape) => Some((name.clone(), shape.clone())),
            InputValue::Data(_) => None,
        };
        self.inputs.iter().filter_map(shape).collect()
    }

    /// The first input that has data instead of a shape.
    pub(crate) fn data(&self) -> Option<&str> {
        let mut values = self.inputs.iter();
        let data = values.find(|(_, value)| matches!(value, InputValue::Data(_)));
        data.map(|(name, _)| &**name)
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bodies {
    #[default]
    Inline,
    Apart,
}

/// How long to look for a better plan.
#[derive(Args, Debug, Clone, PartialEq, Eq)]
#[command(next_help_heading = "Effort")]
pub(crate) struct Effort {
    /// Let the exact search visit about N nodes, 0: none; the same plan every time (default: about a second)
    ///
    /// Nodes are counted in steps of 256. Plans of 400 buffers and more are improved before, which takes some
    /// seconds where they are large, with any N.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) node_limit: Option<u64>,
    /// Take the best plan after this time (30s, 500ms, 2m); another run may find another plan
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Seed of the noise in the search
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = whole)]
    pub(crate) seed: u64,
    /// Bytes that are low enough, set by those who ask for no more.
    #[arg(skip)]
    pub(crate) enough: Option<u64>,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            node_limit: None,
            time_limit: None,
            seed: 1,
            enough: None,
        }
    }
}

/// The name that asks for the planner of the profile's stock runtime.
pub(crate) const STOCK: &str = "stock";

/// Flags that the planning verbs share.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Planning")]
pub(crate) struct Planning {
    // The help is an attribute, so that the names of the runtimes stand without backticks.
    #[arg(long, help = "Target whose rules hold: ours, or those of a stock runtime (tflite: LiteRT, tflm: TensorFlow Lite Micro)", default_value = "bayplan", value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Profile::NAMES))]
    pub(crate) profile: String,
    /// Order of execution (reordering is not built yet)
    #[arg(long, value_enum, default_value_t = Order::File, value_name = "ORDER")]
    pub(crate) order: Order,
    /// Let results take the bytes of operands that die
    #[arg(long, value_enum, default_value_t = Switch::On, value_name = "on|off", hide_possible_values = true)]
    pub(crate) in_place: Switch,
    /// Give views no bytes of their own
    #[arg(long, value_enum, default_value_t = Switch::On, value_name = "on|off", hide_possible_values = true)]
    pub(crate) views: Switch,
    /// Let inputs be overwritten after their last reader
    #[arg(long)]
    pub(crate) reuse_inputs: bool,
    /// Run only this strategy; `stock`: the planner of the profile's runtime, byte for byte
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Strategy::ALL.map(Strategy::name).into_iter().chain([STOCK])))]
    pub(crate) strategy: Option<String>,
    /// Align every offset to N bytes (default: what profile and file state)
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = alignment)]
    pub(crate) align: Option<u64>,
    #[command(flatten)]
    pub(crate) effort: Effort,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

impl Planning {
    /// As without any flag.
    pub(crate) fn plain() -> Self {
        Self {
            profile: Profile::bayplan().name.to_owned(),
            order: Order::File,
            in_place: Switch::On,
            views: Switch::On,
            reuse_inputs: false,
            strategy: None,
            align: None,
            effort: Effort::default(),
            memory: MemoryArgs::default(),
            reading: Reading::default(),
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As the file lists its operators
    File,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

/// A size: `65536`, `64KiB`, `64K` (= KiB), `1.5MiB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    crate::units::parse_size(text)
}

/// A size that is not 0.
pub(super) fn alignment(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err("an alignment is at least 1".into()),
        alignment => Ok(alignment),
    }
}

/// A whole number.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    let wrong = "that is no whole number from 0 on, such as 5000000";
    text.parse().map_err(|_| wrong.to_owned())
}

/// A time: `30s`, `500ms`, `2m`, `1.5s`.
fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("a time is a number with ms, s, m or h, such as 30s".into()),
    };
    let number: f64 = number.parse().map_err(|_| "that is no number")?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| "that is too long".into())
}

fn dimension(text: &str) -> Result<(String, u64), String> {
    let named = text
        .rsplit_once('=')
        .and_then(|(name, number)| Some((name, number.parse().ok()?)));
    let (name, number) = named.ok_or("a dimension is NAME=N, such as batch=1")?;
    Ok((name.to_owned(), number))
}

fn input(text: &str) -> Result<(String, InputValue), String> {
    let wrong = "an input is NAME=SHAPE, such as data=1x3x224x224";
    let (name, value) = text.rsplit_once('=').ok_or(wrong)?;
    let dims: Result<Vec<u64>, _> = value.split('x').map(str::parse).collect();
    let looks_like_shape = value
        .chars()
        .all(|c| c.is_ascii_digit() || c == 'x' || c == '-');
    let value = match dims {
        Ok(dims) => InputValue::Shape(dims),
        Err(_) if looks_like_shape => return Err(wrong.into()),
        Err(_) => InputValue::Data(value.to_owned()),
    };
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        let millis = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(millis("500ms"), Ok(500));
        assert_eq!(millis("1.5s"), Ok(1500));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("1 h"), Ok(3_600_000));
        for text in [
            "",
            "30",
            "s",
            "-1s",
            "1.2.3s",
            "5d",
            "99999999999999999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
