//! Constants: where their bytes are, or how they come about at load.
//!
//! A constant that was folded away and whose value was too large to be kept is computed at load by the
//! kernels of the node that made it, from constants that need not be weights of the graph. So the way
//! goes twice through what was folded: backwards to see what is needed, then forwards.

use super::Lowering;
use super::encode::{as_they_are, encoded, spelled};
use crate::dtype::DType;
use crate::format::onnx::external::Place;
use crate::format::onnx::node::standard;
use crate::format::onnx::walk::{Entry, Folded};
use crate::infer::{Attr, Fact, Value, float};
use crate::ir::TensorId;
use crate::kernel::{
    Axis, Cast, Constant, ConstantId, Index, Kernel, Lowered, Part, Rearrange, Source, Target,
    Unsupported,
};
use bayplan_planner::Table;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers of a range that is spelled out here.
const RANGE: u64 = 1 << 24;

/// How a folded node makes its results.
enum Recipe {
    /// By kernels, from constants.
    Parts(Lowered),
    /// One element, over and over.
    Fill(Value),
    /// These bytes.
    Bytes(Arc<[u8]>),
}

/// How constants are made, by entry: the recipe, the position of the result, the operands.
type Recipes<'w> = BTreeMap<usize, (Arc<Recipe>, usize, &'w [Option<usize>])>;

/// All constants that the weights among `ids` need, and which constant each weight is.
pub(super) fn constants(
    lowering: &Lowering<'_, '_>,
    ids: &[Option<TensorId>],
) -> (Table<ConstantId, Constant>, BTreeMap<TensorId, ConstantId>) {
    let entries = &lowering.walk.entries;
    let pairs = ids.iter().zip(entries);
    let mut needed: Vec<bool> = pairs
        .map(|(id, entry)| id.is_some() && entry.constant())
        .collect();
    let recipes = recipes(lowering, &mut needed);
    let mut made = Constants {
        lowering,
        recipes,
        list: Table::new(),
        of: BTreeMap::new(),
    };
    let mut weights = BTreeMap::new();
    for (entry, id) in ids.iter().enumerate() {
        if needed[entry] {
            let constant = made.add(entry);
            weights.extend(id.map(|id| (id, constant)));
        }
    }
    (made.list, weights)
}

/// Whether the bytes of a constant follow from nothing else.
fn at_hand(entry: &Entry<'_>) -> bool {
    entry.place.is_some() || entry.fact.value.is_some() || entry.fact.bytes() == 0
}

/// How needed constants are made. What they are made from is needed as well.
fn recipes<'w>(lowering: &'w Lowering<'_, '_>, needed: &mut [bool]) -> Recipes<'w> {
    let entries = &lowering.walk.entries;
    let mut found = BTreeMap::new();
    for folded in lowering.walk.folded.iter().rev() {
        let wanted = |id: &usize| needed[*id] && !at_hand(&entries[*id]);
        let results: Vec<(usize, usize)> = folded
            .outputs
            .iter()
            .enumerate()
            .filter(|(_, id)| wanted(id))
            .map(|(at, &id)| (at, id))
            .collect();
        if results.is_empty() {
            continue;
        }
        let recipe = Arc::new(recipe(lowering, folded));
        for &(at, id) in &results {
            if let Recipe::Parts(Ok(parts)) = &*recipe {
                for operand in operands(parts, at) {
                    if let Some(&Some(from)) = folded.inputs.get(operand) {
                        needed[from] = true;
                    }
                }
            }
            found.insert(id, (recipe.clone(), at, &folded.inputs[..]));
        }
    }
    found
}

/// Positions of the operands that make a result, ascending.
fn operands(parts: &[Part], result: usize) -> Vec<usize> {
    let own = parts
        .iter()
        .filter(|part| part.write == Target::Result(result));
    let mut operands: Vec<usize> = own.flat_map(|part| &part.reads).copied().collect();
    operands.sort_unstable();
    operands.dedup();
    operands
}

