//! The house keeps its layers: crates import one way, files form no circle, and what checks does
//! not know what it checks.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn sources(folder: &str) -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(&root).unwrap().to_owned(), text);
            }
        }
    }
    assert!(found.len() > 1 || folder.starts_with("exec"), "{folder}");
    found
}

/// The module path of a file: `strategy/mod.rs` is `strategy`, `file/csv/read.rs` is `file::csv::read`.
fn module(path: &Path) -> String {
    let text = path.with_extension("").to_string_lossy().replace('/', "::");
    text.trim_end_matches("::mod").to_owned()
}

/// The text without its tests and comments.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Modules of the same crate that a file names with `crate::` or, for a child, `super::`.
fn imports(module_path: &str, text: &str, modules: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let parent = module_path
        .rsplit_once("::")
        .map_or("", |(parent, _)| parent);
    for (prefix, base) in [("crate::", ""), ("super::", parent)] {
        for (at, _) in text.match_indices(prefix) {
            let rest = &text[at + prefix.len()..];
            let names = rest
                .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                .next()
                .unwrap_or("");
            let mut path: Vec<&str> = base.split("::").filter(|part| !part.is_empty()).collect();
            path.extend(names.split("::").filter(|part| !part.is_empty()));
            while !path.is_empty() && !modules.contains(&path.join("::")) {
                path.pop();
            }
            found.insert(path.join("::"));
        }
    }
    found.remove("");
    found.remove(module_path);
    found
}

/// Top-level parts of a crate: a file, or a folder with its files.
fn part(module: &str) -> String {
    module.split("::").next().unwrap_or("").to_owned()
}

fn edges(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let sources = sources(folder);
    let modules: BTreeSet<String> = sources.keys().map(|path| module(path)).collect();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &sources {
        let from = module(path);
        if matches!(&*from, "lib" | "main") || from.ends_with("tests") {
            continue;
        }
        let to = imports(&from, &code(text), &modules)
            .into_iter()
            .map(|m| part(&m));
        edges
            .entry(part(&from))
            .or_default()
            .extend(to.filter(|m| *m != part(&from) && m != "lib" && m != "main"));
    }
    edges
}

fn circle(edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        at: &str,
        edges: &BTreeMap<String, BTreeSet<String>>,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if path.iter().any(|seen| seen == at) {
            path.push(at.to_owned());
            return true;
        }
        if !done.insert(at.to_owned()) {
            return false;
        }
        path.push(at.to_owned());
        let found = edges
            .get(at)
            .is_some_and(|next| next.iter().any(|n| visit(n, edges, path, done)));
        if !found {
            path.pop();
        }
        found
    }
    let mut done = BTreeSet::new();
    edges.keys().find_map(|start| {
        let mut path = Vec::new();
        visit(start, edges, &mut path, &mut done).then_some(path)
    })
}

#[test]
fn no_crate_has_a_circle_of_files() {
    for folder in ["planner/src", "graph/src", "src"] {
        let edges = edges(folder);
        assert!(edges.len() > 4, "{folder}: {edges:?}");
        assert_eq!(circle(&edges), None, "in {folder}");
    }
}

#[test]
fn a_circle_would_be_found() {
    let edges = |list: &[(&str, &str)]| {
        let mut map: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (a, b) in list {
            map.entry((*a).to_owned())
                .or_default()
                .insert((*b).to_owned());
        }
        map
    };
    assert!(circle(&edges(&[("a", "b"), ("b", "c"), ("c", "b")])).is_some());
    assert!(circle(&edges(&[("a", "b"), ("a", "c"), ("b", "c")])).is_none());
    let modules = ["check", "strategy", "strategy::greedy"]
        .map(str::to_owned)
        .into();
    let found = imports(
        "strategy::greedy",
        "use crate::check::{a, b};\nuse super::Strategy;",
        &modules,
    );
    assert_eq!(found, ["check", "strategy"].map(str::to_owned).into());
}

#[test]
fn the_checker_knows_only_vocabulary() {
    let allowed = ["ids", "lifetime", "plan", "problem", "witness", "words"]
        .map(str::to_owned)
        .into();
    let edges = edges("planner/src");
    assert!(
        edges["check"].is_subset(&allowed),
        "check imports {:?}",
        edges["check"]
    );
    for (module, imports) in &edges {
        let may = matches!(&**module, "strategy" | "conflict" | "prove");
        assert!(
            may || !imports.contains("strategy"),
            "{module} imports strategies"
        );
    }
}

#[test]
fn the_certifier_knows_neither_lifetimes_nor_storage() {
    let edges = edges("graph/src");
    let allowed = ["ir", "placement", "schedule"].map(str::to_owned).into();
    assert!(
        edges["certify"].is_subset(&allowed),
        "certify imports {:?}",
        edges["certify"]
    );
    // Of placement it takes the types of places, not the way they were found.
    for (path, text) in sources("graph/src") {
        if path.starts_with("certify") || path == Path::new("certify.rs") {
            let code = code(&text);
            for word in [
                "Lifetimes",
                "Storage",
                "lifetimes::",
                "storage::",
                "placement::locate",
                "placement::problem",
            ] {
                assert!(
                    path.ends_with("tests.rs") || !code.contains(word),
                    "{} uses {word}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn the_graph_knows_no_format() {
    let edges = edges("graph/src");
    for low in [
        "ir",
        "dtype",
        "build",
        "verify",
        "schedule",
        "lifetimes",
        "storage",
        "placement",
        "certify",
    ] {
        assert!(!edges[low].contains("format"), "{low} imports a format");
    }
}

#[test]
fn crates_import_one_way() {
    let uses = |folder: &str, word: &str| {
        sources(folder)
            .values()
            .any(|text| code(text).contains(word))
    };
    for (folder, forbidden) in [
        ("planner/src", &["bayplan_graph", "bayplan_exec"][..]),
        ("graph/src", &["bayplan_exec"]),
    ] {
        for word in forbidden {
            assert!(!uses(folder, word), "{folder} uses {word}");
        }
    }
    assert!(uses("graph/src", "bayplan_planner") && uses("exec/src", "bayplan_graph"));
}

#[test]
fn only_the_report_prints() {
    for folder in ["planner/src", "graph/src", "exec/src", "src"] {
        for (path, text) in sources(folder) {
            let code = code(&text);
            for word in ["println!", "print!(", "stdout()", "stderr()"] {
                let reports = folder == "src" && path.starts_with("report");
                assert!(
                    reports || !code.contains(word),
                    "{folder}/{} uses {word}",
                    path.display()
                );
            }
        }
    }
}
