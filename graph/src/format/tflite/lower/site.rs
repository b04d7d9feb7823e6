//! One operator as its rule sees it: operands and results with shapes, types, scales and contents.

use super::super::error::TfliteError;
use super::super::flat::{Flat, Table};
use super::super::model::{Place, TfliteModel};
use super::super::options::Options;
use super::super::schema::{Model, Operator};
use super::quantization::Quantization;
use crate::dtype::DType;
use crate::ir::{Node, TensorId};
use crate::kernel::{Part, Target, Unary, Unsupported};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that is known of a file.
pub(super) struct Files<'a> {
    pub(super) model: &'a TfliteModel,
    pub(super) tables: &'a Model,
    pub(super) flat: &'a Flat<'a>,
    pub(super) file: &'a [u8],
    /// Contents of constants that are worked out here.
    pub(super) contents: BTreeMap<TensorId, Arc<[u8]>>,
}

impl<'a> Files<'a> {
    /// The contents of a constant, where they are known before the run.
    fn contents(&'a self, id: TensorId) -> Option<&'a [u8]> {
        let range = self.model.data.get(id).cloned().flatten();
        let stored = range.and_then(|range| self.file.get(range));
        stored.or_else(|| self.contents.get(&id).map(|bytes| &**bytes))
    }

    pub(super) fn operator(&self, place: Place) -> &'a Operator {
        &self.tables.subgraphs[place.subgraph].operators[place.operator]
    }

    /// What is known of tensor `index` of a subgraph, which is `id` in the graph.
    pub(super) fn known(
        &'a self,
        subgraph: usize,
        index: usize,
        id: TensorId,
    ) -> Result<Known<'a>, TfliteError> {
        let tensor = &self.model.graph.tensors()[id];
        let table = &self.tables.subgraphs[subgraph].tensors[index];
        let shape = tensor.shape.iter().flatten();
        let shape = shape.map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX));
        Ok(Known {
            shape: shape.collect(),
            dtype: tensor.dtype,
            bytes: tensor.bytes,
            contents: self.contents(id),
            scales: Quantization::read(self.flat, table.at)?,
        })
    }
}

/// An operand or a result.
pub(super) struct Known<'a> {
    pub(super) shape: Vec<usize>,
    /// Nothing for what is stored sparse, and for types that graphs do not know.
    dtype: Option<DType>,
    pub(super) bytes: u64,
    /// Nothing for what the run makes.
    pub(super) contents: Option<&'a [u8]>,
    pub(super) scales: Quantization,
}

impl Known<'_> {
    pub(super) fn dtype(&self) -> Result<DType, Trouble> {
        self.dtype
            .ok_or_else(|| missing("operands that are stored sparse, or of rare types"))
    }

    /// Elements.
    pub(super) fn count(&self) -> Result<usize, Trouble> {
        count(&self.shape)
    }

    /// Bytes of an element.
    pub(super) fn element(&self) -> Result<usize, Trouble> {
        let bits = self.dtype()?.bits();
        if bits < 8 {
            return Err(missing("elements that share a byte"));
        }
        usize::try_from(bits / 8).map_err(|_| missing("such elements"))
    }

    /// Whether elements are 8-bit integers with scales.
    pub(super) fn is_quantized(&self) -> bool {
        matches!(self.dtype, Some(DType::I8 | DType::U8)) && !self.scales.scales.is_empty()
    }

    /// Scale and zero of an operand that has one of each.
    pub(super) fn level(&self) -> Result<(f32, i32), Trouble> {
        let single = self.scales.single();
        let (scale, zero) = single.ok_or_else(|| missing("this quantization"))?;
        let fits = match self.dtype()? {
            DType::I8 => (-128..=127).contains(&zero),
            DType::U8 => (0..=255).contains(&zero),
            _ => return Err(missing("quantized integers of more than 8 bits")),
        };
        if !fits {
            return Err(missing("a zero point that is no byte"));
        }
        Ok((scale, zero))
    }
}

