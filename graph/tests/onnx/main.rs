//! Reading `.onnx` from outside: files built, cut and damaged here (real models: `tests/corpus.rs`).
//!
//! `bodies`: undecided branches and loops, inlined and run. `cases`: mistakes that readers have made
//! before. `control`: branches, captures, order of nodes. `damage`: cut and mutated files. `kernels`: what
//! nodes compute. `make` builds models from the reader's own messages.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

mod bodies;
mod cases;
mod control;
mod damage;
mod kernels;
mod make;
#[path = "../shared/policies.rs"]
mod policies;
#[path = "../shared/turns.rs"]
mod turns;
