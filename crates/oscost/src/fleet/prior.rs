//! How far equal nodes ordinarily differ.

use oscost_stats::bisquare::SPREAD_EFFICIENCY;

/// By how much equal nodes ordinarily differ, as a logarithm, before any of them was measured: it keeps
/// the spread of a few nodes that happen to agree from being taken for zero.
const PRIOR_SPREAD: f64 = 0.02;
/// How many degrees of freedom that is worth: it decides among four nodes, and not among a hundred.
const PRIOR_DEGREES: f64 = 4.0;

/// The variance between equal nodes, by that of some of them and the prior, both in a unit of which the
/// logarithm is `1 / prior_scale`.
pub(super) fn shrunk_variance(variance: f64, nodes: usize, prior_scale: f64) -> f64 {
    let own = degrees_of_spread(nodes);
    let prior = PRIOR_DEGREES * (PRIOR_SPREAD * prior_scale).powi(2);
    (prior + own * variance) / (PRIOR_DEGREES + own)
}

/// The degrees of freedom of that variance.
pub(super) fn degrees_of_freedom(nodes: usize) -> f64 {
    PRIOR_DEGREES + degrees_of_spread(nodes)
}

fn degrees_of_spread(nodes: usize) -> f64 {
    SPREAD_EFFICIENCY * nodes.saturating_sub(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prior_decides_among_four_nodes_and_not_among_a_hundred() {
        let few = shrunk_variance(0.0, 4, 1.0).sqrt();
        let many = shrunk_variance(0.0, 100, 1.0).sqrt();
        assert!(few > 0.015 && many < 0.005, "{few} {many}");
        assert!((shrunk_variance(0.02f64.powi(2), 9, 1.0).sqrt() - 0.02).abs() < 1e-12);
    }
}
