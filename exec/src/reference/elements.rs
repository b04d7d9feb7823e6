//! Elements as little-endian bytes.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is not compiled for wide vectors"
)]

use super::Operand;

/// A 32-bit float as bytes.
pub(super) type Float = [u8; 4];

/// The 32-bit floats in these bytes.
#[inline(always)]
pub(super) fn floats(bytes: &[u8]) -> &[Float] {
    bytes.as_chunks::<4>().0
}

/// The same, to be written.
#[inline(always)]
pub(super) fn floats_mut(bytes: &mut [u8]) -> &mut [Float] {
    bytes.as_chunks_mut::<4>().0
}

/// The floats of an operand that is apart from the result.
pub(super) fn operand<'a>(operands: &[Operand<'a>], position: usize) -> &'a [Float] {
    floats(operands[position].apart())
}

/// An element.
#[inline(always)]
pub(super) fn get(list: &[Float], at: usize) -> f32 {
    f32::from_le_bytes(list[at])
}

/// Writes an element.
#[inline(always)]
pub(super) fn put(list: &mut [Float], at: usize, value: f32) {
    list[at] = value.to_le_bytes();
}

/// An element of so many bytes.
pub(super) trait Element<const N: usize>: Copy {
    /// From its bytes.
    fn load(bytes: [u8; N]) -> Self;
    /// To its bytes.
    fn store(self) -> [u8; N];
}

macro_rules! element {
    ($type:ty, $bytes:literal) => {
        impl Element<$bytes> for $type {
            #[inline(always)]
            fn load(bytes: [u8; $bytes]) -> Self {
                Self::from_le_bytes(bytes)
            }
            #[inline(always)]
            fn store(self) -> [u8; $bytes] {
                self.to_le_bytes()
            }
        }
    };
}
element!(f32, 4);
element!(f64, 8);
element!(i64, 8);
element!(i32, 4);
element!(u8, 1);
element!(i8, 1);

/// All positions of `shape`, row by row: for each row of the innermost axis, the offsets that `strides` (one
/// list for each operand) lead to. `visit(row, offsets)`; at most `N` operands.
pub(super) fn rows<const N: usize>(
    shape: &[usize],
    strides: &[Vec<usize>],
    mut visit: impl FnMut(usize, &[usize; N]),
) {
    let outer = shape.len().saturating_sub(1);
    if shape.contains(&0) {
        return;
    }
    let count: usize = shape[..outer].iter().product();
    for row in 0..count {
        let (mut rest, mut offsets) = (row, [0; N]);
        for axis in (0..outer).rev() {
            let at = rest % shape[axis];
            rest /= shape[axis];
            for (offset, strides) in offsets.iter_mut().zip(strides) {
                *offset += at * strides[axis];
            }
        }
        visit(row, &offsets);
    }
}
