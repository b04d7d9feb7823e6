//! Real files at other shapes, where `BAYPLAN_CORPUS` names their folder.

use super::resized;
use bayplan_graph::format::tflite::{TfliteError, TfliteModel};
use bayplan_graph::{Lifetimes, Role, Schedule};
use std::collections::BTreeMap;

#[expect(clippy::print_stdout, reason = "a stated skip")]
fn read(name: &str, inputs: &[(&str, &[u64])]) -> Option<Result<TfliteModel, TfliteError>> {
    let Some(folder) = std::env::var_os("BAYPLAN_CORPUS") else {
        println!("skipped: BAYPLAN_CORPUS names no folder of real models");
        return None;
    };
    let file = std::path::Path::new(&folder).join(format!("tflite/{name}.tflite"));
    let bytes = std::fs::read(file).unwrap();
    let inputs = inputs.iter();
    let given: BTreeMap<String, Vec<u64>> = inputs
        .map(|&(input, shape)| (input.to_owned(), shape.to_vec()))
        .collect();
    Some(resized(&bytes, &given))
}

/// Bytes of each tensor that lives in the arena.
fn bytes(model: &TfliteModel) -> Vec<u64> {
    let tensors = model.graph.tensors().values();
    let live = tensors.filter(|t| !matches!(t.role, Role::Weight | Role::State));
    live.map(|tensor| tensor.bytes).collect()
}

/// `oww_melspectrogram` is declared at one sample; the corpus' figures are those of the stock runtime
/// at 1280.
#[test]
fn a_second_of_sound_has_the_known_figures() {
    let input = ("serving_default_input:0", &[1, 1280][..]);
    let Some(found) = read("oww_melspectrogram", &[input]) else {
        return;
    };
    let graph = found.unwrap().graph;
    let schedule = Schedule::file_order(&graph);
    let lifetimes = Lifetimes::new(&graph, &schedule, true);
    let mut load = vec![0_u64; graph.nodes().len() + 1];
    let mut naive = 0;
    for (id, tensor) in graph.tensors().iter() {
        let Some(life) = lifetimes.get(id) else {
            continue;
        };
        naive += tensor.bytes;
        for step in life.start.0..life.end.0 {
            load[step as usize] += tensor.bytes;
        }
    }
    assert_eq!((naive, load.into_iter().max()), (92_428, Some(15_420)));
}

#[test]
fn twice_the_batch_is_twice_the_activations() {
    for (name, input, shape) in [
        ("mcunet_vww_int8", "input_0_f.1", [2, 80, 80, 3]),
        ("mp_hand_landmark_full", "input_1", [2, 224, 224, 3]),
        ("mp_face_detection_short_range", "input", [2, 128, 128, 3]),
    ] {
        let (Some(once), Some(twice)) = (read(name, &[]), read(name, &[(input, &shape)])) else {
            return;
        };
        let double: Vec<u64> = bytes(&once.unwrap()).iter().map(|&b| 2 * b).collect();
        assert_eq!(bytes(&twice.unwrap()), double, "{name}");
    }
}

/// Its shapes are computed in the model: those tensors stay as small as they are.
#[test]
fn shape_arithmetic_of_a_real_model_follows_the_batch() {
    let name = "basic_pitch_nmp";
    let given = [("serving_default_input_2:0", &[3, 43_844, 1][..])];
    let (Some(once), Some(more)) = (read(name, &[]), read(name, &given)) else {
        return;
    };
    let (once, more) = (bytes(&once.unwrap()), bytes(&more.unwrap()));
    let pairs = once.iter().zip(&more);
    let (same, larger): (Vec<_>, Vec<_>) = pairs.partition(|(before, after)| before == after);
    assert_eq!((same.len(), larger.len()), (12, 211));
    assert!(same.iter().all(|&(&bytes, _)| bytes <= 16));
    assert!(larger.iter().all(|&(before, after)| *after == 3 * before));
}

#[test]
fn real_models_that_cannot_follow_are_refused_by_operator() {
    for (name, input, shape, expected) in [
        (
            "coral_mobilenet_v1_0.25_128_uint8",
            "input",
            &[2, 128, 128, 3][..],
            "`RESHAPE#29` cannot follow the given input: [2, 1, 1, 1001] has 2002 elements",
        ),
        (
            "tflm_mnist_lstm_int8",
            "serving_default_fixed_input:0",
            &[2, 28, 28],
            "`UNIDIRECTIONAL_SEQUENCE_LSTM#0` cannot follow the given input: the state in operand 18",
        ),
        (
            "tflm_person_detect_vela_ethosu",
            "input",
            &[2, 96, 96, 1],
            "`CUSTOM:ethos-u#0` cannot follow the given input: its rule is not known",
        ),
    ] {
        let Some(found) = read(name, &[(input, shape)]) else {
            return;
        };
        let message = found.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
