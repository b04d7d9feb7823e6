//! Operators: names by code, and what is known of each kind.
//!
//! Custom operators are called `CUSTOM:name`, codes beyond this table `BUILTIN_n`; nothing is assumed
//! about either but that it may change every variable that it touches.

/// Elementwise kernels: element i of the result depends on element i of each operand of equal size
/// (softmax: on its row, read before the element is written). The list is that of the corpus README.
pub fn elementwise(op: &str) -> bool {
    matches!(
        op,
        "ADD"
            | "SUB"
            | "MUL"
            | "DIV"
            | "MAXIMUM"
            | "MINIMUM"
            | "RELU"
            | "RELU6"
            | "RELU_N1_TO_1"
            | "LOGISTIC"
            | "TANH"
            | "PRELU"
            | "LEAKY_RELU"
            | "HARD_SWISH"
            | "ELU"
            | "GELU"
            | "SOFTMAX"
            | "SQRT"
            | "RSQRT"
            | "NEG"
            | "ABS"
            | "EXP"
            | "LOG"
            | "SQUARE"
            | "POW"
            | "SQUARED_DIFFERENCE"
            | "QUANTIZE"
            | "DEQUANTIZE"
            | "CAST"
            | "SELECT_V2"
    )
}

/// The result is the first operand under another shape or type.
pub fn view(op: &str) -> bool {
    matches!(op, "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" | "BITCAST")
}

/// Computed once at load when every present operand is constant.
pub fn folds(op: &str) -> bool {
    matches!(
        op,
        "DEQUANTIZE" | "DENSIFY" | "RESHAPE" | "TRANSPOSE" | "CAST" | "PACK" | "SHAPE"
    )
}

/// Positions of operands that the kernel changes in their place; they must be variables.
pub fn state_operands(op: &str) -> &'static [usize] {
    match op {
        "SVDF" | "RNN" | "UNIDIRECTIONAL_SEQUENCE_RNN" => &[4],
        "BIDIRECTIONAL_SEQUENCE_RNN" => &[4, 8],
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => &[18, 19],
        "BIDIRECTIONAL_SEQUENCE_LSTM" => &[35, 36, 37, 38],
        _ => &[],
    }
}

/// Whether an operator may change a variable among its operands although nothing says so: custom
/// and unknown ones may, and the cell kernels with several layouts.
pub(super) fn may_change(op: &str) -> bool {
    op.starts_with("CUSTOM:") || op.starts_with("BUILTIN_") || op == "LSTM"
}

/// Runs other subgraphs in a way that is no plain call.
pub(super) fn branches(op: &str) -> bool {
    matches!(
        op,
        "IF" | "WHILE" | "STABLEHLO_WHILE" | "STABLEHLO_COMPOSITE" | "STABLEHLO_CASE"
    )
}

/// Operands that the stock kernel registers as shareable with result 0
/// (`kTfLiteInplaceOpInputNShared`). The stock planner adds conditions of its own.
pub fn stock_shared_operands(op: &str) -> &'static [usize] {
    match op {
        "ADD" | "SUB" | "MUL" | "DIV" => &[0, 1],
        "SOFTMAX" | "DYNAMIC_UPDATE_SLICE" => &[0],
        _ => &[],
    }
}

/// Whether the stock kernel registers result 0 as operand 0 unchanged
/// (`kTfLiteInplaceOpDataUnmodified`).
pub fn stock_unmodified(op: &str) -> bool {
    view(op)
}

/// The operator's name.
pub(super) fn name(code: i32, custom: &str) -> String {
    const CUSTOM: i32 = 32;
    if code == CUSTOM {
        return format!("CUSTOM:{custom}");
    }
    let known = usize::try_from(code).ok().and_then(|i| NAMES.get(i));
    known.map_or_else(|| format!("BUILTIN_{code}"), |&name| name.to_owned())
}

