//! The reader of `.tflite` files: hand-made files, damaged files (real ones: `tests/corpus.rs`).

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

mod calls;
mod computed;
mod control;
mod damage;
mod files;
mod kernels;
#[path = "../shared/policies.rs"]
mod policies;
mod random;
mod refused;
mod resize;
#[path = "../shared/turns.rs"]
mod turns;
mod writer;
