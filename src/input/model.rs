//! Model files of others: `.tflite` and `.onnx`. They are mapped, not read into memory.

use super::{Content, Input, Model, add_facts};
use crate::args::{self, Reading};
use crate::failure::{Diagnostic, Failure};
use crate::units::{count, exact};
use bayplan_graph::Graph;
use bayplan_graph::bytes::Mapped;
use bayplan_graph::format::bodies::{Bodies, OpaqueBodies};
use bayplan_graph::format::executable::executable;
use bayplan_graph::format::tflite::{Kernels, TfliteModel};
use bayplan_graph::format::{onnx, own, tflite};
use bayplan_graph::kernel::Compute;
use bayplan_graph::stock::Pinned;
use bayplan_graph::{Profile, StockPlanner};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A model's file, which can be read again: for other kernels, or for what its nodes compute.
pub(crate) struct ModelFile {
    path: PathBuf,
    bytes: Mapped,
    name: String,
    reading: Reading,
}

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
    let model = if extension == "tflite" {
        let file = ModelFile {
            path: path.to_owned(),
            bytes,
            name: stem,
            reading: reading.clone(),
        };
        ModelFile::read(Rc::new(file), Kernels::Unknown)?
    } else {
        let model = of_onnx(path, &bytes, &stem, reading)?;
        let file = ModelFile {
            path: path.to_owned(),
            bytes,
            name: stem.clone(),
            reading: reading.clone(),
        };
        Model {
            content: Content::Onnx(Rc::new(file)),
            ..with_facts(model, path, &stem, reading)?
        }
    };
    Ok(Input::Graph(Box::new(model)))
}

/// Adds what `--ops` says.
fn with_facts(
    mut model: Model,
    path: &Path,
    name: &str,
    reading: &Reading,
) -> Result<Model, Failure> {
    if let Some(ops) = &reading.ops {
        let told = add_facts(&mut model.file, ops)?;
        model
            .unknown
            .retain(|op| !told.iter().any(|known| known.eq_ignore_ascii_case(op)));
        let graph = own::graph(model.file.clone(), name);
        let graph = graph.map_err(|error| refused(path, "E0402", &error.to_string()).cannot())?;
        model.graph = Arc::new(graph);
    }
    Ok(model)
}

/// Whose kernels run a model under `profile`.
fn kernels(profile: &Profile) -> Kernels {
    match profile.stock {
        Some(StockPlanner::MicroGreedy) => Kernels::Micro,
        Some(StockPlanner::ArenaPlanner) => Kernels::LiteRt,
        None => Kernels::Unknown,
    }
}

impl ModelFile {
    fn read(file: Rc<Self>, kernels: Kernels) -> Result<Model, Failure> {
        let Self {
            path,
            bytes,
            name,
            reading,
        } = &*file;
        let model = of_tflite(path, bytes, name, reading, kernels)?;
        let model = with_facts(model, path, name, reading)?;
        Ok(Model {
            content: Content::Tflite(file, kernels),
            ..model
        })
    }
}

/// What a model computes, and where its weights are.
pub(crate) struct Computed<'a> {
    pub(crate) compute: Compute,
    /// What the model gives its inputs, by name.
    pub(crate) inputs: BTreeMap<String, Vec<u8>>,
    file: Option<&'a Mapped>,
}

impl<'a> Computed<'a> {
    /// The bytes of its file.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.file.map_or(&[], |file| file)
    }

    /// Gives back pages that were looked at.
    pub(crate) fn forget(&self) {
        if let Some(file) = self.file {
            file.forget();
        }
    }
}

