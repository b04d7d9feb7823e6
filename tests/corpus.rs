//! Real models: activations, naive bytes and largest load, equal to the byte to figures that other
//! code computed and public runtimes confirmed (`docs/corpus.md`).
//!
//! Goes in: the folder that `BAYPLAN_CORPUS` names and `tests/corpus/fetch` fills, with the tables
//! `pins.csv` (which files) and `figures.csv` (what must come out). Models of the chosen set must be
//! there; the others are checked where they are. Without a folder the tests say so and pass, unless
//! `BAYPLAN_NO_SKIPS` is set and `BAYPLAN_OFFLINE` is not.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]
#![expect(clippy::print_stdout, reason = "stated skips")]

#[path = "corpus/kernels.rs"]
mod kernels;
#[path = "corpus/library.rs"]
mod library;
#[path = "corpus/resized.rs"]
mod resized;
#[path = "corpus/stock.rs"]
mod stock;

use bayplan_graph::{PlanOptions, Policy, plan};
use bayplan_planner::Options;
use library::{Flags, counted, read, read_tflite};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

const PINS: &str = include_str!("corpus/pins.csv");
const FIGURES: &str = include_str!("corpus/figures.csv");
/// Each with those before it.
const SETS: [&str; 3] = ["ci", "core", "full"];
/// Nothing shared, inputs free after their last reader, no padding: how the figures are defined.
const APART: [&str; 7] = [
    "--reuse-inputs",
    "--in-place",
    "off",
    "--views",
    "off",
    "--align",
    "1",
];

/// The rows of a table without quotes, by the names of its columns.
fn rows(table: &'static str) -> Vec<BTreeMap<&'static str, &'static str>> {
    let mut lines = table.lines().map(|line| line.split(',').collect());
    let names: Vec<&str> = lines.next().unwrap();
    let row = |cells: Vec<&'static str>| {
        assert_eq!(cells.len(), names.len(), "{cells:?}");
        names.iter().copied().zip(cells).collect()
    };
    lines.map(row).collect()
}

/// A line of `figures.csv`.
struct Model {
    /// `onnx/light_resnet50.onnx`
    file: String,
    /// What the command needs to read it.
    flags: &'static str,
    /// Why the command counts other bytes than the library, if it does.
    reading: &'static str,
    /// What the command says, where it refuses the model.
    refused: &'static str,
    known: Figures,
    /// By stock profile: what its runtime was measured to take, and why ours differs, if it does.
    stock: [(&'static str, Option<u64>, &'static str); 2],
    /// Why no strategy of ours reaches the bound, if none does.
    above_bound: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
struct Figures {
    activations: usize,
    naive: u64,
    max_load: u64,
}

fn models() -> Vec<Model> {
    let model = |row: BTreeMap<&str, &'static str>| Model {
        file: format!("{0}/{1}.{0}", row["format"], row["model"]),
        flags: row["flags"],
        reading: row["reading"],
        refused: row["refused"],
        known: Figures {
            activations: row["activations"].parse().unwrap(),
            naive: row["naive_bytes"].parse().unwrap(),
            max_load: row["max_load_bytes"].parse().unwrap(),
        },
        stock: [("tflite", "tflite_ref_arena"), ("tflm", "tflm_head")].map(|(profile, column)| {
            let differs = if profile == "tflm" {
                row["tflm_differs"]
            } else {
                row["tflite_differs"]
            };
            (profile, row[column].parse().ok(), differs)
        }),
        above_bound: row["above_bound"],
    };
    rows(FIGURES).into_iter().map(model).collect()
}

/// The files that `tests/corpus/fetch` brings for the chosen set.
fn fetched() -> BTreeSet<&'static str> {
    let chosen = std::env::var("BAYPLAN_CORPUS_SET").unwrap_or_default();
    let chosen = if chosen.is_empty() { "core" } else { &chosen };
    let last = SETS.iter().position(|set| *set == chosen);
    let sets = &SETS[..=last.expect("BAYPLAN_CORPUS_SET is ci, core or full")];
    let rows = rows(PINS).into_iter();
    rows.filter(|row| sets.contains(&row["set"]))
        .map(|row| row["file"])
        .collect()
}

fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = set("BAYPLAN_CORPUS");
    if folder.is_none() {
        assert!(
            set("BAYPLAN_NO_SKIPS").is_none() || set("BAYPLAN_OFFLINE").is_some(),
            "BAYPLAN_CORPUS names no folder of models: run tests/corpus/fetch FOLDER"
        );
        println!("skipped: BAYPLAN_CORPUS names no folder of models (tests/corpus/fetch FOLDER)");
    }
    folder.map(PathBuf::from)
}

/// Checks every model that is there, and that those of the chosen set are; tells all that fail.
fn each(check: impl Fn(&Model, &Path) -> Result<(), String>) {
    let Some(folder) = folder() else { return };
    let fetched = fetched();
    let mut wrong = Vec::new();
    for model in models() {
        let path = folder.join(&model.file);
        let outcome = if path.exists() {
            check(&model, &path)
        } else if fetched.contains(model.file.as_str()) {
            Err("not there: run tests/corpus/fetch".into())
        } else {
            println!("skipped: {} is not there", model.file);
            Ok(())
        };
        if let Err(why) = outcome {
            wrong.push(format!("{}: {why}", model.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(verb: &str, path: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bayplan"));
    let arguments = [OsStr::new(verb), path.as_os_str(), OsStr::new("--json")];
    command.args(arguments).args(flags).output().unwrap()
}

fn json(verb: &str, path: &Path, model: &Model, flags: &[&str]) -> Result<Value, String> {
    let all: Vec<&str> = model
        .flags
        .split(' ')
        .chain(flags.iter().copied())
        .collect();
    let all: Vec<&str> = all.into_iter().filter(|flag| !flag.is_empty()).collect();
    let done = run(verb, path, &all);
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())
}

fn same(found: &Figures, model: &Model) -> Result<(), String> {
    if *found == model.known {
        return Ok(());
    }
    Err(format!("{found:?} instead of {:?}", model.known))
}

/// The figures in `table --json`: what has bytes in the first arena, where variables are not.
fn told(table: &Value) -> Figures {
    let tensors = table["tensors"].as_array().unwrap().iter();
    let counts = |tensor: &&Value| tensor["bytes"] != 0 && tensor["place"][0] == 0;
    Figures {
        activations: tensors.filter(counts).count(),
        naive: table["summary"]["naive_bytes"].as_u64().unwrap(),
        max_load: table["summary"]["max_load_bytes"].as_u64().unwrap(),
    }
}

#[test]
fn the_command_tells_the_known_figures() {
    each(|model, path| {
        if !model.reading.is_empty() || !model.refused.is_empty() {
            return Ok(());
        }
        let table = json("table", path, model, &APART)?;
        same(&told(&table), model)?;
        let arena = table["summary"]["arena_bytes"].as_u64().unwrap();
        let possible = model.known.max_load..=model.known.naive;
        let found = format!("an arena of {arena} bytes is not in {possible:?}");
        possible.contains(&arena).then_some(()).ok_or(found)
    });
}

#[test]
fn the_command_plans_with_all_sharing_and_certifies() {
    each(|model, path| {
        if !model.refused.is_empty() {
            return Ok(());
        }
        for flags in [&[][..], &["--reuse-inputs"]] {
            let plan = json("plan", path, model, flags)?;
            let bytes = |key: &str| plan[key].as_u64().unwrap();
            let held =
                plan["certified"] == true && bytes("lower_bound_bytes") <= bytes("arena_bytes");
            held.then_some(()).ok_or_else(|| plan.to_string())?;
        }
        Ok(())
    });
}

/// No bodies are left out where they are not asked to be.
#[test]
fn models_whose_bodies_do_not_count_are_planned_with_them_too() {
    each(|model, path| {
        if !model.flags.contains("--bodies apart") {
            return Ok(());
        }
        let inline = model.flags.replace("--bodies apart", "");
        let flags: Vec<&str> = inline.split_whitespace().collect();
        let done = run("plan", path, &flags);
        let plan: Value = serde_json::from_slice(&done.stdout)
            .map_err(|_| String::from_utf8_lossy(&done.stderr).into_owned())?;
        let apart = json("plan", path, model, &[])?;
        let bodies = |plan: &Value| plan["unplanned_bodies"].as_array().map(Vec::len);
        let held = plan["certified"] == true
            && bodies(&plan) == Some(0)
            && bodies(&apart) > Some(0)
            && apart["warnings"].to_string().contains("are not planned")
            && plan["steps"].as_u64() > apart["steps"].as_u64();
        held.then_some(()).ok_or(format!("{plan}\n{apart}"))
    });
}

#[test]
fn the_command_refuses_with_the_known_reason() {
    each(|model, path| {
        if model.refused.is_empty() {
            return Ok(());
        }
        match json("plan", path, model, &[]) {
            Err(why) if why.contains(model.refused) => Ok(()),
            Err(why) => Err(why),
            Ok(_) => Err("was planned".into()),
        }
    });
}

#[test]
fn the_library_has_the_known_figures_and_certifies() {
    each(|model, path| {
        if model.reading.is_empty() && !model.refused.is_empty() {
            return Ok(());
        }
        let graph = Arc::new(read(path, model)?);
        same(&counted(&graph), model)?;
        // The command has planned the others.
        let policies = [false, true].map(|reuse_inputs| Policy {
            reuse_inputs,
            ..Policy::default()
        });
        for policy in policies.into_iter().filter(|_| !model.reading.is_empty()) {
            let options = PlanOptions {
                policy,
                ..PlanOptions::default()
            };
            plan(graph.clone(), &options).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
}

/// The largest load is the bound under the rules of [`APART`]. The strategies alone reach it where the figures
/// do not say otherwise; with the search it is reached everywhere.
#[test]
fn plans_reach_the_largest_load() {
    let options = |packing| PlanOptions {
        alignment: Some(1),
        policy: Policy {
            in_place: false,
            views: false,
            reuse_inputs: true,
        },
        packing,
        ..PlanOptions::default()
    };
    let (alone, all) = (options(Options::greedy()), options(Options::default()));
    each(|model, path| {
        if model.reading.is_empty() && !model.refused.is_empty() {
            return Ok(());
        }
        let graph = Arc::new(read(path, model)?);
        let made = plan(graph.clone(), &alone).map_err(|e| e.to_string())?;
        let bound = made.bounds.arenas.values().next().map_or(0, |b| b.bytes);
        let arena = made.certified.arena_bytes();
        if model.reading != "workspaces_apart" && bound != model.known.max_load {
            let load = model.known.max_load;
            return Err(format!("the bound is {bound}, the largest load {load}"));
        }
        if (arena > bound) == model.above_bound.is_empty() {
            let told = model.above_bound;
            return Err(format!("strategies: {arena}, bound {bound}: `{told}`"));
        }
        let made = plan(graph, &all).map_err(|e| e.to_string())?;
        let lowest = made.certified.arena_bytes();
        if lowest > bound {
            return Err(format!("with the search: {lowest}, bound {bound}"));
        }
        Ok(())
    });
}

#[test]
fn the_plan_inside_a_real_file_is_read() {
    each(|model, path| {
        if model.file != "tflite/tflm_person_detect_vela_ethosu.tflite" {
            return Ok(());
        }
        let model = read_tflite(path, &Flags::default())?;
        let plan = model.offline.unwrap().unwrap();
        let found = (plan.version, plan.offsets.len(), plan.offsets[0].len());
        assert_eq!((found, model.workspaces.len()), ((0, 1, 6), 2));
        Ok(())
    });
}

#[test]
fn every_pinned_model_has_figures() {
    let models = models();
    let keys: BTreeSet<_> = models.iter().map(|m| (&m.file, m.flags)).collect();
    assert_eq!(keys.len(), models.len(), "a row is there twice");
    let known: BTreeSet<&str> = models.iter().map(|m| m.file.as_str()).collect();
    let pins = rows(PINS);
    let pinned: BTreeSet<&str> = pins.iter().map(|row| row["file"]).collect();
    assert_eq!(pinned.len(), pins.len());
    assert!(pinned.is_subset(&known), "{:?}", &pinned - &known);
    for row in pins {
        assert!(row["sha256"].len() == 64 && row["bytes"].parse::<u64>().is_ok());
        assert!([&SETS[..], &["hand"]].concat().contains(&row["set"]));
    }
}
