//! The body of a fuzzer: any bytes are read or refused, and what is read keeps its promises.

use super::build;
use super::model::{Kernels, ReadOptions};
use super::schema;
use crate::format::bodies::Bodies;
use bayplan_planner::ids::Id;

/// Reads `bytes` in three ways; panics only when a promise of [`super::TfliteModel`] is broken. True if
/// they were a model.
pub fn read_any(bytes: &[u8]) -> bool {
    let Ok(model) = schema::model(bytes) else {
        return false;
    };
    let mut read = false;
    for (bodies, kernels) in [
        (Bodies::Inline, Kernels::Unknown),
        (Bodies::Inline, Kernels::Micro),
        (Bodies::Apart, Kernels::LiteRt),
    ] {
        let options = ReadOptions {
            bodies,
            kernels,
            ..ReadOptions::default()
        };
        let Ok(found) = build::build(bytes, &model, "fuzz", &options) else {
            continue;
        };
        read = true;
        assert_eq!(found.operators.len(), found.graph.nodes().len());
        assert_eq!(found.data.len(), found.graph.tensors().len());
        for range in found.data.values().flatten() {
            assert!(bytes.get(range.clone()).is_some());
        }
        for (index, id) in found.tensors[0].iter().enumerate() {
            assert_eq!(id.map(Id::index), Some(index));
        }
        for entry in &found.metadata {
            assert!(bytes.get(entry.range.clone()).is_some());
        }
    }
    read
}
