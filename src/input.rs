//! Files to typed inputs: a graph, a problem, or a plan; never a guess.

mod model;
mod source;
mod told;

use crate::args::Reading;
use crate::failure::{DEFECT, Diagnostic, Failure};
use crate::report::grid::visible;
use crate::report::progress::Bar;
use bayplan_graph::format::file::GraphFile;
use bayplan_graph::format::own::{self, Syntax};
use bayplan_graph::format::tflite::Kernels;
use bayplan_graph::plan_file::GraphPart;
use bayplan_graph::stock::Pinned;
use bayplan_graph::{Graph, facts};
use bayplan_planner::file::csv::{self, Parsed};
use bayplan_planner::file::plan_file::{self, Format, PlanFile};
pub(crate) use model::Computed;
use model::ModelFile;
use source::{Source, read};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use told::{csv_failure, facts_failure, graph_failure};

/// What a path turned out to hold.
pub(crate) enum Input {
    /// A model.
    Graph(Box<Model>),
    /// A CSV of buffers.
    Problem(Box<Parsed>),
    /// A plan.
    Plan(Box<PlanFile<GraphPart>>),
}

/// A model that was read.
pub(crate) struct Model {
    pub(crate) graph: Arc<Graph>,
    /// Its file with the facts of `--ops` in it.
    pub(crate) file: GraphFile,
    /// Offsets that an offline plan in the file gives, by tensor, or why that plan is none.
    pub(crate) offline: Option<Result<Pinned, String>>,
    /// It is a `.tflite`: stock runtimes load it.
    pub(crate) tflite: bool,
    /// What may need scratch that is not known, in words.
    pub(crate) unknown: Vec<String>,
    /// That bodies of branches and loops are not planned.
    unplanned: Option<Diagnostic>,
    /// Where it is from.
    content: Content,
}

/// Where a model is from.
enum Content {
    /// A graph of the own format.
    Own,
    /// An `.onnx`.
    Onnx(Rc<ModelFile>),
    /// A `.tflite`, and for whose kernels it was read.
    Tflite(Rc<ModelFile>, Kernels),
}

impl Model {
    /// A model of a graph that no stock runtime loads.
    fn plain(graph: Graph, file: GraphFile) -> Self {
        Self {
            graph: Arc::new(graph),
            file,
            offline: None,
            tflite: false,
            unknown: Vec::new(),
            unplanned: None,
            content: Content::Own,
        }
    }

    /// What any plan of the model leaves out.
    pub(crate) fn warnings(&self) -> Vec<Diagnostic> {
        let unplanned = self.unplanned.iter().cloned();
        unplanned.chain(self.unknown_scratch()).collect()
    }

    /// That kernels may need more than is planned.
    fn unknown_scratch(&self) -> Option<Diagnostic> {
        if self.unknown.is_empty() {
            return None;
        }
        let what = self
            .unknown
            .iter()
            .map(|what| visible(what))
            .collect::<Vec<_>>()
            .join(", ");
        let title = format!(
            "the scratch of {what} is not known: the runtime may need more than is planned"
        );
        Some(Diagnostic::new("E0408", title)
            .help("--ops FILE.ron can state `scratch_bytes` for custom operators (docs/graph-format.md)")
            .warning())
    }

    /// What the stock Micro runtime would read as offsets.
    pub(crate) fn pinned(&self) -> Result<Pinned, Failure> {
        match &self.offline {
            None => Ok(Pinned::new()),
            Some(Ok(pinned)) => Ok(pinned.clone()),
            Some(Err(why)) => Err(Diagnostic::new("E0406", why.clone())
                .note("it is the metadata entry `OfflineMemoryAllocation`")
                .no()),
        }
    }
}

/// Loads a model, a graph, a CSV or a plan, whichever it is.
pub(crate) fn load(path: &Path, reading: &Reading) -> Result<Input, Failure> {
    if let Some(name) = reading.data() {
        let title = format!(
            "--input gives `{}` data, which only `bayplan run` takes",
            visible(name)
        );
        return Err(Diagnostic::new("E0107", title)
            .help("a shape is numbers with x between them: --input NAME=1x3x224x224")
            .cannot());
    }
    let extension = extension(path);
    if matches!(&*extension, "gguf" | "safetensors") {
        return Err(Diagnostic::new("E0104", format!("cannot read `{}`: .{extension} files are not supported yet", path.display()))
            .help("this version reads .tflite and .onnx, its own graph format (.json, .ron; docs/graph-format.md) and CSVs of buffers")
            .cannot());
    }
    if matches!(&*extension, "tflite" | "onnx") {
        return model::load(path, &extension, reading);
    }
    if !matches!(&*extension, "json" | "ron" | "csv") {
        return Err(
            Diagnostic::new("E0104", format!("cannot tell what `{}` is", path.display()))
                .note(if extension.is_empty() {
                    "it has no ending".to_owned()
                } else {
                    format!("its ending is `.{extension}`")
                })
                .help("models end in .tflite or .onnx, graphs and plans in .json or .ron, problems in .csv")
                .cannot(),
        );
    }
    let _bar = Bar::new(&format!("reading {}", visible(&path.display().to_string())));
    let source = read(path)?;
    if extension == "csv" {
        return match csv::read(&source.text) {
            Ok(parsed) => Ok(Input::Problem(Box::new(parsed))),
            Err(errors) => Err(csv_failure(&source, &errors)),
        };
    }
    if is_plan(&source.text) {
        return plan_file(&source, path).map(|file| Input::Plan(Box::new(file)));
    }
    let syntax = if extension == "json" {
        Syntax::Json
    } else {
        Syntax::Ron
    };
    graph(&source, path, syntax, reading.ops.as_deref())
}

