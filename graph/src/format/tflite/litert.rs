//! Temporaries of `LiteRT`'s reference kernels that decide arenas: those as large as their operands.
//!
//! Goes in: a node with its tensors. Comes out: the blocks in bytes that live in the arena while it
//! runs, in the order of its temporaries. What a kernel keeps for the whole run (copies of constant
//! operands, sums of rows) lives in another arena and is not counted. Kernels that are not named
//! here have none of this kind, or small ones (the indices and axes of reductions) and those of
//! float operators with 8-bit weights, which are not known.
//!
//! Facts from `LiteRT` `tflite/kernels/{batch_matmul,svdf,unidirectional_sequence_lstm}.cc`.

use super::scratch::{Site, dim, elements, svdf, times};
use crate::dtype::DType;
use crate::ir::Role;

/// The blocks of more than 0 bytes.
pub(super) fn blocks(site: Site) -> Vec<u64> {
    let blocks = match &*site.node.op {
        "BATCH_MATMUL" => transposed(site),
        "SVDF" => svdf(site),
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => lstm(site),
        _ => None,
    };
    let mut blocks = blocks.unwrap_or_default();
    blocks.retain(|&bytes| bytes > 0);
    blocks
}

/// Both operands with their last dimensions exchanged, needed or not; a constant one once for all.
fn transposed(site: Site) -> Option<Vec<u64>> {
    let (left, right) = (site.input(0)?, site.input(1)?);
    let kept = right.role == Role::Weight;
    let right = (!kept).then_some(right.bytes);
    Some([left.bytes].into_iter().chain(right).collect())
}

/// In integers six states of several widths; in floats one block for all gates.
fn lstm(site: Site) -> Option<Vec<u64>> {
    let cell = site.input(19)?;
    if site.input(0)?.dtype == Some(DType::I8) {
        let state = |width| times(width, elements(cell));
        return Some([2, 2, 2, 2, 1, 4].map(state).to_vec());
    }
    let gates = if site.input(1).is_some() { 5 } else { 4 };
    let row = times(gates, dim(cell, 1)?).saturating_add(16);
    Some(vec![times(4, times(dim(cell, 0)?, row))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphBuilder;
    use crate::ir::{NodeId, TensorId};
    use bayplan_planner::ids::Id;

    /// The blocks of a node whose operands have these positions, roles, types and shapes.
    fn of(op: &str, operands: &[(usize, Role, DType, &[u64])], result: &[u64]) -> Vec<u64> {
        let mut graph = GraphBuilder::new("litert");
        let mut inputs: Vec<Option<TensorId>> = vec![None; 24];
        let mut tensor = |role, dtype: DType, shape: &[u64]| {
            let id = graph.tensor("t", dtype.bytes(shape).unwrap(), role);
            let tensor = &mut graph.draft.tensors[id];
            (tensor.dtype, tensor.shape) = (Some(dtype), Some(shape.to_vec()));
            id
        };
        for &(position, role, dtype, shape) in operands {
            inputs[position] = Some(tensor(role, dtype, shape));
        }
        let result = tensor(Role::Output, DType::F32, result);
        graph.node("n", op, &[], &[result]);
        let id = NodeId::from_index(0);
        graph.draft.nodes[id].inputs = inputs;
        blocks(Site {
            draft: &graph.draft,
            node: &graph.draft.nodes[id],
            ends: 0,
            custom: &[],
        })
    }

    #[test]
    fn temporaries_are_as_large_as_these_operands() {
        use Role::{Activation, Input, State, Weight};
        let (f, b) = (DType::F32, DType::I8);
        let left = (0, Input, f, &[2, 3, 4][..]);
        let product = |role| {
            of(
                "BATCH_MATMUL",
                &[left, (1, role, f, &[2, 4, 5])],
                &[2, 3, 5],
            )
        };
        assert_eq!(product(Activation), [96, 160]);
        assert_eq!(product(Weight), [96]);
        let filters = (1, Weight, b, &[6, 10][..]);
        let found = of("SVDF", &[(0, Input, b, &[1, 10]), filters], &[1, 3]);
        assert_eq!(found, [24, 12]);
        let cell = (19, State, DType::I16, &[2, 7][..]);
        let lstm = |operands: &[_]| of("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, &[5, 2, 7]);
        let found = lstm(&[(0, Input, b, &[5, 2, 9]), cell]);
        assert_eq!(found, [28, 28, 28, 28, 14, 56]);
        let cell = (19, State, f, &[2, 7][..]);
        let (x, gate) = ((0, Input, f, &[5, 2, 9][..]), (1, Weight, f, &[7, 9][..]));
        assert_eq!(lstm(&[x, cell]), [4 * 2 * (4 * 7 + 16)]);
        assert_eq!(lstm(&[x, gate, cell]), [4 * 2 * (5 * 7 + 16)]);
        assert!(of("CONV_2D", &[left], &[1]).is_empty());
    }
}
