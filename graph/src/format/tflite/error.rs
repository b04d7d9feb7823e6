//! Why a `.tflite` file could not be read. Every variant names the byte where the trouble stands.

use crate::verify::GraphErrors;

/// What is wrong with a `.tflite` file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TfliteError {
    /// Another kind of file.
    #[error("this is no .tflite file: {why}")]
    NotTflite {
        /// What is missing.
        why: &'static str,
    },
    /// The flatbuffer is damaged.
    #[error("byte {at}: {what} {why}")]
    Malformed {
        /// Byte offset.
        at: usize,
        /// Table or field.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A schema of another generation.
    #[error("byte {at}: schema version {found}; only version 3 can be read")]
    Version {
        /// Byte offset.
        at: usize,
        /// As stated.
        found: u32,
    },
    /// Beyond a limit.
    #[error("byte {at}: {found} {what}; at most {limit} are read")]
    TooMany {
        /// Byte offset.
        at: usize,
        /// Of what.
        what: &'static str,
        /// As stated.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Parts of the file are referred to again and again.
    #[error(
        "byte {at}: the file unfolds to more than {limit} bytes: it refers to the same parts again and again"
    )]
    Amplified {
        /// Byte offset.
        at: usize,
        /// The limit, from the length of the file.
        limit: u64,
    },
    /// Nothing to plan.
    #[error("byte {at}: the model has no subgraph")]
    NoSubgraph {
        /// Byte offset.
        at: usize,
    },
    /// An operator of a kind that the file does not list.
    #[error(
        "byte {at}: operator {operator} of subgraph {subgraph} is of kind {index}, the file lists {count} kinds"
    )]
    OperatorCode {
        /// Byte offset.
        at: usize,
        /// Its position.
        subgraph: usize,
        /// Its position.
        operator: usize,
        /// As stated.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// An operand or result that is no tensor.
    #[error(
        "byte {at}: operator {operator} has tensor {index} as {what} {position}; the subgraph has {count} tensors (-1 means absent)"
    )]
    OperandIndex {
        /// Byte offset.
        at: usize,
        /// Position and kind: `0 (FULLY_CONNECTED)`.
        operator: String,
        /// `operand`, `result` or `intermediate`.
        what: &'static str,
        /// In its list.
        position: usize,
        /// As stated.
        index: i32,
        /// How many tensors there are.
        count: usize,
    },
    /// A graph input or output that is no tensor.
    #[error(
        "byte {at}: graph {what} {position} is tensor {index}; the subgraph has {count} tensors"
    )]
    GraphIndex {
        /// Byte offset.
        at: usize,
        /// `input` or `output`.
        what: &'static str,
        /// In its list.
        position: usize,
        /// As stated.
        index: i32,
        /// How many tensors there are.
        count: usize,
    },
    /// A buffer that is not there.
    #[error("byte {at}: {owner} is in buffer {index}; the file has {count} buffers")]
    BufferIndex {
        /// Byte offset.
        at: usize,
        /// Whose.
        owner: String,
        /// As stated.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// A buffer behind the flatbuffer that is not in the file.
    #[error(
        "byte {at}: buffer {buffer} is {size} bytes from byte {offset}, beyond the end of the file at {file}"
    )]
    BufferRange {
        /// Byte offset.
        at: usize,
        /// Its index.
        buffer: usize,
        /// First byte, as stated.
        offset: u64,
        /// Length, as stated.
        size: u64,
        /// Length of the file.
        file: usize,
    },
    /// A dimension below zero.
    #[error("byte {at}: dimension {dimension} of tensor `{tensor}` is {value}")]
    NegativeDimension {
        /// Byte offset.
        at: usize,
        /// The tensor.
        tensor: String,
        /// Which.
        dimension: usize,
        /// As stated.
        value: i32,
    },
    /// A size beyond 64 bits.
    #[error("byte {at}: tensor `{tensor}` of shape {shape:?} is more bytes than 64 bits can count")]
    TooLarge {
        /// Byte offset.
        at: usize,
        /// The tensor.
        tensor: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// A constant with fewer bytes than it has elements.
    #[error("byte {at}: constant `{tensor}` needs {needed} bytes, its buffer holds {stored}")]
    ShortConstant {
        /// Byte offset.
        at: usize,
        /// The tensor.
        tensor: String,
        /// From element type and shape.
        needed: u64,
        /// In the file.
        stored: u64,
    },
    /// Elements without a size.
    #[error(
        "byte {at}: tensor `{tensor}` ({maker}) holds {element}, whose bytes are known only when the model runs"
    )]
    Unsized {
        /// Byte offset.
        at: usize,
        /// The tensor.
        tensor: String,
        /// `strings` or `variants`.
        element: &'static str,
        /// Where it comes from, in words.
        maker: String,
    },
    /// An element type that is not in the schema.
    #[error("byte {at}: tensor `{tensor}` has element type {code}, which is not known")]
    UnknownElement {
        /// Byte offset.
        at: usize,
        /// The tensor.
        tensor: String,
        /// As stated.
        code: i8,
    },
    /// Branches and loops of kinds that cannot be inlined.
    #[error(
        "byte {at}: `{operator}` runs {bodies}: branches and loops of its kind cannot be planned"
    )]
    ControlFlow {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// The subgraphs, in words.
        bodies: String,
    },
    /// An operator without the options that say what it does.
    #[error("byte {at}: `{operator}` has no {options}")]
    MissingOptions {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// The table.
        options: &'static str,
    },
    /// A subgraph that is not there.
    #[error("byte {at}: `{operator}` runs subgraph {index}; the file has {count}")]
    SubgraphIndex {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// As stated.
        index: i64,
        /// How many there are.
        count: usize,
    },
    /// Calls too deep, perhaps recursive.
    #[error("byte {at}: `{operator}` calls more than {limit} deep; a graph may not call itself")]
    CallsTooDeep {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// The limit.
        limit: usize,
    },
    /// A call, branch or loop whose operands and results are not those of its subgraph.
    #[error("byte {at}: `{operator}` cannot be bound to subgraph {subgraph}: {why}")]
    Binding {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// The subgraph.
        subgraph: usize,
        /// What does not fit.
        why: String,
    },
    /// A branch or loop that cannot be inlined soundly.
    #[error("byte {at}: `{operator}` cannot be planned with its bodies: {why}")]
    Inline {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// Why not.
        why: String,
    },
    /// A mutated operand that is no variable.
    #[error(
        "byte {at}: `{operator}` changes its operand {position}, `{tensor}`, which is no variable"
    )]
    MutatesNoVariable {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// In its list.
        position: usize,
        /// The tensor.
        tensor: String,
    },
    /// A resource of unknown origin.
    #[error("byte {at}: `{operator}` uses resource `{tensor}`, which no VAR_HANDLE makes")]
    UnknownResource {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// The handle.
        tensor: String,
    },
    /// A shape is given for something that is no input.
    #[error("no input is called `{name}`; {}", listed(known))]
    UnknownInput {
        /// As given.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// A given shape that the file does not allow.
    #[error(
        "byte {at}: input `{input}` is given as {given:?}, but the model declares {declared:?}: {why}"
    )]
    InputShape {
        /// Byte offset.
        at: usize,
        /// The input.
        input: String,
        /// As given.
        given: Vec<u64>,
        /// As declared; -1 where it may change.
        declared: Vec<i32>,
        /// What does not fit.
        why: String,
    },
    /// An operator that cannot follow the shape given to an input.
    #[error(
        "byte {at}: `{operator}` cannot follow the given input: {why}; its result `{tensor}` is declared as {declared:?}"
    )]
    Resize {
        /// Byte offset.
        at: usize,
        /// The operator.
        operator: String,
        /// Its first result; its first operand where it has none.
        tensor: String,
        /// The shape of that, as declared.
        declared: Vec<i32>,
        /// Why not.
        why: String,
    },
    /// The graph breaks rules.
    #[error(transparent)]
    Graph(#[from] GraphErrors),
}

fn listed(known: &[String]) -> String {
    match known {
        [] => "the model has none".into(),
        known => format!("the model's inputs are `{}`", known.join("`, `")),
    }
}
