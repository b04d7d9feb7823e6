//! Data for inputs: .npy files, raw bytes, random numbers.

use crate::args::{InputValue, Planning, RunArgs};
use crate::failure::{Diagnostic, Failure};
use crate::report::grid::visible;
use crate::units::grouped;
use bayplan_exec::Program;
use bayplan_exec::program::Port;
use bayplan_graph::DType;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

/// Seed of inputs that are not given.
const SEED: u64 = 1;
/// A file of data may have so many bytes.
const MAX_BYTES: u64 = 1 << 34;

/// What is given to an input.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    /// A .npy, read.
    Array {
        path: String,
        dtype: String,
        shape: Vec<u64>,
        bytes: Vec<u8>,
    },
    /// Bytes as they are.
    Raw { path: String, bytes: Vec<u8> },
    /// Random numbers.
    Random(u64),
}

/// Splits `--input` into shapes, which reading wants, and data. A .npy of an .onnx model says the shape, too.
pub(super) fn split(args: &RunArgs) -> Result<(Planning, BTreeMap<String, Data>), Failure> {
    let mut planning = args.planning.clone();
    let mut data = BTreeMap::new();
    let onnx = args
        .model
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"));
    let mut kept = Vec::new();
    for (name, value) in &args.planning.reading.inputs {
        let InputValue::Data(text) = value else {
            kept.push((name.clone(), value.clone()));
            continue;
        };
        let read = read(name, text)?;
        let stated = args
            .planning
            .reading
            .inputs
            .iter()
            .any(|(other, value)| other == name && matches!(value, InputValue::Shape(_)));
        if let (Data::Array { shape, .. }, true, false) = (&read, onnx, stated) {
            kept.push((name.clone(), InputValue::Shape(shape.clone())));
        }
        data.insert(name.clone(), read);
    }
    planning.reading.inputs = kept;
    Ok((planning, data))
}

fn read(name: &str, text: &str) -> Result<Data, Failure> {
    let wrong = |why: String| {
        Diagnostic::new("E1002", format!("input `{}`: {why}", visible(name)))
            .help("--input NAME=FILE.npy, NAME=FILE (raw bytes) or NAME=random:SEED")
            .cannot()
    };
    if let Some(seed) = text.strip_prefix("random:") {
        let seed = seed
            .parse()
            .map_err(|_| wrong(format!("`{seed}` is no seed")))?;
        return Ok(Data::Random(seed));
    }
    let cannot = |error: &std::io::Error| wrong(format!("cannot read `{text}`: {error}"));
    let file = std::fs::File::open(text).map_err(|error| cannot(&error))?;
    let mut bytes = Vec::new();
    let mut source = std::io::BufReader::new(file).take(MAX_BYTES);
    if Path::new(text)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
    {
        let header = npyz::NpyHeader::from_reader(&mut source).map_err(|error| cannot(&error))?;
        let npyz::DType::Plain(kind) = header.dtype() else {
            return Err(wrong(format!("`{text}` holds records")));
        };
        if header.order() == npyz::Order::Fortran && header.shape().len() > 1 {
            return Err(wrong(format!(
                "`{text}` is in Fortran order; save np.ascontiguousarray of it"
            )));
        }
        source
            .read_to_end(&mut bytes)
            .map_err(|error| cannot(&error))?;
        return Ok(Data::Array {
            path: text.to_owned(),
            dtype: kind.to_string(),
            shape: header.shape().to_vec(),
            bytes,
        });
    }
    source
        .read_to_end(&mut bytes)
        .map_err(|error| cannot(&error))?;
    Ok(Data::Raw {
        path: text.to_owned(),
        bytes,
    })
}

