//! Places buffers that live in time into arenas of bytes.
//!
//! Goes in: a [`Problem`] (buffers with extents, arenas, pairs). Comes out: a [`CheckedPlan`], an
//! offset for every buffer that the independent [`check()`] has accepted, with a lower bound whose
//! witness was verified. This crate knows no models, no files but its own, and no GPU.
//!
//! ```text
//! Problem ──bounds──→ Bounds{witness} ──┐
//!    └─────strategies──→ Plan ──check──→ CheckedPlan │ every Violation
//! ```
//!
//! # Example
//!
//! Three tensors in a row; the first and the last never meet, so they share bytes.
//!
//! ```
//! use bayplan_planner::{Buffer, Options, Problem, plan};
//!
//! let problem = Problem::single(vec![
//!     Buffer::new("a", 0..2, 2560),
//!     Buffer::new("b", 1..3, 2048),
//!     Buffer::new("c", 2..4, 1536),
//! ])?;
//! let planned = plan(problem, &Options::default())?;
//! assert_eq!(planned.height(), 4608); // a and b meet in step 1: no plan can be smaller
//! assert!(planned.is_optimal());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Options`] say how long to search and how to watch and to stop it. [`conflict()`] says which
//! buffers do not fit into a capacity together, [`prove()`] repeats the proof of a bound.

pub mod bounds;
pub mod check;
pub mod conflict;
mod crowd;
pub mod file;
pub mod ids;
pub mod lifetime;
pub mod memory;
mod numbers;
mod occupancy;
mod part;
pub mod picture;
pub mod plan;
pub mod problem;
pub mod prove;
mod resident;
mod shelf;
pub mod spill;
pub mod stock;
pub mod strategy;
pub mod sweep;
pub mod table;
pub mod witness;
pub mod words;

pub use bounds::Bounds;
pub use check::{CheckedPlan, Violation, check};
pub use conflict::{Answer, Conflict, conflict};
pub use ids::{ArenaId, BufferId, Table};
pub use lifetime::{Lifetime, Step};
pub use plan::{Claim, Place, Plan};
pub use problem::{Arena, Buffer, Pair, Problem, ProblemError, ProblemErrors, Proof, Rect};
pub use prove::{Verdict, prove};
pub use strategy::{
    Options, Planned, PlannerFault, Progress, Stage, Status, Strategy, Tried, plan,
};
pub use witness::{Bound, Witness};
