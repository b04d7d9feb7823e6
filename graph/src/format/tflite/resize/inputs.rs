//! The shapes that are given, against what the file allows.

use super::super::error::TfliteError;
use super::super::flat::{Field, Flat};
use super::super::schema::{Model, Tensor};
use super::super::tensors::Names;
use std::collections::BTreeMap;

/// Index and name of each input of the main subgraph, as the graph calls them.
pub(in super::super) fn names(model: &Model) -> Vec<(usize, String)> {
    let main = &model.subgraphs[0];
    let mut taken = Names::default();
    let all = main.tensors.iter().enumerate();
    let all: Vec<String> = all
        .map(|(index, tensor)| match &*tensor.name {
            "" => taken.unique(format!("#{index}"), index),
            name => taken.unique(name.to_owned(), index),
        })
        .collect();
    let mut inputs = main.inputs.clone();
    inputs.sort_unstable();
    inputs.dedup();
    inputs
        .into_iter()
        .map(|index| (index, all[index].clone()))
        .collect()
}

/// The given shapes by tensor of the main subgraph.
pub(super) fn seeds(
    bytes: &[u8],
    model: &Model,
    given: &BTreeMap<String, Vec<u64>>,
) -> Result<BTreeMap<usize, Vec<i32>>, TfliteError> {
    let flat = Flat::new(bytes);
    let known = names(model);
    let mut seeds = BTreeMap::new();
    for (name, shape) in given {
        let found = known.iter().find(|(_, known)| known == name);
        let Some(&(index, _)) = found else {
            let known = known.into_iter().map(|(_, name)| name).collect();
            let name = name.clone();
            return Err(TfliteError::UnknownInput { name, known });
        };
        let tensor = &model.subgraphs[0].tensors[index];
        let declared = Declared::new(&flat, tensor)?;
        let fitted = declared.fit(shape).map_err(|why| TfliteError::InputShape {
            at: tensor.at,
            input: name.clone(),
            given: shape.clone(),
            declared: declared.dims.clone(),
            why,
        })?;
        seeds.insert(index, fitted);
    }
    Ok(seeds)
}

/// What a file says about the shape of an input.
struct Declared {
    /// -1 where a dimension may change.
    dims: Vec<i32>,
    /// Whether `dims` is a signature: dimensions other than -1 are fixed.
    signature: bool,
    /// Whether the number of dimensions is known.
    ranked: bool,
}

impl Declared {
    fn new(flat: &Flat<'_>, tensor: &Tensor) -> Result<Self, TfliteError> {
        let table = flat.table(tensor.at, "a tensor")?;
        let signature = table.ints(Field(7, "the shape signature of a tensor"))?;
        let ranked = table.u8(Field(8, "has_rank of a tensor"))? != 0;
        let signed = !signature.is_empty();
        let dims = if signed {
            signature
        } else {
            tensor.shape.clone()
        };
        Ok(Self {
            ranked: ranked || !dims.is_empty(),
            signature: signed,
            dims,
        })
    }

    /// `given` as the format counts, or what is wrong with it.
    fn fit(&self, given: &[u64]) -> Result<Vec<i32>, String> {
        if self.ranked && given.len() != self.dims.len() {
            let (found, expected) = (given.len(), self.dims.len());
            return Err(format!("{found} dimensions instead of {expected}"));
        }
        let mut fitted = Vec::with_capacity(given.len());
        for (place, &size) in given.iter().enumerate() {
            let declared = self.dims.get(place).copied().unwrap_or(-1);
            let number = i32::try_from(size).ok().filter(|&number| number > 0);
            let number = number.ok_or_else(|| {
                format!("dimension {place} is {size}; it can be 1 to {}", i32::MAX)
            })?;
            if self.signature && declared != -1 && declared != number {
                let why = format!("dimension {place} is fixed to {declared}, not {size}");
                return Err(format!("{why} (-1 may change)"));
            }
            fitted.push(number);
        }
        Ok(fitted)
    }
}
