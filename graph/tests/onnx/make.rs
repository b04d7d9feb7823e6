//! Models built from the reader's own messages.

use bayplan_graph::format::onnx::proto::{
    Attribute, Dimension, Entry, Graph, Model, Node, OperatorSet, Shape, Tensor, TensorHead,
    TensorType, Type, ValueInfo,
};
use prost::Message;

/// A type with dimensions spelled as in reports: `N`, `64`, `?` for none.
pub(crate) fn typed(name: &str, elem_type: i32, dims: &[&str]) -> ValueInfo {
    let dim = |text: &&str| match text.parse() {
        Ok(value) => Dimension {
            value: Some(value),
            param: None,
        },
        Err(_) if *text == "?" => Dimension::default(),
        Err(_) => Dimension {
            value: None,
            param: Some((*text).into()),
        },
    };
    let shape = Some(Shape {
        dim: dims.iter().map(dim).collect(),
    });
    let tensor_type = Some(TensorType { elem_type, shape });
    ValueInfo {
        name: name.into(),
        r#type: Some(Type {
            tensor_type,
            ..Type::default()
        }),
    }
}

/// A float tensor.
pub(crate) fn value(name: &str, dims: &[&str]) -> ValueInfo {
    typed(name, 1, dims)
}

pub(crate) fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> Node {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Node {
        name: format!("the {op}"),
        op_type: op.into(),
        input: own(inputs),
        output: own(outputs),
        ..Node::default()
    }
}

pub(crate) fn with(mut node: Node, attribute: Attribute) -> Node {
    node.attribute.push(attribute);
    node
}

pub(crate) fn body(name: &str, graph: Graph) -> Attribute {
    Attribute {
        name: name.into(),
        g: Some(Box::new(graph)),
        kind: 5,
        ..Attribute::default()
    }
}

pub(crate) fn ints(name: &str, values: &[i64]) -> Tensor {
    Tensor {
        head: TensorHead {
            name: name.into(),
            data_type: 7,
            dims: vec![i64::try_from(values.len()).unwrap()],
            ..TensorHead::default()
        },
        raw_data: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ..Tensor::default()
    }
}

pub(crate) fn floats(name: &str, dims: &[i64]) -> Tensor {
    let count: i64 = dims.iter().product();
    Tensor {
        head: TensorHead {
            name: name.into(),
            data_type: 1,
            dims: dims.to_vec(),
            ..TensorHead::default()
        },
        raw_data: vec![0; usize::try_from(count).unwrap() * 4],
        ..Tensor::default()
    }
}

/// A float tensor whose elements are in another file.
pub(crate) fn external(name: &str, dims: &[i64], entries: &[(&str, &str)]) -> Tensor {
    let mut tensor = floats(name, dims);
    tensor.raw_data.clear();
    tensor.head.data_location = 1;
    let entries = entries.iter().map(|&(key, value)| Entry {
        key: key.into(),
        value: value.into(),
    });
    tensor.head.external_data = entries.collect();
    tensor
}

pub(crate) fn number(name: &str, i: i64) -> Attribute {
    Attribute {
        name: name.into(),
        i,
        kind: 2,
        ..Attribute::default()
    }
}

pub(crate) fn real(name: &str, f: f32) -> Attribute {
    Attribute {
        name: name.into(),
        f,
        kind: 1,
        ..Attribute::default()
    }
}

pub(crate) fn text(name: &str, s: &str) -> Attribute {
    Attribute {
        name: name.into(),
        s: s.as_bytes().to_vec(),
        kind: 3,
        ..Attribute::default()
    }
}

pub(crate) fn list(name: &str, ints: &[i64]) -> Attribute {
    Attribute {
        name: name.into(),
        ints: ints.to_vec(),
        kind: 7,
        ..Attribute::default()
    }
}

pub(crate) fn file(graph: Graph) -> Vec<u8> {
    file_of(17, graph)
}

/// A model of this version of the operator set.
pub(crate) fn file_of(version: i64, graph: Graph) -> Vec<u8> {
    let standard = OperatorSet {
        domain: String::new(),
        version,
    };
    Model {
        ir_version: 8,
        opset_import: vec![standard],
        graph: Some(graph),
    }
    .encode_to_vec()
}
