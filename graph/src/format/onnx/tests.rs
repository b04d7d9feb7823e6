//! Small pieces of the reader.

use super::bind::{Dim, declared};
use super::proto::{Dimension, Shape, Span, TensorType, Type, ValueInfo};

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
