//! How slow a node must be to be found.

use oscost_stats::student::Estimate;

/// Smaller differences are no findings, however sure they are.
const MIN_LOG: f64 = 0.019_802_627;
/// Half the width of a normal interval of 95 %, in standard deviations.
const Z_95: f64 = 1.960;
/// In 80 of 100 cases a normal value exceeds its mean less this many standard deviations.
const Z_80: f64 = 0.842;
/// No node differs by more, as a logarithm.
const MAX_LOG: f64 = 50.0;

/// What the deviation of an ordinary node varies by.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrdinaryNode {
    /// The deviation among equals, with its tails.
    pub(super) among_equals: Estimate,
    /// The standard deviation of that by all visits but one.
    pub(super) repeat_error: f64,
}

/// The deviation from which each of these nodes is probably found, as a logarithm, if it is the only
/// one: the rate is then divided by the number of hypotheses (Benjamini and Hochberg). In about 80 of
/// 100 fleets what is measured is beyond that, and beyond what must be seen again. `None` without nodes,
/// or where no deviation is enough.
pub(super) fn detectable_log(nodes: &[OrdinaryNode], rate: f64, hypotheses: usize) -> Option<f64> {
    let level = rate / hypotheses.max(1) as f64;
    let all: Option<Vec<f64>> = nodes.iter().map(|node| of_node(node, level)).collect();
    all?.into_iter().reduce(f64::max).map(|log| log.max(MIN_LOG))
}

fn of_node(node: &OrdinaryNode, level: f64) -> Option<f64> {
    let OrdinaryNode { among_equals, repeat_error } = *node;
    let found = distance_at(among_equals, level)? + Z_80 * among_equals.standard_error;
    Some(found.max((Z_95 + Z_80) * repeat_error))
}

/// The deviation that an ordinary node exceeds on either side with this probability.
fn distance_at(ordinary: Estimate, level: f64) -> Option<f64> {
    let p = |value: f64| Estimate { value, ..ordinary }.two_sided_p();
    let (mut low, mut high) = (0.0, MAX_LOG);
    if p(high) > level {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if p(middle) > level { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(standard_error: f64, degrees_of_freedom: f64) -> OrdinaryNode {
        let among_equals = Estimate { value: 0.0, standard_error, degrees_of_freedom };
        OrdinaryNode { among_equals, repeat_error: standard_error }
    }

    #[test]
    fn of_a_well_known_spread_the_distance_is_that_of_the_normal_distribution() {
        let found = detectable_log(&[node(0.01, 1e6)], 0.05, 1).unwrap();
        assert!((found - 0.01 * (Z_95 + Z_80)).abs() < 1e-4, "{found}");
    }

    #[test]
    fn more_judgements_more_spread_and_fewer_nodes_find_less() {
        let of = |error, degrees, judged| detectable_log(&[node(error, degrees)], 0.05, judged);
        let usual = of(0.01, 50.0, 100).unwrap();
        for less in [of(0.01, 50.0, 10_000), of(0.05, 50.0, 100), of(0.01, 6.0, 100)] {
            assert!(less.unwrap() > usual, "{less:?} {usual}");
        }
        assert!((of(0.0001, 50.0, 100).unwrap().exp() - 1.02).abs() < 1e-6);
        // It holds for each node, also the one that is known worst.
        let both = detectable_log(&[node(0.01, 50.0), node(0.05, 50.0)], 0.05, 100);
        assert_eq!(both, of(0.05, 50.0, 100));
    }

    #[test]
    fn without_nodes_it_is_not_known() {
        assert_eq!(detectable_log(&[], 0.05, 9), None);
    }
}
