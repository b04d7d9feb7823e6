//! The plan file: a problem, its plan, and what made it, as RON for people or JSON for programs.
//!
//! Goes in: a [`PlanFile`] or the text of one. Comes out: text, the same bytes for the same value;
//! or a file whose schema is known and whose problem is valid. Its plan and bounds are *not*
//! checked: that is [`check`](crate::check())'s. The graph that the problem came from is `G`, which
//! this crate does not look into.
//!
//! ```text
//! (
//!     schema: 1,
//!     made_by: "bayplan 0.1.0",
//!     …
//!     problem: (
//!         arenas: [
//!             (name: "arena"),
//!         ],
//!         buffers: [
//!             (name: "a", extent: [(0, 2, 0, 2560)]),
//!             (name: "b", extent: [(1, 3, 0, 2048)], alignment: 64),
//!         ],
//!     ),
//!     plan: (strategy: …, heights: …, claims: …, places: [(0, 0), (0, 2560)]),
//!     graph: None,
//! )
//! ```

mod probe;
#[cfg(test)]
mod tests;

use crate::bounds::Bounds;
use crate::plan::Plan;
use crate::problem::{Parts, Problem, ProblemErrors};
use ron::ser::PrettyConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The layout of the file that this version writes and reads.
pub const SCHEMA: u32 = 1;

/// Text may be nested this deep; deeper is refused before the stack is at risk. RON counts a value up
/// to three times (as variant, as its content, as an option); `serde_json` stops at 128 by itself.
const DEPTH: usize = 128;

const SYNTAX: &str = "E0301";
const UNSUPPORTED: &str = "E0302";
const INVALID_PROBLEM: &str = "E0303";
const EXTENSION: &str = "E0304";
const NOT_WRITTEN: &str = "E0305";

/// Each code with a paragraph of explanation and an example.
pub const CODES: &[(&str, &str)] = &[
    (
        SYNTAX,
        "The file is not a plan file: its text is no RON or JSON (by the ending of its name), or a \
         field is missing, unknown to the format or of another kind. A plan file begins with \
         `(schema: 1, made_by: \"bayplan 0.1.0\", …)` in RON and `{\"schema\":1,…}` in JSON. After \
         an edit by hand, look at the place named; otherwise plan again.",
    ),
    (
        UNSUPPORTED,
        "Every plan file says by a number which layout it has, and this version reads layout 1. A \
         file that begins with `(schema: 2` was made by a later bayplan: use that one, or plan again \
         with this one.",
    ),
    (
        INVALID_PROBLEM,
        "The file can be read, but the problem in it is none: for example a buffer whose alignment \
         is 0, an extent `(5, 5, 0, 64)` without steps, or two buffers whose fixed offsets clash. \
         Plans written by bayplan never contain such a problem, so the file was changed or \
         damaged.",
    ),
    (
        EXTENSION,
        "Whether a plan file is RON or JSON is told by its name, which ends in `.ron` or `.json`: \
         `a.plan.ron` is for people, `a.plan.json` for programs.",
    ),
    (
        NOT_WRITTEN,
        "Something in the plan cannot be written in the format chosen, for example a JSON \
         table whose keys are no strings. Try the other format: `-o \
         a.plan.ron` instead of `-o a.plan.json`.",
    ),
];

/// A plan with everything needed to check it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(
    try_from = "Unvalidated<G>",
    bound(deserialize = "G: Deserialize<'de>")
)]
pub struct PlanFile<G> {
    /// Layout of the file; [`SCHEMA`].
    pub schema: u32,
    /// Program and version: `bayplan 0.1.0`.
    pub made_by: String,
    /// Name of the target's rules.
    pub profile: String,
    /// The options that the plan was made with.
    pub options: BTreeMap<String, String>,
    /// Lower bounds with their witnesses.
    pub bounds: Bounds,
    /// What was to be placed.
    pub problem: Problem,
    /// Where it was placed, and what is claimed of it.
    pub plan: Plan,
    /// The graph that the problem came from, where there is one. Nested at most 40 deep, so that
    /// the text can be read again.
    pub graph: Option<G>,
}

/// A [`PlanFile`] as it is in the text, so that an invalid problem is told from unreadable text.
#[derive(Deserialize)]
#[serde(rename = "PlanFile")]
struct Unvalidated<G> {
    schema: u32,
    made_by: String,
    profile: String,
    options: BTreeMap<String, String>,
    bounds: Bounds,
    problem: Parts,
    plan: Plan,
    // `default` alone would ask for `G: Default`.
    #[serde(default = "none")]
    graph: Option<G>,
}

fn none<G>() -> Option<G> {
    None
}

/// Why a plan file cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFileError {
    /// The text is not RON or JSON, or not that of a plan file.
    #[error("not a plan file: {message}")]
    Syntax {
        /// The reader's words.
        message: String,
        /// 1-based line and column, where known.
        place: Option<(u32, u32)>,
    },
    /// A file of another version.
    #[error("this plan file has schema {found}; this version reads schema {SCHEMA}")]
    Schema {
        /// As in the file.
        found: u32,
    },
    /// A file that can be read and whose problem is none.
    #[error("the problem in the plan file is invalid: {0}")]
    Problem(ProblemErrors),
    /// A name that tells no format.
    #[error("a plan file's name ends in `.ron` or `.json`; `{name}` does not")]
    Extension {
        /// The last part of the path.
        name: String,
    },
    /// A value that the format cannot say.
    #[error("the plan cannot be written: {message}")]
    Write {
        /// The writer's words.
        message: String,
    },
}

