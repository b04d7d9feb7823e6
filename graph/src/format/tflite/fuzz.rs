//! The body of a fuzzer: any bytes are read or refused, and what is read keeps its promises.

use super::build;
use super::model::{Kernels, ReadOptions, TfliteModel};
use super::{resize, schema};
use crate::format::bodies::Bodies;
use crate::kernel::Target;
use bayplan_planner::ids::Id;
use std::collections::BTreeMap;

/// Reads `bytes` in three ways, and with other shapes for its inputs; panics only when a promise of
/// [`super::TfliteModel`] is broken. True if they were a model.
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
        promises(bytes, &found);
        computes(bytes, &found);
    }
    resized(bytes, &model);
    read
}

fn promises(bytes: &[u8], found: &TfliteModel) {
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

/// What nodes compute stays within their tensors.
fn computes(bytes: &[u8], found: &TfliteModel) {
    let Ok(compute) = super::compute(found, bytes) else {
        return;
    };
    let tensors = found.graph.tensors();
    assert_eq!(compute.nodes.len(), found.graph.nodes().len());
    for (node, lowered) in found.graph.nodes().values().zip(compute.nodes.values()) {
        for part in lowered.iter().flatten() {
            let needs = part.kernel.needs().expect("parts are sound");
            assert_eq!(needs.reads.len(), part.reads.len());
            for (&at, &needed) in part.reads.iter().zip(&needs.reads) {
                let operand = node.inputs[at].expect("parts read what is there");
                assert!(needed <= tensors[operand].bytes);
            }
            let target = match part.write {
                Target::Result(at) => node.outputs[at],
                Target::State(at) => node.writes[at],
            };
            assert!(needs.write <= tensors[target].bytes);
        }
    }
}

/// Every input once larger in each dimension, and once twice as large in the first; with the shapes as
/// declared, a file that can be read can still be read.
fn resized(bytes: &[u8], model: &schema::Model) {
    let options = ReadOptions {
        kernels: Kernels::LiteRt,
        ..ReadOptions::default()
    };
    let inputs = resize::names(model);
    for change in [
        |_: usize, size: u64| size,
        |_: usize, size: u64| size.saturating_add(1),
        |place: usize, size: u64| {
            if place == 0 {
                size.saturating_mul(2)
            } else {
                size
            }
        },
    ] {
        let mut given = BTreeMap::new();
        for (index, name) in &inputs {
            let shape = model.subgraphs[0].tensors[*index].shape.iter().enumerate();
            let sizes = shape.map(|(place, &size)| change(place, u64::try_from(size).unwrap_or(1)));
            given.insert(name.clone(), sizes.collect::<Vec<u64>>());
        }
        let Ok(found) = super::read_resized(bytes, "fuzz", &options, &given) else {
            continue;
        };
        promises(bytes, &found);
        for (index, name) in &inputs {
            let id = found.tensors[0][*index];
            let tensor = id.map(|id| &found.graph.tensors()[id]);
            assert_eq!(
                tensor.and_then(|tensor| tensor.shape.as_ref()),
                given.get(name)
            );
        }
    }
}
