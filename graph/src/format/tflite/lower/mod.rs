//! From a read model to what its nodes compute, for those that want to run it.
//!
//! Goes in: a [`TfliteModel`] and the file that it was read from. Comes out: a [`Compute`]: for every
//! node its kernels with all numbers resolved (options, constant operands, scales of 8-bit integers),
//! for every weight where its bytes are. What has no kernel, and every option that is not handled, says
//! what is missing. No longer known afterwards: options, quantization, names of operators.
//!
//! ```text
//! operator ─site→ shapes, types, scales, values of constants ─rule of its family→ parts
//! ```
//!
//! The arithmetic is that of the stock runtime's reference kernels: floats up to rounding, 8-bit
//! integers to the bit.

mod bytewise;
mod constants;
mod dense;
mod elementwise;
mod joined;
mod moved;
mod padded;
mod quantization;
mod quantized;
mod reduced;
mod resized;
mod scaled;
mod site;
mod sliced;
mod sparse;
mod window;

use super::error::TfliteError;
use super::flat::Flat;
use super::model::{Place, TfliteModel};
use super::schema;
use crate::ir::NodeId;
use crate::kernel::{Compute, Lowered, Part, Unsupported};
use site::{Files, Rule, Site, Trouble, lacks};

/// What the nodes of a model compute. `file`: the bytes that it was read from.
pub fn compute(model: &TfliteModel, file: &[u8]) -> Result<Compute, TfliteError> {
    let tables = schema::model(file)?;
    belongs(model, &tables)?;
    // Each operator looks at its operands' scales again.
    let limit = (file.len() as u64)
        .saturating_mul(64)
        .saturating_add(1 << 24);
    let flat = Flat::with_limit(file, limit);
    let mut files = Files {
        model,
        tables: &tables,
        flat: &flat,
        file,
        contents: std::collections::BTreeMap::new(),
    };
    let mut compute = Compute::default();
    constants::add(&mut files, &mut compute)?;
    for (node, &place) in model.operators.iter() {
        let lowered = self::node(&files, node, place)?;
        compute.nodes.push(lowered);
    }
    Ok(compute)
}

/// The file is the one that the model was read from, as far as places go.
fn belongs(model: &TfliteModel, tables: &schema::Model) -> Result<(), TfliteError> {
    let subgraphs = tables.subgraphs.iter();
    let counts = subgraphs.map(|subgraph| subgraph.tensors.len());
    let mut places = model.operators.values().chain(&model.folded);
    let known = |place: &Place| {
        let subgraph = tables.subgraphs.get(place.subgraph);
        subgraph.is_some_and(|subgraph| place.operator < subgraph.operators.len())
    };
    if counts.eq(model.tensors.iter().map(Vec::len)) && places.all(known) {
        return Ok(());
    }
    let why = "it is not the file that the model was read from";
    Err(TfliteError::NotTflite { why })
}

fn node(files: &Files<'_>, id: NodeId, place: Place) -> Result<Lowered, TfliteError> {
    let node = &files.model.graph.nodes()[id];
    let site = Site::of_node(files, node, place)?;
    let refuse = |why: &str| Unsupported {
        op: node.op.clone(),
        why: why.to_owned(),
    };
    let once = node.scope.as_deref().unwrap_or_default();
    if once.split('/').any(|part| part.starts_with("CALL_ONCE#")) {
        return Ok(Err(refuse("it runs once only, before the first run")));
    }
    let Some(site) = site else {
        return Ok(Err(refuse("branches, loops and results in variables")));
    };
    let lowered = parts(&site)?;
    let Ok(parts) = &lowered else {
        return Ok(lowered);
    };
    for &(from, to) in &node.in_place {
        if !shares(parts, &node.inputs, &node.outputs, (from, to)) {
            return Ok(Err(refuse("its kernel cannot write over its operand")));
        }
    }
    Ok(lowered)
}

/// Whether these parts may write `to` over `from`.
fn shares(
    parts: &[Part],
    inputs: &[Option<crate::ir::TensorId>],
    outputs: &[crate::ir::TensorId],
    (from, to): (crate::ir::TensorId, crate::ir::TensorId),
) -> bool {
    let [part] = parts else { return false };
    let writes =
        matches!(part.write, crate::kernel::Target::Result(at) if outputs.get(at) == Some(&to));
    let mut reads = part.reads.iter().enumerate();
    writes
        && reads.all(|(operand, &at)| {
            inputs.get(at).copied().flatten() != Some(from) || part.kernel.in_place(operand)
        })
}

/// The kernels of an operator, or what is missing.
fn parts(site: &Site<'_>) -> Result<Lowered, TfliteError> {
    let Some(rule) = rule(site.op) else {
        return Ok(Err(lacks(site.op, "no kernel")));
    };
    match rule(site) {
        Ok(parts) if parts.iter().all(|part| site.holds(part)) && site.covers(&parts) => {
            Ok(Ok(parts))
        }
        Ok(_) => Ok(Err(lacks(site.op, "its shapes do not fit its options"))),
        Err(Trouble::Lacks(why)) => Ok(Err(lacks(site.op, &why))),
        Err(Trouble::File(error)) => Err(error),
    }
}

/// The rule for an operator, by family.
fn rule(op: &str) -> Option<Rule> {
    let families = [
        elementwise::rule,
        joined::rule,
        window::rule,
        dense::rule,
        moved::rule,
        padded::rule,
        sliced::rule,
        resized::rule,
        reduced::rule,
    ];
    families.iter().find_map(|family| family(op))
}

#[cfg(test)]
mod tests;
