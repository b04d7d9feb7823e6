//! Rearrangements with as few axes as they take.

use super::site::one;
use crate::kernel::{Axis, Index, Kernel, Part, Rearrange};

/// An axis with strides.
pub(super) fn strided(count: usize, to: usize, from: usize) -> Axis {
    let from = Index::Stride(isize::try_from(from).unwrap_or(isize::MAX));
    Axis { count, to, from }
}

/// The axes of a dense result of this shape, where each comes from.
pub(super) fn dense(shape: &[usize], from: impl IntoIterator<Item = Index>) -> Vec<Axis> {
    let rows = crate::kernel::row_strides(shape);
    let axes = shape.iter().zip(rows).zip(from);
    axes.map(|((&count, to), from)| Axis { count, to, from })
        .collect()
}

/// The same moves with fewer axes; a copy where nothing changes its place.
pub(super) fn tidy(mut moves: Rearrange) -> Kernel {
    let mut axes: Vec<Axis> = Vec::new();
    for axis in std::mem::take(&mut moves.axes) {
        match (axis.count, &axis.from) {
            (1, Index::Stride(_)) => continue,
            (1, Index::Table(table)) => {
                if let &[Some(at)] = &table[..]
                    && let Some(from) = moves.from.checked_add(at)
                {
                    moves.from = from;
                    continue;
                }
            }
            _ => {}
        }
        match axes.last_mut() {
            Some(outer) if goes_on(outer, &axis) => {
                outer.count *= axis.count;
                outer.to = axis.to;
                outer.from = axis.from;
            }
            _ => axes.push(axis),
        }
    }
    moves.axes = axes;
    let in_order = match &moves.axes[..] {
        [] => Some(1),
        [axis] if axis.to == 1 && axis.from == Index::Stride(1) => Some(axis.count),
        _ => None,
    };
    let unmoved = moves.to == 0 && moves.from == 0;
    match in_order.and_then(|count| count.checked_mul(moves.element)) {
        Some(bytes) if unmoved => Kernel::Copy { bytes },
        _ => Kernel::Rearrange(moves),
    }
}

/// Whether an axis goes on where the one within it ends, on both sides.
fn goes_on(outer: &Axis, inner: &Axis) -> bool {
    let (Index::Stride(far), Index::Stride(near)) = (&outer.from, &inner.from) else {
        return false;
    };
    let count = isize::try_from(inner.count).ok();
    outer.count.checked_mul(inner.count).is_some()
        && inner.to.checked_mul(inner.count) == Some(outer.to)
        && count.and_then(|count| near.checked_mul(count)) == Some(*far)
}

/// One part that rearranges operand 0 into a dense result of `shape`.
pub(super) fn rearranged(
    element: usize,
    shape: &[usize],
    from: impl IntoIterator<Item = Index>,
    first: usize,
    fill: Option<[u8; 8]>,
) -> Vec<Part> {
    let moves = Rearrange {
        element,
        axes: dense(shape, from),
        to: 0,
        from: first,
        fill,
    };
    one(tidy(moves), &[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(count: usize, to: usize, from: isize) -> Axis {
        let from = Index::Stride(from);
        Axis { count, to, from }
    }

    #[test]
    fn axes_are_joined_where_both_sides_go_on() {
        let moves = |axes| Rearrange::along(4, axes);
        for (given, left) in [
            (vec![axis(2, 12, 12), axis(3, 4, 4), axis(4, 1, 1)], None),
            (vec![axis(2, 12, 12), axis(3, 4, 1), axis(4, 1, 3)], Some(3)),
            (
                vec![axis(2, 12, 4), axis(1, 12, 9), axis(3, 4, 8), axis(4, 1, 1)],
                Some(3),
            ),
            (vec![axis(2, 3, 0), axis(3, 1, 0)], Some(1)),
            (vec![axis(2, 3, -3), axis(3, 1, -1)], Some(1)),
        ] {
            let found = match tidy(moves(given)) {
                Kernel::Copy { bytes } => {
                    assert_eq!(bytes, 96);
                    None
                }
                Kernel::Rearrange(moves) => Some(moves.axes.len()),
                _ => unreachable!("it only moves"),
            };
            assert_eq!(found, left);
        }
    }
}
