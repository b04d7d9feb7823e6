//! What may be wrong with an `.onnx` file. Every variant names the tensor or operator.

use crate::infer::InferError;
use crate::verify::GraphErrors;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Why a model was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// Not the format, or cut short.
    #[error("not an ONNX model, or cut short: {0}")]
    Encoding(String),
    /// Deeper than the decoder goes.
    #[error("messages lie in each other more than 100 deep, such as branches in branches")]
    TooDeep,
    /// No graph in it.
    #[error("not an ONNX model: it has no graph")]
    NoGraph,
    /// Sizes that the caller must give.
    #[error("{0}")]
    Unbound(Unbound),
    /// `--dim` with a name that the model does not use.
    #[error(
        "no dimension is called `{name}`; {}",
        listed("the model's named dimensions are", known)
    )]
    UnknownDim {
        /// As given.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// `--input` with a name that no input has.
    #[error(
        "no input is called `{name}`; {}",
        listed("the model's inputs are", known)
    )]
    UnknownInput {
        /// As given.
        name: String,
        /// Those that exist.
        known: Vec<String>,
    },
    /// `--input` that contradicts the file.
    #[error("input `{input}` is given as {given:?}, but the model declares {declared}")]
    InputShape {
        /// The input.
        input: String,
        /// As given.
        given: Vec<u64>,
        /// As declared, in words.
        declared: String,
    },
    /// One name, two sizes.
    #[error("dimension `{name}` would be {first} and, by input `{input}`, {second}")]
    DimTwice {
        /// The name.
        name: String,
        /// One size.
        first: u64,
        /// The other.
        second: u64,
        /// Where the second comes from.
        input: String,
    },
    /// A tensor whose bytes are not fixed, or whose element type is not known.
    #[error("`{tensor}` is {what}, which cannot be planned")]
    Type {
        /// The tensor.
        tensor: String,
        /// Its type in words.
        what: String,
    },
    /// A dimension below zero.
    #[error("dimension {dimension} of `{tensor}` is {value}")]
    NegativeDim {
        /// The tensor.
        tensor: String,
        /// Which.
        dimension: usize,
        /// The number.
        value: i64,
    },
    /// A shape that is none.
    #[error("`{tensor}`: {why}")]
    Shape {
        /// The tensor.
        tensor: String,
        /// What is wrong.
        why: InferError,
    },
    /// A result whose size cannot be known.
    #[error("`{tensor}` cannot be sized: operator {at}: {why}; {hint}")]
    Unsized {
        /// The tensor.
        tensor: String,
        /// The operator that makes it.
        at: Box<At>,
        /// What is missing.
        why: Box<InferError>,
        /// What would help.
        hint: String,
    },
    /// An operator that cannot be planned.
    #[error("operator {at} cannot be planned: {why}")]
    Unsupported {
        /// The operator.
        at: Box<At>,
        /// Why not.
        why: &'static str,
    },
    /// The file declares another size than the operator makes.
    #[error("`{tensor}` is declared as {declared}, but operator {at} makes {inferred}")]
    Clash {
        /// The tensor.
        tensor: String,
        /// The operator that makes it.
        at: Box<At>,
        /// In the file.
        declared: String,
        /// By the operator's rule.
        inferred: String,
    },
    /// The branches of an undecided `If` make tensors of different sizes.
    #[error("`{tensor}` is {first} or {second}, depending on which branch of `{node}` (If) runs")]
    Branches {
        /// The operator.
        node: String,
        /// Its result.
        tensor: String,
        /// By one branch.
        first: String,
        /// By the other.
        second: String,
    },
    /// A loop changes the shape of a value that it carries.
    #[error(
        "`{tensor}` is {before} before a turn of `{node}` (Loop) and {after} after it: loops that change a shape cannot be planned"
    )]
    Turn {
        /// The operator.
        node: String,
        /// The value, as the body calls it.
        tensor: String,
        /// What the body is given.
        before: String,
        /// What it hands on.
        after: String,
    },
    /// A name made twice.
    #[error("`{tensor}` is made or given twice")]
    Duplicate {
        /// The name.
        tensor: String,
    },
    /// The nodes are not in order of execution.
    #[error(
        "`{node}` reads `{tensor}`, which `{producer}` makes later: the file's order cannot be run"
    )]
    Order {
        /// The reader.
        node: String,
        /// What it reads.
        tensor: String,
        /// The maker.
        producer: String,
    },
    /// A name that nothing has.
    #[error("`{node}` reads `{tensor}`, which nothing in the model makes")]
    Unknown {
        /// The reader.
        node: String,
        /// The name.
        tensor: String,
    },
    /// Elements that do not fill the shape.
    #[error("`{tensor}` needs {expected} bytes, but the file holds {found}")]
    WeightBytes {
        /// The tensor.
        tensor: String,
        /// By type and shape.
        expected: u64,
        /// In the file.
        found: u64,
    },
    /// Elements in another file that cannot be used.
    #[error("elements of `{tensor}` in `{location}`: {why}")]
    External {
        /// The tensor.
        tensor: String,
        /// As the file says it.
        location: String,
        /// What is wrong.
        why: Box<ExternalFault>,
    },
    /// A result of the model that nothing makes.
    #[error("`{0}` is listed among the model's outputs, but nothing in the model makes it")]
    Output(String),
    /// More than any real model has.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The graph breaks rules.
    #[error(transparent)]
    Graph(#[from] GraphErrors),
}

