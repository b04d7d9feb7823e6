//! Reading `.onnx`.
//!
//! Goes in: the file's bytes (mapped, not copied) and the sizes that the caller binds. Comes out: a
//! verified [`Graph`] in which every size is known, weights and folded constants apart from
//! activations, or an error that names the tensor, the operator and the flag that would help.
//!
//! ```text
//! bytes ─proto→ messages ─bind→ inputs ─walk (infer, fold, inline)→ steps ─emit→ Graph
//! ```
//!
//! Weights stay where they are: [`read_with_weights`] says at which bytes. What nodes compute, and folded
//! constants too large to be computed here, [`read_with_kernels`] says. What is no longer known: names of
//! body tensors that clashed.

mod bind;
mod branch;
mod census;
mod choice;
pub(super) mod compute;
mod emit;
mod error;
mod external;
mod names;
mod node;
mod passed;
pub mod proto;
mod repeat;
mod tensor;
#[cfg(test)]
mod tests;
mod walk;

pub use super::bodies::{Bodies, OpaqueBodies};
pub use error::{At, ExternalFault, OnnxError, Unbound};
pub use external::Place;

use super::bodies::APART;
use crate::build::GraphBuilder;
use crate::bytes::Mapped;
use crate::ir::{Graph, NodeId, Role, TensorId};
use crate::kernel::Compute;
use crate::profile::Profile;
use bayplan_planner::ids::Id;
use passed::{Passed, Rest};
use prost::Message;
use std::collections::BTreeMap;
use std::path::Path;
use tensor::Source;
use walk::{Body, Kind, Walk, declarations};

/// What the caller adds to the file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Numbers of named dimensions (`--dim NAME=N`).
    pub dims: BTreeMap<String, u64>,
    /// Shapes of inputs (`--input NAME=1x3x224x224`).
    pub inputs: BTreeMap<String, Vec<u64>>,
    /// The folder that external data is looked up in: the model's own.
    pub folder: Option<&'a Path>,
    /// Branches and loops. An `If` of which it is known which branch runs is replaced by that branch;
    /// with [`Bodies::Apart`] only if the branch reads nothing from around it.
    pub bodies: Bodies,
    /// Passes over declared shapes that contradict inference instead of refusing the model: some
    /// exporters declare outputs wrongly, and sizes come from inference either way.
    pub ignore_declared: bool,
    /// The mapping that the bytes are of, if they are mapped: pages of it are given back on the way, so
    /// that the file does not count as memory of the process.
    pub mapped: Option<&'a Mapped>,
}

/// A model with what the graph alone does not say.
#[derive(Clone, Debug)]
pub struct OnnxModel {
    /// The graph.
    pub graph: Graph,
    /// Where the elements of weights are; folded ones are nowhere.
    pub weights: BTreeMap<TensorId, Place>,
    /// Nodes whose bodies are not planned ([`Bodies::Apart`]).
    pub opaque: Vec<OpaqueBodies>,
}

/// Reads a model. `name` is its name in reports.
pub fn read(bytes: &[u8], name: &str, options: &ReadOptions<'_>) -> Result<Graph, OnnxError> {
    read_with_weights(bytes, name, options).map(|model| model.graph)
}

/// Reads a model and says where its weights are.
pub fn read_with_weights(
    bytes: &[u8],
    name: &str,
    options: &ReadOptions<'_>,
) -> Result<OnnxModel, OnnxError> {
    walked(bytes, name, options, |_, _| ()).map(|(model, ())| model)
}

/// Reads a model and says what it computes. The graph is the same.
pub fn read_with_kernels(
    bytes: &[u8],
    name: &str,
    options: &ReadOptions<'_>,
) -> Result<(OnnxModel, Compute), OnnxError> {
    walked(bytes, name, options, compute::compute)
}

