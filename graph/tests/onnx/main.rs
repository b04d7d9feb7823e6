//! Reading `.onnx` from outside: real models against known figures, and files built, cut and damaged
//! here.
//!
//! `corpus`: figures of `shared/corpus/truth.csv`. `cases`: the kinds of cases c14, c16, c23, c28.
//! `control`: branches, captures, order of nodes. `damage`: cut and mutated files. `make` builds
//! models from the reader's own messages.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

mod cases;
mod control;
mod corpus;
mod damage;
mod make;
