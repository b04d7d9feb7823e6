//! Every rule against what real files declare: at the declared shapes of their inputs, inference must
//! come to the declared shapes everywhere.

use super::super::flat::Flat;
use super::super::schema::{self, Model};
use super::site::Trouble;
use super::walk::Walk;
use crate::infer::InferError;
use std::collections::{BTreeMap, BTreeSet};

/// What inference said about one file.
#[derive(Default)]
struct Findings {
    /// Results by kind of operator that came out as declared.
    agreed: BTreeMap<String, usize>,
    /// Kinds without a rule.
    unknown: BTreeSet<String>,
    /// All else, in words.
    wrong: Vec<String>,
}

fn examine(name: &str, bytes: &[u8], model: &Model, findings: &mut Findings) {
    let flat = Flat::new(bytes);
    let mut walk = Walk::new(bytes, &flat, model);
    for (index, subgraph) in model.subgraphs.iter().enumerate() {
        let mut states = walk.states(index, BTreeMap::new()).unwrap();
        for (position, operator) in subgraph.operators.iter().enumerate() {
            let found = walk.answer(index, position, &states);
            let step = walk.step(index, position, &states, 0).unwrap();
            for (&output, state) in operator.outputs.iter().zip(step) {
                states[output] = state;
            }
            let facts = match found {
                Ok(facts) => facts,
                Err(Trouble::Infer(InferError::UnknownOp)) => {
                    findings.unknown.insert(operator.op.clone());
                    continue;
                }
                Err(trouble) => {
                    let line = format!("{name}: {}#{position}: {trouble}", operator.op);
                    findings.wrong.push(line);
                    continue;
                }
            };
            for (&output, fact) in operator.outputs.iter().zip(facts) {
                let declared = &subgraph.tensors[output].shape;
                let found: Vec<i64> = fact
                    .shape
                    .iter()
                    .map(|&d| i64::try_from(d).unwrap())
                    .collect();
                if found.iter().eq(declared
                    .iter()
                    .map(|&d| i64::from(d))
                    .collect::<Vec<_>>()
                    .iter())
                {
                    *findings.agreed.entry(operator.op.clone()).or_default() += 1;
                } else {
                    let line = format!(
                        "{name}: {}#{position}: {found:?}, declared {declared:?}",
                        operator.op
                    );
                    findings.wrong.push(line);
                }
            }
        }
    }
}

#[test]
fn inference_agrees_with_what_real_files_declare() {
    let folder = std::env::var_os("BAYPLAN_CORPUS").filter(|folder| !folder.is_empty());
    let Some(folder) = folder else {
        return; // `tests/corpus.rs` says so
    };
    let mut findings = Findings::default();
    let mut paths: Vec<_> = std::fs::read_dir(std::path::Path::new(&folder).join("tflite"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "tflite"))
        .collect();
    paths.sort();
    for path in &paths {
        let bytes = std::fs::read(path).unwrap();
        let model = schema::model(&bytes).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy();
        examine(&name, &bytes, &model, &mut findings);
    }
    // Declared at a single sample, at which its window does not fit; the stock runtime refuses it too.
    let exceptions = [
        "oww_melspectrogram: CONV_2D#3: ",
        "oww_melspectrogram: CONV_2D#9: ",
    ];
    let known = |line: &String| exceptions.iter().any(|start| line.starts_with(start));
    findings.wrong.retain(|line| !known(line));
    assert!(findings.wrong.is_empty(), "{}", findings.wrong.join("\n"));
    let shapeless = [
        "VAR_HANDLE",
        "READ_VARIABLE",
        "ASSIGN_VARIABLE",
        "CALL_ONCE",
        "IF",
    ];
    let unknown = findings.unknown.iter();
    let unknown = unknown.filter(|op| !op.starts_with("CUSTOM:") && !shapeless.contains(&&***op));
    assert_eq!(unknown.collect::<Vec<_>>(), [] as [&String; 0]);
    assert!(!paths.is_empty() && findings.agreed.values().sum::<usize>() > 100 * paths.len() / 2);
}