impl Model {
    /// What its nodes compute.
    pub(crate) fn compute(&self) -> Result<Computed<'_>, Failure> {
        let (compute, file) = match &self.content {
            Content::Own => {
                let own = executable(self.file.clone());
                let own = own.map_err(|why| Diagnostic::new("E0402", why.to_string()).cannot())?;
                return Ok(Computed {
                    compute: own.compute,
                    inputs: own.inputs,
                    file: None,
                });
            }
            Content::Onnx(file) => {
                let options = onnx_options(&file.path, &file.bytes, &file.reading);
                let read = onnx::read_with_kernels(&file.bytes, &file.name, &options);
                let (_, compute) = read.map_err(|error| onnx_refused(&file.path, &error))?;
                (compute, file)
            }
            Content::Tflite(file, kernels) => {
                let refused = |error| tflite_refused(&file.path, &error);
                let options = tflite_options(&file.reading, *kernels);
                let shapes = file.reading.shapes();
                let model = tflite::read_resized(&file.bytes, &file.name, &options, &shapes);
                let model = model.map_err(refused)?;
                let compute = tflite::compute(&model, &file.bytes).map_err(refused)?;
                (compute, file)
            }
        };
        Ok(Computed {
            compute,
            inputs: BTreeMap::new(),
            file: Some(&file.bytes),
        })
    }

    /// The model as the runtime of `profile` has it: with the scratch of its kernels, and with the
    /// operators that it does not compute at load. Nothing where it is this very one.
    pub(crate) fn under(&self, profile: &Profile) -> Result<Option<Self>, Failure> {
        let wanted = kernels(profile);
        match &self.content {
            Content::Tflite(file, kernels) if *kernels != wanted => {
                ModelFile::read(file.clone(), wanted).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn refused(path: &Path, code: &'static str, why: &str) -> Diagnostic {
    Diagnostic::new(code, why).note(format!("in {}", path.display()))
}

fn of_tflite(
    path: &Path,
    bytes: &[u8],
    name: &str,
    reading: &Reading,
    kernels: Kernels,
) -> Result<Model, Failure> {
    not_for_tflite(reading)?;
    let inputs = reading.shapes();
    let options = tflite_options(reading, kernels);
    let model = tflite::read_resized(bytes, name, &options, &inputs);
    let model = model.map_err(|error| tflite_refused(path, &error))?;
    let offline = offline(&model);
    let file = own::file(&model.graph);
    let unknown = unknown(&model, kernels);
    let unplanned = unplanned(path, &model.graph, &model.opaque);
    Ok(Model {
        offline,
        tflite: true,
        unknown,
        unplanned,
        ..Model::plain(model.graph, file)
    })
}

fn tflite_options(reading: &Reading, kernels: Kernels) -> tflite::ReadOptions {
    tflite::ReadOptions {
        bodies: bodies(reading),
        kernels,
        ..tflite::ReadOptions::default()
    }
}

fn tflite_refused(path: &Path, error: &tflite::TfliteError) -> Failure {
    let told = refused(path, "E0406", &error.to_string());
    match resize_help(error) {
        Some(help) => told.help(help).cannot(),
        None => told.cannot(),
    }
}

/// Flags that say nothing about a `.tflite`.
fn not_for_tflite(reading: &Reading) -> Result<(), Failure> {
    let (title, help) = if !reading.dims.is_empty() {
        (
            "--dim is for .onnx models; a .tflite has no named dimensions",
            "give the whole shape of an input: --input NAME=1x3x224x224",
        )
    } else if reading.ignore_declared {
        (
            "--ignore-declared is for .onnx models; the shapes of a .tflite are taken as declared",
            "leave it out; --input NAME=1x3x224x224 gives an input another shape",
        )
    } else {
        return Ok(());
    };
    Err(Diagnostic::new("E0107", title).help(help).cannot())
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

/// What may need scratch that is not known, by kind.
fn unknown(model: &TfliteModel, kernels: Kernels) -> Vec<String> {
    let kind = |&node| model.graph.nodes()[node].op.clone();
    let kinds: BTreeSet<String> = model.scratch_unknown.iter().map(kind).collect();
    let mut metadata = model.metadata.iter();
    let packed = metadata.any(|entry| entry.name == tflite::micro::COMPRESSION);
    let compressed = packed && kernels == Kernels::Micro;
    let weights = compressed.then(|| "compressed weights".to_owned());
    kinds.into_iter().chain(weights).collect()
}

/// The offline plan in the file, by tensor of the graph.
fn offline(model: &TfliteModel) -> Option<Result<Pinned, String>> {
    let plan = match model.offline.as_ref()? {
        Ok(plan) => plan,
        Err(why) => return Some(Err(why.to_string())),
    };
    let mut pinned = Pinned::filled(None, model.graph.tensors().len());
    for (ids, offsets) in model.tensors.iter().zip(&plan.offsets) {
        for (id, &offset) in ids.iter().zip(offsets) {
            if let Some(id) = *id {
                pinned[id] = offset;
            }
        }
    }
    Some(Ok(pinned))
}

fn of_onnx(path: &Path, bytes: &Mapped, name: &str, reading: &Reading) -> Result<Model, Failure> {
    let options = onnx_options(path, bytes, reading);
    let model = onnx::read_with_weights(bytes, name, &options);
    let model = model.map_err(|error| onnx_refused(path, &error))?;
    let file = own::file(&model.graph);
    let unplanned = unplanned(path, &model.graph, &model.opaque);
    Ok(Model {
        unplanned,
        ..Model::plain(model.graph, file)
    })
}

fn onnx_options<'a>(path: &'a Path, bytes: &'a Mapped, reading: &Reading) -> onnx::ReadOptions<'a> {
    onnx::ReadOptions {
        dims: reading.dims.iter().cloned().collect(),
        inputs: reading.shapes(),
        folder: path.parent().map(|folder| {
            if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            }
        }),
        bodies: bodies(reading),
        ignore_declared: reading.ignore_declared,
        mapped: Some(bytes),
    }
}

fn onnx_refused(path: &Path, error: &onnx::OnnxError) -> Failure {
    let told = refused(path, "E0407", &error.to_string());
    let told = match error {
        onnx::OnnxError::Clash { .. } => told.help("--ignore-declared passes over it"),
        _ => told,
    };
    told.cannot()
}

fn bodies(reading: &Reading) -> Bodies {
    match reading.bodies {
        args::Bodies::Inline => Bodies::Inline,
        args::Bodies::Apart => Bodies::Apart,
    }
}

/// That the bodies of these nodes are not planned, and how many bytes they make.
fn unplanned(path: &Path, graph: &Graph, opaque: &[OpaqueBodies]) -> Option<Diagnostic> {
    const SHOWN: usize = 8;
    if opaque.is_empty() {
        return None;
    }
    let bytes = |opaque: &OpaqueBodies| opaque.bytes;
    let total = opaque.iter().map(bytes).fold(0, u64::saturating_add);
    let title = format!(
        "the bodies of {} are not planned: what they make is {}, in memory of the runtime's own",
        count(opaque.len(), "operator"),
        exact(total)
    );
    let mut told = Diagnostic::new("E0409", title)
        .help("--bodies inline plans them")
        .warning();
    for opaque in opaque.iter().take(SHOWN) {
        let node = &graph.nodes()[opaque.node];
        told = told.note(format!("`{}`: {}", node.name, exact(opaque.bytes)));
    }
    if opaque.len() > SHOWN {
        told = told.note(format!("and {} more", opaque.len() - SHOWN));
    }
    Some(told.note(format!("in {}", path.display())))
}