/// `BuiltinOperator` of the schema, by code.
const NAMES: &[&str] = &[
    "ADD",
    "AVERAGE_POOL_2D",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE",
    "DEQUANTIZE",
    "EMBEDDING_LOOKUP",
    "FLOOR",
    "FULLY_CONNECTED",
    "HASHTABLE_LOOKUP",
    "L2_NORMALIZATION",
    "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOGISTIC",
    "LSH_PROJECTION",
    "LSTM",
    "MAX_POOL_2D",
    "MUL",
    "RELU",
    "RELU_N1_TO_1",
    "RELU6",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RNN",
    "SOFTMAX",
    "SPACE_TO_DEPTH",
    "SVDF",
    "TANH",
    "CONCAT_EMBEDDINGS",
    "SKIP_GRAM",
    "CALL",
    "CUSTOM",
    "EMBEDDING_LOOKUP_SPARSE",
    "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "GATHER",
    "BATCH_TO_SPACE_ND",
    "SPACE_TO_BATCH_ND",
    "TRANSPOSE",
    "MEAN",
    "SUB",
    "DIV",
    "SQUEEZE",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "STRIDED_SLICE",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "EXP",
    "TOPK_V2",
    "SPLIT",
    "LOG_SOFTMAX",
    "DELEGATE",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "CAST",
    "PRELU",
    "MAXIMUM",
    "ARG_MAX",
    "MINIMUM",
    "LESS",
    "NEG",
    "PADV2",
    "GREATER",
    "GREATER_EQUAL",
    "LESS_EQUAL",
    "SELECT",
    "SLICE",
    "SIN",
    "TRANSPOSE_CONV",
    "SPARSE_TO_DENSE",
    "TILE",
    "EXPAND_DIMS",
    "EQUAL",
    "NOT_EQUAL",
    "LOG",
    "SUM",
    "SQRT",
    "RSQRT",
    "SHAPE",
    "POW",
    "ARG_MIN",
    "FAKE_QUANT",
    "REDUCE_PROD",
    "REDUCE_MAX",
    "PACK",
    "LOGICAL_OR",
    "ONE_HOT",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "UNPACK",
    "REDUCE_MIN",
    "FLOOR_DIV",
    "REDUCE_ANY",
    "SQUARE",
    "ZEROS_LIKE",
    "FILL",
    "FLOOR_MOD",
    "RANGE",
    "RESIZE_NEAREST_NEIGHBOR",
    "LEAKY_RELU",
    "SQUARED_DIFFERENCE",
    "MIRROR_PAD",
    "ABS",
    "SPLIT_V",
    "UNIQUE",
    "CEIL",
    "REVERSE_V2",
    "ADD_N",
    "GATHER_ND",
    "COS",
    "WHERE",
    "RANK",
    "ELU",
    "REVERSE_SEQUENCE",
    "MATRIX_DIAG",
    "QUANTIZE",
    "MATRIX_SET_DIAG",
    "ROUND",
    "HARD_SWISH",
    "IF",
    "WHILE",
    "NON_MAX_SUPPRESSION_V4",
    "NON_MAX_SUPPRESSION_V5",
    "SCATTER_ND",
    "SELECT_V2",
    "DENSIFY",
    "SEGMENT_SUM",
    "BATCH_MATMUL",
    "PLACEHOLDER_FOR_GREATER_OP_CODES",
    "CUMSUM",
    "CALL_ONCE",
    "BROADCAST_TO",
    "RFFT2D",
    "CONV_3D",
    "IMAG",
    "REAL",
    "COMPLEX_ABS",
    "HASHTABLE",
    "HASHTABLE_FIND",
    "HASHTABLE_IMPORT",
    "HASHTABLE_SIZE",
    "REDUCE_ALL",
    "CONV_3D_TRANSPOSE",
    "VAR_HANDLE",
    "READ_VARIABLE",
    "ASSIGN_VARIABLE",
    "BROADCAST_ARGS",
    "RANDOM_STANDARD_NORMAL",
    "BUCKETIZE",
    "RANDOM_UNIFORM",
    "MULTINOMIAL",
    "GELU",
    "DYNAMIC_UPDATE_SLICE",
    "RELU_0_TO_1",
    "UNSORTED_SEGMENT_PROD",
    "UNSORTED_SEGMENT_MAX",
    "UNSORTED_SEGMENT_SUM",
    "ATAN2",
    "UNSORTED_SEGMENT_MIN",
    "SIGN",
    "BITCAST",
    "BITWISE_XOR",
    "RIGHT_SHIFT",
    "STABLEHLO_LOGISTIC",
    "STABLEHLO_ADD",
    "STABLEHLO_DIVIDE",
    "STABLEHLO_MULTIPLY",
    "STABLEHLO_MAXIMUM",
    "STABLEHLO_RESHAPE",
    "STABLEHLO_CLAMP",
    "STABLEHLO_CONCATENATE",
    "STABLEHLO_BROADCAST_IN_DIM",
    "STABLEHLO_CONVOLUTION",
    "STABLEHLO_SLICE",
    "STABLEHLO_CUSTOM_CALL",
    "STABLEHLO_REDUCE",
    "STABLEHLO_ABS",
    "STABLEHLO_AND",
    "STABLEHLO_COSINE",
    "STABLEHLO_EXPONENTIAL",
    "STABLEHLO_FLOOR",
    "STABLEHLO_LOG",
    "STABLEHLO_MINIMUM",
    "STABLEHLO_NEGATE",
    "STABLEHLO_OR",
    "STABLEHLO_POWER",
    "STABLEHLO_REMAINDER",
    "STABLEHLO_RSQRT",
    "STABLEHLO_SELECT",
    "STABLEHLO_SUBTRACT",
    "STABLEHLO_TANH",
    "STABLEHLO_SCATTER",
    "STABLEHLO_COMPARE",
    "STABLEHLO_CONVERT",
    "STABLEHLO_DYNAMIC_SLICE",
    "STABLEHLO_DYNAMIC_UPDATE_SLICE",
    "STABLEHLO_PAD",
    "STABLEHLO_IOTA",
    "STABLEHLO_DOT_GENERAL",
    "STABLEHLO_REDUCE_WINDOW",
    "STABLEHLO_SORT",
    "STABLEHLO_WHILE",
    "STABLEHLO_GATHER",
    "STABLEHLO_TRANSPOSE",
    "DILATE",
    "STABLEHLO_RNG_BIT_GENERATOR",
    "REDUCE_WINDOW",
    "STABLEHLO_COMPOSITE",
    "STABLEHLO_SHIFT_LEFT",
    "STABLEHLO_CBRT",
    "STABLEHLO_CASE",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_at_their_codes() {
        let known = [
            (0, "ADD"),
            (22, "RESHAPE"),
            (118, "IF"),
            (151, "DYNAMIC_UPDATE_SLICE"),
        ];
        for (code, expected) in known {
            assert_eq!(name(code, ""), expected);
        }
        assert_eq!(name(32, "ethos-u"), "CUSTOM:ethos-u");
        assert_eq!(name(4711, ""), "BUILTIN_4711");
    }
}
