//! Slices picked by index.

use super::Operand;
use crate::run::KernelFault;
use bayplan_graph::DType;
use bayplan_graph::kernel::Take;

pub(super) fn run(
    take: Take,
    operands: &[Operand<'_>],
    result: &mut [u8],
) -> Result<(), KernelFault> {
    let (data, indices) = (operands[0].apart(), operands[1].apart());
    let slice = take.inner * take.element;
    for position in 0..take.count {
        let at = index(take, indices, position)?;
        for outer in 0..take.outer {
            let from = (outer * take.axis + at) * slice;
            let to = (outer * take.count + position) * slice;
            result[to..to + slice].copy_from_slice(&data[from..from + slice]);
        }
    }
    Ok(())
}

/// The index with this position; below 0 it counts from the end.
fn index(take: Take, indices: &[u8], position: usize) -> Result<usize, KernelFault> {
    let index = if take.index == DType::I64 {
        i64::from_le_bytes(indices.as_chunks::<8>().0[position])
    } else {
        i64::from(i32::from_le_bytes(indices.as_chunks::<4>().0[position]))
    };
    let size = i64::try_from(take.axis).unwrap_or(i64::MAX);
    let at = if index < 0 { index + size } else { index };
    let inside = usize::try_from(at).ok().filter(|&at| at < take.axis);
    inside.ok_or(KernelFault::Index {
        position,
        index,
        size: take.axis,
    })
}
