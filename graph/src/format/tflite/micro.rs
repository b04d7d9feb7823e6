//! Scratch that the reference kernels of TensorFlow Lite Micro ask for while a model is prepared.
//!
//! Goes in: a node with its tensors, and the options of a custom operator. Comes out: the blocks in
//! bytes, in the order in which the kernel asks for them; or that they are not known. Block sizes
//! are not rounded: the profile does that. Sums beyond 64 bits saturate, and no plan is made of them.
//!
//! Facts from tflite-micro, `tensorflow/lite/micro/kernels/` and `signal/micro/kernels/`, every call
//! of `RequestScratchBufferInArena`; kernels not named here make none. Pointers count 8 bytes, as on
//! a 64-bit host: a target with shorter ones needs less for `ADD_N` and `ethos-u`. Kernels of other
//! vendors (CMSIS-NN, Xtensa) ask for other blocks, and so do files with compressed tensors.

use super::flexmap::FlexMap;
use super::scratch::{Site, bytes, dim, elements, rank, svdf, times};
use crate::dtype::DType;
use crate::ir::Tensor;

/// Metadata of files whose weights are unpacked into scratch that is not known here.
pub const COMPRESSION: &str = "COMPRESSION_METADATA";

const POINTER: u64 = 8;

/// Custom operators whose kernels ask for none.
const WITHOUT: [&str; 14] = [
    "CUSTOM:CIRCULAR_BUFFER",
    "CUSTOM:SignalDelay",
    "CUSTOM:SignalEnergy",
    "CUSTOM:SignalFftAutoScale",
    "CUSTOM:SignalFilterBank",
    "CUSTOM:SignalFilterBankLog",
    "CUSTOM:SignalFilterBankSpectralSubtraction",
    "CUSTOM:SignalFilterBankSquareRoot",
    "CUSTOM:SignalFramer",
    "CUSTOM:SignalIrfft",
    "CUSTOM:SignalOverlapAdd",
    "CUSTOM:SignalPCAN",
    "CUSTOM:SignalStacker",
    "CUSTOM:SignalWindow",
];

/// The blocks of more than 0 bytes; nothing where they are not known.
pub(super) fn blocks(site: Site) -> Option<Vec<u64>> {
    let input = |position| site.input(position);
    let mut blocks = match &*site.node.op {
        "CONV_2D" | "DEPTHWISE_CONV_2D" | "FULLY_CONNECTED" => unpacked(input(1)?),
        "TRANSPOSE_CONV" => transposed(site)?,
        "SVDF" => svdf(site)?,
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => {
            let state = times(elements(input(18)?), bytes(input(19)?)?);
            vec![state; 4]
        }
        "MEAN" | "SUM" => mean(site)?,
        "REDUCE_MAX" | "REDUCE_MIN" | "REDUCE_ALL" => walk(site)?,
        "MIRROR_PAD" => vec![times(4, rank(input(0)?)); 2],
        "ADD_N" => vec![times(POINTER, site.node.inputs.len() as u64)],
        "CUSTOM:TFLite_Detection_PostProcess" => detections(site)?,
        "CUSTOM:SignalRfft" => {
            let length = FlexMap::new(site.custom)?.count("fft_length")?;
            vec![times(length, bytes(input(0)?)?)]
        }
        "CUSTOM:ethos-u" => vec![times(POINTER, site.ends as u64); 2],
        op if op.starts_with("CUSTOM:") && !WITHOUT.contains(&op) => return None,
        _ => Vec::new(),
    };
    blocks.retain(|&bytes| bytes > 0);
    Some(blocks)
}

/// Weights of 4 bits are unpacked to bytes.
fn unpacked(filter: &Tensor) -> Vec<u64> {
    let packed = filter.dtype == Some(DType::I4);
    packed.then(|| elements(filter)).into_iter().collect()
}

/// Accumulators of the whole result, and a 16-bit bias widened to 64.
fn transposed(site: Site) -> Option<Vec<u64>> {
    let result = elements(site.output(0)?);
    Some(match site.input(2)?.dtype {
        Some(DType::I8) => vec![times(4, result)],
        Some(DType::I16) => {
            let bias = site.input(3);
            let bias = bias.filter(|bias| bias.dtype == Some(DType::I16));
            let widened = bias.map(|bias| times(8, elements(bias)));
            [times(8, result)].into_iter().chain(widened).collect()
        }
        _ => Vec::new(),
    })
}

/// In integers a sum for each element of the result; then what every reduction needs.
fn mean(site: Site) -> Option<Vec<u64>> {
    let integer = matches!(site.input(0)?.dtype, Some(DType::I8 | DType::I16));
    let sums = times(4, elements(site.output(0)?));
    let mut blocks: Vec<u64> = integer.then_some(sums).into_iter().collect();
    blocks.extend(walk(site)?);
    Some(blocks)
}

/// An index for each dimension, and the axes.
fn walk(site: Site) -> Option<Vec<u64>> {
    let axes = elements(site.input(1)?);
    Some(vec![times(4, rank(site.input(0)?)), times(4, axes)])
}

/// Eleven lists over boxes, classes and detections.
fn detections(site: Site) -> Option<Vec<u64>> {
    let options = FlexMap::new(site.custom)?;
    let classes = options.count("num_classes")?;
    let most = options.count("max_detections")?;
    let boxes = dim(site.input(0)?, 1)?;
    let scores = site.input(1)?;
    let scores = times(dim(scores, 1)?, dim(scores, 2)?);
    let words = |count: u64| times(4, count);
    let each = times(most, boxes);
    Some(vec![
        boxes,
        words(times(4, boxes)),
        words(scores),
        words(boxes),
        words(boxes),
        words(each),
        words(each),
        words(boxes),
        words(each),
        words(times(classes.max(most), boxes)),
        words(times(boxes.min(most), boxes)),
    ])
}

#[cfg(test)]
mod tests;
