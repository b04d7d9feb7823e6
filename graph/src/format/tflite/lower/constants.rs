//! Every weight of a graph: where its bytes are in the file, or how they come about at load.

use super::super::error::TfliteError;
use super::super::model::Place;
use super::site::{Files, Known, Site, lacks};
use super::sparse;
use crate::ir::{Role, TensorId};
use crate::kernel::{Compute, Constant, ConstantId, Kernel, Part, Source};
use bayplan_planner::Table;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contents of more bytes are not kept for rules to look at.
const SMALL: usize = 1 << 12;

/// Adds the constants: those of the file, then those that are computed, in the file's order.
pub(super) fn add(files: &mut Files<'_>, compute: &mut Compute) -> Result<(), TfliteError> {
    let model = files.model;
    for (id, tensor) in model.graph.tensors().iter() {
        if tensor.role != Role::Weight {
            continue;
        }
        let source = match &model.data[id] {
            Some(range) => Source::File {
                offset: range.start as u64,
            },
            None if tensor.bytes == 0 => Source::Bytes(Arc::from([])),
            None => continue,
        };
        push(files, compute, id, source);
    }
    for &place in &model.folded {
        fold(files, compute, place)?;
    }
    for (id, tensor) in model.graph.tensors().iter() {
        if tensor.role == Role::Weight && !compute.weights.contains_key(&id) {
            let why = "a constant of a body that runs more than once";
            push(files, compute, id, Source::Unknown(lacks("constant", why)));
        }
    }
    Ok(())
}

fn push(files: &Files<'_>, compute: &mut Compute, id: TensorId, source: Source) {
    let tensor = &files.model.graph.tensors()[id];
    let constant = compute.constants.push(Constant {
        name: tensor.name.clone(),
        bytes: tensor.bytes,
        source,
    });
    compute.weights.insert(id, constant);
}

/// The results of an operator that is computed at load.
fn fold(files: &mut Files<'_>, compute: &mut Compute, place: Place) -> Result<(), TfliteError> {
    let operator = files.operator(place);
    let tensors = &files.model.tensors[place.subgraph];
    let inputs: Vec<Option<TensorId>> = operator
        .inputs
        .iter()
        .map(|input| input.and_then(|index| tensors[index]))
        .collect();
    let outputs: Option<Vec<TensorId>> = operator.outputs.iter().map(|&o| tensors[o]).collect();
    let Some(outputs) = outputs.filter(|all| all.len() == 1) else {
        return Ok(());
    };
    let id = outputs[0];
    if compute.weights.contains_key(&id) {
        return Ok(());
    }
    let site = Site::new(files, place, &inputs, &outputs)?;
    let source = source(files, compute, (place, &site), &inputs)?;
    let contents = match &source {
        Source::Bytes(bytes) => Some(bytes.clone()),
        Source::Computed { parts, .. } => copied(&site, parts),
        _ => None,
    };
    if let Some(contents) = contents {
        files.contents.insert(id, contents);
    }
    push(files, compute, id, source);
    Ok(())
}

fn source(
    files: &Files<'_>,
    compute: &Compute,
    (place, site): (Place, &Site<'_>),
    inputs: &[Option<TensorId>],
) -> Result<Source, TfliteError> {
    let operator = files.operator(place);
    match site.op {
        "SHAPE" => Ok(match super::moved::spelt(site) {
            Ok(bytes) => Source::Bytes(bytes.into()),
            Err(why) => Source::Unknown(lacks(site.op, &why.to_string())),
        }),
        "DENSIFY" => {
            let stored = operator.inputs.first().copied().flatten();
            let tensor = stored.map(|index| &files.tables.subgraphs[place.subgraph].tensors[index]);
            sparse::densify(files, site, tensor)
        }
        _ => Ok(match super::parts(site)? {
            Ok(parts) => computed(&compute.weights, &compute.constants, inputs, parts)
                .unwrap_or_else(|| Source::Unknown(lacks(site.op, "its operands are not known"))),
            Err(why) => Source::Unknown(why),
        }),
    }
}

/// Positions of parts as positions in a list of constants.
fn computed(
    weights: &BTreeMap<TensorId, ConstantId>,
    constants: &Table<ConstantId, Constant>,
    inputs: &[Option<TensorId>],
    mut parts: Vec<Part>,
) -> Option<Source> {
    let mut operands = Vec::with_capacity(inputs.len());
    for part in &mut parts {
        for read in &mut part.reads {
            let constant = *weights.get(&inputs.get(*read).copied().flatten()?)?;
            if let Source::Unknown(why) = &constants[constant].source {
                return Some(Source::Unknown(why.clone()));
            }
            let known = operands.iter().position(|&other| other == constant);
            *read = known.unwrap_or(operands.len());
            if known.is_none() {
                operands.push(constant);
            }
        }
    }
    Some(Source::Computed { operands, parts })
}

/// The small contents of a copy, for rules that look at them.
fn copied(site: &Site<'_>, parts: &[Part]) -> Option<Arc<[u8]>> {
    let [part] = parts else { return None };
    let Kernel::Copy { bytes } = part.kernel else {
        return None;
    };
    let x: &Known<'_> = site.optional(0)?;
    let contents = x.contents?.get(..bytes).filter(|_| bytes <= SMALL)?;
    Some(contents.into())
}
