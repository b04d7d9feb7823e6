//! The part of the ONNX protocol buffer messages that is read, written by hand after `onnx.proto`.
//!
//! Unknown fields are skipped by the decoder. The elements of tensors are not decoded and not copied:
//! [`Tensor`] only notes where in the file they are, so that a model of any size costs no memory.
//! The messages encode as well, which is how tests build models.

use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{DecodeContext, WireType, encoded_len_varint, skip_field};

/// The file.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    /// Version of the format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// Versions of the operator sets used.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    /// The main graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
}

/// An operator set and its version.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct OperatorSet {
    /// Empty for the standard operators.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Its version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A graph: the main one or a body.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    /// In order of execution.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    /// For people.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    /// Operands of the graph.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfo>,
    /// Results of the graph.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfo>,
    /// Types of intermediate tensors, as far as the exporter knew.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfo>,
    /// Constants in sparse form.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensor>,
}

/// An operator.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    /// Names of operands, empty where absent.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of results, empty where unused.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// For people, may be empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The kind.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Parameters.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<Attribute>,
    /// The operator set, empty for the standard one.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// A parameter of an operator.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A float.
    #[prost(float, tag = "2")]
    pub f: f32,
    /// An integer.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// Text.
    #[prost(bytes = "vec", tag = "4")]
    pub s: Vec<u8>,
    /// A constant.
    #[prost(message, optional, boxed, tag = "5")]
    pub t: Option<Box<Tensor>>,
    /// A body.
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<Graph>>,
    /// Floats.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Bodies.
    #[prost(message, repeated, tag = "11")]
    pub graphs: Vec<Graph>,
    /// Which of the fields counts; 0 in old files.
    #[prost(int32, tag = "20")]
    pub kind: i32,
}

/// Name and type of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfo {
    /// The tensor.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<Type>,
}

/// A type: one of these.
#[derive(Clone, PartialEq, Message)]
pub struct Type {
    /// A dense tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorType>,
    /// A sequence.
    #[prost(message, optional, tag = "4")]
    pub sequence_type: Option<Opaque>,
    /// A map.
    #[prost(message, optional, tag = "5")]
    pub map_type: Option<Opaque>,
    /// A sparse tensor.
    #[prost(message, optional, tag = "8")]
    pub sparse_tensor_type: Option<Opaque>,
    /// Something that may be absent.
    #[prost(message, optional, tag = "9")]
    pub optional_type: Option<Opaque>,
}

/// A message that is only known to be there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Opaque {}

/// Element type and shape.
#[derive(Clone, PartialEq, Message)]
pub struct TensorType {
    /// The number of the element type.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// Dimensions; absent when not even their number is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
}

/// Dimensions.
#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    /// One each.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// A number, a name, or nothing.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Dimension {
    /// The number.
    #[prost(int64, optional, tag = "1")]
    pub value: Option<i64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub param: Option<String>,
}

/// A constant in sparse form.
#[derive(Clone, PartialEq, Message)]
pub struct SparseTensor {
    /// The elements that are not zero, and the name.
    #[prost(message, optional, tag = "1")]
    pub values: Option<Tensor>,
}

/// A key with a value.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Entry {
    /// `location`, `offset`, `length`, ….
    #[prost(string, tag = "1")]
    pub key: String,
    /// Always text.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// What a tensor says about itself.
#[derive(Clone, PartialEq, Message)]
pub struct TensorHead {
    /// Dimensions.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// The number of the element type.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Its name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Where the elements are, if in another file.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<Entry>,
    /// 1: in another file.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// Fields of a tensor that hold elements.
const DATA: [u32; 7] = [4, 5, 6, 7, 9, 10, 11];

/// The payload of one field, by the number of bytes that the decoder had left before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The field's number.
    pub tag: u32,
    /// Whether the payload begins with its length.
    pub delimited: bool,
    /// Bytes left before the payload.
    pub before: usize,
    /// Bytes left after it.
    pub after: usize,
}

impl Span {
    /// The payload without its length, and where in `file` it begins.
    pub fn payload(self, file: &[u8]) -> Option<(usize, &[u8])> {
        let start = file.len().checked_sub(self.before)?;
        let end = file.len().checked_sub(self.after)?;
        let whole = file.get(start..end)?;
        if !self.delimited {
            return Some((start, whole));
        }
        let prefix = 1 + whole.iter().position(|byte| byte & 0x80 == 0)?;
        Some((start + prefix, &whole[prefix..]))
    }
}

/// A constant: what it says about itself, and where its elements are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    /// Name, type, dimensions.
    pub head: TensorHead,
    /// Fields with elements.
    pub spans: Vec<Span>,
    /// Elements to be written; reading leaves this empty.
    pub raw_data: Vec<u8>,
}

impl Message for Tensor {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        self.head.encode_raw(buf);
        if !self.raw_data.is_empty() {
            prost::encoding::bytes::encode(9, &self.raw_data, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), prost::DecodeError> {
        if !DATA.contains(&tag) {
            return self.head.merge_field(tag, wire_type, buf, ctx);
        }
        let before = buf.remaining();
        skip_field(wire_type, tag, buf, ctx)?;
        self.spans.push(Span {
            tag,
            delimited: wire_type == WireType::LengthDelimited,
            before,
            after: buf.remaining(),
        });
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        let raw = self.raw_data.len();
        let raw = if raw == 0 {
            0
        } else {
            1 + encoded_len_varint(raw as u64) + raw
        };
        self.head.encoded_len() + raw
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
