//! Real files, where they are: `BAYPLAN_CORPUS` names the folder that `corpus/fetch.py` filled.
//!
//! The figures are facts about the files, computed by other code from the definitions in the corpus
//! README (activations left after folding, sum of their sizes, largest sum live at one step with
//! nothing shared and inputs freed after their last reader). `oww_melspectrogram` is at its declared
//! shape.

use bayplan_graph::format::tflite::{self, Bodies, ReadOptions, TfliteModel};
use bayplan_graph::{Graph, Lifetimes, PlanOptions, Policy, Schedule, plan};
use std::path::PathBuf;

/// Model, activations, sum of sizes, largest load.
const FIGURES: &[(&str, usize, u64, u64)] = &[
    ("basic_pitch_nmp", 223, 26_067_029, 4_843_520),
    ("coral_deeplabv3_mnv2_dm05_uint8", 73, 31_525_574, 7_631_901),
    ("coral_mobilenet_v1_0.25_128_uint8", 32, 464_059, 98_304),
    (
        "litert_torchaudio_conformer_f32",
        140,
        201_686_750,
        38_069_400,
    ),
    ("mcunet_person_detection_int8", 80, 1_598_004, 337_024),
    ("mcunet_vww_int8", 64, 722_702, 161_472),
    ("microwakeword_vad_int8", 24, 4155, 1440),
    ("mlperf_tiny_ad_autoencoder_int8", 11, 2312, 768),
    ("mlperf_tiny_ic_resnet8_int8", 17, 117_908, 49_152),
    ("mlperf_tiny_kws_dscnn_int8", 14, 72_642, 16_000),
    ("mlperf_tiny_streaming_ww_int8", 12, 16_086, 6656),
    ("mlperf_tiny_vww_mobilenetv1_int8", 32, 259_716, 55_296),
    (
        "mp_face_detection_full_range_sparse",
        161,
        37_686_768,
        3_588_608,
    ),
    ("mp_face_detection_short_range", 91, 9_898_496, 1_376_256),
    ("mp_face_landmark", 98, 13_391_860, 1_769_472),
    (
        "mp_face_landmark_with_attention",
        342,
        15_531_780,
        1_769_472,
    ),
    ("mp_hand_landmark_full", 64, 25_275_016, 4_014_080),
    ("mp_hand_landmark_lite", 66, 19_023_048, 4_214_784),
    ("mp_hand_recrop", 64, 6_983_440, 1_572_864),
    ("mp_iris_landmark", 170, 9_506_592, 786_432),
    ("mp_palm_detection_full", 140, 50_189_184, 3_538_944),
    ("mp_palm_detection_lite", 120, 41_194_368, 3_538_944),
    ("mp_pose_detection", 110, 40_959_416, 6_538_240),
    ("mp_pose_landmark_full", 141, 66_435_068, 9_044_992),
    ("mp_selfie_segmentation", 137, 29_960_096, 3_670_016),
    ("mww_hey_jarvis", 33, 9933, 3240),
    ("mww_okay_nabu", 52, 16_027, 3584),
    ("oww_embedding_model", 65, 4_555_104, 454_656),
    ("oww_hey_jarvis_v0.1", 27, 18_478, 12_800),
    ("oww_melspectrogram", 27, 14_412, 3084),
    ("oww_ok_nabu_v0.1", 24, 13_864, 12_288),
    ("tflm_audio_preprocessor_int8", 25, 12_128, 2060),
    ("tflm_dtln_noise_suppression_int8", 5, 1027, 514),
    ("tflm_hello_world_int8", 4, 34, 32),
    ("tflm_keyword_svdf_int8", 16, 718, 288),
    ("tflm_micro_speech_int8", 5, 7928, 5960),
    ("tflm_mnist_lstm_int8", 5, 1924, 1344),
    ("tflm_person_detect_int8", 32, 241_030, 55_296),
    ("tflm_person_detect_vela_ethosu", 2, 9218, 9218),
];

#[expect(clippy::print_stdout, reason = "a stated skip")]
fn folder() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("BAYPLAN_CORPUS") else {
        println!("skipped: BAYPLAN_CORPUS names no folder of real models");
        return None;
    };
    Some(PathBuf::from(folder).join("tflite"))
}

fn read(name: &str, folder: &std::path::Path) -> TfliteModel {
    let path = folder.join(format!("{name}.tflite"));
    let bytes = bayplan_graph::bytes::Mapped::open(&path, 0).unwrap();
    let options = ReadOptions {
        bodies: Bodies::Apart,
        alignment: 1,
    };
    tflite::read(&bytes, name, &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn figures(graph: &Graph) -> (usize, u64, u64) {
    let schedule = Schedule::file_order(graph);
    let lifetimes = Lifetimes::new(graph, &schedule, true);
    let mut load = vec![0_u64; graph.nodes().len() + 1];
    let (mut count, mut naive) = (0, 0);
    for (id, tensor) in graph.tensors().iter() {
        let counts = tensor.bytes > 0 && tensor.role != bayplan_graph::Role::State;
        if let (Some(life), true) = (lifetimes.get(id), counts) {
            count += 1;
            naive += tensor.bytes;
            for step in life.start.0..life.end.0 {
                load[step as usize] += tensor.bytes;
            }
        }
    }
    (count, naive, load.into_iter().max().unwrap_or(0))
}

#[test]
fn real_models_have_the_known_figures() {
    let Some(folder) = folder() else { return };
    let mut wrong = Vec::new();
    for &(name, activations, naive, bound) in FIGURES {
        let found = figures(&read(name, &folder).graph);
        if found != (activations, naive, bound) {
            wrong.push(format!(
                "{name}: {found:?}, known {:?}",
                (activations, naive, bound)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn real_models_plan_and_certify() {
    let Some(folder) = folder() else { return };
    for &(name, ..) in FIGURES {
        let graph = std::sync::Arc::new(read(name, &folder).graph);
        for reuse_inputs in [false, true] {
            let policy = Policy {
                reuse_inputs,
                ..Policy::default()
            };
            let options = PlanOptions {
                policy,
                ..PlanOptions::default()
            };
            let planned = plan(graph.clone(), &options);
            planned.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn only_the_model_with_a_branch_is_refused() {
    let Some(folder) = folder() else { return };
    let mut refused = Vec::new();
    for &(name, ..) in FIGURES {
        let bytes = std::fs::read(folder.join(format!("{name}.tflite"))).unwrap();
        if let Err(error) = tflite::read(&bytes, name, &ReadOptions::default()) {
            refused.push(format!("{name}: {error}"));
        }
    }
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("oww_hey_jarvis_v0.1: ") && refused[0].contains("`IF#25`"));
}

#[test]
fn the_plan_inside_a_real_file_is_read() {
    let Some(folder) = folder() else { return };
    let model = read("tflm_person_detect_vela_ethosu", &folder);
    let plan = model.offline.unwrap().unwrap();
    assert_eq!(
        (plan.version, plan.offsets.len(), plan.offsets[0].len()),
        (0, 1, 6)
    );
    assert_eq!(model.workspaces.len(), 2);
}
