//! Runs a certified plan. **No executor is built yet**: planning, checking and certifying work
//! without one, and the command's `doctor` says that nothing can be run.
//!
//! What will stand here takes nothing but a [`CertifiedPlan`]: program, reference interpreter, GPU.

pub use bayplan_graph::CertifiedPlan;

/// The devices that this build can run a plan on: none yet.
pub fn devices() -> &'static [&'static str] {
    &[]
}