/// Reads a model; `more` may look at the walk before it is forgotten, with the tensor of each entry.
fn walked<T>(
    bytes: &[u8],
    name: &str,
    options: &ReadOptions<'_>,
    more: impl FnOnce(&Walk<'_>, &[Option<TensorId>]) -> T,
) -> Result<(OnnxModel, T), OnnxError> {
    let passed = Passed::new(options.mapped);
    census::check(bytes, &passed)?;
    let rest = Rest {
        bytes,
        passed: &passed,
    };
    let model = proto::Model::decode(rest).map_err(|error| undecodable(&error))?;
    let graph = model.graph.as_ref().ok_or(OnnxError::NoGraph)?;
    let binding = bind::bind(graph, options)?;
    let source = Source {
        file: bytes,
        folder: options.folder,
        passed: &passed,
    };
    let mut walk = Walk::new(source, opset(&model), binding.numbers);
    walk.bodies = options.bodies;
    walk.distrust = options.ignore_declared;
    for (name, fact) in binding.inputs {
        walk.define(name, None, fact, Kind::Input)?;
    }
    walk.initializers(graph, None)?;
    let declared = declarations(graph)?;
    walk.nodes(Body {
        graph,
        declared: &declared,
        scope: None,
    })?;
    for output in &graph.output {
        let id = walk.find(&output.name);
        let id = id.ok_or_else(|| OnnxError::Output(output.name.clone()))?;
        walk.results.push(id);
    }
    let mut builder = GraphBuilder::new(name);
    builder.alignment(Profile::bayplan().alignment);
    let ids = emit::emit(&walk, &mut builder)?;
    let pairs = ids.iter().zip(&walk.entries);
    let places = pairs.filter_map(|(id, entry)| Some(((*id)?, entry.place.clone()?)));
    let opaque = walk.outside.iter().map(|&(step, bytes)| OpaqueBodies {
        node: NodeId::from_index(step),
        bytes,
    });
    let model = OnnxModel {
        graph: builder.build()?,
        weights: places.collect(),
        opaque: opaque.collect(),
    };
    let more = more(&walk, &ids);
    Ok((model, more))
}

/// What the decoder said. It names every message on the way out, of which the first ones are enough.
fn undecodable(error: &prost::DecodeError) -> OnnxError {
    const SHOWN: usize = 4;
    let text = error.to_string();
    let parts: Vec<&str> = text.split(": ").collect();
    match parts.last() {
        Some(&"recursion limit reached") => OnnxError::TooDeep,
        Some(why) if parts.len() > SHOWN + 1 => {
            OnnxError::Encoding(format!("{}: …: {why}", parts[..SHOWN].join(": ")))
        }
        _ => OnnxError::Encoding(text),
    }
}

/// The version of the standard operator set.
fn opset(model: &proto::Model) -> i64 {
    let standard = model
        .opset_import
        .iter()
        .find(|set| matches!(&*set.domain, "" | "ai.onnx"));
    standard.map_or(1, |set| set.version)
}

/// For fuzzing: reads anything; where dimensions are open, binds them and reads again. True if it
/// was a model.
pub fn fuzz(bytes: &[u8]) -> bool {
    [Bodies::Inline, Bodies::Apart].map(|bodies| fuzz_one(bytes, bodies)) != [false; 2]
}

fn fuzz_one(bytes: &[u8], bodies: Bodies) -> bool {
    let options = ReadOptions {
        bodies,
        ..ReadOptions::default()
    };
    let missing = match read_with_kernels(bytes, "fuzz", &options) {
        Err(OnnxError::Unbound(missing)) => missing,
        Err(_) => return false,
        Ok((model, compute)) => return promises(&model, &compute, bodies),
    };
    let dims = missing
        .named
        .into_iter()
        .map(|(name, _)| (name, 2))
        .collect();
    let open = missing
        .unnamed
        .into_iter()
        .map(|(tensor, place)| (tensor, place + 1));
    let open = open.chain(missing.shapeless.into_iter().map(|tensor| (tensor, 4)));
    let inputs = open.map(|(tensor, rank)| (tensor, vec![2; rank])).collect();
    let options = ReadOptions {
        dims,
        inputs,
        ..options
    };
    read_with_kernels(bytes, "fuzz", &options)
        .is_ok_and(|(model, compute)| promises(&model, &compute, bodies))
}

/// What is read keeps its promises.
fn promises(model: &OnnxModel, compute: &Compute, bodies: Bodies) -> bool {
    let nodes = model.graph.nodes();
    assert_eq!(nodes.len(), compute.nodes.len());
    let weights = model.graph.tensors().values();
    let weights = weights.filter(|tensor| tensor.role == Role::Weight);
    assert_eq!(weights.count(), compute.weights.len());
    for opaque in &model.opaque {
        assert!(nodes[opaque.node].op.ends_with(APART));
    }
    assert!(bodies == Bodies::Apart || model.opaque.is_empty());
    true
}
