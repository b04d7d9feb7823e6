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
use std::collections::{BTreeMap, BTreeSet};

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

/// Which results of a choice may lie in the bytes of what they are chosen from: pairs of these, each once, in the
/// order of `chosen` (results by body). What is chosen from at several places is in none of them: a result
/// written there would destroy another candidate. So would one over the condition.
pub(super) fn over_candidates<T: Copy + Ord>(
    chosen: &[Vec<T>],
    condition: T,
    results: &[T],
) -> Vec<(T, T)> {
    let mut places: BTreeMap<T, BTreeSet<usize>> = BTreeMap::new();
    for made in chosen {
        for (place, &from) in made.iter().enumerate() {
            places.entry(from).or_default().insert(place);
        }
    }
    let once = |from: &T| places.get(from).is_some_and(|places| places.len() == 1);
    let pairs = chosen
        .iter()
        .flat_map(|made| made.iter().copied().zip(results.iter().copied()));
    let mut told = BTreeSet::new();
    pairs
        .filter(|pair| once(&pair.0) && pair.0 != condition && told.insert(*pair))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::over_candidates;

    #[test]
    fn a_candidate_at_two_places_and_the_condition_are_not_written_over() {
        let chosen = [vec!['a', 'b', 'c', 'p'], vec!['a', 'c', 'd', 'e']];
        let pairs = over_candidates(&chosen, 'p', &['w', 'x', 'y', 'z']);
        let expected = [('a', 'w'), ('b', 'x'), ('d', 'y'), ('e', 'z')];
        assert_eq!(pairs, expected);
    }
}
