//! Command transcripts that are also documentation, and documentation that must stay true.
//!
//! `docs/tour.md` and `tests/cmd/*.md` are run by `trycmd`. After a wanted change of an output:
//!
//! ```text
//! TRYCMD=overwrite cargo test --test transcripts
//! ```
//!
//! then read the difference. The same call renews `docs/mobilenet_v2.svg`; outputs in README.md are
//! copied from `docs/tour.md` by hand, and compared here.

use bayplan_graph::format::own::{self, Syntax};
use bayplan_graph::{GraphBuilder, PlanOptions, Role, facts, plan};
use bayplan_planner::file::csv;
use bayplan_planner::{Buffer, Options, Problem};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

const README: &str = include_str!("../README.md");
const TOUR: &str = include_str!("../docs/tour.md");

/// A tool of the system; `trycmd` passes over those that it does not know.
fn from_path(tool: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(tool));
    places
        .find(|place| place.exists())
        .unwrap_or_else(|| tool.into())
}

#[test]
fn transcripts() {
    trycmd::TestCases::new()
        .register_bin("bayplan", Path::new(env!("CARGO_BIN_EXE_bayplan")))
        .register_bin("cat", &*from_path("cat"))
        .register_bin("sed", &*from_path("sed"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "")
        .case("docs/tour.md")
        .case("tests/cmd/*.md");
}

/// The fenced blocks of a Markdown text whose info string is `language`.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("\n```{language}\n");
    let bodies = text.split(fence.as_str()).skip(1);
    bodies
        .map(|rest| rest.split("\n```").next().unwrap_or(rest))
        .collect()
}

#[test]
fn every_output_in_the_readme_is_one_of_the_tour() {
    let shown = blocks(README, "console");
    assert!(shown.len() > 3);
    for block in shown {
        assert!(
            TOUR.contains(block.trim_end()),
            "README.md shows what docs/tour.md does not:\n{block}"
        );
    }
}

/// The example's path, when cargo has built it (`cargo test` does, `--test transcripts` does not).
fn example() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_bayplan")).parent()?;
    let path = folder.join("examples/mobilenet_v2");
    path.exists().then_some(path)
}

#[test]
fn the_readme_shows_the_plan_and_the_picture_of_mobilenet() {
    let Some(example) = example() else {
        assert!(
            std::env::var_os("BAYPLAN_NO_SKIPS").is_none(),
            "the example mobilenet_v2 is not built: cargo build --example mobilenet_v2"
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        let command = command.current_dir(&folder).env("COLUMNS", "").args(args);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let bayplan = Path::new(env!("CARGO_BIN_EXE_bayplan"));
    let model = "mobilenet_v2.json";
    run(&example, &[model]);
    let summary = run(bayplan, &["plan", model, "--reuse-inputs"]);
    assert!(
        README.contains(&summary),
        "README.md does not show:\n{summary}"
    );
    run(
        bayplan,
        &["draw", model, "--reuse-inputs", "-o", "mobilenet_v2.svg"],
    );
    let drawn = std::fs::read(folder.path().join("mobilenet_v2.svg")).expect("it was drawn");
    let kept = Path::new("docs/mobilenet_v2.svg");
    if std::env::var("TRYCMD").is_ok_and(|mode| mode == "overwrite") {
        std::fs::write(kept, &drawn).expect("docs can be written");
    }
    assert!(
        std::fs::read(kept).expect("it is committed") == drawn,
        "docs/mobilenet_v2.svg is not what `bayplan draw` draws"
    );
}

#[test]
fn a_narrow_table_tells_operands_by_id_and_loses_no_operator() {
    let table = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bayplan"));
        command.args(["table", "docs/tour.in/keyword.json"]);
        let output = command.env("COLUMNS", columns).output().expect("it runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let (wide, narrow) = (table("200"), table("72"));
    assert!(wide.contains("audio conv/weight"), "{wide}");
    let row = "   2  depthwise  DepthwiseConv2D      16,490           3 4    5\n";
    assert!(narrow.contains(row), "{narrow}");
    assert!(narrow.contains("tensors as ids"), "{narrow}");
    let nodes = narrow.lines().skip_while(|line| !line.starts_with("NODES"));
    let nodes = nodes.take_while(|line| !line.is_empty());
    let widest = nodes.map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 72), "{narrow}");
}

#[test]
fn the_graphs_and_facts_in_the_docs_load() {
    let text = include_str!("../docs/graph-format.md");
    let mut graphs = 0;
    for (language, syntax) in [("json", Syntax::Json), ("ron", Syntax::Ron)] {
        for block in blocks(text, language) {
            if block.starts_with('[') {
                facts::read(block).unwrap_or_else(|error| panic!("{error}\n{block}"));
            } else {
                let graph = own::parse(block, syntax).and_then(|file| own::graph(file, "doc"));
                graph.unwrap_or_else(|error| panic!("{error}\n{block}"));
                graphs += 1;
            }
        }
    }
    assert!(graphs > 5);
}

#[test]
fn the_csvs_in_the_docs_load() {
    let text = include_str!("../docs/csv-format.md");
    let files = blocks(text, "csv");
    assert!(files.len() > 2);
    for file in files {
        csv::read(file).unwrap_or_else(|errors| panic!("{errors}\n{file}"));
    }
}

#[rustfmt::skip] // as in README.md
fn library() -> Result<(), Box<dyn Error>> {
    // Buffers in time: name, steps, bytes.
    let problem = Problem::single(vec![
        Buffer::new("a", 0..2, 2560),
        Buffer::new("b", 1..3, 2048),
        Buffer::new("c", 2..4, 1536),
    ])?;
    let planned = bayplan_planner::plan(problem, &Options::default())?;
    assert!(planned.height() == 4608 && planned.is_optimal());
    // A model: tensors and nodes. The plan is certified, or there is an error.
    let mut model = GraphBuilder::new("tiny");
    let x = model.tensor("x", 1024, Role::Input);
    let y = model.tensor("y", 256, Role::Output);
    model.node("dense", "MatMul", &[x], &[y]);
    let planned = plan(model.build()?.into(), &PlanOptions::default())?;
    assert_eq!(planned.certified.arena_bytes(), 1280);
    Ok(())
}

#[test]
fn the_library_example_of_the_readme_runs() {
    library().expect("it plans");
    let trimmed = |text: &str| -> String {
        let lines = text.lines().map(str::trim);
        lines.collect::<Vec<_>>().join("\n")
    };
    let source = trimmed(include_str!("transcripts.rs"));
    for block in blocks(README, "rust") {
        let (uses, code): (Vec<&str>, Vec<&str>) =
            block.lines().partition(|line| line.starts_with("use "));
        assert!(!uses.is_empty() && source.contains(trimmed(&code.join("\n")).trim()));
    }
}
