//! Other shapes for inputs, and every shape that hangs on them.
//!
//! Goes in: the tables of a file and shapes for some graph inputs. Comes out: the same tables, each
//! tensor downstream of such an input with the shape that the stock runtime would give it after
//! `ResizeInputTensor`. No longer known afterwards: what was declared.
//!
//! ```text
//! given shapes ─inputs→ allowed by shape_signature ─walk→ operator by operator, calls entered
//!                                                    │ each: facts of operands + options (site)
//!                                                    └─rule of its family→ facts of results
//! ```
//!
//! - **Rules** are written for this format's operators (layout of images, masks, options) and hand the
//!   arithmetic to [`crate::infer`], which knows windows, broadcasting, reshaping and small values.
//! - **Values** of small constants, and of what is computed from shapes (`SHAPE → STRIDED_SLICE → PACK
//!   → RESHAPE`), are known; those of the caller's data are not.
//! - **What does not hang on a given input** keeps its declared shape, and so does the result of an
//!   operator without a rule whose operands kept theirs. All else must follow, or the file is refused
//!   with the operator's name.

mod answer;
mod calls;
mod dense;
mod elementwise;
mod generate;
mod index;
mod inputs;
mod layout;
mod recurrent;
mod reduce;
mod site;
mod strided;
mod values;
mod walk;
mod window;

use super::error::TfliteError;
use super::schema::Model;
use site::Rule;
use std::collections::BTreeMap;

pub(super) use inputs::names;

/// Gives the inputs of the main subgraph these shapes, and what hangs on them the shapes that follow.
pub(super) fn apply(
    bytes: &[u8],
    model: &mut Model,
    given: &BTreeMap<String, Vec<u64>>,
) -> Result<(), TfliteError> {
    let seeds = inputs::seeds(bytes, model, given)?;
    let shapes = walk::shapes(bytes, model, &seeds)?;
    for (subgraph, shapes) in model.subgraphs.iter_mut().zip(shapes) {
        for (tensor, shape) in subgraph
            .tensors
            .iter_mut()
            .zip(shapes.into_iter().flatten())
        {
            tensor.shape = shape;
        }
    }
    Ok(())
}

/// The rule for an operator, by family.
fn rule(op: &str) -> Option<Rule> {
    let families = [
        elementwise::rule,
        window::rule,
        layout::rule,
        index::rule,
        strided::rule,
        generate::rule,
        dense::rule,
        recurrent::rule,
        reduce::rule,
    ];
    families.iter().find_map(|family| family(op))
}

#[cfg(test)]
mod tests;