impl PlanFileError {
    /// Key into [`CODES`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => SYNTAX,
            Self::Schema { .. } => UNSUPPORTED,
            Self::Problem(_) => INVALID_PROBLEM,
            Self::Extension { .. } => EXTENSION,
            Self::Write { .. } => NOT_WRITTEN,
        }
    }

    /// 1-based line and column, where known.
    pub fn place(&self) -> Option<(u32, u32)> {
        match self {
            Self::Syntax { place, .. } => *place,
            _ => None,
        }
    }
}

/// How a plan file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Ron,
    /// For programs.
    Json,
}

impl Format {
    /// The format that the path's ending names.
    pub fn of(path: &Path) -> Result<Self, PlanFileError> {
        let ends_in = |ending: &str| {
            let extension = path.extension();
            extension.is_some_and(|e| e.eq_ignore_ascii_case(ending))
        };
        if ends_in("ron") {
            Ok(Self::Ron)
        } else if ends_in("json") {
            Ok(Self::Json)
        } else {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let name = name.to_string_lossy().into_owned();
            Err(PlanFileError::Extension { name })
        }
    }
}

/// Writes a plan file: RON with a line for each buffer, JSON in one line.
pub fn to_text<G: Serialize>(file: &PlanFile<G>, format: Format) -> Result<String, PlanFileError> {
    let text = match format {
        Format::Ron => {
            let pretty = PrettyConfig::new()
                .depth_limit(3)
                .new_line("\n")
                .extensions(ron::extensions::Extensions::IMPLICIT_SOME);
            let text = ron_options().to_string_pretty(file, pretty);
            text.map_err(|error| error.to_string())
        }
        Format::Json => serde_json::to_string(file).map_err(|error| error.to_string()),
    };
    let mut text = text.map_err(|message| PlanFileError::Write { message })?;
    text.push('\n');
    Ok(text)
}

/// Reads a plan file. The schema is looked at first, so that a file of another version is refused
/// as such, whatever else is in it.
pub fn from_text<G: DeserializeOwned>(
    text: &str,
    format: Format,
) -> Result<PlanFile<G>, PlanFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    known(probe::schema(text, format)?)?;
    parse::<Unvalidated<G>>(text, format)?.try_into()
}

fn parse<T: DeserializeOwned>(text: &str, format: Format) -> Result<T, PlanFileError> {
    match format {
        Format::Ron => ron_options()
            .from_str(text)
            .map_err(|error| from_ron(text, &error)),
        Format::Json => serde_json::from_str(text).map_err(|error| from_json(text, &error)),
    }
}

fn ron_options() -> ron::Options {
    ron::Options::default().with_recursion_limit(DEPTH)
}

fn known(schema: u32) -> Result<(), PlanFileError> {
    if schema == SCHEMA {
        return Ok(());
    }
    Err(PlanFileError::Schema { found: schema })
}

impl<G> TryFrom<Unvalidated<G>> for PlanFile<G> {
    type Error = PlanFileError;

    fn try_from(file: Unvalidated<G>) -> Result<Self, PlanFileError> {
        known(file.schema)?;
        Ok(Self {
            schema: file.schema,
            made_by: file.made_by,
            profile: file.profile,
            options: file.options,
            bounds: file.bounds,
            problem: Problem::try_from(file.problem).map_err(PlanFileError::Problem)?,
            plan: file.plan,
            graph: file.graph,
        })
    }
}

fn from_ron(text: &str, error: &ron::error::SpannedError) -> PlanFileError {
    let (start, end) = (error.span.start, error.span.end);
    // A span may begin with the blanks before what it is about.
    let width = if start.line == end.line {
        end.col.saturating_sub(start.col)
    } else {
        usize::MAX
    };
    let characters = nth_line(text, start.line).chars();
    let mut spanned = characters.skip(start.col.saturating_sub(1)).take(width);
    let at = if spanned.all(char::is_whitespace) {
        end
    } else {
        start
    };
    PlanFileError::Syntax {
        message: error.code.to_string(),
        place: place(at.line, at.col),
    }
}

fn from_json(text: &str, error: &serde_json::Error) -> PlanFileError {
    let (line, bytes) = (error.line(), error.column());
    let message = error.to_string();
    // The place is told apart from the message.
    let suffix = format!(" at line {line} column {bytes}");
    let message = message.strip_suffix(&suffix).unwrap_or(&message).to_owned();
    let begun = nth_line(text, line).char_indices();
    let column = begun.take_while(|&(at, _)| at < bytes).count();
    PlanFileError::Syntax {
        message,
        place: place(line, column),
    }
}

/// The line with this 1-based number.
fn nth_line(text: &str, number: usize) -> &str {
    text.split('\n').nth(number.saturating_sub(1)).unwrap_or("")
}

/// Nothing when the reader does not know; a column 0 is before the first character of a line.
fn place(line: usize, column: usize) -> Option<(u32, u32)> {
    let place = (
        u32::try_from(line).ok()?,
        u32::try_from(column.max(1)).ok()?,
    );
    (line > 0).then_some(place)
}