fn recipe(lowering: &Lowering<'_, '_>, folded: &Folded<'_>) -> Recipe {
    let special = match &*folded.node.op_type {
        "ConstantOfShape" if standard(folded.node) => fill(lowering, folded).map(Recipe::Fill),
        "Range" if standard(folded.node) => range(lowering, folded).map(Recipe::Bytes),
        _ => None,
    };
    special.unwrap_or_else(|| Recipe::Parts(lowering.folded(folded)))
}

/// The one element of a `ConstantOfShape`.
fn fill(lowering: &Lowering<'_, '_>, folded: &Folded<'_>) -> Option<Value> {
    let (attrs, _) = lowering.walk.attributes(folded.node, 0).ok()?;
    match attrs.get("value") {
        Some(Attr::Tensor(fact)) => fact.value.as_deref().filter(|v| v.len() == 1).cloned(),
        Some(_) => None,
        None => Some(Value::Floats(vec![0.0])),
    }
}

/// The numbers of a `Range`, as kernels make them: by multiplying.
fn range(lowering: &Lowering<'_, '_>, folded: &Folded<'_>) -> Option<Arc<[u8]>> {
    let fact = |id: usize| &lowering.walk.entries[id].fact;
    let result = fact(*folded.outputs.first()?);
    let one = |operand: usize| fact((*folded.inputs.get(operand)?)?).value.as_deref();
    let (first, step) = (one(0)?, one(2)?);
    let count = result.elements();
    if count > RANGE {
        return None;
    }
    let value = match (first, step) {
        (Value::Ints(first), Value::Ints(step)) => {
            let (&first, &step) = (first.first()?, step.first()?);
            let at = |i: u64| first.checked_add(step.checked_mul(i64::try_from(i).ok()?)?);
            Value::Ints((0..count).map(at).collect::<Option<_>>()?)
        }
        (Value::Floats(first), Value::Floats(step)) => {
            let (&first, &step) = (first.first()?, step.first()?);
            Value::Floats((0..count).map(|i| first + step * i as f64).collect())
        }
        _ => return None,
    };
    encoded(&value, result.dtype).map(Arc::from)
}

/// Constants in the making.
struct Constants<'l, 'w, 'a> {
    lowering: &'l Lowering<'w, 'a>,
    recipes: Recipes<'l>,
    list: Table<ConstantId, Constant>,
    of: BTreeMap<usize, ConstantId>,
}

