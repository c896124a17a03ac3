//! The share of simulated runs for which a condition holds.

/// The share of `runs` for which `holds` returns true, in per cent.
pub(crate) fn share(runs: u32, mut holds: impl FnMut() -> bool) -> f64 {
    let count = (0..runs).filter(|_| holds()).count();
    100.0 * count as f64 / f64::from(runs)
}
