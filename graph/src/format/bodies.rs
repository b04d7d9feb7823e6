//! What both readers say about operators that run bodies under conditions: branches and loops.
//!
//! Bodies are inlined where running *every* body once, one after the other, needs no less than what
//! really runs. A graph is a straight list of nodes, and the planner and the certificate go through
//! all of them in order, so:
//!
//! - **A branch**: the nodes of one body, those of the other, then one node that reads the condition
//!   and the results of both and makes the real ones. What is proved with both bodies holds without
//!   the writes of the one that is passed over: what a node reads was made by nodes that run if it
//!   does, or is not needed by the choice.
//! - **A loop**: `enter` copies the operands into tensors *C* that the bodies read, then the bodies
//!   stand once and make the next values *O*, and a last node reads *C* and *O*: it stands for the way
//!   back (*O* is copied into *C*) and for the way out (*C* becomes the results). Because the last node
//!   reads *C*, nothing else has its bytes until then, and nothing in the bodies may overwrite them.
//!   Hence the way back writes on no byte that is needed, and after it all that a turn finds, *C*,
//!   variables, constants and what lives around the loop, is whole as it was before the first turn:
//!   one turn replayed is a proof for all. Two things must hold for this, and the readers see to
//!   them: a value *O* that may lie in the bytes of another *C* is copied by a node `next` first (a
//!   loop may swap its values), and what the bodies read from outside is read by the last node too.
//!
//! Both need the nodes to stay together in the order of the file.

use crate::ir::NodeId;

/// What becomes of the bodies of branches and loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bodies {
    /// Their nodes join the graph and are planned; what cannot be inlined soundly is refused by name.
    #[default]
    Inline,
    /// The operator stays one node, as in runtimes that give every body memory of its own. What the
    /// bodies need is **not planned**, only noted ([`OpaqueBodies`]), and the kind of the node ends in
    /// [`APART`].
    Apart,
}

/// The end of the kind of a node whose bodies are not planned, so that it is seen wherever the graph
/// is: `IF (bodies apart)`.
pub const APART: &str = " (bodies apart)";

/// A node whose bodies are not planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueBodies {
    /// The node.
    pub node: NodeId,
    /// Sum of the sizes of all results of operators in its bodies, and in bodies that those run.
    pub bytes: u64,
}
