//! One node's message: its name for people, its attributes, and what is refused on sight.

use super::error::{At, OnnxError};
use super::external::Place;
use super::proto::{Attribute, Graph, Node, Tensor};
use super::walk::Walk;
use crate::infer::{Attr, Attrs};

/// A node's name, or its kind and place.
pub(super) fn label(node: &Node, place: usize) -> String {
    if node.name.is_empty() {
        format!("{}#{place}", node.op_type)
    } else {
        node.name.clone()
    }
}

/// The constant that a node holds, and the place of its elements.
pub(super) type Stated<'n> = Option<(Place, &'n Tensor)>;

impl Walk<'_> {
    /// The attributes of a node; and its constant with the place of the elements, if it has one.
    pub(super) fn attributes<'n>(
        &self,
        node: &'n Node,
        place: usize,
    ) -> Result<(Attrs, Stated<'n>), OnnxError> {
        let mut attrs = Attrs::new();
        let mut stated = None;
        for attribute in &node.attribute {
            let value = match (&attribute.t, kind_of(attribute)) {
                (Some(tensor), 4) => {
                    let name = format!("{} of {}", attribute.name, label(node, place));
                    let limit = self.limit_of(tensor.head.data_type);
                    let constant = self.source.constant(tensor, &name, limit)?;
                    stated = (node.op_type == "Constant").then_some((constant.place, &**tensor));
                    Attr::Tensor(constant.fact)
                }
                (_, 1) => Attr::Float(f64::from(attribute.f)),
                (_, 2) => Attr::Int(attribute.i),
                (_, 3) => Attr::Text(String::from_utf8_lossy(&attribute.s).into_owned()),
                (_, 6) => Attr::Floats(attribute.floats.iter().map(|&v| f64::from(v)).collect()),
                (_, 7) => Attr::Ints(attribute.ints.clone()),
                _ => Attr::Other,
            };
            attrs.insert(attribute.name.clone(), value);
        }
        Ok((attrs, stated))
    }
}

/// Whether a node is of the standard operator set.
pub(super) fn standard(node: &Node) -> bool {
    matches!(&*node.domain, "" | "ai.onnx")
}

/// The kind with its operator set.
pub(super) fn kind_name(node: &Node) -> String {
    if standard(node) {
        node.op_type.clone()
    } else {
        format!("{}.{}", node.domain, node.op_type)
    }
}

/// A node for errors.
pub(super) fn at(node: &Node, place: usize) -> At {
    let (node, op) = (label(node, place), kind_name(node));
    At { node, op }
}

/// Which field of an attribute counts: old files do not say.
fn kind_of(attribute: &Attribute) -> i32 {
    if attribute.kind != 0 {
        return attribute.kind;
    }
    let present = [
        (attribute.t.is_some(), 4),
        (attribute.g.is_some(), 5),
        (!attribute.s.is_empty(), 3),
        (!attribute.floats.is_empty(), 6),
        (!attribute.ints.is_empty(), 7),
        (attribute.f != 0.0, 1),
    ];
    present
        .into_iter()
        .find(|field| field.0)
        .map_or(2, |field| field.1)
}

/// Loops and other operators with bodies.
pub(super) fn refuse_bodies(node: &Node, place: usize) -> Result<(), OnnxError> {
    let why = match &*node.op_type {
        "Loop" => "a loop whose body is not inlined",
        "Scan" => "a scan over a body, which is not planned",
        _ if node
            .attribute
            .iter()
            .any(|a| a.g.is_some() || !a.graphs.is_empty()) =>
        {
            "it runs a body, which is not planned"
        }
        _ => return Ok(()),
    };
    Err(OnnxError::Unsupported {
        at: Box::new(at(node, place)),
        why,
    })
}

/// Why a name means nothing yet.
pub(super) fn unknown(name: &str, reader: &str, graph: &Graph, place: usize) -> OnnxError {
    let mut later = graph.node.iter().enumerate().skip(place);
    let producer = later.find(|(_, node)| node.output.iter().any(|output| output == name));
    let (node, tensor) = (reader.to_owned(), name.to_owned());
    match producer {
        Some((at, producer)) => OnnxError::Order {
            node,
            tensor,
            producer: label(producer, at),
        },
        None => OnnxError::Unknown { node, tensor },
    }
}
