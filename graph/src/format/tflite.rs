//! Reading `.tflite` models, without trusting them.
//!
//! Goes in: the bytes of a file (mapped by [`crate::bytes`], say). Comes out: a [`TfliteModel`]: a
//! verified [`crate::Graph`] of the main subgraph and where in the file each part of it comes from.
//! No longer known afterwards: quantization, and options that do not change the graph.
//!
//! - **Names.** Tensors are called as in the file; one without a name is `#index`, one whose name is
//!   taken `name#index`. Nodes are called `OPERATOR#index` after their position in the file.
//!   Inlined subgraphs put what runs them before it: `CALL_ONCE#0/ASSIGN_VARIABLE#1`,
//!   `IF#3/else/ADD#0`, `WHILE#1/cond/LESS#0`.
//! - **Roles.** Graph inputs and outputs; variables (`is_variable`) are states; what has data in the
//!   file, and what folds to a constant, is a weight; all else an activation.
//! - **Folded** at load: DEQUANTIZE, DENSIFY, RESHAPE, TRANSPOSE, CAST, PACK and SHAPE of constants.
//!   They are no nodes; [`TfliteModel::folded`] lists them. [`Kernels::Micro`] folds nothing.
//! - **Resource variables** become one state each, beside the tensors of the file: a `READ_VARIABLE`
//!   reads it (as one operand more), an `ASSIGN_VARIABLE` writes it. Handles have no bytes.
//! - **Calls, branches, loops.** `CALL`, `CALL_ONCE`, `IF` and `WHILE` are inlined with a scope;
//!   [`super::bodies`] says why that is sound for the latter two. With [`Bodies::Apart`] those are one
//!   node each whose bodies are not planned. `STABLEHLO_WHILE` and its kind are refused. Constants and
//!   variables of a subgraph that runs at several places are one tensor.
//! - **Workspaces.** A tensor that nothing makes, without data, read by one custom operator, is that
//!   operator's scratch (Ethos-U files have such).
//! - **Scratch of kernels** is added for [`Kernels::Micro`] ([`micro`]) and in part for
//!   [`Kernels::LiteRt`] (as large as operands), and not known otherwise.
//! - **In-place offers and views** are facts of kernels ([`ops`]).
//! - **What nodes compute** is read again by [`compute`], for those that want to run the model.
//! - **Shapes** are as declared. Where [`read_resized`] gives an input another one, all shapes that
//!   hang on it are inferred, operator by operator, before the graph is built.

mod branch;
mod build;
mod calls;
mod element;
mod error;
mod flat;
mod flexmap;
mod fold;
pub mod fuzz;
mod litert;
mod lower;
pub mod micro;
mod model;
mod nodes;
mod offline;
mod opaque;
pub mod ops;
mod options;
mod repeat;
mod resize;
mod resources;
mod schema;
mod scratch;
mod tensors;

pub use super::bodies::{Bodies, OpaqueBodies};
pub use error::TfliteError;
pub use lower::compute;
pub use model::{Kernels, Metadata, Place, ReadOptions, TfliteModel};
pub use offline::{OFFLINE_PLAN, OfflinePlan, OfflinePlanError};

use std::collections::BTreeMap;

/// Reads a model. `name` is what its graph is called.
pub fn read(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<TfliteModel, TfliteError> {
    read_resized(bytes, name, options, &BTreeMap::new())
}

/// Reads a model with other shapes for some inputs (by their names in the graph): all shapes that hang
/// on them follow, as after the stock runtime's `ResizeInputTensor`.
pub fn read_resized(
    bytes: &[u8],
    name: &str,
    options: &ReadOptions,
    inputs: &BTreeMap<String, Vec<u64>>,
) -> Result<TfliteModel, TfliteError> {
    let mut model = schema::model(bytes)?;
    if !inputs.is_empty() {
        resize::apply(bytes, &mut model, inputs)?;
    }
    build::build(bytes, &model, name, options)
}
