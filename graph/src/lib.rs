//! Models as graphs, and the plans that they certify.
//!
//! ```text
//! file ─format→ Graph ─schedule→ Schedule ─reverse scan→ Lifetimes ─storage→ Storage ─problem→ Problem
//!                                    planner: Problem → CheckedPlan ─certify→ CertifiedPlan │ every Clobber
//! ```
//!
//! [`plan()`] runs the whole chain. Each stage can be used alone.
//!
//! # Example
//!
//! ```
//! use bayplan_graph::{GraphBuilder, PlanOptions, Policy, Role, plan};
//!
//! let mut model = GraphBuilder::new("tiny");
//! let x = model.tensor("x", 1024, Role::Input);
//! let h = model.tensor("h", 4096, Role::Activation);
//! let r = model.tensor("r", 4096, Role::Activation);
//! let y = model.tensor("y", 256, Role::Output);
//! model.node("dense", "MatMul", &[x], &[h]);
//! model.node("relu", "Relu", &[h], &[r]).in_place(h, r);
//! model.node("head", "Head", &[r], &[y]);
//!
//! let reuse = Policy { reuse_inputs: true, ..Policy::default() };
//! let planned = plan(model.build()?.into(), &PlanOptions { policy: reuse, ..PlanOptions::default() })?;
//! assert_eq!(planned.certified.arena_bytes(), 5120); // x and h meet; r is written over h
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod build;
pub mod bytes;
pub mod certify;
pub mod dtype;
pub mod facts;
pub mod format;
pub mod infer;
pub mod ir;
pub mod kernel;
pub mod lifetimes;
pub mod memory;
pub mod placement;
pub mod plan;
pub mod plan_file;
pub mod profile;
pub mod schedule;
pub mod stock;
pub mod storage;
pub mod table;
pub mod verify;

pub use build::GraphBuilder;
pub use certify::{CertifiedPlan, Clobber, certify};
pub use dtype::DType;
pub use facts::OpFacts;
pub use ir::{Graph, NodeId, Role, TensorId};
pub use lifetimes::Lifetimes;
pub use placement::{Home, Locations, Placement, Spot};
pub use plan::{GraphPlan, GraphPlanError, PlanOptions, plan};
pub use profile::{Grid, Profile, StockPlanner};
pub use schedule::Schedule;
pub use storage::{Policy, Storage};
pub use verify::{GraphError, GraphErrors};
