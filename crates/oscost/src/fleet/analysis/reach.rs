//! How far cases of a node, and its families, ordinarily are from each other: farther ones have no
//! weight in their mean.

use oscost_stats::bisquare::{self, spread_degrees};
use oscost_stats::variances::{EstimatedVariance, common_variance};

/// No part varies less: what is 4.7 times as far away has no weight, and 2 % is reported.
const MIN_SPREAD: f64 = 0.004;
/// Few nodes that happen to agree would take the weight from ordinary parts: these may vary by as much
/// as the upper confidence limit of this share allows.
const LIMIT_SHARE: f64 = 0.05;
/// But not by more than this, unless the nodes show it: that limit is far above what equal nodes
/// ordinarily differ by, and slow families would be taken for a part of a slow node.
const MAX_UNSEEN_SPREAD: f64 = 0.02;

/// The variance of each part between nodes: of its values around 0, robust, by those of all parts
/// together where nodes are few; never 0.
pub(super) fn part_variances(parts: &[Vec<f64>]) -> Vec<f64> {
    let own: Vec<EstimatedVariance> = parts.iter().map(|values| own_variance(values)).collect();
    let common = common_variance(&own);
    let limit = |own: EstimatedVariance| {
        let seen = common.map_or(own, |common| own.pooled_with(common));
        let unseen = seen.upper_limit(LIMIT_SHARE).min(MAX_UNSEEN_SPREAD.powi(2));
        seen.value.max(unseen).max(MIN_SPREAD.powi(2))
    };
    own.into_iter().map(limit).collect()
}

fn own_variance(values: &[f64]) -> EstimatedVariance {
    let numbers: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    EstimatedVariance {
        value: bisquare::spread(&numbers, 0.0).unwrap_or(0.0).powi(2),
        degrees_of_freedom: spread_degrees(numbers.len()).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_few_nodes_are_as_wide_as_they_may_be_and_none_is_too_narrow() {
        let two = |place: f64| vec![place, -place, f64::NAN, 1.1 * place, -1.1 * place];
        let wide = part_variances(&[two(0.003)]);
        assert!(wide[0] > 4.0 * 0.003f64.powi(2), "{wide:?}");
        assert_eq!(part_variances(&[two(0.01)]), [MAX_UNSEEN_SPREAD.powi(2)]);
        let seen = part_variances(&[two(0.1)]);
        assert!(seen[0] > 0.1f64.powi(2) && seen[0] < 2.0 * 0.1f64.powi(2), "{seen:?}");
        let many: Vec<f64> = (0..50).flat_map(|_| two(0.01)).collect();
        let known = part_variances(&[many]);
        assert!(known[0] < 2.0 * 0.01f64.powi(2), "{known:?}");
        let least = MIN_SPREAD.powi(2);
        assert_eq!(part_variances(&[vec![0.0; 9], Vec::new(), vec![0.3]]), [least; 3]);
        // Parts that vary alike show together how far they do.
        let alike = part_variances(&[two(0.003), two(0.003), two(0.003), two(0.003)]);
        assert!(alike.iter().all(|it| *it < 0.5 * wide[0]), "{alike:?} {wide:?}");
    }
}
