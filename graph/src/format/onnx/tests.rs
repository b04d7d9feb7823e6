//! Small pieces of the reader.

use super::bind::{Dim, declared};
use super::proto::{
    Attribute, Dimension, Graph, Model, Node, Shape, Span, TensorType, Type, ValueInfo,
};
use super::{OnnxError, ReadOptions, read};
use prost::Message;

#[test]
fn spans_find_their_payload() {
    let file = [9, 9, 0x82, 0x00, 7, 8, 9];
    let span = Span {
        tag: 9,
        delimited: true,
        before: 5,
        after: 1,
    };
    assert_eq!(span.payload(&file), Some((4, &[7, 8][..])));
    let plain = Span {
        tag: 4,
        delimited: false,
        before: 2,
        after: 1,
    };
    assert_eq!(plain.payload(&file), Some((5, &[8][..])));
    let outside = Span {
        tag: 9,
        delimited: true,
        before: 50,
        after: 1,
    };
    assert_eq!(outside.payload(&file), None);
}

#[test]
fn dimensions_are_numbers_names_or_open() {
    let dim = |value, param: Option<&str>| Dimension {
        value,
        param: param.map(str::to_owned),
    };
    let dims = vec![
        dim(Some(0), None),
        dim(Some(-1), None),
        dim(None, Some("N")),
        dim(None, Some("?")),
        dim(None, None),
    ];
    let info = |dim| ValueInfo {
        name: "t".into(),
        r#type: Some(Type {
            tensor_type: Some(TensorType {
                elem_type: 1,
                shape: Some(Shape { dim }),
            }),
            ..Type::default()
        }),
    };
    let shape = declared(&info(dims)).unwrap().unwrap().shape.unwrap();
    assert_eq!(
        shape,
        [
            Dim::Known(0),
            Dim::Open,
            Dim::Named("N".into()),
            Dim::Open,
            Dim::Open
        ]
    );
    let negative = declared(&info(vec![dim(Some(-65_536), None)]))
        .unwrap_err()
        .to_string();
    assert!(
        negative.contains("dimension 0 of `t` is -65536"),
        "{negative}"
    );
}

/// Bodies in bodies in a model.
fn nested(depth: usize) -> Vec<u8> {
    let mut graph = Graph::default();
    for _ in 0..depth {
        let attribute = Attribute {
            name: "then_branch".into(),
            g: Some(Box::new(graph)),
            ..Attribute::default()
        };
        let node = Node {
            op_type: "If".into(),
            attribute: vec![attribute],
            ..Node::default()
        };
        graph = Graph {
            node: vec![node],
            ..Graph::default()
        };
    }
    let model = Model {
        graph: Some(graph),
        ..Model::default()
    };
    model.encode_to_vec()
}

#[test]
fn nesting_beyond_the_limit_is_told_in_a_short_line() {
    let why = |bytes: &[u8]| read(bytes, "nested", &ReadOptions::default()).unwrap_err();
    assert_eq!(why(&nested(40)), OnnxError::TooDeep);
    let mut file = nested(30);
    assert_ne!(why(&file), OnnxError::TooDeep);
    *file.last_mut().unwrap() = 0x7F; // the length of the innermost body
    let OnnxError::Encoding(text) = why(&file) else {
        panic!("a body longer than what holds it");
    };
    assert!(text.contains("Attribute.g"), "{text}");
    assert!(text.chars().count() < 120, "{text}");
}
