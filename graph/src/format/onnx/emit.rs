//! From steps and entries to the graph: roles, unique names, views, in-place offers.

use super::error::OnnxError;
use super::names::{LETTERS, MAX_LETTERS};
use super::walk::{Kind, Step, Walk};
use crate::build::GraphBuilder;
use crate::infer::Value;
use crate::ir::{Role, TensorId};
use std::collections::HashMap;

/// Results that are the bytes of the first operand under another shape.
pub(super) const VIEWS: [&str; 6] = [
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Flatten",
    "Identity",
    "Dropout",
];

/// Kernels that read each element of any operand before they write it.
const IN_PLACE: [&str; 28] = [
    "Abs",
    "Add",
    "And",
    "Clip",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Reciprocal",
    "Relu",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
];

/// The same, with other operands.
const IN_PLACE_MORE: [&str; 3] = ["Pow", "Tanh", "Where"];

/// Kernels that may do so with their first operand only.
const IN_PLACE_FIRST: [&str; 4] = [
    "BatchNormalization",
    "LayerNormalization",
    "PRelu",
    "Softmax",
];

/// Operands beyond these are not offered.
const OFFERS: usize = 8;

/// Fills the builder; the tensor of each entry that has one.
pub(super) fn emit(
    walk: &Walk<'_>,
    model: &mut GraphBuilder,
) -> Result<Vec<Option<TensorId>>, OnnxError> {
    letters(walk)?;
    let ids = tensors(walk, model)?;
    let id = |entry: &usize| ids[*entry];
    for step in &walk.steps {
        let results: Vec<TensorId> = step.outputs.iter().filter_map(id).collect();
        let operands = step.inputs.iter().map(|entry| entry.as_ref().and_then(id));
        let shares = sharing(walk, step);
        let mut node = model.node(&*step.name, &*step.op, &[], &results);
        node.node.inputs = operands.collect();
        node.node.scope = step.scope.map(|scope| walk.labels[scope].clone());
        for (from, to) in shares.in_place {
            if let (Some(from), Some(to)) = (ids[from], ids[to]) {
                node = node.in_place(from, to);
            }
        }
        if let Some((Some(from), Some(to))) = shares.view.map(|(from, to)| (ids[from], ids[to])) {
            node.view(from, to);
        }
    }
    Ok(ids)
}

/// The name of a body is repeated for every step and tensor in it: not without end.
fn letters(walk: &Walk<'_>) -> Result<(), OnnxError> {
    let steps = walk.steps.iter().filter_map(|step| step.scope);
    let entries = walk.entries.iter().filter_map(|entry| entry.scope);
    let lengths = steps.chain(entries).map(|scope| walk.labels[scope].len());
    let total = lengths.fold(0, usize::saturating_add);
    if total > MAX_LETTERS {
        return Err(LETTERS);
    }
    Ok(())
}

/// Declares the tensors that the graph has, in order of the file.
fn tensors(walk: &Walk<'_>, model: &mut GraphBuilder) -> Result<Vec<Option<TensorId>>, OnnxError> {
    let mut wanted = vec![false; walk.entries.len()];
    let read = walk
        .steps
        .iter()
        .flat_map(|step| step.inputs.iter().flatten().chain(&step.outputs));
    read.chain(&walk.results).for_each(|&id| wanted[id] = true);
    let top = walk.entries.iter().filter(|entry| entry.scope.is_none());
    let mut taken: HashMap<String, u32> = top.map(|entry| (entry.name.to_owned(), 0)).collect();
    let mut is_output = vec![false; walk.entries.len()];
    for &id in &walk.results {
        is_output[id] = true;
    }
    let mut ids = Vec::new();
    for (index, entry) in walk.entries.iter().enumerate() {
        let role = match entry.kind {
            Kind::Input => Role::Input,
            Kind::Initializer if entry.scope.is_none() || wanted[index] => Role::Weight,
            Kind::Folded if wanted[index] => Role::Weight,
            Kind::Made if is_output[index] => Role::Output,
            Kind::Made => Role::Activation,
            Kind::Initializer | Kind::Folded => {
                ids.push(None);
                continue;
            }
        };
        let name = match entry.scope {
            Some(scope) => unique(&mut taken, &walk.labels[scope], entry.name),
            None => entry.name.to_owned(),
        };
        if name.is_empty() {
            return Err(OnnxError::Unknown {
                node: "the graph".into(),
                tensor: name,
            });
        }
        let id = model.shaped(name, entry.fact.dtype, &entry.fact.shape, role);
        if is_output[index] {
            model.output(id);
        }
        ids.push(Some(id));
    }
    Ok(ids)
}

/// A name from a body that clashes with no other. `taken` counts the names made from each.
fn unique(taken: &mut HashMap<String, u32>, scope: &str, name: &str) -> String {
    if !taken.contains_key(name) {
        taken.insert(name.to_owned(), 0);
        return name.to_owned();
    }
    let stem = format!("{scope}/{name}");
    let mut number = taken.get(&stem).copied().unwrap_or(0);
    loop {
        number += 1;
        let candidate = if number == 1 {
            stem.clone()
        } else {
            format!("{stem}#{number}")
        };
        if taken.contains_key(&candidate) {
            continue;
        }
        taken.insert(candidate.clone(), 0);
        taken.insert(stem, number);
        return candidate;
    }
}

/// What a step's kernel allows.
struct Shares {
    view: Option<(usize, usize)>,
    in_place: Vec<(usize, usize)>,
}

fn sharing(walk: &Walk<'_>, step: &Step<'_>) -> Shares {
    let mut shares = Shares {
        view: None,
        in_place: step.offers.clone(),
    };
    let Some(&output) = step.outputs.first() else {
        return shares;
    };
    let fact = |id: usize| &walk.entries[id].fact;
    let live = |id: &usize| !walk.entries[*id].constant();
    let op = &*step.op;
    let first = step.inputs.first().copied().flatten().filter(live);
    if let Some(input) = first
        && VIEWS.contains(&op)
        && !trains(walk, step)
        && fact(input).bytes() == fact(output).bytes()
    {
        shares.view = Some((input, output));
    }
    let operands = if IN_PLACE.contains(&op) || IN_PLACE_MORE.contains(&op) {
        step.inputs.len().min(OFFERS)
    } else {
        usize::from(IN_PLACE_FIRST.contains(&op))
    };
    for input in step
        .inputs
        .iter()
        .take(operands)
        .flatten()
        .copied()
        .filter(live)
    {
        let same = fact(input).shape == fact(output).shape
            && fact(input).dtype.bits() == fact(output).dtype.bits();
        if same && !shares.in_place.contains(&(input, output)) {
            shares.in_place.push((input, output));
        }
    }
    shares
}

/// A `Dropout` that is told to drop, or may be.
fn trains(walk: &Walk<'_>, step: &Step<'_>) -> bool {
    let flag = step.inputs.get(2).copied().flatten();
    let off = |id: usize| matches!(walk.entries[id].fact.value.as_deref(), Some(Value::Ints(list)) if list.iter().all(|&v| v == 0));
    step.op == "Dropout" && !flag.is_none_or(off)
}