/// Bytes of all inputs, in order of the program.
pub(super) fn inputs(
    program: &Program,
    data: &BTreeMap<String, Data>,
    own: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<Vec<u8>>, Failure> {
    for name in data.keys() {
        if !program.inputs.iter().any(|port| port.name == *name) {
            let known: Vec<String> = program
                .inputs
                .iter()
                .map(|port| visible(&port.name))
                .collect();
            return Err(Diagnostic::new(
                "E1002",
                format!("no input is called `{}`", visible(name)),
            )
            .note(format!("inputs: {}", known.join(", ")))
            .cannot());
        }
    }
    program
        .inputs
        .iter()
        .map(|port| filled(port, data.get(&port.name), own.get(&port.name)))
        .collect()
}

fn filled(port: &Port, data: Option<&Data>, own: Option<&Vec<u8>>) -> Result<Vec<u8>, Failure> {
    match data {
        None => Ok(own.cloned().unwrap_or_else(|| random(port, SEED))),
        Some(Data::Random(seed)) => Ok(random(port, *seed)),
        Some(Data::Raw { path, bytes }) if bytes.len() == port.bytes => {
            let _ = path;
            Ok(bytes.clone())
        }
        Some(Data::Raw { path, bytes }) => Err(misfit(
            port,
            &format!(
                "`{path}` has {} bytes instead of {}",
                grouped(bytes.len() as u64),
                grouped(port.bytes as u64)
            ),
        )),
        Some(Data::Array {
            path,
            dtype,
            shape,
            bytes,
        }) => {
            let wanted = port.dtype.and_then(code);
            if wanted != Some(&dtype[..]) {
                let wanted = port
                    .dtype
                    .map_or("an unknown type".to_owned(), |dtype| dtype.to_string());
                return Err(misfit(
                    port,
                    &format!("`{path}` holds elements of type {dtype}, the model wants {wanted}"),
                ));
            }
            let same = port.shape.as_ref().is_none_or(|wanted| wanted == shape);
            if same && bytes.len() != port.bytes {
                let (found, wanted) = (bytes.len() as u64, port.bytes as u64);
                return Err(misfit(
                    port,
                    &format!(
                        "`{path}` has {} bytes of elements instead of {}",
                        grouped(found),
                        grouped(wanted)
                    ),
                ));
            }
            if !same {
                let wanted = port.shape.clone().unwrap_or_default();
                return Err(misfit(
                    port,
                    &format!("`{path}` has shape {shape:?}, the model wants {wanted:?}"),
                ));
            }
            Ok(bytes.clone())
        }
    }
}

fn misfit(port: &Port, why: &str) -> Failure {
    let mut told = Diagnostic::new("E1002", format!("input `{}`: {why}", visible(&port.name)));
    if let Some(shape) = &port.shape {
        let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
        told = told.note(format!("its shape here is {}", dims.join("x")));
    }
    told.help("--input NAME=SHAPE gives an input another shape, where the model allows it")
        .cannot()
}

/// The code of an element type in .npy files.
pub(super) fn code(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F64 => "<f8",
        DType::F32 => "<f4",
        DType::F16 => "<f2",
        DType::I64 => "<i8",
        DType::U64 => "<u8",
        DType::I32 => "<i4",
        DType::U32 => "<u4",
        DType::I16 => "<i2",
        DType::U16 => "<u2",
        DType::I8 => "|i1",
        DType::U8 => "|u1",
        DType::Bool => "|b1",
        _ => return None,
    })
}

/// Floats from -1 to 1, bytes of any value, whole numbers and truth values 0 or 1; element by element from
/// `SplitMix64` (Steele, Lea, Flood 2014), so that other programs can make the same.
fn random(port: &Port, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut bytes = vec![0; port.bytes];
    let Some(dtype) = port.dtype else {
        return bytes;
    };
    let size = usize::try_from(dtype.bits().div_ceil(8)).unwrap_or(1);
    for element in bytes.chunks_mut(size) {
        let bits = next();
        let unit = (bits >> 40) as f32 / 8_388_608.0 - 1.0;
        match dtype {
            DType::F32 => element.copy_from_slice(&unit.to_le_bytes()),
            DType::F64 => element.copy_from_slice(&f64::from(unit).to_le_bytes()),
            DType::I8 | DType::U8 | DType::I4 | DType::U4 => element[0] = bits.to_le_bytes()[7],
            DType::F16 | DType::Bf16 | DType::C64 => {}
            _ => element[0] = bits.to_le_bytes()[7] & 1,
        }
    }
    bytes
}
