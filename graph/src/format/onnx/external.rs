//! Elements in other files. A location is followed only inside the model's folder; offset and length
//! are checked against the file's size when the model is read.

use super::error::{ExternalFault, OnnxError};
use super::proto::TensorHead;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// Elements of more bytes are not read from other files.
const SMALL: u64 = 8 << 10;

/// Where the elements of a constant are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// As they are, in the model's file.
    Here {
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// As they are, in another file.
    External {
        /// The file.
        path: PathBuf,
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// In the model's file, but not as bytes of a tensor: in the typed fields of the format.
    Spelled,
}

/// Finds and checks the elements of the tensor `name` of `expected` bytes.
pub(super) fn place(
    head: &TensorHead,
    name: &str,
    expected: u64,
    folder: Option<&Path>,
) -> Result<Place, OnnxError> {
    let get = |key: &str| {
        head.external_data
            .iter()
            .find(|e| e.key == key)
            .map(|e| &*e.value)
    };
    let location = get("location").unwrap_or("");
    checked(location, get("offset"), get("length"), expected, folder).map_err(|why| {
        OnnxError::External {
            tensor: name.to_owned(),
            location: location.to_owned(),
            why: Box::new(why),
        }
    })
}

fn checked(
    location: &str,
    offset: Option<&str>,
    length: Option<&str>,
    expected: u64,
    folder: Option<&Path>,
) -> Result<Place, ExternalFault> {
    let path = resolve(location, folder)?;
    let size = std::fs::metadata(&path)
        .map_err(|error| unreadable(&path, &error))?
        .len();
    let offset = number("offset", offset)?.unwrap_or(0);
    let length = number("length", length)?;
    let asked = length.unwrap_or(expected);
    if offset.checked_add(asked).is_none_or(|end| end > size) {
        return Err(ExternalFault::Range {
            offset,
            length: asked,
            size,
        });
    }
    if asked != expected {
        return Err(ExternalFault::Length {
            offset,
            length: asked,
            expected,
            size,
        });
    }
    Ok(Place::External {
        path,
        offset,
        bytes: expected,
    })
}

fn number(key: &'static str, text: Option<&str>) -> Result<Option<u64>, ExternalFault> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let value = text.parse().ok().filter(|_| digits);
    match value {
        Some(value) => Ok(Some(value)),
        None => Err(ExternalFault::Number {
            key,
            value: text.to_owned(),
        }),
    }
}

/// The file that a location means: inside `folder`, also after links are followed.
fn resolve(location: &str, folder: Option<&Path>) -> Result<PathBuf, ExternalFault> {
    if location.is_empty() {
        return Err(ExternalFault::NoLocation);
    }
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(location).components().all(inside) || location.contains(['\\', ':', '\0']) {
        return Err(ExternalFault::Leaves);
    }
    let folder = folder.ok_or(ExternalFault::NoFolder)?;
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let folder = folder
        .canonicalize()
        .map_err(|error| unreadable(folder, &error))?;
    let path = folder.join(location);
    let real = path
        .canonicalize()
        .map_err(|error| unreadable(&path, &error))?;
    if !real.starts_with(&folder) {
        return Err(ExternalFault::Leaves);
    }
    if !real.is_file() {
        let message = "it is no file".into();
        return Err(ExternalFault::Unreadable { path, message });
    }
    Ok(real)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ExternalFault {
    ExternalFault::Unreadable {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

/// The bytes of a small constant in another file: shapes may hang on them.
pub(super) fn small(place: &Place) -> Option<Vec<u8>> {
    let Place::External {
        path,
        offset,
        bytes,
    } = place
    else {
        return None;
    };
    if *bytes > SMALL {
        return None;
    }
    let mut file = std::fs::File::open(path).ok()?;
    file.seek(SeekFrom::Start(*offset)).ok()?;
    let mut data = vec![0; usize::try_from(*bytes).ok()?];
    file.read_exact(&mut data).ok()?;
    Some(data)
}
