//! Declared types, and the dimensions that the caller binds.
//!
//! A dimension in the file is a number, a name, or open. `--dim` gives names their numbers, `--input`
//! gives an input its whole shape (and with it numbers to the names in it). What stays open on an
//! input is reported all at once; what is open on other tensors follows from inference.

use super::ReadOptions;
use super::error::{OnnxError, Unbound};
use super::proto::{Graph, Type, ValueInfo};
use crate::dtype::DType;
use crate::infer::{Fact, dtype_name, dtype_of};
use std::collections::{BTreeMap, BTreeSet};

/// Names that exporters write where they know none; two of them need not be equal.
const OPEN: [&str; 4] = ["", "?", "-1", "None"];

/// A dimension as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Dim {
    /// A number.
    Known(u64),
    /// A name.
    Named(String),
    /// Nothing.
    Open,
}

/// A type as the file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    /// Element type, if stated.
    pub(super) dtype: Option<DType>,
    /// Dimensions, if at least their number is stated.
    pub(super) shape: Option<Vec<Dim>>,
}

impl Declared {
    /// The declaration in words.
    pub(super) fn words(&self) -> String {
        let dims = self.shape.as_ref().map_or("any shape".into(), |shape| {
            let dims = shape.iter().map(|dim| match dim {
                Dim::Known(value) => value.to_string(),
                Dim::Named(name) => name.clone(),
                Dim::Open => "?".into(),
            });
            format!("[{}]", dims.collect::<Vec<_>>().join(", "))
        });
        match self.dtype {
            Some(dtype) => format!("{dtype} {dims}"),
            None => dims,
        }
    }

    /// Names in it that have no number.
    pub(super) fn unbound<'a>(
        &'a self,
        numbers: &'a BTreeMap<String, u64>,
    ) -> impl Iterator<Item = &'a str> {
        self.shape.iter().flatten().filter_map(|dim| match dim {
            Dim::Named(name) if !numbers.contains_key(name) => Some(&**name),
            _ => None,
        })
    }

    /// The fact it spells, once all its names have numbers.
    pub(super) fn resolve(&self, numbers: &BTreeMap<String, u64>) -> Option<Fact> {
        let shape = self.shape.as_ref()?.iter().map(|dim| match dim {
            Dim::Known(value) => Some(*value),
            Dim::Named(name) => numbers.get(name).copied(),
            Dim::Open => None,
        });
        Fact::new(self.dtype?, shape.collect::<Option<_>>()?).ok()
    }

    /// Whether it allows `fact`.
    pub(super) fn allows(&self, fact: &Fact, numbers: &BTreeMap<String, u64>) -> bool {
        if self.dtype.is_some_and(|dtype| dtype != fact.dtype) {
            return false;
        }
        let Some(shape) = &self.shape else {
            return true;
        };
        shape.len() == fact.rank()
            && shape.iter().zip(&fact.shape).all(|(dim, &made)| match dim {
                Dim::Known(value) => *value == made,
                Dim::Named(name) => numbers.get(name).is_none_or(|&value| value == made),
                Dim::Open => true,
            })
    }
}

/// Reads a declared type; nothing where the file has none.
pub(super) fn declared(info: &ValueInfo) -> Result<Option<Declared>, OnnxError> {
    let Some(stated) = &info.r#type else {
        return Ok(None);
    };
    let refuse = |what: String| OnnxError::Type {
        tensor: info.name.clone(),
        what,
    };
    let Some(tensor) = &stated.tensor_type else {
        return other(stated).map_or(Ok(None), |what| Err(refuse(what.into())));
    };
    let code = i64::from(tensor.elem_type);
    let dtype = dtype_of(code);
    if dtype.is_none() && code != 0 {
        return Err(refuse(format!(
            "a tensor of element type {}",
            dtype_name(code)
        )));
    }
    let mut dims = Vec::new();
    for (dimension, dim) in tensor.shape.iter().flat_map(|s| &s.dim).enumerate() {
        dims.push(match (dim.value, &dim.param) {
            (Some(-1), _) => Dim::Open,
            (Some(value), _) => Dim::Known(u64::try_from(value).map_err(|_| {
                let tensor = info.name.clone();
                OnnxError::NegativeDim {
                    tensor,
                    dimension,
                    value,
                }
            })?),
            (None, Some(name)) if !OPEN.contains(&&**name) => Dim::Named(name.clone()),
            (None, _) => Dim::Open,
        });
    }
    let shape = tensor.shape.is_some().then_some(dims);
    Ok(Some(Declared { dtype, shape }))
}

fn other(stated: &Type) -> Option<&'static str> {
    let kinds = [
        (stated.sequence_type.is_some(), "a sequence"),
        (stated.map_type.is_some(), "a map"),
        (stated.sparse_tensor_type.is_some(), "a sparse tensor"),
        (stated.optional_type.is_some(), "an optional value"),
    ];
    kinds.into_iter().find(|kind| kind.0).map(|kind| kind.1)
}

/// Numbers of names, and facts of the graph's inputs in their order.
pub(super) struct Binding<'a> {
    /// By name of the dimension.
    pub(super) numbers: BTreeMap<String, u64>,
    /// Inputs that are not initializers.
    pub(super) inputs: Vec<(&'a str, Fact)>,
}

