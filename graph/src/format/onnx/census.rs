//! Counts the messages in a file before it is decoded: a decoded message takes up to a hundred times
//! the bytes that an empty one has in the file, and a hostile file may hold many.
//!
//! Only lengths are looked at; elements of tensors are jumped over.

use super::error::OnnxError;
use super::passed::Passed;
use prost::encoding::{WireType, decode_key, decode_varint};

/// More than any real model has.
const LIMIT: usize = 2_000_000;
/// Deeper than the decoder goes.
const DEPTH: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Sparse,
    Leaf,
}

/// What a field of a message holds, if it is counted.
fn child(kind: Kind, tag: u32) -> Option<Kind> {
    Some(match (kind, tag) {
        (Kind::Model, 7) | (Kind::Attribute, 6 | 11) => Kind::Graph,
        (Kind::Graph, 1) => Kind::Node,
        (Kind::Graph | Kind::Attribute, 5) | (Kind::Sparse, 1) => Kind::Tensor,
        (Kind::Graph, 11..=13) => Kind::Value,
        (Kind::Graph, 15) => Kind::Sparse,
        (Kind::Node, 5) => Kind::Attribute,
        (Kind::Value, 2) => Kind::Type,
        (Kind::Type, 1) => Kind::TensorType,
        (Kind::TensorType, 2) => Kind::Shape,
        (Kind::Shape, 1)
        | (Kind::Model, 8)
        | (Kind::Node, 1 | 2)
        | (Kind::Tensor, 4..=7 | 9..=11 | 13) => Kind::Leaf,
        _ => return None,
    })
}

/// Refuses a file with too many messages. What is malformed is left to the decoder.
pub(super) fn check(bytes: &[u8], passed: &Passed<'_>) -> Result<(), OnnxError> {
    let mut census = Census {
        left: LIMIT,
        passed,
    };
    match census.count(bytes, Kind::Model, DEPTH) {
        Count::TooMany => Err(OnnxError::TooMany {
            what: "parts of a model",
            limit: LIMIT,
        }),
        Count::Done => Ok(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Done,
    TooMany,
}

struct Census<'a> {
    left: usize,
    passed: &'a Passed<'a>,
}

impl Census<'_> {
    fn count(&mut self, mut rest: &[u8], kind: Kind, depth: usize) -> Count {
        while let Some((tag, payload)) = field(&mut rest) {
            let child = child(kind, tag);
            if child.is_some() {
                let Some(fewer) = self.left.checked_sub(1) else {
                    return Count::TooMany;
                };
                self.left = fewer;
            }
            let Some(payload) = payload else {
                continue;
            };
            match child {
                Some(child) if child != Kind::Leaf && depth > 0 => {
                    if self.count(payload, child, depth - 1) == Count::TooMany {
                        return Count::TooMany;
                    }
                }
                _ => self.passed.by(payload.len() as u64),
            }
        }
        Count::Done
    }
}

/// The next field's number and, if it has a length, its payload; nothing at the end or where the file
/// is malformed.
fn field<'a>(rest: &mut &'a [u8]) -> Option<(u32, Option<&'a [u8]>)> {
    if rest.is_empty() {
        return None;
    }
    let (tag, wire) = decode_key(rest).ok()?;
    let length = match wire {
        WireType::Varint => {
            decode_varint(rest).ok()?;
            return Some((tag, None));
        }
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        WireType::LengthDelimited => usize::try_from(decode_varint(rest).ok()?).ok()?,
        WireType::StartGroup | WireType::EndGroup => return Some((tag, None)),
    };
    let (payload, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some((tag, (wire == WireType::LengthDelimited).then_some(payload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_of_many_messages_is_refused() {
        let nodes = [0x0a, 0x00].repeat(LIMIT + 1); // empty nodes
        let mut file = vec![0x3a];
        prost::encoding::encode_varint(nodes.len() as u64, &mut file);
        file.extend(nodes);
        assert!(matches!(
            check(&file, &Passed::default()),
            Err(OnnxError::TooMany { .. })
        ));
        assert_eq!(check(&file[..1000], &Passed::default()), Ok(()));
    }
}
