//! The reader of `.tflite` files: hand-made files, damaged files, real files.

#![expect(clippy::unwrap_used, reason = "helpers of tests may unwrap as well")]

mod calls;
mod corpus;
mod damage;
mod files;
mod resize;
mod writer;
