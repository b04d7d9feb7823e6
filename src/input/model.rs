//! Model files of others: `.tflite` and `.onnx`. They are mapped, not read into memory.

use super::{Input, add_facts};
use crate::args::{self, Reading};
use crate::failure::{Diagnostic, Failure};
use crate::report::diagnostics;
use crate::units::{count, exact};
use bayplan_graph::Graph;
use bayplan_graph::bytes::Mapped;
use bayplan_graph::format::bodies::{Bodies, OpaqueBodies};
use bayplan_graph::format::{onnx, own, tflite};
use std::path::Path;
use std::sync::Arc;

/// What comes through a pipe is read into memory, up to this.
const MAX_PIPED: u64 = 1 << 31;

/// Loads a model; `reading` says what the file does not.
pub(super) fn load(path: &Path, extension: &str, reading: &Reading) -> Result<Input, Failure> {
    if path.is_dir() {
        let title = format!("cannot read `{}`: it is a directory", path.display());
        return Err(Diagnostic::new("E0101", title)
            .help("name a file in it")
            .cannot());
    }
    let bytes = Mapped::open(path, MAX_PIPED).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        Diagnostic::new("E0101", format!("cannot read `{}`: {why}", path.display())).cannot()
    })?;
    if bytes.is_empty() {
        return Err(Diagnostic::new("E0103", format!("`{}` is empty", path.display())).cannot());
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let graph = if extension == "tflite" {
        of_tflite(path, &bytes, &stem, reading)?
    } else {
        of_onnx(path, &bytes, &stem, reading)?
    };
    let mut file = own::file(&graph);
    let Some(ops) = &reading.ops else {
        return Ok(Input::Graph(Arc::new(graph), Box::new(file)));
    };
    add_facts(&mut file, ops)?;
    let graph = own::graph(file.clone(), &stem);
    let graph = graph.map_err(|error| refused(path, "E0402", &error.to_string()).cannot())?;
    Ok(Input::Graph(Arc::new(graph), Box::new(file)))
}

fn refused(path: &Path, code: &'static str, why: &str) -> Diagnostic {
    Diagnostic::new(code, why).note(format!("in {}", path.display()))
}

fn of_tflite(path: &Path, bytes: &[u8], name: &str, reading: &Reading) -> Result<Graph, Failure> {
    if !reading.dims.is_empty() || !reading.shapes.is_empty() || reading.ignore_declared {
        let title = "--dim, --input and --ignore-declared are for .onnx models; the shapes of a .tflite are taken as declared";
        return Err(Diagnostic::new("E0107", title).cannot());
    }
    let options = tflite::ReadOptions {
        bodies: bodies(reading),
        ..tflite::ReadOptions::default()
    };
    let model = tflite::read(bytes, name, &options);
    let model = model.map_err(|error| refused(path, "E0406", &error.to_string()).cannot())?;
    warn(path, &model.graph, &model.opaque);
    Ok(model.graph)
}

fn of_onnx(path: &Path, bytes: &[u8], name: &str, reading: &Reading) -> Result<Graph, Failure> {
    let options = onnx::ReadOptions {
        dims: reading.dims.iter().cloned().collect(),
        inputs: reading.shapes.iter().cloned().collect(),
        folder: path.parent().map(|folder| {
            if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            }
        }),
        bodies: bodies(reading),
        ignore_declared: reading.ignore_declared,
    };
    let model = onnx::read_with_weights(bytes, name, &options);
    let model = model.map_err(|error| {
        let told = refused(path, "E0407", &error.to_string());
        let told = match error {
            onnx::OnnxError::Clash { .. } => told.help("--ignore-declared passes over it"),
            _ => told,
        };
        told.cannot()
    })?;
    warn(path, &model.graph, &model.opaque);
    Ok(model.graph)
}

fn bodies(reading: &Reading) -> Bodies {
    match reading.bodies {
        args::Bodies::Inline => Bodies::Inline,
        args::Bodies::Apart => Bodies::Apart,
    }
}

/// Says which bodies are not planned, and how many bytes they make.
fn warn(path: &Path, graph: &Graph, opaque: &[OpaqueBodies]) {
    const SHOWN: usize = 8;
    if opaque.is_empty() {
        return;
    }
    let bytes = |opaque: &OpaqueBodies| opaque.bytes;
    let total = opaque.iter().map(bytes).fold(0, u64::saturating_add);
    let title = format!(
        "the bodies of {} are not planned: what they make is {}, in memory of the runtime's own",
        count(opaque.len(), "operator"),
        exact(total)
    );
    let row = |opaque: &OpaqueBodies| {
        let node = &graph.nodes()[opaque.node];
        format!("`{}`: {}", node.name, exact(opaque.bytes))
    };
    let mut notes: Vec<String> = opaque.iter().take(SHOWN).map(row).collect();
    if opaque.len() > SHOWN {
        notes.push(format!("and {} more", opaque.len() - SHOWN));
    }
    notes.push(format!("in {}", path.display()));
    diagnostics::warn(&title, &notes, "--bodies inline plans them");
}
