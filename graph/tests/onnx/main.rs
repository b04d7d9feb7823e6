//! Reading `.onnx` from outside: real models against known figures, and files built, cut and damaged
//! here.
//!
//! `corpus`: figures of public models, computed by other code. `cases`: mistakes that readers have made before.
//! `bodies`: undecided branches and loops, inlined and run. `control`: branches, captures, order of nodes. `damage`: cut and mutated files. `make` builds
//! models from the reader's own messages.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

mod bodies;
mod cases;
mod control;
mod corpus;
mod damage;
mod make;
#[path = "../shared/turns.rs"]
mod turns;
