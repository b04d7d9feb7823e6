//! Text from a path: its size is bounded, and it is UTF-8.

use crate::failure::{Diagnostic, Failure, Spot};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Text files beyond this are refused.
const MAX_BYTES: u64 = 1 << 31;

/// A file's path and text, for diagnostics.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: Arc<str>,
}

impl Source {
    /// `width` characters at a line and a column, both from 1.
    pub(super) fn spot(
        &self,
        line: usize,
        column: usize,
        width: usize,
        label: impl Into<String>,
    ) -> Spot {
        Spot {
            path: self.path.clone(),
            text: self.text.clone(),
            line,
            column,
            width,
            label: label.into(),
        }
    }
}

/// Reads a text file; an empty one is an error.
pub(super) fn read(path: &Path) -> Result<Source, Failure> {
    let shown = path.display().to_string();
    let unreadable = |why: String| {
        let why = why.split(" (os error").next().unwrap_or_default();
        Diagnostic::new("E0101", format!("cannot read `{shown}`: {why}"))
    };
    let mut file =
        std::fs::File::open(path).map_err(|error| unreadable(error.to_string()).cannot())?;
    let metadata = file
        .metadata()
        .map_err(|error| unreadable(error.to_string()).cannot())?;
    if metadata.is_dir() {
        return Err(unreadable("it is a directory".into())
            .help("name a file in it")
            .cannot());
    }
    if metadata.len() > MAX_BYTES {
        let limit = crate::units::bytes(MAX_BYTES);
        return Err(unreadable(format!("it is larger than {limit}")).cannot());
    }
    let mut bytes = Vec::new();
    let within = (&mut file).take(MAX_BYTES).read_to_end(&mut bytes);
    within.map_err(|error| unreadable(error.to_string()).cannot())?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Diagnostic::new(
            "E0102",
            format!("`{shown}` is not text: byte {at} is not UTF-8"),
        )
        .help("graphs, plans and CSVs are UTF-8 text")
        .cannot()
    })?;
    if text.trim().is_empty() {
        return Err(Diagnostic::new("E0103", format!("`{shown}` is empty"))
            .help("docs/graph-format.md shows the smallest graph; `bayplan pack --help` the CSV's columns")
            .cannot());
    }
    Ok(Source {
        path: shown,
        text: text.into(),
    })
}
