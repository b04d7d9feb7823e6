//! A tiny writer of flatbuffers and of `.tflite` files; it checks nothing, on purpose.

/// A field's value.
#[derive(Clone)]
pub(crate) enum Value {
    U8(u8),
    I32(i32),
    U64(u64),
    Text(&'static str),
    Ints(Vec<i32>),
    Bytes(Vec<u8>),
    Table(Fields),
    Tables(Vec<Fields>),
}

/// Fields of a table by slot.
pub(crate) type Fields = Vec<(u16, Value)>;

impl Value {
    fn width(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U64(_) => 8,
            _ => 4,
        }
    }
}

fn put(out: &mut [u8], at: usize, value: usize) {
    out[at..at + 4].copy_from_slice(&u32::try_from(value).unwrap().to_le_bytes());
}

fn word(out: &mut Vec<u8>, value: usize) {
    out.extend(u32::try_from(value).unwrap().to_le_bytes());
}

/// Writes vtable, table, then what its fields refer to; returns where the table stands.
fn table(out: &mut Vec<u8>, fields: &Fields) -> usize {
    let slots = fields
        .iter()
        .map(|f| usize::from(f.0) + 1)
        .max()
        .unwrap_or(0);
    let mut places = vec![0_u16; slots];
    let mut size = 4;
    for (slot, value) in fields {
        places[usize::from(*slot)] = u16::try_from(size).unwrap();
        size += value.width();
    }
    let vtable = out.len();
    for short in [4 + 2 * slots, size] {
        out.extend(u16::try_from(short).unwrap().to_le_bytes());
    }
    out.extend(places.iter().flat_map(|p| p.to_le_bytes()));
    let at = out.len();
    word(out, at - vtable);
    let mut later = Vec::new();
    for (_, value) in fields {
        match value {
            Value::U8(v) => out.push(*v),
            Value::I32(v) => out.extend(v.to_le_bytes()),
            Value::U64(v) => out.extend(v.to_le_bytes()),
            _ => {
                later.push((out.len(), value));
                word(out, 0);
            }
        }
    }
    for (place, value) in later {
        let target = part(out, value);
        put(out, place, target - place);
    }
    at
}

fn part(out: &mut Vec<u8>, value: &Value) -> usize {
    if let Value::Table(fields) = value {
        return table(out, fields);
    }
    let at = out.len();
    match value {
        Value::Text(text) => {
            word(out, text.len());
            out.extend(text.as_bytes());
            out.push(0);
        }
        Value::Bytes(bytes) => {
            word(out, bytes.len());
            out.extend(bytes);
        }
        Value::Ints(list) => {
            word(out, list.len());
            out.extend(list.iter().flat_map(|v| v.to_le_bytes()));
        }
        Value::Tables(list) => {
            word(out, list.len());
            let first = out.len();
            out.resize(first + 4 * list.len(), 0);
            for (index, fields) in list.iter().enumerate() {
                let place = first + 4 * index;
                let target = table(out, fields);
                put(out, place, target - place);
            }
        }
        _ => unreachable!("numbers stand in their table"),
    }
    at
}

/// The file with this model.
pub(crate) fn file(model: &Fields) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend(b"TFL3");
    let root = table(&mut out, model);
    put(&mut out, 0, root);
    out
}

/// A tensor of 32-bit floats without contents.
pub(crate) fn tensor(name: &'static str, shape: &[i32]) -> Fields {
    vec![(0, Value::Ints(shape.to_vec())), (3, Value::Text(name))]
}

/// A tensor with contents in buffer `buffer`.
pub(crate) fn stored(name: &'static str, shape: &[i32], buffer: i32) -> Fields {
    with(tensor(name, shape), &[(2, Value::I32(buffer))])
}

/// The same with more fields.
pub(crate) fn with(mut fields: Fields, more: &[(u16, Value)]) -> Fields {
    fields.extend(more.iter().cloned());
    fields
}

/// An operator of the kind at this index.
pub(crate) fn op(kind: i32, inputs: &[i32], outputs: &[i32]) -> Fields {
    let (inputs, outputs) = (inputs.to_vec(), outputs.to_vec());
    vec![
        (0, Value::I32(kind)),
        (1, Value::Ints(inputs)),
        (2, Value::Ints(outputs)),
    ]
}

/// A subgraph.
pub(crate) fn subgraph(
    tensors: &[Fields],
    inputs: &[i32],
    outputs: &[i32],
    ops: &[Fields],
) -> Fields {
    vec![
        (0, Value::Tables(tensors.to_vec())),
        (1, Value::Ints(inputs.to_vec())),
        (2, Value::Ints(outputs.to_vec())),
        (3, Value::Tables(ops.to_vec())),
    ]
}

/// A model: operator kinds by code, subgraphs, buffers beside the empty first one.
pub(crate) fn model(kinds: &[i32], subgraphs: &[Fields], buffers: &[Fields]) -> Fields {
    let kind = |&code: &i32| -> Fields {
        let old = u8::try_from(code.min(127)).unwrap();
        vec![(0, Value::U8(old)), (3, Value::I32(code))]
    };
    let mut all = vec![Vec::new()];
    all.extend_from_slice(buffers);
    vec![
        (0, Value::I32(3)),
        (1, Value::Tables(kinds.iter().map(kind).collect())),
        (2, Value::Tables(subgraphs.to_vec())),
        (4, Value::Tables(all)),
    ]
}

/// A buffer in the flatbuffer.
pub(crate) fn buffer(bytes: usize) -> Fields {
    vec![(0, Value::Bytes(vec![0; bytes]))]
}
