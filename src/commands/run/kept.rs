//! Outputs: files, hashes, differences.

use super::data::{Data, code};
use crate::args::RunArgs;
use crate::failure::{Diagnostic, Failure};
use bayplan_exec::Program;
use bayplan_exec::program::Port;
use bayplan_graph::DType;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A file for every output, in a folder that is made here: NAME.npy, or NAME.raw where .npy has no such type. Outputs
/// whose names differ only in what file names cannot have get numbers; no file may be one that is read.
pub(super) fn files(
    args: &RunArgs,
    program: &Program,
    data: &BTreeMap<String, Data>,
) -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = &args.output_dir else {
        return Ok(Vec::new());
    };
    let cannot = |what: String| Diagnostic::new("E0106", what);
    std::fs::create_dir_all(folder).map_err(|error| {
        cannot(format!(
            "cannot make the folder `{}`: {error}",
            folder.display()
        ))
        .cannot()
    })?;
    let read = data.values().filter_map(Data::path).map(Path::new);
    let read: Vec<PathBuf> = read
        .chain([args.model.as_path()])
        .chain(args.plan.as_deref())
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    let files: Vec<PathBuf> = names(program)
        .iter()
        .map(|name| folder.join(name))
        .collect();
    for path in &files {
        if path.canonicalize().is_ok_and(|path| read.contains(&path)) {
            let what = format!("will not write `{}` over an input", path.display());
            return Err(cannot(what).help("name another folder").cannot());
        }
    }
    Ok(files)
}

/// File names of the outputs.
fn names(program: &Program) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let ports = program.outputs.iter();
    ports
        .map(|port| {
            let ending = match (port.dtype.and_then(code), &port.shape) {
                (Some(_), Some(_)) => "npy",
                _ => "raw",
            };
            unlike(&file_name(&port.name), ending, &mut taken)
        })
        .collect()
}

/// A name that is not taken, also where capitals do not count.
fn unlike(stem: &str, ending: &str, taken: &mut BTreeSet<String>) -> String {
    let first = format!("{stem}.{ending}");
    let numbered = (2..).map(|number: u64| format!("{stem}-{number}.{ending}"));
    let mut names = std::iter::once(first).chain(numbered);
    let name = names.find(|name| taken.insert(name.to_ascii_lowercase()));
    name.expect("there are more numbers than outputs")
}

/// A tensor's name without what file names cannot have.
fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).collect()
}

/// Writes every output to its file.
pub(super) fn write(
    files: &[PathBuf],
    program: &Program,
    outputs: &[Vec<u8>],
) -> Result<(), Failure> {
    for ((path, port), bytes) in files.iter().zip(&program.outputs).zip(outputs) {
        match (port.dtype.and_then(code), &port.shape) {
            (Some(code), Some(shape)) => {
                crate::commands::write_bytes(path, &[], &array(code, shape, bytes))?;
            }
            _ => crate::commands::write_bytes(path, &[], bytes)?,
        }
    }
    Ok(())
}

/// A .npy file, version 1.0: magic, length of the header, header (padded to 64 bytes), elements.
fn array(code: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let mut dims = shape.iter().fold(String::new(), |mut all, dim| {
        let _ = write!(all, "{dim}, ");
        all
    });
    if shape.len() > 1 {
        dims.truncate(dims.len() - 2);
    }
    let mut header = format!(
        "{{'descr': '{code}', 'fortran_order': False, 'shape': ({}), }}",
        dims.trim_end()
    );
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    while header.len() + 1 < length {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(
        u16::try_from(header.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

/// SHA-256 in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// The largest difference of two outputs, as a share of the largest value of the second; of types that are no
/// floats: 0 where they are equal, otherwise 1.
pub(super) fn difference(port: &Port, here: &[u8], there: &[u8]) -> f64 {
    if port.dtype != Some(DType::F32) {
        return if here == there { 0.0 } else { 1.0 };
    }
    let floats = |bytes: &[u8]| -> Vec<f64> {
        let list = bytes.as_chunks::<4>().0;
        list.iter()
            .map(|&x| f64::from(f32::from_le_bytes(x)))
            .collect()
    };
    let (here, there) = (floats(here), floats(there));
    let finite = there.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let largest = finite.fold(0.0, f64::max);
    let apart = here.iter().zip(&there).map(|(a, b)| {
        if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
            0.0
        } else {
            (a - b).abs()
        }
    });
    let worst = apart.fold(0.0, |worst: f64, d| {
        if d.is_nan() {
            f64::INFINITY
        } else {
            worst.max(d)
        }
    });
    if worst == 0.0 { 0.0 } else { worst / largest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_hides_no_difference() {
        let port = Port {
            tensor: bayplan_planner::ids::Id::from_index(0),
            name: "y".into(),
            dtype: Some(DType::F32),
            shape: None,
            bytes: 8,
        };
        let bytes = |list: [f32; 2]| list.map(f32::to_le_bytes).concat();
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (here, there, expected) in [
            ([1.0, inf], [2.0, inf], 0.5),
            ([1.0, inf], [1.0, -inf], f64::INFINITY),
            ([1.0, nan], [1.0, -nan], 0.0),
            ([1.0, nan], [1.0, 0.0], f64::INFINITY),
            ([0.0, 1.0], [0.0, 0.0], f64::INFINITY),
        ] {
            let found = difference(&port, &bytes(here), &bytes(there));
            assert_eq!(
                found.to_bits(),
                f64::to_bits(expected),
                "{here:?} {there:?}"
            );
        }
    }

    #[test]
    fn arrays_are_read_back() {
        for shape in [&[][..], &[3], &[2, 3], &[1, 2, 3, 4]] {
            let count: u64 = shape.iter().product();
            let bytes: Vec<u8> = (0..count * 4)
                .map(|b| u8::try_from(b % 251).unwrap())
                .collect();
            let file = array("<f4", shape, &bytes);
            let npy = npyz::NpyFile::new(&file[..]).unwrap();
            assert_eq!(npy.shape(), shape);
            let values: Vec<f32> = npy.into_vec().unwrap();
            let back: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            assert_eq!(back, bytes);
            assert_eq!((file.len() - bytes.len()) % 64, 0);
        }
    }

    #[test]
    fn files_of_names_that_look_alike_differ() {
        let mut taken = BTreeSet::new();
        let mut name = |of: &str| unlike(&file_name(of), "npy", &mut taken);
        assert_eq!(name("a/b"), "a_b.npy");
        assert_eq!(name("a:b"), "a_b-2.npy");
        assert_eq!(name("A b"), "A_b-3.npy");
        assert_eq!(name("a_b-2"), "a_b-2-2.npy");
    }
}
