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
//! Weights stay where they are: [`read_with_weights`] says at which bytes. What is no longer known:
//! attributes, folded nodes, names of body tensors that clashed.

mod bind;
mod branch;
mod census;
mod emit;
mod error;
mod external;
mod node;
pub mod proto;
mod tensor;
#[cfg(test)]
mod tests;
mod walk;

pub use error::{At, ExternalFault, OnnxError, Unbound};
pub use external::Place;

use crate::build::GraphBuilder;
use crate::ir::{Graph, TensorId};
use crate::profile::Profile;
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
    /// Leaves an `If` a node even when it is known which branch runs, as runtimes do that give every
    /// body memory of its own. By default the branch's nodes take its place and are planned.
    pub bodies_apart: bool,
    /// Passes over declared shapes that contradict inference instead of refusing the model: some
    /// exporters declare outputs wrongly, and sizes come from inference either way.
    pub ignore_declared: bool,
}

/// A model with what the graph alone does not say.
#[derive(Clone, Debug)]
pub struct OnnxModel {
    /// The graph.
    pub graph: Graph,
    /// Where the elements of weights are; folded ones are nowhere.
    pub weights: BTreeMap<TensorId, Place>,
    /// Names of `If` operators whose branches are not planned: they need memory of their own.
    pub unplanned_bodies: Vec<String>,
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
    census::check(bytes)?;
    let model = proto::Model::decode(bytes).map_err(|e| OnnxError::Encoding(e.to_string()))?;
    let graph = model.graph.as_ref().ok_or(OnnxError::NoGraph)?;
    let binding = bind::bind(graph, options)?;
    let source = Source {
        file: bytes,
        folder: options.folder,
    };
    let mut walk = Walk::new(source, opset(&model), binding.numbers);
    walk.bodies_apart = options.bodies_apart;
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
    let mut outputs = Vec::new();
    for output in &graph.output {
        let id = walk.find(&output.name).ok_or_else(|| OnnxError::Unknown {
            node: "the graph's list of outputs".into(),
            tensor: output.name.clone(),
        })?;
        outputs.push(id);
    }
    let mut builder = GraphBuilder::new(name);
    builder.alignment(Profile::bayplan().alignment);
    let weights = emit::emit(&walk, &outputs, &mut builder)?;
    Ok(OnnxModel {
        graph: builder.build()?,
        weights,
        unplanned_bodies: walk.outside,
    })
}

/// The version of the standard operator set.
fn opset(model: &proto::Model) -> i64 {
    let standard = model
        .opset_import
        .iter()
        .find(|set| matches!(&*set.domain, "" | "ai.onnx"));
    standard.map_or(1, |set| set.version)
}

/// For fuzzing: reads anything; where dimensions are open, binds them and reads again.
pub fn fuzz(bytes: &[u8]) {
    let Err(OnnxError::Unbound(missing)) = read(bytes, "fuzz", &ReadOptions::default()) else {
        return;
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
    let _ = read(
        bytes,
        "fuzz",
        &ReadOptions {
            dims,
            inputs,
            ..ReadOptions::default()
        },
    );
}
