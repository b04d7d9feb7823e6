//! The field's CSV of buffers, and what it says about offsets.
//!
//! Goes in: text with a header row, one buffer a row. Comes out: a [`Parsed`] problem, or all
//! [`CsvErrors`] with their places; and back, [`write()`] makes such text.
//!
//! ```text
//! id,lower,upper,size,alignment,offset,gaps
//! b1,0,3,4,1,,                live in steps 0, 1, 2; anywhere
//! b2,3,9,4,4,8,               given at 8, a multiple of 4
//! b3,0,9,64,,,3-5 7-8@0:16    absent in steps 3, 4; only its bytes 0..16 in step 7
//! ```
//!
//! Columns come in any order and case: `id` (`buffer`, `buffer_id`), `lower` (`begin`, `start`),
//! `upper` or `end`, `size`; optionally `alignment`, `offset`, `gaps` and `hint`, which is passed
//! over. `upper` is half-open; `end` is inclusive, as in google/minimalloc `src/converter.cc`, so 1
//! is added to it and to the ends of gaps. Blank lines, blanks around cells, CRLF and a byte order
//! mark are accepted. Comments and quotes are refused, so are unknown columns and repeated ids.

mod cell;
mod codes;
mod error;
mod gaps;
mod header;
mod parsed;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use codes::CODES;
pub use error::{CsvError, CsvErrors, MAX_LISTED};
pub use header::Column;
pub use parsed::{Dialect, Parsed};
pub use read::read;
pub use write::{CsvWriteError, write};
