//! Which tensors of a subgraph are constant, and which operators need not run.
//!
//! Goes in: a subgraph, and what its caller binds. Comes out: [`Constants`]. `MediaPipe` files keep
//! weights as fp16 or sparse and unpack them by operators (DEQUANTIZE, DENSIFY): those results are
//! weights, never planned as activations.

use super::ops;
use super::schema::{Model, Subgraph, Tensor};

/// What is constant in a subgraph.
pub(super) struct Constants {
    /// By tensor.
    pub(super) tensors: Vec<bool>,
    /// By operator: computed at load.
    pub(super) folded: Vec<bool>,
}

/// Whether a tensor has contents in the file.
pub(super) fn has_data(model: &Model, tensor: &Tensor) -> bool {
    !model.buffers[tensor.buffer].is_empty() && !tensor.variable
}

/// Finds the constants. `folds`: whether operators are computed at load. `bound(tensor)`: the tensor
/// is the caller's and constant, or not.
pub(super) fn constants(
    model: &Model,
    subgraph: &Subgraph,
    folds: bool,
    bound: impl Fn(usize) -> Option<bool>,
) -> Constants {
    let own =
        |(index, tensor): (usize, &Tensor)| bound(index).unwrap_or_else(|| has_data(model, tensor));
    let mut tensors: Vec<bool> = subgraph.tensors.iter().enumerate().map(own).collect();
    let mut input = vec![false; subgraph.tensors.len()];
    subgraph
        .inputs
        .iter()
        .for_each(|&index| input[index] = true);
    let given =
        |index: usize| subgraph.tensors[index].variable || bound(index).is_some() || input[index];
    let mut folded = Vec::with_capacity(subgraph.operators.len());
    for operator in &subgraph.operators {
        let mut present = operator.inputs.iter().flatten().peekable();
        let folds = folds
            && ops::folds(&operator.op)
            && present.peek().is_some()
            && present.all(|&input| tensors[input])
            && !operator.outputs.iter().any(|&output| given(output));
        folded.push(folds);
        if folds {
            operator.outputs.iter().for_each(|&o| tensors[o] = true);
        }
    }
    Constants { tensors, folded }
}
