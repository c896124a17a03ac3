//! How far equal nodes ordinarily differ.

use oscost_stats::bisquare::SPREAD_EFFICIENCY;

/// By how much equal nodes ordinarily differ, as a logarithm, before any of them was measured: it keeps
/// the spread of a few nodes that happen to agree from being taken for zero.
const PRIOR_SPREAD: f64 = 0.02;
/// How many degrees of freedom that is worth: it decides among four nodes, and not among a hundred.
const PRIOR_DEGREES: f64 = 4.0;

/// The variance between equal nodes, by that of some of them and the prior.
///
/// It is for checks, which take a node out of service and judge one visit case by case. A report judges
/// by what the fleet itself shows.
pub(super) fn shrunk_variance(variance: f64, nodes: usize) -> f64 {
    let own = SPREAD_EFFICIENCY * nodes.saturating_sub(1) as f64;
    (PRIOR_DEGREES * PRIOR_SPREAD.powi(2) + own * variance) / (PRIOR_DEGREES + own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_decides_among_four_nodes_and_not_among_a_hundred() {
        let few = shrunk_variance(0.0, 4).sqrt();
        let many = shrunk_variance(0.0, 100).sqrt();
        assert!(few > 0.015 && many < 0.005, "{few} {many}");
        assert!((shrunk_variance(0.02f64.powi(2), 9).sqrt() - 0.02).abs() < 1e-12);
    }
}
