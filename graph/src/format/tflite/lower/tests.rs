//! What real files compute: every part within its tensors, in place where the graph offers it.

use super::super::{ReadOptions, read};
use crate::kernel::{Source, Target};
use std::collections::BTreeSet;

/// Files with operators that have no kernel here: the beginning of their names, and those operators.
const WITHOUT: [(&str, &[&str]); 8] = [
    ("coral_deeplabv3", &["ARG_MAX", "RESIZE_BILINEAR"]),
    ("microwakeword_", &["ASSIGN_VARIABLE", "VAR_HANDLE"]),
    ("mww_", &["ASSIGN_VARIABLE", "VAR_HANDLE"]),
    ("tflm_dtln", &["UNIDIRECTIONAL_SEQUENCE_LSTM"]),
    ("tflm_mnist_lstm", &["UNIDIRECTIONAL_SEQUENCE_LSTM"]),
    ("tflm_keyword_svdf", &["QUANTIZE", "SOFTMAX", "SVDF"]),
    ("oww_hey_jarvis", &["IF"]),
    // Declared at a single sample, at which its window does not fit.
    ("oww_melspectrogram", &["CONV_2D"]),
];

#[test]
fn real_models_are_computed_within_their_tensors() {
    let folder = std::env::var_os("BAYPLAN_CORPUS").filter(|folder| !folder.is_empty());
    let Some(folder) = folder else {
        return; // `tests/corpus.rs` says so
    };
    let mut paths: Vec<_> = std::fs::read_dir(std::path::Path::new(&folder).join("tflite"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "tflite"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in &paths {
        let bytes = std::fs::read(path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy();
        let mut ops = examine(&name, &bytes);
        ops.retain(|op| !op.starts_with("CUSTOM:"));
        let known = WITHOUT.iter().find(|(start, _)| name.starts_with(start));
        let known = known.map_or(&[][..], |(_, ops)| ops);
        assert!(ops.iter().eq(known), "{name}: {ops:?}");
    }
}

/// Kinds of operators of a file without kernels.
fn examine(name: &str, bytes: &[u8]) -> BTreeSet<String> {
    let model = read(bytes, name, &ReadOptions::default()).unwrap();
    let compute = super::compute(&model, bytes).unwrap();
    let (graph, mut missing) = (&model.graph, BTreeSet::new());
    for (id, node) in graph.nodes().iter() {
        let parts = match &compute.nodes[id] {
            Ok(parts) => parts,
            Err(why) => {
                missing.insert(why.op.clone());
                continue;
            }
        };
        for part in parts {
            let needs = part.kernel.needs().unwrap();
            let reads = part.reads.iter().map(|&at| node.inputs[at].unwrap());
            let target = match part.write {
                Target::Result(at) => node.outputs[at],
                Target::State(at) => node.writes[at],
            };
            let sizes = needs
                .reads
                .iter()
                .zip(reads)
                .chain([(&needs.write, target)]);
            for (&needed, tensor) in sizes {
                let found = graph.tensors()[tensor].bytes;
                assert!(
                    needed <= found,
                    "{name}: {}: {needed} of {found}",
                    node.name
                );
            }
        }
        for &(from, _) in &node.in_place {
            assert_eq!(parts.len(), 1, "{name}: {}", node.name);
            let reads = parts[0].reads.iter().enumerate();
            let same = reads.filter(|&(_, &at)| node.inputs[at] == Some(from));
            for (operand, _) in same {
                assert!(parts[0].kernel.in_place(operand), "{name}: {}", node.name);
            }
        }
    }
    for constant in compute.constants.values() {
        assert!(
            !matches!(constant.source, Source::Unknown(_)),
            "{name}: {}",
            constant.name
        );
    }
    missing
}

#[test]
fn every_operator_in_the_table_of_the_docs_has_a_rule() {
    let text = include_str!("../../../../../docs/operators.md");
    let part = text.split("\n## ").find(|part| part.starts_with(".tflite"));
    let rows = part.expect("a section").lines();
    let first = rows.filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let names = first.flat_map(|cell| cell.split('`'));
    let names = names.filter(|name| !name.trim_matches([',', ' ']).is_empty());
    let mut count = 0;
    for name in names {
        assert!(super::rule(name).is_some(), "{name}");
        count += 1;
    }
    assert!(count > 80, "{count}");
}
