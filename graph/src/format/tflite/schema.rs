//! The tables of a `.tflite` that are read: plain data, every index checked.
//!
//! Goes in: the file. Comes out: [`Model`]. After it every tensor, buffer, operator kind and subgraph
//! that is named exists, and buffers lie in the file. Read past: quantization (the stock runtime
//! refuses some harmless ones), sparsity beyond its presence, options that do not change the graph,
//! signatures.

use super::error::TfliteError;
use super::flat::{Field, Flat, Table};
use super::ops;
use std::ops::Range;

/// Dimensions of one tensor.
const MAX_RANK: usize = 64;

/// A model.
pub(super) struct Model {
    pub(super) subgraphs: Vec<Subgraph>,
    /// Bytes of each buffer, as ranges of the file.
    pub(super) buffers: Vec<Range<usize>>,
    /// Name, buffer and place of each entry.
    pub(super) metadata: Vec<(String, usize)>,
}

/// A subgraph.
pub(super) struct Subgraph {
    pub(super) name: String,
    pub(super) tensors: Vec<Tensor>,
    pub(super) inputs: Vec<usize>,
    pub(super) outputs: Vec<usize>,
    pub(super) operators: Vec<Operator>,
}

/// A tensor.
pub(super) struct Tensor {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) shape: Vec<i32>,
    pub(super) element: i8,
    pub(super) buffer: usize,
    pub(super) variable: bool,
    pub(super) sparse: bool,
}

/// An operator.
pub(super) struct Operator {
    pub(super) at: usize,
    pub(super) op: String,
    /// Nothing where an optional operand is absent.
    pub(super) inputs: Vec<Option<usize>>,
    /// Without absent ones.
    pub(super) outputs: Vec<usize>,
    /// By position of the operand; may be empty.
    pub(super) mutates: Vec<bool>,
    /// Options of a custom operator, as bytes of the file.
    pub(super) custom: Range<usize>,
    /// Subgraphs that it runs.
    pub(super) runs: Vec<usize>,
    /// For `VAR_HANDLE`: which variable.
    pub(super) variable: Option<String>,
}

/// Reads the model.
pub(super) fn model(bytes: &[u8]) -> Result<Model, TfliteError> {
    if bytes.get(4..8) != Some(b"TFL3") {
        let why = "bytes 4 to 7 are not `TFL3`";
        return Err(TfliteError::NotTflite { why });
    }
    let flat = Flat::new(bytes);
    let root = flat.root("the model")?;
    let found = root.u32(Field(0, "the schema version"))?;
    if found != 3 {
        return Err(TfliteError::Version { at: root.at, found });
    }
    let buffers = root.each(Field(4, "buffers"), buffer)?;
    let kinds = root.each(Field(1, "operator kinds"), |_, table| kind(table))?;
    let subgraphs = root.each(Field(2, "subgraphs"), |index, table| {
        subgraph(table, index, &kinds, buffers.len())
    })?;
    if subgraphs.is_empty() {
        return Err(TfliteError::NoSubgraph { at: root.at });
    }
    check_runs(&subgraphs)?;
    let metadata = root.each(Field(6, "metadata"), |_, table| {
        let name = table.string(Field(0, "the name of a metadata entry"))?;
        let index = table.u32(Field(1, "the buffer of a metadata entry"))?;
        let buffer = in_buffers(table.at, index, buffers.len(), || {
            format!("metadata `{name}`")
        })?;
        Ok((name, buffer))
    })?;
    Ok(Model {
        subgraphs,
        buffers,
        metadata,
    })
}

fn in_buffers(
    at: usize,
    index: u32,
    count: usize,
    owner: impl Fn() -> String,
) -> Result<usize, TfliteError> {
    let found = usize::try_from(index).ok().filter(|&index| index < count);
    found.ok_or_else(|| TfliteError::BufferIndex {
        at,
        owner: owner(),
        index,
        count,
    })
}

/// A buffer in the flatbuffer, or behind its end (`offset` beyond 1).
fn buffer(index: usize, table: Table<'_, '_>) -> Result<Range<usize>, TfliteError> {
    let data = table.bytes(Field(0, "the data of a buffer"))?;
    let offset = table.u64(Field(1, "the offset of a buffer"))?;
    let size = table.u64(Field(2, "the size of a buffer"))?;
    if !data.is_empty() || offset <= 1 {
        return Ok(data);
    }
    let file = table.flat().len();
    let first = usize::try_from(offset).ok();
    let end = offset.checked_add(size);
    let end = end.and_then(|end| usize::try_from(end).ok());
    match (first, end) {
        (Some(first), Some(end)) if end <= file => Ok(first..end),
        _ => Err(TfliteError::BufferRange {
            at: table.at,
            buffer: index,
            offset,
            size,
            file,
        }),
    }
}

/// The operator's name: the larger of both codes counts, as in the stock runtime.
fn kind(table: Table<'_, '_>) -> Result<String, TfliteError> {
    let old = i32::from(table.i8(Field(0, "the old code of an operator kind"))?);
    let new = table.i32(Field(3, "the code of an operator kind"))?;
    let custom = table.string(Field(1, "the name of a custom operator"))?;
    Ok(ops::name(old.max(new), &custom))
}

