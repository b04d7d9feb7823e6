//! Arithmetic that several parts need.

/// Greatest common divisor; `gcd(0, x) = x`.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
