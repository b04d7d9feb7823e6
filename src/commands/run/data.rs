//! Data for inputs: .npy files, raw bytes, random numbers.

use crate::args::{InputValue, Planning, RunArgs};
use crate::failure::{Diagnostic, Failure};
use crate::report::grid::visible;
use crate::units::grouped;
use bayplan_exec::Program;
use bayplan_exec::program::Port;
use bayplan_exec::reference::{self, Operand};
use bayplan_graph::DType;
use bayplan_graph::kernel::{Cast, Kernel};
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

impl Data {
    /// The file that it was read from.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            Self::Array { path, .. } | Self::Raw { path, .. } => Some(path),
            Self::Random(_) => None,
        }
    }
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
        if data.insert(name.clone(), read).is_some() {
            let title = format!("input `{}` is given data twice", visible(name));
            return Err(Diagnostic::new("E1002", title).cannot());
        }
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
        Some(Data::Raw { path, bytes }) => {
            if bytes.len() != port.bytes {
                let (found, wanted) = (grouped(bytes.len() as u64), grouped(port.bytes as u64));
                let why = format!("`{path}` has {found} bytes, the model wants {wanted}");
                return Err(misfit(port, &why).help(SHAPES).cannot());
            }
            Ok(bytes.clone())
        }
        Some(Data::Array {
            path,
            dtype,
            shape,
            bytes,
        }) => {
            let wanted = port.dtype.and_then(code);
            if wanted != Some(&dtype[..]) {
                let held = TYPES
                    .into_iter()
                    .find(|&known| code(known) == Some(&dtype[..]));
                let held = held.map_or(dtype.clone(), |known| known.to_string());
                let wants = port
                    .dtype
                    .map_or("none".to_owned(), |dtype| dtype.to_string());
                let why =
                    format!("`{path}` holds elements of type {held}, the model wants {wants}");
                let told = misfit(port, &why);
                return Err(match wanted {
                    Some(code) => told.help(format!("save array.astype(\"{code}\")")).cannot(),
                    None => told.cannot(),
                });
            }
            let wanted = port.shape.as_ref().unwrap_or(shape);
            if wanted != shape {
                let (found, wanted) = (dims(shape), dims(wanted));
                let why = format!("`{path}` has shape {found}, the model wants {wanted}");
                return Err(misfit(port, &why).help(SHAPES).cannot());
            }
            if bytes.len() != port.bytes {
                let (found, wanted) = (grouped(bytes.len() as u64), grouped(port.bytes as u64));
                let why = format!("`{path}` has {found} bytes of elements instead of {wanted}");
                return Err(misfit(port, &why)
                    .help("the file is cut short, or damaged")
                    .cannot());
            }
            Ok(bytes.clone())
        }
    }
}

const SHAPES: &str = "--input NAME=SHAPE gives an input another shape, where the model allows it";

/// What is wrong, and what the input is.
fn misfit(port: &Port, why: &str) -> Diagnostic {
    Diagnostic::new("E1002", format!("input `{}`: {why}", visible(&port.name)))
        .note(format!("it is {} here", kind(port)))
}

/// `1x3x224x224`; `scalar`.
fn dims(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    if dims.is_empty() {
        return "scalar".into();
    }
    dims.join("x")
}

/// `f32 1x3x224x224`, as far as it is known.
pub(super) fn kind(port: &Port) -> String {
    let dtype = port.dtype.map(|dtype| dtype.to_string());
    let shape = port.shape.as_deref().map(dims);
    let known: Vec<String> = dtype.into_iter().chain(shape).collect();
    if known.is_empty() {
        return format!("{} bytes", grouped(port.bytes as u64));
    }
    known.join(" ")
}

/// Element types of .npy files.
const TYPES: [DType; 12] = [
    DType::F64,
    DType::F32,
    DType::F16,
    DType::I64,
    DType::U64,
    DType::I32,
    DType::U32,
    DType::I16,
    DType::U16,
    DType::I8,
    DType::U8,
    DType::Bool,
];

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
    if matches!(dtype, DType::F16 | DType::Bf16) {
        let floats = Port {
            dtype: Some(DType::F32),
            bytes: 2 * port.bytes,
            ..port.clone()
        };
        let cast = Kernel::Cast(Cast {
            from: DType::F32,
            to: dtype,
            count: port.bytes / 2,
        });
        let floats = random(&floats, seed);
        let done = reference::dispatch(&cast, &[Operand::Apart(&floats)], &mut bytes);
        done.expect("floats are cast to narrower ones");
        return bytes;
    }
    // A complex number is two floats.
    let (dtype, size) = match dtype {
        DType::C64 => (DType::F32, 4),
        dtype => (
            dtype,
            usize::try_from(dtype.bits().div_ceil(8)).unwrap_or(1),
        ),
    };
    for element in bytes.chunks_mut(size) {
        let bits = next();
        let unit = (bits >> 40) as f32 / 8_388_608.0 - 1.0;
        match dtype {
            DType::F32 => element.copy_from_slice(&unit.to_le_bytes()),
            DType::F64 => element.copy_from_slice(&f64::from(unit).to_le_bytes()),
            DType::I8 | DType::U8 | DType::I4 | DType::U4 => element[0] = bits.to_le_bytes()[7],
            _ => element[0] = bits.to_le_bytes()[7] & 1,
        }
    }
    bytes
}
