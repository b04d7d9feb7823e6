//! Properties of the graph crate, each shown on thousands of random graphs.
//!
//! `plans`: every graph gets a certified plan, and running it for real changes no byte. `refusals`:
//! damaged schedules, storages and places are refused. `files`: graphs and plans through text.
//! `stock`: stock planners. `subgraphs`: a call is its inlined body. `memory`: several memories. `generate` makes the graphs, `machine` runs them.

mod files;
mod generate;
mod machine;
mod memory;
mod plans;
#[path = "../shared/policies.rs"]
mod policies;
mod refusals;
mod stock;
mod subgraphs;
#[path = "../../../planner/tests/properties/tape.rs"]
mod tape;
