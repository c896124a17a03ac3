//! The uncertainty of the points of curves.

/// The minimum standard deviation of a point, as a share of it: two sizes differ in alignment and
/// layout, which repeating either of them does not average out.
pub(super) const MIN_RELATIVE_SD: f64 = 0.01;
/// How often the repetitions of two curves are resampled: a run has a hundred pairs of curves and
/// more.
pub(super) const PAIR_RESAMPLES: usize = 1_000;
