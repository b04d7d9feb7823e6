//! What real `.onnx` files compute: every kernel stays within its tensors, every offer to write in place
//! holds for the kernel, every constant has its bytes; and which kinds have no kernel.

use super::library::{Flags, onnx_options};
use super::{Model, each};
use bayplan_graph::bytes::Mapped;
use bayplan_graph::format::onnx::read_with_kernels;
use bayplan_graph::ir::Node;
use bayplan_graph::kernel::{Compute, Constant, ConstantId, Part, Source, Target};
use bayplan_graph::{Graph, TensorId};
use std::collections::BTreeSet;
use std::path::Path;

/// Kinds without kernels, or used in a way that has none, by model; the others can run.
const MISSING: [(&str, &[&str]); 5] = [
    ("ddddocr_common", &["LSTM"]),
    (
        "ddddocr_old",
        &[
            "ConvInteger",
            "DynamicQuantizeLinear",
            "MatMulInteger",
            "com.microsoft.DynamicQuantizeLSTM",
        ],
    ),
    ("minilm_l6_int8", &["GatherND", "IsNaN"]),
    ("silero_vad_16k_op15", &["If (bodies apart)"]),
    ("silero_vad_op18_ifless", &["If (bodies apart)"]),
];

#[test]
fn kernels_of_real_models_stay_within_their_tensors() {
    each(|model, path| {
        if !model.file.starts_with("onnx/") || !model.refused.is_empty() {
            return Ok(());
        }
        let bytes = Mapped::open(path, 0).map_err(|error| error.to_string())?;
        let mut options = onnx_options(Flags::of(model.flags)?);
        options.folder = path.parent();
        let read = read_with_kernels(&bytes, "model", &options);
        let (read, compute) = read.map_err(|error| error.to_string())?;
        let nodes = read.graph.nodes().iter();
        for ((_, node), lowered) in nodes.zip(compute.nodes.values()) {
            if let Ok(parts) = lowered {
                sound(&read.graph, node, parts).map_err(|why| format!("{}: {why}", node.name))?;
            }
        }
        for (id, constant) in compute.constants.iter() {
            held(&compute, id, constant, bytes.len() as u64)
                .map_err(|why| format!("{}: {why}", constant.name))?;
        }
        missing(model, path, &compute)
    });
}

/// Reads and writes end within the tensors; what is offered in place is one kernel that can do so.
fn sound(graph: &Graph, node: &Node, parts: &[Part]) -> Result<(), String> {
    let bytes = |id: TensorId| graph.tensors()[id].bytes;
    for part in parts {
        let needs = part.kernel.needs().ok_or("it contradicts itself")?;
        let Target::Result(target) = part.write else {
            return Err("it writes a state".into());
        };
        let reads = part.reads.iter().zip(&needs.reads);
        let inside = reads
            .clone()
            .all(|(&at, &need)| node.inputs[at].is_some_and(|id| need <= bytes(id)));
        let written = needs.write <= bytes(node.outputs[target]);
        if !inside || !written || part.reads.len() != needs.reads.len() {
            return Err(format!("{part:?} reaches beyond its tensors"));
        }
    }
    for &(input, output) in node.in_place.iter().filter(|offer| bytes(offer.1) > 0) {
        let [part] = parts else {
            return Err(format!("offered in place, but {} parts", parts.len()));
        };
        let mut places = part.reads.iter().enumerate();
        let holds = places.all(|(position, &at)| {
            node.inputs[at] != Some(input) || part.kernel.in_place(position)
        });
        if !holds || part.write != Target::Result(0) || output != node.outputs[0] {
            return Err(format!("{part:?} cannot do what is offered"));
        }
    }
    Ok(())
}

/// The bytes are in the file, or are made from constants before this one.
fn held(compute: &Compute, id: ConstantId, constant: &Constant, file: u64) -> Result<(), String> {
    let inside = match &constant.source {
        Source::File { offset } => offset + constant.bytes <= file,
        Source::Bytes(bytes) => bytes.len() as u64 == constant.bytes,
        Source::Computed { operands, parts } => parts.iter().all(|part| {
            let needs = part.kernel.needs().unwrap();
            let reads = part.reads.iter().zip(&needs.reads);
            let enough = |(&at, &need): (&usize, &u64)| {
                operands[at] < id && need <= compute.constants[operands[at]].bytes
            };
            needs.write <= constant.bytes && reads.into_iter().all(enough)
        }),
        Source::External { .. } | Source::Unknown(_) => true,
    };
    inside.then_some(()).ok_or(format!("{:?}", constant.source))
}

/// Kinds without kernels are those that are known.
fn missing(model: &Model, path: &Path, compute: &Compute) -> Result<(), String> {
    let name = path.file_stem().unwrap().to_str();
    let known = MISSING.iter().find(|known| Some(known.0) == name);
    let nodes = compute.nodes.values().filter_map(|n| n.as_ref().err());
    let unknown = compute.constants.values().filter_map(|c| match &c.source {
        Source::Unknown(why) => Some(why),
        _ => None,
    });
    let found: BTreeSet<String> = nodes.chain(unknown).map(ToString::to_string).collect();
    let kinds: BTreeSet<&str> = found
        .iter()
        .filter_map(|why| why.split(": ").next())
        .collect();
    let expected: BTreeSet<&str> = known.iter().flat_map(|known| known.1).copied().collect();
    let same = kinds == expected;
    same.then_some(())
        .ok_or(format!("{} cannot run: {found:?}", model.file))
}