/// Elements of a shape.
pub(super) fn count(shape: &[usize]) -> Result<usize, Trouble> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let all = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    all.ok_or_else(|| missing("so many elements"))
}

/// Why there are no parts.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// What is missing.
    #[error("{0}")]
    Lacks(String),
    /// The file is damaged.
    #[error(transparent)]
    File(#[from] TfliteError),
}

/// Something is missing.
pub(super) fn missing(what: impl Into<String>) -> Trouble {
    Trouble::Lacks(what.into())
}

/// An operator lacks something.
pub(super) fn lacks(op: &str, why: &str) -> Unsupported {
    Unsupported {
        op: op.to_owned(),
        why: why.to_owned(),
    }
}

/// The parts of an operator.
pub(super) type Answer = Result<Vec<Part>, Trouble>;

/// How one kind of operator becomes parts.
pub(super) type Rule = fn(&Site<'_>) -> Answer;

/// An operator.
pub(super) struct Site<'a> {
    pub(super) op: &'a str,
    operands: Vec<Option<Known<'a>>>,
    /// Bytes of what further operands, the states of variables, hold.
    pub(super) states: Vec<u64>,
    pub(super) results: Vec<Known<'a>>,
    table: Table<'a, 'a>,
}

impl<'a> Site<'a> {
    /// That of a node; nothing where the node is not simply its operator.
    pub(super) fn of_node(
        files: &'a Files<'a>,
        node: &'a Node,
        place: Place,
    ) -> Result<Option<Self>, TfliteError> {
        let operator = files.operator(place);
        let simple = node.op == operator.op && node.outputs.len() == operator.outputs.len();
        if !simple || node.inputs.len() < operator.inputs.len() {
            return Ok(None);
        }
        let (own, states) = node.inputs.split_at(operator.inputs.len());
        let tensors = files.model.graph.tensors();
        let states = states.iter().flatten().chain(&node.writes);
        let mut site = Self::new(files, place, own, &node.outputs)?;
        site.states = states.map(|&id| tensors[id].bytes).collect();
        Ok(Some(site))
    }

    /// That of an operator on these tensors.
    pub(super) fn new(
        files: &'a Files<'a>,
        place: Place,
        inputs: &[Option<TensorId>],
        outputs: &[TensorId],
    ) -> Result<Self, TfliteError> {
        let operator = files.operator(place);
        let known = |(index, id): (usize, TensorId)| files.known(place.subgraph, index, id);
        let operands = operator.inputs.iter().zip(inputs);
        let operands = operands.map(|(&index, &id)| index.zip(id).map(known).transpose());
        let results = operator
            .outputs
            .iter()
            .copied()
            .zip(outputs.iter().copied());
        Ok(Self {
            op: &operator.op,
            operands: operands.collect::<Result<_, _>>()?,
            states: Vec::new(),
            results: results.map(known).collect::<Result<_, _>>()?,
            table: files.flat.table(operator.at, "an operator")?,
        })
    }

    /// How many operands the file lists.
    pub(super) fn operands(&self) -> usize {
        self.operands.len()
    }

