//! The widest vectors that this machine has.
//!
//! Kernels are plain loops; compiled once for each width of vectors they run faster, with the same results: elements
//! of a vector are computed side by side, each as it would be alone, and products are never joined with sums.

/// Runs `work` compiled for the widest vectors. What it calls is only compiled for them where it is inlined.
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(Inlined(work))
}

/// A closure that is inlined into what dispatches it.
struct Inlined<F>(F);

impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Inlined<F> {
    type Output = R;

    #[expect(
        clippy::inline_always,
        reason = "without it, it is compiled for narrow vectors"
    )]
    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}