/// An operator in an error: its name and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// Its name, or its kind and place where it has none.
    pub node: String,
    /// Its kind.
    pub op: String,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` ({})", self.node, self.op)
    }
}

/// What is wrong with a reference to another file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExternalFault {
    /// No folder to look in.
    #[error("the folder of the model is not known")]
    NoFolder,
    /// No location at all.
    #[error("no location is given")]
    NoLocation,
    /// A location outside the model's folder.
    #[error("the location leaves the folder of the model")]
    Leaves,
    /// The file cannot be opened.
    #[error("cannot open {}: {message}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        message: String,
    },
    /// A number that is none.
    #[error("`{key}` is `{value}`, no number of bytes")]
    Number {
        /// `offset` or `length`.
        key: &'static str,
        /// As the file says it.
        value: String,
    },
    /// A range beyond the end.
    #[error("{length} bytes at offset {offset} are asked for; the file has {size}")]
    Range {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
        /// Size of the file.
        size: u64,
    },
    /// A length that is not that of the tensor.
    #[error(
        "{length} bytes at offset {offset} are stated, the tensor has {expected} (the file has {size})"
    )]
    Length {
        /// First byte.
        offset: u64,
        /// As stated.
        length: u64,
        /// By type and shape.
        expected: u64,
        /// Size of the file.
        size: u64,
    },
}

/// Everything that the caller must give before sizes are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unbound {
    /// Named dimensions with the tensors that carry them.
    pub named: Vec<(String, Vec<String>)>,
    /// Dimensions without a name: tensor and position. Two of them need not be equal.
    pub unnamed: Vec<(String, usize)>,
    /// Inputs of which not even the number of dimensions is known.
    pub shapeless: Vec<String>,
}

impl Unbound {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.unnamed.is_empty() && self.shapeless.is_empty()
    }
}

impl std::fmt::Display for Unbound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = Vec::new();
        for (name, tensors) in &self.named {
            let carriers = listed("it sizes", tensors);
            lines.push(format!(
                "dimension `{name}` has no value ({carriers}): give `--dim {name}=NUMBER`"
            ));
        }
        for (tensor, place) in &self.unnamed {
            lines.push(format!(
                "dimension {place} of `{tensor}` has neither value nor name: give the whole shape, such as `--input {tensor}=1x3x224x224`"
            ));
        }
        for tensor in &self.shapeless {
            lines.push(format!(
                "input `{tensor}` has no shape: give `--input {tensor}=1x3x224x224`"
            ));
        }
        f.write_str(&lines.join("\n"))
    }
}

/// A few names in words.
fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() {
        return "there are none".into();
    }
    let mut text = what.to_owned();
    for (place, name) in names.iter().take(8).enumerate() {
        let _ = write!(text, "{} `{name}`", if place == 0 { "" } else { "," });
    }
    if names.len() > 8 {
        let _ = write!(text, " and {} more", names.len() - 8);
    }
    text
}
