//! What bytes of 8-bit models stand for, and the way from sums of products back to bytes.

use super::fixed::Scale;

/// How a byte stands for a number: signed or not, and which number is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// From -128 to 127; otherwise from 0 to 255.
    pub signed: bool,
    /// The number that stands for 0.
    pub zero: i32,
}

impl Level {
    /// The number, counted from the one that stands for 0.
    #[inline]
    pub fn of(self, byte: u8) -> i32 {
        let number = if self.signed {
            i32::from(byte.cast_signed())
        } else {
            i32::from(byte)
        };
        number.wrapping_sub(self.zero)
    }
}

/// Factors by channel of the result, or one for all.
#[derive(Clone, Debug, PartialEq)]
pub enum Factors {
    /// In 32-bit integers.
    Fixed(Vec<Scale>),
    /// In 64-bit floats: multiplied, then rounded, halves away from 0.
    Real(Vec<f64>),
}

impl Factors {
    /// The scaled number.
    #[inline]
    pub fn apply(&self, channel: usize, x: i32) -> i32 {
        match self {
            Self::Fixed(scales) => of_channel(scales, channel).apply(x),
            #[expect(clippy::cast_possible_truncation, reason = "ends at the limits")]
            Self::Real(factors) => (f64::from(x) * of_channel(factors, channel)).round() as i32,
        }
    }

    fn is_sound(&self, channels: usize) -> bool {
        let (count, sound) = match self {
            Self::Fixed(scales) => (scales.len(), scales.iter().all(|scale| scale.is_sound())),
            Self::Real(factors) => (factors.len(), factors.iter().all(|x| x.is_finite())),
        };
        sound && (count == 1 || count == channels)
    }
}

/// One for all, or that of a channel.
#[inline]
fn of_channel<T: Copy>(list: &[T], channel: usize) -> T {
    match list {
        [one] => *one,
        all => all[channel],
    }
}

/// From sums of products back to bytes: scaled, the zero added, clamped.
#[derive(Clone, Debug, PartialEq)]
pub struct Requantize {
    /// By channel.
    pub factors: Factors,
    /// Added after scaling.
    pub zero: i32,
    /// Not below; within a byte of the result's kind.
    pub low: i32,
    /// Not above.
    pub high: i32,
}

impl Requantize {
    /// The byte of a sum in this channel.
    #[inline]
    pub fn byte(&self, channel: usize, sum: i32) -> u8 {
        self.clamp(self.factors.apply(channel, sum))
    }

    /// The byte of a scaled number.
    #[inline]
    pub fn clamp(&self, scaled: i32) -> u8 {
        let number = scaled.wrapping_add(self.zero).max(self.low).min(self.high);
        number.to_le_bytes()[0]
    }

    /// Whether the numbers are in their ranges, for so many channels.
    pub(super) fn is_sound(&self, channels: usize) -> bool {
        let within = self.low <= self.high && self.low >= -128 && self.high <= 255;
        within && self.factors.is_sound(channels)
    }
}
