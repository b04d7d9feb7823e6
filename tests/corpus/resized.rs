//! Real `.tflite` models with other shapes for their inputs.

use super::library::{Flags, read_tflite};
use super::{Model, each};
use bayplan_graph::Role;
use bayplan_graph::format::tflite::TfliteModel;
use std::path::Path;

/// File, input, its shape.
type Given = (&'static str, &'static str, &'static [u64]);

/// Checks each model that is named, read as declared and with the given shape.
fn at_other_shapes(
    cases: &[(Given, &str)],
    check: impl Fn(TfliteModel, Result<TfliteModel, String>, &str) -> Result<(), String>,
) {
    let one = |model: &Model, path: &Path| {
        let named =
            |((file, ..), _): &&(Given, &str)| model.file == format!("tflite/{file}.tflite");
        let Some(((_, input, shape), expected)) = cases.iter().find(named) else {
            return Ok(());
        };
        let given = Flags {
            shapes: [((*input).to_owned(), shape.to_vec())].into(),
            ..Flags::default()
        };
        let declared = read_tflite(path, &Flags::default())?;
        check(declared, read_tflite(path, &given), expected)
    };
    each(one);
}

/// Bytes of each tensor that lives in the arena.
fn bytes(model: &TfliteModel) -> Vec<u64> {
    let tensors = model.graph.tensors().values();
    let live = tensors.filter(|t| !matches!(t.role, Role::Weight | Role::State));
    live.map(|tensor| tensor.bytes).collect()
}

#[test]
fn twice_the_batch_is_twice_the_activations() {
    let cases: [(Given, &str); 3] = [
        (("mcunet_vww_int8", "input_0_f.1", &[2, 80, 80, 3]), ""),
        (("mp_hand_landmark_full", "input_1", &[2, 224, 224, 3]), ""),
        (
            ("mp_face_detection_short_range", "input", &[2, 128, 128, 3]),
            "",
        ),
    ];
    at_other_shapes(&cases, |once, twice, _| {
        let (once, twice) = (bytes(&once), bytes(&twice?));
        let double: Vec<u64> = once.iter().map(|&b| 2 * b).collect();
        let differ = format!("{twice:?} instead of {double:?}");
        (twice == double).then_some(()).ok_or(differ)
    });
}

/// Its shapes are computed in the model: those tensors stay as small as they are.
#[test]
fn shape_arithmetic_of_a_real_model_follows_the_batch() {
    let input = "serving_default_input_2:0";
    let cases = [(("basic_pitch_nmp", input, &[3, 43_844, 1][..]), "")];
    at_other_shapes(&cases, |once, more, _| {
        let (once, more) = (bytes(&once), bytes(&more?));
        let pairs = once.iter().zip(&more);
        let (same, larger): (Vec<_>, Vec<_>) = pairs.partition(|(before, after)| before == after);
        let held = (same.len(), larger.len()) == (12, 211)
            && same.iter().all(|&(&bytes, _)| bytes <= 16)
            && larger.iter().all(|&(before, after)| *after == 3 * before);
        held.then_some(()).ok_or(format!("{same:?} {larger:?}"))
    });
}

#[test]
fn real_models_that_cannot_follow_are_refused_by_operator() {
    let cases: [(Given, &str); 3] = [
        (
            (
                "coral_mobilenet_v1_0.25_128_uint8",
                "input",
                &[2, 128, 128, 3],
            ),
            "`RESHAPE#29` cannot follow the given input: [2, 1, 1, 1001] has 2002 elements",
        ),
        (
            (
                "tflm_mnist_lstm_int8",
                "serving_default_fixed_input:0",
                &[2, 28, 28],
            ),
            "`UNIDIRECTIONAL_SEQUENCE_LSTM#0` cannot follow the given input: the state in operand 18",
        ),
        (
            ("tflm_person_detect_vela_ethosu", "input", &[2, 96, 96, 1]),
            "`CUSTOM:ethos-u#0` cannot follow the given input: its rule is not known",
        ),
    ];
    at_other_shapes(&cases, |_, found, expected| match found {
        Err(why) if why.contains(expected) => Ok(()),
        Err(why) => Err(why),
        Ok(_) => Err("was read".into()),
    });
}
