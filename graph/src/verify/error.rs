//! What can be wrong with a graph, each with names.

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A tensor without a name.
    #[error("tensor {index} has no name")]
    NoName {
        /// Position in the file.
        index: usize,
    },
    /// Two tensors with one name.
    #[error("tensor `{tensor}` is declared twice")]
    DuplicateTensor {
        /// The name.
        tensor: String,
    },
    /// Bytes that differ from element type × shape, or do not fit in 64 bits.
    #[error("tensor `{tensor}` is {stated} bytes, but its element type and shape make {computed}")]
    Bytes {
        /// The tensor.
        tensor: String,
        /// As stated.
        stated: u64,
        /// From element type and shape.
        computed: String,
    },
    /// Two nodes make one tensor.
    #[error("tensor `{tensor}` is made twice, by `{first}` and by `{second}`")]
    TwoProducers {
        /// The tensor.
        tensor: String,
        /// The node that comes first.
        first: String,
        /// The other.
        second: String,
    },
    /// A node makes an input or a weight.
    #[error("`{node}` makes `{tensor}`, which is {role}: it is given before the run")]
    GivenIsMade {
        /// The node.
        node: String,
        /// The tensor.
        tensor: String,
        /// Its role with an article.
        role: &'static str,
    },
    /// A tensor is read that nothing makes.
    #[error(
        "`{node}` reads `{tensor}`, which no node makes and which is no input, weight or variable"
    )]
    NeverMade {
        /// The reader.
        node: String,
        /// The tensor.
        tensor: String,
    },
    /// A node reads what itself or a later node makes.
    #[error(
        "`{node}` reads `{tensor}` before `{producer}` makes it: nodes run in the order listed"
    )]
    ReadBeforeMade {
        /// The reader.
        node: String,
        /// The tensor.
        tensor: String,
        /// The producer.
        producer: String,
    },
    /// An output that nothing makes.
    #[error("output `{tensor}` is made by no node")]
    OutputNeverMade {
        /// The tensor.
        tensor: String,
    },
    /// A node writes something that is no state.
    #[error(
        "`{node}` writes `{tensor}`, which is {role}; only variables can be written in their place"
    )]
    WritesNoState {
        /// The node.
        node: String,
        /// The tensor.
        tensor: String,
        /// Its role with an article.
        role: &'static str,
    },
    /// An in-place offer or a view between tensors that are not operand and result of the node.
    #[error(
        "`{node}` declares {what} from `{input}` to `{output}`, which are not one of its inputs and one of its outputs"
    )]
    NotItsOperands {
        /// The node.
        node: String,
        /// `an in-place offer` or `a view`.
        what: &'static str,
        /// The input named.
        input: String,
        /// The output named.
        output: String,
    },
    /// A view that does not lie in its input.
    #[error(
        "`{output}` is declared a view of bytes {offset}..{end} of `{input}`, which has {bytes}"
    )]
    ViewOutside {
        /// The view.
        output: String,
        /// Its input.
        input: String,
        /// First byte.
        offset: u64,
        /// End.
        end: u128,
        /// Bytes of the input.
        bytes: u64,
    },
    /// One tensor declared a view of two.
    #[error("`{output}` is declared a view twice by `{node}`")]
    TwoViews {
        /// The node.
        node: String,
        /// The view.
        output: String,
    },
    /// A given offset for something that is not in an arena, or that the alignment forbids.
    #[error("`{tensor}` has a given offset {offset}, but {why}")]
    FixedOffset {
        /// The tensor.
        tensor: String,
        /// As given.
        offset: u64,
        /// What is wrong with it.
        why: String,
    },
    /// More bytes of weights than 64 bits can count.
    #[error("the weights together are {total} bytes; that does not fit in 64 bits")]
    WeightSum {
        /// The exact sum.
        total: u128,
    },
    /// Alignment zero.
    #[error("the graph's alignment is 0; it must be at least 1")]
    ZeroAlignment,
    /// `keep` on something that is no input.
    #[error("`{tensor}` is marked `keep`, but it is {role}; only inputs can be kept")]
    KeepsNoInput {
        /// The tensor.
        tensor: String,
        /// Its role with an article.
        role: &'static str,
    },
}

impl GraphError {
    /// The tensor or node that it is about, `""` where it has none.
    pub fn subject(&self) -> &str {
        match self {
            Self::NoName { .. } | Self::WeightSum { .. } | Self::ZeroAlignment => "",
            Self::DuplicateTensor { tensor }
            | Self::Bytes { tensor, .. }
            | Self::TwoProducers { tensor, .. }
            | Self::OutputNeverMade { tensor }
            | Self::FixedOffset { tensor, .. }
            | Self::KeepsNoInput { tensor, .. } => tensor,
            Self::GivenIsMade { node, .. }
            | Self::NeverMade { node, .. }
            | Self::ReadBeforeMade { node, .. }
            | Self::WritesNoState { node, .. }
            | Self::NotItsOperands { node, .. }
            | Self::TwoViews { node, .. } => node,
            Self::ViewOutside { output, .. } => output,
        }
    }
}

/// Every broken rule. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphErrors(pub Vec<GraphError>);

impl std::fmt::Display for GraphErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for GraphErrors {}
