//! Model files of others: `.tflite` and `.onnx`. They are mapped, not read into memory.

use super::{Input, add_facts};
use crate::args::Reading;
use crate::failure::{Diagnostic, Failure};
use bayplan_graph::Graph;
use bayplan_graph::bytes::Mapped;
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
    if !reading.dims.is_empty() {
        let title = "--dim is for .onnx models; a .tflite has no named dimensions";
        return Err(Diagnostic::new("E0107", title)
            .help("give the whole shape of an input: --input NAME=1x3x224x224")
            .cannot());
    }
    let inputs = reading.shapes.iter().cloned().collect();
    let options = tflite::ReadOptions::default();
    let model = tflite::read_resized(bytes, name, &options, &inputs);
    let model = model.map_err(|error| {
        let diagnostic = refused(path, "E0406", &error.to_string());
        match resize_help(&error) {
            Some(help) => diagnostic.help(help).cannot(),
            None => diagnostic.cannot(),
        }
    })?;
    Ok(model.graph)
}

/// The way out, where a shape of --input is what fails.
fn resize_help(error: &tflite::TfliteError) -> Option<&'static str> {
    Some(match error {
        tflite::TfliteError::UnknownInput { .. } => {
            "give one of these names, as in --input NAME=1x1280"
        }
        tflite::TfliteError::InputShape { .. } => {
            "give as many dimensions as are declared, and other numbers only where the model allows them"
        }
        tflite::TfliteError::Resize { .. } => {
            "a runtime may fail here too, or know the shape only while it runs: give another shape, or leave --input out to plan the declared ones"
        }
        _ => return None,
    })
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
        ..onnx::ReadOptions::default()
    };
    let model = onnx::read_with_weights(bytes, name, &options);
    let model = model.map_err(|error| refused(path, "E0407", &error.to_string()).cannot())?;
    if let Some(first) = model.unplanned_bodies.first() {
        let title = format!(
            "`{first}` is an If whose branch only the run knows: its body would need memory that is not planned"
        );
        return Err(refused(path, "E0407", &title).cannot());
    }
    Ok(model.graph)
}
