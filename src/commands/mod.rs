//! The verbs, one a file.

pub(crate) mod budget;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod draw;
pub(crate) mod explain;
pub(crate) mod inspect;
pub(crate) mod pack;
pub(crate) mod plan;
mod room;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod table;

use crate::args::Planning;
use crate::failure::{Diagnostic, Failure};
use crate::report::{Out, diagnostics};
use crate::session::{self, Session};
use bayplan_planner::file::atomic::write_atomic;
use std::path::Path;

/// Loads and plans; what there is to be warned of goes to stderr. A plan beyond the memories that were asked for is a
/// no.
pub(crate) fn open(path: &Path, planning: &Planning, out: &Out) -> Result<Session, Failure> {
    let session = session::open(path, planning)?;
    warn(&session.warnings, out);
    kept_within(session)
}

/// Refuses a plan beyond the memories that were asked for.
pub(crate) fn kept_within(session: Session) -> Result<Session, Failure> {
    match budget::judge(&session, None, "")? {
        Some(no) => Err(no.failure(&session, None)),
        None => Ok(session),
    }
}

/// What ends nothing, told on stderr.
pub(crate) fn warn(warnings: &[Diagnostic], out: &Out) {
    if !warnings.is_empty() {
        diagnostics::print(out.colour, warnings);
    }
}

/// Writes a file under a temporary name and renames it; never over one of the inputs.
pub(crate) fn write(path: &Path, inputs: &[&Path], text: &str) -> Result<(), Failure> {
    write_bytes(path, inputs, text.as_bytes())
}

/// The same of bytes.
fn write_bytes(path: &Path, inputs: &[&Path], bytes: &[u8]) -> Result<(), Failure> {
    let same = |input: &Path| match (path.canonicalize(), input.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => path == input,
    };
    if inputs.iter().any(|input| same(input)) {
        return Err(Diagnostic::new(
            "E0106",
            format!("will not write `{}` over the input", path.display()),
        )
        .help("name another file")
        .cannot());
    }
    write_atomic(path, bytes).map_err(|error| {
        Diagnostic::new(
            "E0106",
            format!("cannot write `{}`: {error}", path.display()),
        )
        .cannot()
    })
}
