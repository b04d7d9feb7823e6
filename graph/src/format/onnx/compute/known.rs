//! The attributes that rules understand. One more of them, in a later version of an operator say, could mean
//! anything: it is a refusal.

use super::site::Why;
use crate::infer::Attrs;

/// Attributes of windows.
const WINDOW: [&str; 6] = [
    "auto_pad",
    "dilations",
    "group",
    "kernel_shape",
    "pads",
    "strides",
];

/// Attributes by kind; kinds that are not here have none.
fn known(op: &str) -> &'static [&'static str] {
    match op {
        "LeakyRelu" | "Elu" => &["alpha"],
        "HardSigmoid" => &["alpha", "beta"],
        "Gelu" => &["approximate"],
        "Clip" => &["max", "min"],
        "Cast" => &["round_mode", "saturate", "to"],
        "CastLike" => &["round_mode", "saturate"],
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Equal" | "Less" | "Greater" | "And" | "Or"
        | "Xor" => &["axis", "broadcast"],
        "ConvTranspose" => &["output_padding", "output_shape"],
        "MaxPool" => &["ceil_mode", "storage_order"],
        "AveragePool" => &["ceil_mode", "count_include_pad"],
        "LRN" => &["alpha", "beta", "bias", "size"],
        "Gemm" => &["alpha", "beta", "broadcast", "transA", "transB"],
        "ArgMax" | "ArgMin" => &["axis", "keepdims", "select_last_index"],
        "Softmax" | "LogSoftmax" | "Concat" | "Flatten" | "Gather" => &["axis"],
        "LayerNormalization" => &["axis", "epsilon", "stash_type"],
        "BatchNormalization" => &["epsilon", "is_test", "momentum", "spatial", "training_mode"],
        "Dropout" => &["is_test", "ratio", "seed"],
        "Transpose" => &["perm"],
        "Reshape" => &["allowzero", "shape"],
        "Squeeze" | "Unsqueeze" => &["axes"],
        "Slice" => &["axes", "ends", "starts"],
        "Split" => &["axis", "num_outputs", "split"],
        "DepthToSpace" | "SpaceToDepth" => &["blocksize", "mode"],
        "Pad" => &["mode", "paddings", "pads", "value"],
        "Upsample" => &["height_scale", "mode", "scales", "width_scale"],
        "Resize" => &[
            "antialias",
            "axes",
            "coordinate_transformation_mode",
            "cubic_coeff_a",
            "exclude_outside",
            "extrapolation_value",
            "keep_aspect_ratio_policy",
            "mode",
            "nearest_mode",
        ],
        _ if op.starts_with("Reduce") => &["axes", "keepdims", "noop_with_empty_axes"],
        _ => &[],
    }
}

/// Refuses attributes that no rule looks at.
pub(super) fn check(op: &str, attrs: &Attrs) -> Result<(), Why> {
    let window = matches!(op, "Conv" | "ConvTranspose" | "MaxPool" | "AveragePool");
    let unknown = attrs.keys().map(String::as_str).find(|&name| {
        let slides = window && WINDOW.contains(&name);
        // A hint to the first versions of kernels that a result may take an operand's place.
        !slides && !known(op).contains(&name) && name != "consumed_inputs"
    });
    match unknown {
        Some(name) => Err(format!("attribute `{name}` is not known").into()),
        None => Ok(()),
    }
}
