//! Readers of model files. Each fills a [`crate::GraphBuilder`]; the graph knows no format.

pub mod bodies;
pub mod executable;
pub mod file;
mod inline;
pub mod onnx;
pub mod own;
pub mod tflite;
