//! How slow a node must be to be found.

use oscost_stats::order;
use oscost_stats::outlier::two_sided_p;

use crate::fleet::FleetAnalysis;

/// Half the width of an interval of 95 % in standard errors.
const Z_95: f64 = 1.959_964;
/// In 80 of 100 cases a normal value exceeds its mean less this many standard errors.
const Z_80: f64 = 0.841_621;
/// Beyond as many standard errors a double has no smaller probability.
const MAX_Z: f64 = 38.0;

/// The ratio over all its cases from which a node is found in 80 of 100 such fleets, if it is the
/// only one: the false discovery rate is then divided by all that is judged (Benjamini and Hochberg).
/// `None` if the spread between visits is not known.
pub(super) fn detectable_ratio(analysis: &FleetAnalysis) -> Option<f64> {
    let errors: Vec<f64> = analysis
        .nodes
        .iter()
        .filter_map(|it| it.ci95)
        .map(|[low, high]| (high / low).ln() / (2.0 * Z_95))
        .filter(|error| error.is_finite() && *error > 0.0)
        .collect();
    let error = order::median(&order::sorted(&errors))?;
    let level = analysis.false_discovery_rate / analysis.judged.max(1) as f64;
    Some((error * (z_of(level) + Z_80)).exp())
}

/// The standard errors that a normal value exceeds on either side with this probability.
fn z_of(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, MAX_Z);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if two_sided_p(middle, 1.0) > level { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::NodeDeviation;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (level, z) in [(0.05, 1.959_964), (0.01, 2.575_829), (1e-6, 4.891_638)] {
            assert!((z_of(level) - z).abs() < 1e-4, "{level}: {}", z_of(level));
        }
    }

    #[test]
    fn more_judgements_and_wider_intervals_find_less() {
        let of = |half: f64, judged| {
            let ci95 = Some([1.0 / half, half]);
            let node = NodeDeviation { cases: 9, visits: 3, ratio: Some(1.0), ci95 };
            detectable_ratio(&FleetAnalysis {
                nodes: vec![node],
                judged,
                false_discovery_rate: 0.05,
                ..FleetAnalysis::default()
            })
        };
        // One per cent is one standard error, and 1.960 + 0.842 of them are needed.
        let found = of((0.01 * Z_95).exp(), 1).unwrap();
        assert!((found.ln() - 0.01 * (Z_95 + Z_80)).abs() < 1e-6, "{found}");
        assert!(of(1.02, 1_000) > of(1.02, 10) && of(1.04, 10) > of(1.02, 10));
        assert_eq!(detectable_ratio(&FleetAnalysis::default()), None);
    }
}
