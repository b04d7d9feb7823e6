//! What the library makes of a row: its flags as options of the readers, and figures from lifetimes.

use super::{Figures, Model};
use bayplan_graph::bytes::Mapped;
use bayplan_graph::format::bodies::Bodies;
use bayplan_graph::format::{onnx, tflite};
use bayplan_graph::{Graph, Lifetimes, Role, Schedule};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// The flags of a row, as options of the readers.
#[derive(Default)]
pub(super) struct Flags {
    pub(super) shapes: BTreeMap<String, Vec<u64>>,
    pub(super) bodies: Bodies,
    pub(super) ignore_declared: bool,
}

impl Flags {
    /// `--input NAME=1x3 --bodies apart --ignore-declared`, the only flags that this understands.
    pub(super) fn of(flags: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let mut words = flags.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--ignore-declared" => found.ignore_declared = true,
                "--bodies" if words.next() == Some("apart") => found.bodies = Bodies::Apart,
                "--input" => {
                    let (name, shape) = words
                        .next()
                        .and_then(shape)
                        .ok_or_else(|| format!("no shape of an input in `{flags}`"))?;
                    found.shapes.insert(name, shape);
                }
                _ => return Err(format!("`{word}` in `{flags}` is not understood")),
            }
        }
        Ok(found)
    }
}

pub(super) fn onnx_options(flags: Flags) -> onnx::ReadOptions<'static> {
    onnx::ReadOptions {
        inputs: flags.shapes,
        bodies: flags.bodies,
        ignore_declared: flags.ignore_declared,
        ..onnx::ReadOptions::default()
    }
}

fn shape(word: &str) -> Option<(String, Vec<u64>)> {
    let (name, dims) = word.split_once('=')?;
    let dims: Result<_, _> = dims.split('x').map(str::parse).collect();
    Some((name.to_owned(), dims.ok()?))
}

pub(super) fn read_tflite(path: &Path, flags: &Flags) -> Result<tflite::TfliteModel, String> {
    let bytes = Mapped::open(path, 0).map_err(|error| error.to_string())?;
    let options = tflite::ReadOptions {
        bodies: flags.bodies,
        alignment: 1,
        ..tflite::ReadOptions::default()
    };
    tflite::read_resized(&bytes, "model", &options, &flags.shapes)
        .map_err(|error| error.to_string())
}

/// Reads as the flags of the table say.
pub(super) fn read(path: &Path, model: &Model) -> Result<Graph, String> {
    let flags = Flags::of(model.flags)?;
    if path.extension() == Some(OsStr::new("onnx")) {
        let options = onnx_options(flags);
        let bytes = Mapped::open(path, 0).map_err(|error| error.to_string())?;
        return onnx::read(&bytes, "model", &options).map_err(|error| error.to_string());
    }
    read_tflite(path, &flags).map(|model| model.graph)
}

/// The figures from lifetimes alone: no placement, no scratch.
pub(super) fn counted(graph: &Graph) -> Figures {
    let schedule = Schedule::file_order(graph);
    let lifetimes = Lifetimes::new(graph, &schedule, true);
    let mut loads = vec![0_u64; graph.nodes().len() + 1];
    let (mut activations, mut naive) = (0, 0);
    for (id, tensor) in graph.tensors().iter() {
        let counts = tensor.bytes > 0 && tensor.role != Role::State;
        if let (Some(life), true) = (lifetimes.get(id), counts) {
            activations += 1;
            naive += tensor.bytes;
            for step in life.start.0..life.end.0 {
                loads[step as usize] += tensor.bytes;
            }
        }
    }
    Figures {
        activations,
        naive,
        max_load: loads.into_iter().max().unwrap_or(0),
    }
}