fn subgraph(
    table: Table<'_, '_>,
    index: usize,
    kinds: &[String],
    buffers: usize,
) -> Result<Subgraph, TfliteError> {
    let tensors = table.each(Field(0, "tensors"), |_, table| tensor(table, buffers))?;
    let count = tensors.len();
    let ends = |field, what| {
        let list = table.ints(field)?.into_iter().enumerate();
        let check = |(position, index): (usize, i32)| {
            let found = usize::try_from(index).ok().filter(|&index| index < count);
            found.ok_or(TfliteError::GraphIndex {
                at: table.at,
                what,
                position,
                index,
                count,
            })
        };
        list.map(check).collect::<Result<Vec<usize>, _>>()
    };
    Ok(Subgraph {
        name: table.string(Field(4, "the name of a subgraph"))?,
        inputs: ends(Field(1, "graph inputs"), "input")?,
        outputs: ends(Field(2, "graph outputs"), "output")?,
        operators: table.each(Field(3, "operators"), |position, table| {
            operator(table, (index, position), kinds, count)
        })?,
        tensors,
    })
}

fn tensor(table: Table<'_, '_>, buffers: usize) -> Result<Tensor, TfliteError> {
    let name = table.string(Field(3, "the name of a tensor"))?;
    let shape = table.ints(Field(0, "the shape of a tensor"))?;
    if shape.len() > MAX_RANK {
        return Err(TfliteError::TooMany {
            at: table.at,
            what: "dimensions of a tensor",
            found: shape.len() as u64,
            limit: MAX_RANK as u64,
        });
    }
    let index = table.u32(Field(2, "the buffer of a tensor"))?;
    let buffer = in_buffers(table.at, index, buffers, || format!("tensor `{name}`"))?;
    Ok(Tensor {
        at: table.at,
        shape,
        element: table.i8(Field(1, "the element type of a tensor"))?,
        buffer,
        variable: table.u8(Field(5, "is_variable of a tensor"))? != 0,
        sparse: table.has(Field(6, "the sparsity of a tensor"))?,
        name,
    })
}

fn operator(
    table: Table<'_, '_>,
    (subgraph, position): (usize, usize),
    kinds: &[String],
    tensors: usize,
) -> Result<Operator, TfliteError> {
    let index = table.u32(Field(0, "the kind of an operator"))?;
    let op = usize::try_from(index).ok().and_then(|i| kinds.get(i));
    let op = op.ok_or(TfliteError::OperatorCode {
        at: table.at,
        subgraph,
        operator: position,
        index,
        count: kinds.len(),
    })?;
    let list = |field, what| {
        let numbers = table.ints(field)?.into_iter().enumerate();
        let check = |(nth, index): (usize, i32)| match usize::try_from(index) {
            Err(_) if index == -1 => Ok(None),
            Ok(found) if found < tensors => Ok(Some(found)),
            _ => Err(TfliteError::OperandIndex {
                at: table.at,
                operator: format!("{position} ({op})"),
                what,
                position: nth,
                index,
                count: tensors,
            }),
        };
        numbers.map(check).collect::<Result<Vec<_>, _>>()
    };
    table.flat().spend(table.at, op.len())?;
    let inputs = list(Field(1, "the operands of an operator"), "operand")?;
    let outputs = list(Field(2, "the results of an operator"), "result")?;
    list(Field(8, "the intermediates of an operator"), "intermediate")?;
    let (runs, variable) = options(table, op, position)?;
    Ok(Operator {
        at: table.at,
        op: op.clone(),
        inputs,
        outputs: outputs.into_iter().flatten().collect(),
        custom: table.bytes(Field(5, "the options of a custom operator"))?,
        mutates: table.bools(Field(7, "the mutated operands of an operator"))?,
        runs,
        variable,
    })
}

/// Subgraphs that an operator runs, and the variable that a `VAR_HANDLE` names. Only these options
/// change the graph.
fn options(
    table: Table<'_, '_>,
    op: &str,
    position: usize,
) -> Result<(Vec<usize>, Option<String>), TfliteError> {
    let (code, options, fields) = match op {
        "CALL" => (16, "CallOptions", 1),
        "IF" => (92, "IfOptions", 2),
        "WHILE" => (93, "WhileOptions", 2),
        "CALL_ONCE" => (103, "CallOnceOptions", 1),
        "VAR_HANDLE" => (111, "VarHandleOptions", 0),
        _ => return Ok((Vec::new(), None)),
    };
    let found = table.u8(Field(3, "the kind of an operator's options"))?;
    let inner = table.table(Field(4, "the options of an operator"))?;
    let inner = inner.filter(|_| found == code);
    let inner = inner.ok_or_else(|| TfliteError::MissingOptions {
        at: table.at,
        operator: format!("{op}#{position}"),
        options,
    })?;
    if op == "VAR_HANDLE" {
        let container = inner.string(Field(0, "the container of a variable"))?;
        let name = inner.string(Field(1, "the name of a variable"))?;
        let separator = if container.is_empty() { "" } else { "/" };
        return Ok((Vec::new(), Some(format!("{container}{separator}{name}"))));
    }
    let body = |slot| {
        let index = inner.i32(Field(slot, "a subgraph that an operator runs"))?;
        // A negative number is no subgraph; `check_runs` reports it.
        Ok(usize::try_from(index).unwrap_or(usize::MAX))
    };
    let runs = (0..fields).map(body).collect::<Result<_, TfliteError>>()?;
    Ok((runs, None))
}

fn check_runs(subgraphs: &[Subgraph]) -> Result<(), TfliteError> {
    let count = subgraphs.len();
    for subgraph in subgraphs {
        for (position, operator) in subgraph.operators.iter().enumerate() {
            if let Some(&index) = operator.runs.iter().find(|&&index| index >= count) {
                return Err(TfliteError::SubgraphIndex {
                    at: operator.at,
                    operator: format!("{}#{position}", operator.op),
                    index: i64::try_from(index).unwrap_or(-1),
                    count,
                });
            }
        }
    }
    Ok(())
}
