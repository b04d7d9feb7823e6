//! Elements moved.

use super::Operand;
use bayplan_graph::kernel::{Axis, Index, Rearrange};

/// Axes that one rearrangement may have.
const MAX_AXES: usize = 64;

pub(super) fn run(kernel: &Rearrange, operands: &[Operand<'_>], result: &mut [u8]) {
    let from = operands[0].apart();
    let element = kernel.element;
    let axes = &kernel.axes[..];
    if axes.iter().any(|axis| axis.count == 0) || axes.len() > MAX_AXES {
        return;
    }
    let (outer, inner) = match axes.split_last() {
        Some((inner, outer)) => (outer, inner),
        None => (axes, &SINGLE),
    };
    let mut at = [0_usize; MAX_AXES];
    loop {
        let (mut to, mut source) = (kernel.to, Some(signed(kernel.from)));
        for (axis, &position) in outer.iter().zip(&at) {
            to += position * axis.to;
            source = source.and_then(|source| Some(source + offset(axis, position)?));
        }
        row(kernel, inner, (to, source), from, result, element);
        let mut axis = outer.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            at[axis] += 1;
            if at[axis] < outer[axis].count {
                break;
            }
            at[axis] = 0;
        }
    }
}

/// The innermost axis of a single element.
static SINGLE: Axis = Axis {
    count: 1,
    to: 1,
    from: Index::Stride(1),
};

/// Offsets of elements of tensors fit.
fn signed(offset: usize) -> isize {
    isize::try_from(offset).unwrap_or(isize::MAX)
}

fn offset(axis: &Axis, position: usize) -> Option<isize> {
    match &axis.from {
        Index::Stride(stride) => Some(signed(position) * stride),
        Index::Table(table) => table[position].map(signed),
    }
}

fn row(
    kernel: &Rearrange,
    axis: &Axis,
    (to, source): (usize, Option<isize>),
    from: &[u8],
    result: &mut [u8],
    element: usize,
) {
    if let (Some(source), Index::Stride(1), 1) = (source, &axis.from, axis.to) {
        let (source, bytes) = (source.unsigned_abs() * element, axis.count * element);
        let target = &mut result[to * element..][..bytes];
        target.copy_from_slice(&from[source..source + bytes]);
        return;
    }
    for position in 0..axis.count {
        let target = &mut result[(to + position * axis.to) * element..][..element];
        let source = source.and_then(|source| Some(source + offset(axis, position)?));
        match (source, kernel.fill) {
            (Some(source), _) => {
                let source = source.unsigned_abs() * element;
                target.copy_from_slice(&from[source..source + element]);
            }
            (None, Some(fill)) => target.copy_from_slice(&fill[..element]),
            (None, None) => {}
        }
    }
}
