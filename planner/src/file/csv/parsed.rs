//! A CSV file that has been read.

use super::codes;
use super::error::{CsvError, CsvErrors, Sink, Spot};
use super::header::{Column, Header};
use crate::ids::{BufferId, Table};
use crate::problem::{Problem, ProblemError, ProblemErrors};
use std::collections::HashMap;

/// How a file spelled its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The columns in order with their names as spelled.
    pub columns: Vec<(Column, String)>,
}

impl Dialect {
    pub(super) fn of(header: &Header) -> Self {
        let known = header.names.iter();
        let known = known.filter_map(|&(column, name)| Some((column?, name.to_owned())));
        Self {
            columns: known.collect(),
        }
    }

    /// Whether the file has this column.
    pub fn has(&self, column: Column) -> bool {
        self.columns.iter().any(|&(c, _)| c == column)
    }

    /// Whether lifetimes and gaps end with their last step (`end`) rather than the first dead one.
    pub fn is_inclusive(&self) -> bool {
        self.has(Column::End)
    }
}

/// A CSV file that has been read: the problem, and beside it what the file says about offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The buffers in the order of their rows, in one arena without limits, none of them fixed.
    pub problem: Problem,
    /// The `offset` column; what it means is the caller's to say.
    pub offsets: Table<BufferId, Option<u64>>,
    /// The line of each buffer, 1-based.
    pub lines: Table<BufferId, u32>,
    /// How the columns were spelled.
    pub dialect: Dialect,
    pub(super) offset_spots: Table<BufferId, Option<Spot>>,
}

impl Parsed {
    /// Whether every row has an offset, so that the file is a finished layout to be checked.
    pub fn is_solution(&self) -> bool {
        self.dialect.has(Column::Offset) && self.offsets.values().all(Option::is_some)
    }

    /// The problem in which the given offsets may not change. Refused when they contradict each
    /// other or an alignment.
    pub fn with_fixed_offsets(&self) -> Result<Problem, CsvErrors> {
        let mut buffers = self.problem.buffers().clone();
        for (buffer, offset) in buffers.values_mut().zip(self.offsets.values()) {
            buffer.fixed_offset = *offset;
        }
        Problem::new(self.problem.arenas().clone(), buffers, Vec::new())
            .map_err(|errors| self.explain(&errors))
    }

    /// The same, without a copy where no offset is given.
    pub fn into_fixed_offsets(self) -> Result<Problem, CsvErrors> {
        if self.offsets.values().all(Option::is_none) {
            return Ok(self.problem);
        }
        self.with_fixed_offsets()
    }

    /// Gives each error the place of the offset that it is about. Ids are unique in a file.
    fn explain(&self, errors: &ProblemErrors) -> CsvErrors {
        let buffers = self.problem.buffers().iter();
        let ids: HashMap<&str, BufferId> = buffers.map(|(id, b)| (&*b.name, id)).collect();
        let mut sink = Sink::default();
        for error in &errors.0 {
            sink.push(|| self.offset_error(&ids, error));
        }
        sink.into_errors()
    }

    fn offset_error(&self, ids: &HashMap<&str, BufferId>, error: &ProblemError) -> CsvError {
        let (name, label) = match error {
            ProblemError::FixedMisaligned {
                name, alignment, ..
            } => (name, format!("not a multiple of {alignment}")),
            ProblemError::FixedBeyond { name, .. } => (name, "too high".to_owned()),
            ProblemError::FixedClash { first, second, .. } => {
                let line = ids.get(&**first).map_or(0, |&id| self.lines[id]);
                (second, format!("`{first}` is on line {line}"))
            }
            other => return CsvError::new(codes::SUMS, Spot::WHOLE_FILE, other.to_string(), ""),
        };
        let spot = ids.get(&**name).and_then(|&id| self.offset_spots[id]);
        let spot = spot.unwrap_or(Spot::WHOLE_FILE);
        CsvError::new(codes::OFFSETS, spot, error.to_string(), label)
            .help("leave an `offset` cell empty to let the planner choose")
    }
}