impl Constants<'_, '_, '_> {
    /// The constant that an entry is; those that it is made from are there.
    fn add(&mut self, id: usize) -> ConstantId {
        let entry = &self.lowering.walk.entries[id];
        let source = self.source(id, entry);
        let constant = self.push(entry.name, entry.fact.bytes(), source);
        self.of.insert(id, constant);
        constant
    }

    fn push(&mut self, name: &str, bytes: u64, source: Source) -> ConstantId {
        self.list.push(Constant {
            name: name.to_owned(),
            bytes,
            source,
        })
    }

    fn source(&mut self, id: usize, entry: &Entry<'_>) -> Source {
        let fact = &entry.fact;
        match &entry.place {
            _ if fact.bytes() == 0 => Source::Bytes(Arc::from([])),
            Some(Place::Here { offset, .. }) => Source::File { offset: *offset },
            Some(Place::External { path, offset, .. }) => Source::External {
                path: path.clone(),
                offset: *offset,
            },
            Some(Place::Spelled) => self.spelled(id, fact),
            None => match fact.value.as_deref() {
                Some(value) => self.value(entry.name, value, fact),
                None => self.made(id, entry),
            },
        }
    }

    fn spelled(&self, id: usize, fact: &Fact) -> Source {
        let walk = self.lowering.walk;
        let place = walk.spelled.binary_search_by_key(&id, |spelled| spelled.0);
        let tensor = place.map(|place| walk.spelled[place].1);
        let file = walk.source.file;
        let offset = tensor.ok().and_then(|tensor| as_they_are(tensor, file));
        if let Some(offset) = offset {
            return Source::File { offset };
        }
        let bytes = tensor.ok().and_then(|t| spelled(t, fact.dtype, file));
        let whole = bytes.filter(|bytes| bytes.len() as u64 == fact.bytes());
        whole.map_or_else(
            || unknown("Constant", "its elements are not understood"),
            |bytes| Source::Bytes(bytes.into()),
        )
    }

    /// The bytes of a value; of narrow floats, which values are not rounded to, by a cast.
    fn value(&mut self, name: &str, value: &Value, fact: &Fact) -> Source {
        if let Some(bytes) = encoded(value, fact.dtype) {
            return Source::Bytes(bytes.into());
        }
        let wide = encoded(value, DType::F32).filter(|_| float(fact.dtype));
        let Some(wide) = wide else {
            return unknown("Constant", "no bytes for elements of its type");
        };
        let bytes = wide.len() as u64;
        let wide = self.push(&format!("{name}/f32"), bytes, Source::Bytes(wide.into()));
        let cast = Cast {
            from: DType::F32,
            to: fact.dtype,
            count: value.len(),
        };
        Source::Computed {
            operands: vec![wide],
            parts: vec![Part::simple(Kernel::Cast(cast), 1)],
        }
    }

    fn made(&mut self, id: usize, entry: &Entry<'_>) -> Source {
        let Some((recipe, at, inputs)) = self.recipes.get(&id).cloned() else {
            return unknown("Constant", "nothing in the file makes it");
        };
        match &*recipe {
            Recipe::Bytes(bytes) => Source::Bytes(bytes.clone()),
            Recipe::Fill(value) => self.filled(entry, value),
            Recipe::Parts(Err(why)) => Source::Unknown(why.clone()),
            Recipe::Parts(Ok(parts)) => self.computed(parts, at, inputs),
        }
    }

    /// One element, over and over.
    fn filled(&mut self, entry: &Entry<'_>, value: &Value) -> Source {
        let (name, fact) = (format!("{}/element", entry.name), &entry.fact);
        let one = Fact {
            shape: Vec::new(),
            ..fact.clone()
        };
        let element = usize::try_from(one.bytes()).ok();
        let whole = fact.dtype.bits() >= 8;
        let count = usize::try_from(fact.elements()).ok();
        let Some((element, count)) = element.zip(count).filter(|_| whole) else {
            return unknown("ConstantOfShape", "no kernel for elements of its type");
        };
        let source = self.value(&name, value, &one);
        let operands = vec![self.push(&name, one.bytes(), source)];
        let axes = vec![Axis {
            count,
            to: 1,
            from: Index::Stride(0),
        }];
        let moves = Rearrange {
            element,
            axes,
            to: 0,
            from: 0,
            fill: None,
        };
        Source::Computed {
            operands,
            parts: vec![Part::simple(Kernel::Rearrange(moves), 1)],
        }
    }

    /// By the parts that make result `at`, with positions into the constants that they read.
    fn computed(&self, parts: &[Part], at: usize, inputs: &[Option<usize>]) -> Source {
        let read = operands(parts, at);
        let constant = |&operand: &usize| self.of.get(&(*inputs.get(operand)?)?).copied();
        let operands: Option<Vec<ConstantId>> = read.iter().map(constant).collect();
        let Some(operands) = operands else {
            return unknown("Constant", "what it is made from is not known");
        };
        let own = parts.iter().filter(|part| part.write == Target::Result(at));
        let own = own.map(|part| Part {
            kernel: part.kernel.clone(),
            reads: part
                .reads
                .iter()
                .filter_map(|operand| read.binary_search(operand).ok())
                .collect(),
            write: Target::Result(0),
        });
        Source::Computed {
            operands,
            parts: own.collect(),
        }
    }
}

fn unknown(op: &str, why: &str) -> Source {
    Source::Unknown(Unsupported {
        op: op.into(),
        why: why.into(),
    })
}
