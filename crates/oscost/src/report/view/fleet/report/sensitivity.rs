//! How slow a node must be to be found.

use oscost_stats::order;
use oscost_stats::outlier::{Equals, MIN_EQUALS};

use crate::fleet::FleetAnalysis;

/// Half the width of an interval of 95 % in standard errors.
const Z_95: f64 = 1.959_964;
/// In 80 of 100 cases a normal value exceeds its mean less this many standard errors.
const Z_80: f64 = 0.841_621;
/// Smaller differences are no findings, however sure they are.
const MIN_RATIO: f64 = 1.02;
/// No node differs by more, as a logarithm.
const MAX_LOG: f64 = 50.0;

/// The ratio over all its cases from which a node is probably found, if it is the only one: the false
/// discovery rate is then divided by all that is judged (Benjamini and Hochberg), and the node is
/// compared with how far ordinary nodes are from their class. In about 80 of 100 fleets its deviation
/// is beyond that level; it must also be seen without the visit that shows most of it, which is not
/// counted here. `None` with too few nodes, or if nothing is known of visits.
pub(super) fn detectable_ratio(analysis: &FleetAnalysis) -> Option<f64> {
    let distances = distances(analysis);
    let spread = Equals::of(&distances)?;
    // Nodes that happen to be alike are still known no better than their visits say.
    let deviation = spread.deviation.max(visit_error(analysis)?);
    let ordinary = Equals { centre: 0.0, deviation, ..spread };
    let level = analysis.false_discovery_rate / analysis.judged.max(1) as f64;
    let distance = distance_at(&ordinary, level)? + Z_80 * deviation;
    Some(distance.exp().max(MIN_RATIO))
}

/// How far each node is from the middle of its class, as logarithms; of a small class, from the fleet.
fn distances(analysis: &FleetAnalysis) -> Vec<f64> {
    let mut middles = vec![0.0; analysis.nodes.len()];
    for class in analysis.classes.iter().filter(|it| it.nodes.len() >= MIN_EQUALS) {
        let middle = class.ratio.map_or(0.0, f64::ln);
        for &node in &class.nodes {
            if let Some(it) = middles.get_mut(node) {
                *it = middle;
            }
        }
    }
    let nodes = analysis.nodes.iter().zip(middles);
    let distances = nodes.filter_map(|(node, middle)| Some(node.ratio?.ln() - middle));
    distances.filter(|distance| distance.is_finite()).collect()
}

/// The standard error of an ordinary node by its visits.
fn visit_error(analysis: &FleetAnalysis) -> Option<f64> {
    let intervals = analysis.nodes.iter().filter_map(|it| it.ci95);
    let errors: Vec<f64> = intervals
        .map(|[low, high]| (high / low).ln() / (2.0 * Z_95))
        .filter(|error| error.is_finite() && *error > 0.0)
        .collect();
    order::median(&order::sorted(&errors))
}

/// The distance that an ordinary node exceeds on either side with this probability; `None` if that
/// is beyond all reason, as with few nodes.
fn distance_at(ordinary: &Equals, level: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, MAX_LOG);
    if ordinary.p(high) > level {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if ordinary.p(middle) > level { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::NodeDeviation;

    /// Nodes that are this far from the fleet by turns, each known to a standard error.
    fn fleet(nodes: usize, spread: f64, error: f64, judged: usize) -> FleetAnalysis {
        let ci95 = Some([(-Z_95 * error).exp(), (Z_95 * error).exp()]);
        let node = |at: usize| {
            let ratio = Some((spread * (at as f64 / nodes as f64 - 0.5)).exp());
            NodeDeviation { cases: 9, visits: 3, ratio, ci95 }
        };
        FleetAnalysis {
            nodes: (0..nodes).map(node).collect(),
            judged,
            false_discovery_rate: 0.05,
            ..FleetAnalysis::default()
        }
    }

    #[test]
    fn of_many_nodes_the_distance_is_that_of_the_normal_distribution() {
        let found = detectable_ratio(&fleet(10_000, 0.0, 0.01, 1)).unwrap();
        assert!((found.ln() - 0.01 * (Z_95 + Z_80)).abs() < 1e-4, "{found}");
    }

    #[test]
    fn more_judgements_wider_intervals_more_spread_and_fewer_nodes_find_less() {
        let of = |nodes, spread, error, judged| {
            detectable_ratio(&fleet(nodes, spread, error, judged)).unwrap()
        };
        let usual = of(100, 0.02, 0.01, 100);
        for less in [
            of(100, 0.02, 0.01, 10_000),
            of(100, 0.02, 0.05, 100),
            of(100, 0.2, 0.01, 100),
            of(20, 0.02, 0.01, 100),
        ] {
            assert!(less > usual, "{less} {usual}");
        }
        assert_eq!(of(1_000, 0.0, 0.0001, 1), MIN_RATIO);
    }

    #[test]
    fn without_visits_or_nodes_it_is_not_known() {
        assert_eq!(detectable_ratio(&FleetAnalysis::default()), None);
        assert_eq!(detectable_ratio(&fleet(3, 0.02, 0.01, 9)), None);
        let mut unknown = fleet(100, 0.02, 0.01, 100);
        unknown.nodes.iter_mut().for_each(|it| it.ci95 = None);
        assert_eq!(detectable_ratio(&unknown), None);
    }
}
