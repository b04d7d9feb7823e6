//! Runs a certified plan, inside exactly the planned bytes.
//!
//! ```text
//! CertifiedPlan + Compute ─build→ Program (commands with arena and offset fixed; pure)
//! Program + Weights + the caller's memory ─reference→ results
//! ```
//!
//! [`Program`] takes nothing but a [`CertifiedPlan`]: every window comes from it. The [`mod@reference`] interpreter
//! runs it byte for byte in the order that is stated for each kernel, without allocating.

pub mod cpu;
pub mod poison;
pub mod program;
pub mod reference;
pub mod run;
mod vector;
pub mod weights;

/// The devices that this build can run a plan on.
pub fn devices() -> &'static [&'static str] {
    &["cpu", "reference"]
}

pub use bayplan_graph::CertifiedPlan;
pub use program::{Command, Dispatch, Program, ProgramError, Window};
pub use run::{Device, Fault, Memory};
pub use weights::{Weights, WeightsError};
