//! The reader of `.tflite` files: hand-made files, damaged files (real ones: `tests/corpus.rs`).

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

mod calls;
mod damage;
mod files;
mod kernels;
mod writer;
