//! Files of the planner: problems as the field's CSV, plans as RON or JSON.
//!
//! Goes in: text (never a path; the caller reads the file). Comes out: a validated
//! [`Problem`](crate::Problem) or a [`PlanFile`], or errors with a code, a place and a way out.
//! Only [`write_atomic`] touches the disk. Every code has a paragraph in [`csv::CODES`] or
//! [`plan_file::CODES`].

pub mod atomic;
pub mod csv;
pub mod plan_file;

pub use atomic::write_atomic;
pub use csv::{CsvError, CsvErrors, CsvWriteError, Parsed};
pub use plan_file::{Format, PlanFile, PlanFileError};

#[cfg(test)]
mod generate;