fn extension(path: &Path) -> String {
    let extension = path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase());
    extension.unwrap_or_default()
}

/// A plan's first key is `schema`. RON may begin with lines that switch extensions on.
fn is_plan(text: &str) -> bool {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    while let Some((_, below)) = rest
        .strip_prefix("#![")
        .and_then(|after| after.split_once(']'))
    {
        rest = below.trim_start();
    }
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '(' | '{' | '"'));
    rest.starts_with("schema")
}

fn plan_file(source: &Source, path: &Path) -> Result<PlanFile<GraphPart>, Failure> {
    let result = Format::of(path).and_then(|format| plan_file::from_text(&source.text, format));
    result.map_err(|error| {
        let mut diagnostic = Diagnostic::new(error.code(), error.to_string());
        diagnostic = match error.place() {
            Some((line, column)) => {
                diagnostic.at(source.spot(line as usize, column as usize, 1, "here"))
            }
            None => diagnostic.note(format!("in {}", source.path)),
        };
        diagnostic.cannot()
    })
}

fn graph(
    source: &Source,
    path: &Path,
    syntax: Syntax,
    ops: Option<&Path>,
) -> Result<Input, Failure> {
    let told = |error| graph_failure(source, &error);
    let mut file = own::parse(&source.text, syntax).map_err(told)?;
    if let Some(ops) = ops {
        add_facts(&mut file, ops)?;
    }
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let graph = own::graph(file.clone(), &stem.unwrap_or_default()).map_err(told)?;
    Ok(Input::Graph(Box::new(Model::plain(graph, file))))
}

/// Adds facts; returns the kinds that they are about.
fn add_facts(file: &mut GraphFile, ops: &Path) -> Result<Vec<String>, Failure> {
    let source = read(ops)?;
    let told = |error| facts_failure(&source, &error);
    let facts = facts::read(&source.text).map_err(told)?;
    facts::apply(file, &facts).map_err(told)?;
    Ok(facts.into_iter().map(|fact| fact.op).collect())
}

/// A plan of ours that failed our own check or replay: save what is needed to find out why.
pub(crate) fn defect(what: &str, saved: &impl serde::Serialize) -> Failure {
    let path = std::env::temp_dir().join(format!("bayplan-defect-{}.json", std::process::id()));
    let text = serde_json::to_vec_pretty(saved).unwrap_or_default();
    let written = bayplan_planner::file::atomic::write_atomic(&path, &text);
    let note = match written {
        Ok(()) => format!("the problem and the plan are saved in {}", path.display()),
        Err(error) => format!("the problem could not be saved: {error}"),
    };
    Failure::Told {
        exit: DEFECT,
        diagnostics: vec![Diagnostic::new("E0901", what.to_owned()).note(note).help(
            "this is a defect of bayplan, not of your file: please report it with that file",
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_from_a_graph_by_its_first_key() {
        for plan in [
            "(schema: 1)",
            "{\"schema\":1}",
            " \n#![enable(implicit_some)]\n(\n    schema: 1",
        ] {
            assert!(is_plan(plan), "{plan}");
        }
        for graph in [
            "(tensors: [])",
            "{\"tensors\":[{\"name\":\"schema\"}]}",
            "",
            "#![schema",
        ] {
            assert!(!is_plan(graph), "{graph}");
        }
    }

    #[test]
    fn a_defect_saves_the_problem_and_ends_with_3() {
        let Failure::Told { exit, diagnostics } = defect("a test", &[1, 2, 3]) else {
            panic!("it is told")
        };
        let saved =
            std::env::temp_dir().join(format!("bayplan-defect-{}.json", std::process::id()));
        let text = std::fs::read_to_string(&saved).unwrap();
        std::fs::remove_file(&saved).unwrap();
        let numbers: Vec<u8> = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (exit, diagnostics[0].code, numbers),
            (3, "E0901", vec![1, 2, 3])
        );
    }
}
