//! Tensors of the file to tensors of the graph: names, sizes, roles.

use super::element::Element;
use super::error::TfliteError;
use super::fold::{self, Constants};
use super::schema::{Model, Subgraph, Tensor};
use crate::ir::Role;
use std::collections::BTreeSet;

/// Names that are taken.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// `name`, or with its index where it is empty or taken.
    pub(super) fn unique(&mut self, name: String, index: usize) -> String {
        let mut candidate = name;
        if candidate.is_empty() || self.0.contains(&candidate) {
            candidate = format!("{candidate}#{index}");
        }
        while self.0.contains(&candidate) {
            candidate.push('\'');
        }
        self.0.insert(candidate.clone());
        candidate
    }
}

/// A tensor's element type, shape and bytes.
pub(super) struct Size {
    pub(super) element: Element,
    pub(super) shape: Vec<u64>,
    pub(super) bytes: u64,
}

/// The size of a tensor as declared; constants that are sparse, or whose elements have no size, count
/// what is stored.
pub(super) fn size(model: &Model, tensor: &Tensor) -> Result<Size, TfliteError> {
    let (at, name) = (tensor.at, || tensor.name.clone());
    let unknown = || TfliteError::UnknownElement {
        at,
        tensor: name(),
        code: tensor.element,
    };
    let element = Element::from_code(tensor.element).ok_or_else(unknown)?;
    let shape = shape(tensor)?;
    let Some(bytes) = element.bytes(&shape) else {
        let tensor = name();
        return Err(TfliteError::TooLarge { at, tensor, shape });
    };
    if !fold::has_data(model, tensor) {
        return Ok(Size {
            element,
            shape,
            bytes,
        });
    }
    let stored = model.buffers[tensor.buffer].len() as u64;
    let as_stored = tensor.sparse || matches!(element, Element::Unsized(_));
    if stored < bytes && !as_stored {
        return Err(TfliteError::ShortConstant {
            at,
            tensor: name(),
            needed: bytes,
            stored,
        });
    }
    let bytes = if as_stored { stored } else { bytes };
    Ok(Size {
        element,
        shape,
        bytes,
    })
}

/// The shape of a tensor as declared.
pub(super) fn shape(tensor: &Tensor) -> Result<Vec<u64>, TfliteError> {
    let dimension = |(dimension, &value): (usize, &i32)| {
        u64::try_from(value).map_err(|_| TfliteError::NegativeDimension {
            at: tensor.at,
            tensor: tensor.name.clone(),
            dimension,
            value,
        })
    };
    tensor.shape.iter().enumerate().map(dimension).collect()
}

/// What a subgraph does with each of its tensors.
pub(super) struct Uses {
    /// The operator that makes it and runs.
    pub(super) maker: Vec<Option<usize>>,
    /// The operators that read it and run: how many operands, and the last.
    readers: Vec<(usize, usize)>,
    input: Vec<bool>,
    output: Vec<bool>,
}

impl Uses {
    pub(super) fn new(subgraph: &Subgraph, constants: &Constants) -> Self {
        let count = subgraph.tensors.len();
        let mut uses = Self {
            maker: vec![None; count],
            readers: vec![(0, 0); count],
            input: vec![false; count],
            output: vec![false; count],
        };
        for (index, operator) in subgraph.operators.iter().enumerate() {
            if constants.folded[index] {
                continue;
            }
            for &input in operator.inputs.iter().flatten() {
                uses.readers[input] = (uses.readers[input].0 + 1, index);
            }
            operator
                .outputs
                .iter()
                .for_each(|&o| uses.maker[o] = Some(index));
        }
        subgraph.inputs.iter().for_each(|&t| uses.input[t] = true);
        subgraph.outputs.iter().for_each(|&t| uses.output[t] = true);
        uses
    }

    /// The role of a tensor that no caller binds.
    pub(super) fn role(
        &self,
        subgraph: &Subgraph,
        constants: &Constants,
        at: (usize, u64),
    ) -> Role {
        let (index, bytes) = at;
        let unmade = self.maker[index].is_none();
        if subgraph.tensors[index].variable && !self.input[index] {
            Role::State
        } else if constants.tensors[index] {
            Role::Weight
        } else if self.input[index] {
            Role::Input
        } else if unmade && bytes == 0 {
            Role::Weight // empty: nothing to make
        } else if self.output[index] {
            Role::Output
        } else {
            Role::Activation
        }
    }

    /// The custom operator whose scratch this tensor is: nothing makes it, one operand is it.
    pub(super) fn workspace_of(&self, subgraph: &Subgraph, index: usize) -> Option<usize> {
        let (count, reader) = self.readers[index];
        let custom = |reader: usize| subgraph.operators[reader].op.starts_with("CUSTOM:");
        let free = self.maker[index].is_none() && !self.input[index] && !self.output[index];
        (free && count == 1 && custom(reader)).then_some(reader)
    }

    /// Where a tensor comes from, in words; nothing if it is not used.
    pub(super) fn origin(&self, subgraph: &Subgraph, index: usize) -> Option<String> {
        match self.maker[index] {
            Some(maker) => Some(format!("made by {}#{maker}", subgraph.operators[maker].op)),
            None if self.input[index] => Some("a graph input".into()),
            None => None,
        }
    }
}