    /// The operand at `position`, if it is there.
    pub(super) fn optional(&self, position: usize) -> Option<&Known<'a>> {
        self.operands.get(position).and_then(Option::as_ref)
    }

    /// The operand at `position`.
    pub(super) fn operand(&self, position: usize) -> Result<&Known<'a>, Trouble> {
        self.optional(position)
            .ok_or_else(|| missing(format!("a use without operand {position}")))
    }

    /// The only result.
    pub(super) fn result(&self) -> Result<&Known<'a>, Trouble> {
        match &self.results[..] {
            [one] => Ok(one),
            all => Err(missing(format!("{} results", all.len()))),
        }
    }

    /// The integers that the constant operand at `position` holds.
    pub(super) fn ints(&self, position: usize) -> Result<Vec<i64>, Trouble> {
        const MOST: usize = 1 << 12;
        let operand = self.operand(position)?;
        if operand.count()? > MOST {
            return Err(missing(format!("such a long operand {position}")));
        }
        let Some(bytes) = operand.contents else {
            if operand.count()? == 0 {
                return Ok(Vec::new());
            }
            return Err(missing(format!("operand {position} that the run makes")));
        };
        let count = operand.count()?;
        let found: Vec<i64> = match operand.dtype()? {
            DType::I32 => each(bytes, |b| i64::from(i32::from_le_bytes(b))),
            DType::I64 => each(bytes, i64::from_le_bytes),
            DType::I16 => each(bytes, |b| i64::from(i16::from_le_bytes(b))),
            _ => return Err(missing(format!("operand {position} of another type"))),
        };
        let found = found.get(..count).map(<[i64]>::to_vec);
        found.ok_or_else(|| missing(format!("an operand {position} that is cut off")))
    }

    /// The one integer that a constant operand holds.
    pub(super) fn int(&self, position: usize) -> Result<i64, Trouble> {
        match self.ints(position)?[..] {
            [one] => Ok(one),
            _ => Err(missing(format!("an operand {position} that is no number"))),
        }
    }

    /// The options, where they are of the kind with this number in the schema.
    pub(super) fn options(&self, kind: u8) -> Result<Options<'a>, Trouble> {
        Ok(Options::of(&self.table, kind)?)
    }

    /// Whether a part stays within its tensors.
    pub(super) fn holds(&self, part: &Part) -> bool {
        let Some(needs) = part.kernel.needs() else {
            return false;
        };
        let room = |&position: &usize| match self.operands.get(position) {
            Some(operand) => operand.as_ref().map(|known| known.bytes),
            None => self.states.get(position - self.operands.len()).copied(),
        };
        let room_of_result = match part.write {
            Target::Result(at) => self.results.get(at).map(|known| known.bytes),
            Target::State(_) => self.states.last().copied(),
        };
        let within =
            |(needed, position): (&u64, &usize)| room(position).is_some_and(|room| *needed <= room);
        needs.reads.len() == part.reads.len()
            && needs.reads.iter().zip(&part.reads).all(within)
            && room_of_result.is_some_and(|room| needs.write <= room)
    }

    /// Whether parts reach the end of every result.
    pub(super) fn covers(&self, parts: &[Part]) -> bool {
        let end = |at: usize| {
            let own = parts.iter().filter(|part| part.write == Target::Result(at));
            own.filter_map(|part| Some(part.kernel.needs()?.write))
                .max()
        };
        let mut results = self.results.iter().enumerate();
        results.all(|(at, known)| end(at).unwrap_or(0) == known.bytes)
    }
}

fn each<const N: usize, T>(bytes: &[u8], make: impl Fn([u8; N]) -> T) -> Vec<T> {
    let parts = bytes.as_chunks::<N>().0;
    parts.iter().map(|&part| make(part)).collect()
}

impl Options<'_> {
    /// A fused activation.
    pub(super) fn activation(&self, slot: u16) -> Result<Fused, Trouble> {
        Ok(match self.byte(slot, "a fused activation")? {
            0 => Fused::Nothing,
            1 => Fused::Clip(Some(0), None),
            2 => Fused::Clip(Some(-1), Some(1)),
            3 => Fused::Clip(Some(0), Some(6)),
            // The stock kernels leave it out, and no converter writes it.
            4 => return Err(missing("a fused TANH")),
            other => return Err(missing(format!("fused activation {other}"))),
        })
    }
}

/// What an operator does with its result at last.
#[derive(Clone, Copy)]
pub(super) enum Fused {
    Nothing,
    /// Between these bounds.
    Clip(Option<i8>, Option<i8>),
}

impl Fused {
    /// On real numbers.
    pub(super) fn function(self) -> Option<Unary> {
        match self {
            Self::Nothing | Self::Clip(None, None) => None,
            Self::Clip(Some(0), None) => Some(Unary::Relu),
            Self::Clip(low, high) => Some(Unary::Clip {
                low: low.map_or(f32::NEG_INFINITY, f32::from),
                high: high.map_or(f32::INFINITY, f32::from),
            }),
        }
    }
}
