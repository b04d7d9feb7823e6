//! Shapes of results from shapes of operands, and values of what is constant.
//!
//! Goes in: a [`Call`] with the facts of its operands (element type, shape, value if known), the
//! attributes and the version of the operator set. Comes out: the facts of the results, or why they
//! cannot be known before the run. Constants are computed on the way where they are small, because
//! shapes hang on them: `Shape → Gather → Concat → Reshape` is plain arithmetic once the inputs are
//! bound. The rules are those of the ONNX operators and sit in one file for each family; nothing here
//! knows a file format or the graph.
//!
//! ```
//! use bayplan_graph::DType;
//! use bayplan_graph::infer::{Attrs, Call, Fact, infer};
//!
//! let x = Fact::new(DType::F32, vec![1, 3, 8])?;
//! let shape = Fact::list(DType::I64, vec![0, -1, 4]);
//! let attrs = Attrs::new();
//! let call = Call { op: "Reshape", opset: 17, inputs: &[Some(&x), Some(&shape)], attrs: &attrs, outputs: 1, fold_limit: 64 };
//! assert_eq!(infer(&call)?[0].shape, [1, 6, 4]);
//! # Ok::<(), bayplan_graph::infer::InferError>(())
//! ```

mod arithmetic;
mod call;
mod contrib;
mod conv;
mod elementwise;
mod fact;
mod generate;
mod index;
mod layout;
mod matmul;
mod nn;
mod reduce;
mod resize;

pub(crate) use arithmetic::evaluate;
pub use call::{Attr, Attrs, Call, InferError, dtype_name, dtype_of};
pub(crate) use call::{axis, broadcast, dim, dims};
pub(crate) use conv::{Sliding, sliding, sliding_back};
pub(crate) use fact::float;
pub use fact::{Fact, MAX_RANK, Value};
pub(crate) use index::{cuts, parts};
pub(crate) use layout::{block, order};
pub(crate) use reduce::gone;
pub(crate) use resize::{factors, paddings};

/// Values of more elements are not computed.
pub const FOLD_LIMIT: u64 = 1 << 16;

/// The rule for `op`, by family.
fn rule(op: &str) -> Option<call::Rule> {
    let families = [
        elementwise::rule,
        conv::rule,
        layout::rule,
        index::rule,
        generate::rule,
        matmul::rule,
        nn::rule,
        reduce::rule,
        resize::rule,
        contrib::rule,
    ];
    families.iter().find_map(|family| family(op))
}

/// The facts of the results of `call`.
pub fn infer(call: &Call<'_>) -> Result<Vec<Fact>, InferError> {
    rule(call.op).ok_or_else(|| unknown(call.op))?(call)
}

/// Whether a rule for the operator is known.
pub fn knows(op: &str) -> bool {
    rule(op).is_some()
}

fn unknown(op: &str) -> InferError {
    let what =
        if op.starts_with("Sequence") || matches!(op, "SplitToSequence" | "ConcatFromSequence") {
            "sequences"
        } else if op.starts_with("Optional") {
            "optional values"
        } else if op.starts_with("String") || op == "TfIdfVectorizer" || op == "RegexFullMatch" {
            "strings"
        } else {
            return InferError::UnknownOp;
        };
    InferError::Unsized { what }
}

#[cfg(test)]
mod tests;
