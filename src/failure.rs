//! What can go wrong, as data: diagnostics with a code, a place, a label and a way out, and the
//! exit code that they lead to. Nothing here prints.

use std::sync::Arc;

/// The answer is no: it does not fit, is invalid, differs, is undecided.
pub(crate) const NO: u8 = 1;
/// It could not be done: usage, unreadable, unsupported.
pub(crate) const CANNOT: u8 = 2;
/// Our own fault.
pub(crate) const DEFECT: u8 = 3;

/// A place in a text.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) path: String,
    pub(crate) text: Arc<str>,
    /// 1-based.
    pub(crate) line: usize,
    /// 1-based, in characters.
    pub(crate) column: usize,
    /// In characters.
    pub(crate) width: usize,
    pub(crate) label: String,
}

/// One thing to tell.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    pub(crate) code: &'static str,
    pub(crate) title: String,
    pub(crate) spot: Option<Spot>,
    pub(crate) notes: Vec<String>,
    pub(crate) help: Option<String>,
    /// It is told, but ends nothing.
    pub(crate) warning: bool,
}

impl Diagnostic {
    pub(crate) fn new(code: &'static str, title: impl Into<String>) -> Self {
        Self {
            code,
            title: title.into(),
            spot: None,
            notes: Vec::new(),
            help: None,
            warning: false,
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn at(mut self, spot: Spot) -> Self {
        self.spot = Some(spot);
        self
    }

    /// It ends nothing.
    pub(crate) fn warning(mut self) -> Self {
        self.warning = true;
        self
    }

    /// It could not be done.
    pub(crate) fn cannot(self) -> Failure {
        Failure::Told {
            exit: CANNOT,
            diagnostics: vec![self],
        }
    }

    /// It is our own fault.
    pub(crate) fn defect(self) -> Failure {
        Failure::Told {
            exit: DEFECT,
            diagnostics: vec![self],
        }
    }

    /// The answer is no.
    pub(crate) fn no(self) -> Failure {
        Failure::Told {
            exit: NO,
            diagnostics: vec![self],
        }
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// With something to tell.
    Told {
        exit: u8,
        diagnostics: Vec<Diagnostic>,
    },
    /// The answer is no and was printed already.
    No,
    /// Whoever read our output went away.
    ClosedPipe,
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Diagnostic::new("E0106", format!("cannot write the output: {error}")).cannot()
    }
}
