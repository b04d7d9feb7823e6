//! Outputs: files, hashes, differences.

use super::data::code;
use crate::failure::{Diagnostic, Failure};
use bayplan_exec::Program;
use bayplan_exec::program::Port;
use bayplan_graph::DType;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;

/// Writes every output to `folder` as NAME.npy; raw bytes where .npy has no such type.
pub(super) fn write(
    folder: &Path,
    program: &Program,
    outputs: &[Vec<u8>],
    model: &Path,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Diagnostic::new(
            "E0106",
            format!("cannot make `{}`: {error}", folder.display()),
        )
        .cannot()
    })?;
    for (port, bytes) in program.outputs.iter().zip(outputs) {
        let name = super::file_name(&port.name);
        match (port.dtype.and_then(code), &port.shape) {
            (Some(code), Some(shape)) => {
                super::write(
                    &folder.join(format!("{name}.npy")),
                    model,
                    &array(code, shape, bytes),
                )?;
            }
            _ => super::write(&folder.join(format!("{name}.raw")), model, bytes)?,
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
    let largest = there.iter().map(|x| x.abs()).fold(0.0, f64::max);
    let apart = here.iter().zip(&there).map(|(a, b)| {
        if a.to_bits() == b.to_bits() {
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
}
