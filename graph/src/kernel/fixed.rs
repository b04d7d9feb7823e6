//! Multiplication by a real number in 32-bit integers, as 8-bit models mean it.
//!
//! The rounding is that of gemmlowp, which the stock runtimes use: a doubling high product that is
//! rounded, halves up, then a division by a power of two that is rounded, halves away from 0.

/// A real factor: `multiplier / 2^31 · 2^shift`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// From 2^30 on, or 0.
    pub multiplier: i32,
    /// To the left; to the right where negative. From -31 to 31.
    pub shift: i32,
}

impl Scale {
    /// The nearest one to a factor that is not negative; nothing where it is 2^31 or more, or no
    /// number. Factors below 2^-32 are 0.
    pub fn new(factor: f64) -> Option<Self> {
        if !(0.0..2_147_483_648.0).contains(&factor) {
            return None;
        }
        let (mut fraction, mut shift) = (factor, 0);
        while fraction >= 1.0 {
            (fraction, shift) = (fraction / 2.0, shift + 1);
        }
        while fraction < 0.5 && shift > -40 {
            (fraction, shift) = (fraction * 2.0, shift - 1);
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is at most 2^31")]
        let mut multiplier = (fraction * 2_147_483_648.0).round() as i64;
        if multiplier == 1 << 31 {
            (multiplier, shift) = (1 << 30, shift + 1);
        }
        if shift < -31 {
            return Some(Self::default());
        }
        let multiplier = i32::try_from(multiplier).ok()?;
        (shift <= 31).then_some(Self { multiplier, shift })
    }

    /// The product, rounded. Bits that a shift to the left loses are lost.
    #[inline]
    pub fn apply(self, x: i32) -> i32 {
        let left = x.wrapping_shl(self.shift.max(0).unsigned_abs());
        halved(
            high_product(left, self.multiplier),
            (-self.shift).max(0).unsigned_abs(),
        )
    }

    /// Whether the numbers are in their ranges.
    pub(super) fn is_sound(self) -> bool {
        self.multiplier >= 0 && (-31..=31).contains(&self.shift)
    }
}

/// `a · b / 2^31`, rounded, halves up; the one product that does not fit becomes the largest number.
#[inline]
pub fn high_product(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    let product = i64::from(a) * i64::from(b);
    let nudge = if product < 0 {
        1 - (1_i64 << 30)
    } else {
        1 << 30
    };
    // Cut off towards 0.
    i32::try_from((product + nudge) / (1 << 31)).unwrap_or(i32::MAX)
}

/// `x / 2^bits`, halves away from 0; 0 beyond 31 bits.
#[inline]
pub fn halved(x: i32, bits: u32) -> i32 {
    if bits > 31 {
        return 0;
    }
    let mask = i32::try_from((1_i64 << bits) - 1).unwrap_or(i32::MAX);
    let rest = x & mask;
    let threshold = (mask >> 1) + i32::from(x < 0);
    (x >> bits) + i32::from(rest > threshold)
}

/// `eˣ` for `x ≤ 0`: in with 5 bits before the point and 26 behind, out as a fraction of 2^31.
pub fn exp_of_negative(x: i32) -> i32 {
    const QUARTER: i32 = 1 << 24;
    // e^(-1/4), e^(-1/2), e^-1, … e^-16 as fractions of 2^31.
    const FACTORS: [i32; 7] = [
        1_672_461_947,
        1_302_514_674,
        790_015_084,
        290_630_308,
        39_332_535,
        720_401,
        242,
    ];
    if x == 0 {
        return i32::MAX;
    }
    let within = (x & (QUARTER - 1)) - QUARTER; // from -1/4 on, below 0
    let mut result = exp_within_quarter(within.wrapping_shl(5));
    let rest = within.wrapping_sub(x);
    for (power, factor) in FACTORS.into_iter().enumerate() {
        if rest & (QUARTER << power) != 0 {
            result = high_product(result, factor);
        }
    }
    result
}

/// `eˣ` for x from -1/4 to 0, in and out as a fraction of 2^31: four terms around -1/8.
fn exp_within_quarter(x: i32) -> i32 {
    const AT_EIGHTH: i32 = 1_895_147_668; // e^(-1/8)
    const THIRD: i32 = 715_827_883;
    let x = x.saturating_add(1 << 28);
    let square = high_product(x, x);
    let cube = high_product(square, x);
    let fourth = halved(high_product(square, square), 2);
    let tail = high_product(fourth.saturating_add(cube), THIRD).saturating_add(square);
    let series = x.saturating_add(halved(tail, 1));
    AT_EIGHTH.saturating_add(high_product(AT_EIGHTH, series))
}

/// `1 / (1 + x)` for x from 0 to 1, in and out as a fraction of 2^31: three steps of Newton's.
pub fn reciprocal_of_more(x: i32) -> i32 {
    const START: i32 = 1_515_870_810; // 48 / 17, with 2 bits before the point
    const SLOPE: i32 = -1_010_580_540; // -32 / 17, likewise
    const ONE: i32 = 1 << 29;
    // (1 + x) / 2, half of the sum rounded away from 0.
    let sum = i64::from(x) + i64::from(i32::MAX);
    let half = i32::try_from((sum + 1) / 2).unwrap_or(i32::MAX);
    let mut guess = START.wrapping_add(high_product(half, SLOPE));
    for _ in 0..3 {
        let rest = ONE.wrapping_sub(high_product(half, guess));
        guess = guess.wrapping_add(quadrupled(high_product(guess, rest)));
    }
    // With 2 bits before the point and halved: one bit.
    doubled(guess)
}

/// Times 4, ending at the limits.
fn quadrupled(x: i32) -> i32 {
    x.saturating_mul(4)
}

/// Times 2, ending at the limits.
fn doubled(x: i32) -> i32 {
    x.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_the_nearest_ones() {
        for (factor, multiplier, shift) in [
            (0.0, 0, 0),
            (0.5, 1 << 30, 0),
            (1.0, 1 << 30, 1),
            (0.75, 3 << 29, 0),
            (3.0, 3 << 29, 2),
            (1.0 / 3.0, 1_431_655_765, -1),
            (1.0 - 1e-12, 1 << 30, 1),
            (2.0_f64.powi(-32), 1 << 30, -31),
            (2.0_f64.powi(-33), 0, 0),
            (2_147_483_647.0, i32::MAX, 31),
        ] {
            let found = Scale::new(factor).unwrap();
            assert_eq!(found, Scale { multiplier, shift }, "{factor}");
            assert!(found.is_sound());
        }
        for factor in [-0.5, 2_147_483_648.0, f64::INFINITY, f64::NAN] {
            assert_eq!(Scale::new(factor), None, "{factor}");
        }
    }

    #[test]
    fn halves_go_away_from_zero() {
        for (x, bits, expected) in [
            (5, 1, 3),
            (-5, 1, -3),
            (4, 1, 2),
            (6, 2, 2),
            (-6, 2, -2),
            (5, 2, 1),
            (-5, 2, -1),
            (7, 0, 7),
            (i32::MAX, 31, 1),
            (i32::MIN, 31, -1),
            (i32::MAX, 32, 0),
        ] {
            assert_eq!(halved(x, bits), expected, "{x} {bits}");
        }
        assert_eq!(high_product(i32::MIN, i32::MIN), i32::MAX);
        assert_eq!(high_product(1 << 30, 3), 2);
        assert_eq!(
            high_product(1 << 30, -3),
            -1,
            "the first of both steps rounds halves up"
        );
        assert_eq!(Scale::new(2.5).unwrap().apply(-3), -7);
        assert_eq!(Scale::new(0.1).unwrap().apply(25), 3);
    }

    #[test]
    fn functions_are_close_to_the_real_ones() {
        let unit = 2_147_483_648.0;
        for step in 0..2000 {
            let x = -i64::from(step) * 1_073_741;
            let x = i32::try_from(x).unwrap();
            let real = (f64::from(x) / 67_108_864.0).exp();
            let found = f64::from(exp_of_negative(x)) / unit;
            assert!(
                (real - found).abs() < 5e-7,
                "{x}: {found} instead of {real}"
            );
            let x = i32::try_from(i64::from(step) * 1_073_741).unwrap();
            let real = 1.0 / (1.0 + f64::from(x) / unit);
            let found = f64::from(reciprocal_of_more(x)) / unit;
            assert!(
                (real - found).abs() < 1e-8,
                "{x}: {found} instead of {real}"
            );
        }
        assert_eq!(exp_of_negative(0), i32::MAX);
    }
}
