//! What the scratch of a kernel is computed from: operands and results, their shapes and types.
//!
//! Products beyond 64 bits saturate, and no plan is made of them.

use crate::dtype::DType;
use crate::ir::{Draft, Node, Tensor};

/// A node with its tensors.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) draft: &'a Draft,
    pub(super) node: &'a Node,
    /// How many operands and results the file names.
    pub(super) ends: usize,
    /// Options of a custom operator.
    pub(super) custom: &'a [u8],
}

impl<'a> Site<'a> {
    pub(super) fn input(self, position: usize) -> Option<&'a Tensor> {
        let id = self.node.inputs.get(position).copied().flatten()?;
        Some(&self.draft.tensors[id])
    }

    pub(super) fn output(self, position: usize) -> Option<&'a Tensor> {
        let id = self.node.outputs.get(position)?;
        Some(&self.draft.tensors[*id])
    }
}

pub(super) fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

fn shape(tensor: &Tensor) -> &[u64] {
    tensor.shape.as_deref().unwrap_or_default()
}

pub(super) fn elements(tensor: &Tensor) -> u64 {
    shape(tensor).iter().copied().fold(1, times)
}

pub(super) fn rank(tensor: &Tensor) -> u64 {
    shape(tensor).len() as u64
}

pub(super) fn dim(tensor: &Tensor, position: usize) -> Option<u64> {
    shape(tensor).get(position).copied()
}

/// Bytes of an element.
pub(super) fn bytes(tensor: &Tensor) -> Option<u64> {
    tensor.dtype.map(|dtype| dtype.bits() / 8)
}

/// A sum for each filter, and in integers one for each unit; a result is batch × units.
pub(super) fn svdf(site: Site) -> Option<Vec<u64>> {
    let batch = dim(site.input(0)?, 0)?;
    let filters = dim(site.input(1)?, 0)?;
    let mut blocks = vec![times(4, times(batch, filters))];
    if site.input(0)?.dtype == Some(DType::I8) {
        blocks.push(times(4, elements(site.output(0)?)));
    }
    Some(blocks)
}