/// Binds all inputs or says what is missing.
pub(super) fn bind<'a>(
    graph: &'a Graph,
    options: &ReadOptions<'_>,
) -> Result<Binding<'a>, OnnxError> {
    let weights: BTreeSet<&str> = graph.initializer.iter().map(|t| &*t.head.name).collect();
    let given = graph
        .input
        .iter()
        .filter(|info| !weights.contains(&*info.name));
    let mut inputs = Vec::new();
    for info in given {
        inputs.push((&*info.name, declared(info)?));
    }
    let carriers = carriers(graph)?;
    for name in options.dims.keys() {
        if !carriers.contains_key(name) {
            let known = carriers.keys().cloned().collect();
            return Err(OnnxError::UnknownDim {
                name: name.clone(),
                known,
            });
        }
    }
    for name in options.inputs.keys() {
        if !inputs.iter().any(|(input, _)| input == name) {
            let known = inputs
                .iter()
                .map(|(input, _)| (*input).to_owned())
                .collect();
            return Err(OnnxError::UnknownInput {
                name: name.clone(),
                known,
            });
        }
    }
    let mut numbers = options.dims.clone();
    for (name, declared) in &inputs {
        if let (Some(given), Some(declared)) = (options.inputs.get(*name), declared) {
            fit(name, given, declared, &mut numbers)?;
        }
    }
    let mut missing = Unbound::default();
    let mut asked = BTreeSet::new();
    let mut facts = Vec::new();
    for (name, declared) in inputs {
        let given = options.inputs.get(name);
        if let Some(fact) = resolve(
            name,
            declared.as_ref(),
            given,
            &numbers,
            &mut missing,
            &mut asked,
        )? {
            facts.push((name, fact));
        }
    }
    if missing.is_empty() {
        return Ok(Binding {
            numbers,
            inputs: facts,
        });
    }
    for (name, tensors) in &mut missing.named {
        tensors.clone_from(&carriers[name]);
    }
    Err(OnnxError::Unbound(missing))
}

/// Tensors that carry each named dimension, in order of the file.
fn carriers(graph: &Graph) -> Result<BTreeMap<String, Vec<String>>, OnnxError> {
    let mut carriers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for info in graph
        .input
        .iter()
        .chain(&graph.value_info)
        .chain(&graph.output)
    {
        let declared = declared(info)?;
        for dim in declared.iter().flat_map(|d| d.shape.iter().flatten()) {
            if let Dim::Named(name) = dim {
                let tensors = carriers.entry(name.clone()).or_default();
                if tensors.last() != Some(&info.name) {
                    tensors.push(info.name.clone());
                }
            }
        }
    }
    Ok(carriers)
}

/// Fits a given shape to the declared one and learns the numbers of its names.
fn fit(
    input: &str,
    given: &[u64],
    declared: &Declared,
    numbers: &mut BTreeMap<String, u64>,
) -> Result<(), OnnxError> {
    let Some(shape) = &declared.shape else {
        return Ok(());
    };
    let clash = || OnnxError::InputShape {
        input: input.to_owned(),
        given: given.to_vec(),
        declared: declared.words(),
    };
    if shape.len() != given.len() {
        return Err(clash());
    }
    for (dim, &second) in shape.iter().zip(given) {
        match dim {
            Dim::Known(value) if *value != second => return Err(clash()),
            Dim::Named(name) => {
                let first = *numbers.entry(name.clone()).or_insert(second);
                if first != second {
                    let (name, input) = (name.clone(), input.to_owned());
                    return Err(OnnxError::DimTwice {
                        name,
                        first,
                        second,
                        input,
                    });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn resolve(
    name: &str,
    declared: Option<&Declared>,
    given: Option<&Vec<u64>>,
    numbers: &BTreeMap<String, u64>,
    missing: &mut Unbound,
    asked: &mut BTreeSet<String>,
) -> Result<Option<Fact>, OnnxError> {
    let dtype = declared
        .and_then(|d| d.dtype)
        .ok_or_else(|| OnnxError::Type {
            tensor: name.to_owned(),
            what: "an input without an element type".into(),
        })?;
    let shape = match (given, declared.and_then(|d| d.shape.as_ref())) {
        (Some(shape), _) => shape.clone(),
        (None, None) => {
            missing.shapeless.push(name.to_owned());
            return Ok(None);
        }
        (None, Some(dims)) => match numbered(name, dims, numbers, missing, asked) {
            Some(shape) => shape,
            None => return Ok(None),
        },
    };
    let fact = Fact::new(dtype, shape);
    fact.map(Some).map_err(|why| OnnxError::Shape {
        tensor: name.to_owned(),
        why,
    })
}

fn numbered(
    name: &str,
    dims: &[Dim],
    numbers: &BTreeMap<String, u64>,
    missing: &mut Unbound,
    asked: &mut BTreeSet<String>,
) -> Option<Vec<u64>> {
    let mut shape = Vec::new();
    for (place, dim) in dims.iter().enumerate() {
        let value = match dim {
            Dim::Known(value) => Some(*value),
            Dim::Named(symbol) => {
                let value = numbers.get(symbol).copied();
                if value.is_none() && asked.insert(symbol.clone()) {
                    missing.named.push((symbol.clone(), Vec::new()));
                }
                value
            }
            Dim::Open => {
                missing.unnamed.push((name.to_owned(), place));
                None
            }
        };
        shape.extend(value);
    }
    (shape.len() == dims.len()).then_some(shape)
}
