//! How the integers of a tensor stand for real numbers.

use super::super::error::TfliteError;
use super::super::flat::{Field, Flat};

/// Scales and zeros; neither where the tensor is not quantized.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Quantization {
    /// One, or one for each position along `axis`.
    pub(super) scales: Vec<f32>,
    /// As many; 0 where the file says nothing.
    pub(super) zeros: Vec<i32>,
    /// Along which dimension scales change. It means nothing where there is one: files state some
    /// that are out of range.
    pub(super) axis: usize,
}

impl Quantization {
    /// That of the tensor whose table is at byte `at`.
    pub(super) fn read(flat: &Flat<'_>, at: usize) -> Result<Self, TfliteError> {
        let tensor = flat.table(at, "a tensor")?;
        let Some(table) = tensor.table(Field(4, "the quantization of a tensor"))? else {
            return Ok(Self::default());
        };
        let scales = table.ints(Field(2, "the scales of a tensor"))?;
        let scales: Vec<f32> = scales
            .into_iter()
            .map(|bits| f32::from_bits(bits.cast_unsigned()))
            .collect();
        let zeros = table.longs(Field(3, "the zero points of a tensor"))?;
        let zero = |i: usize| {
            let zero = zeros.get(i).or(zeros.first()).copied().unwrap_or(0);
            i32::try_from(zero).unwrap_or(i32::MAX)
        };
        let axis = table.i32(Field(6, "the quantized dimension of a tensor"))?;
        Ok(Self {
            zeros: (0..scales.len()).map(zero).collect(),
            scales,
            axis: usize::try_from(axis).unwrap_or(usize::MAX),
        })
    }

    /// Scale and zero, where there is one of each.
    pub(super) fn single(&self) -> Option<(f32, i32)> {
        match (&self.scales[..], &self.zeros[..]) {
            (&[scale], &[zero]) if scale.is_finite() && scale > 0.0 => Some((scale, zero)),
            _ => None,
        }
    }
}
