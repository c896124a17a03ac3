//! How much of the variance of figures is between processes, visits, nodes, and classes of nodes.

use oscost_stats::bisquare;
use oscost_stats::repeats::contrasts;

use super::data::Fleet;
use super::equals::{ClassNodes, classes};
use super::findings::VarianceShares;
use super::table::{CostTable, median_of_numbers, variances_within_visits};

/// Variances of logarithms.
#[derive(Clone, Copy, Default)]
struct Components {
    processes: f64,
    visits: f64,
    nodes: f64,
    classes: f64,
}

/// The shares over all cases, by the sums of their variances. `None` where nothing was visited twice,
/// or if nothing varies.
///
/// Each component is robust and is what the one below it does not explain. What a figure's interval
/// within its visit does not tell is between visits.
pub(super) fn variance_shares(fleet: &Fleet, table: &CostTable) -> Option<VarianceShares> {
    let classes = classes(fleet);
    let within = variances_within_visits(fleet, table);
    let mut sum = Components::default();
    for (case, &processes) in within.iter().enumerate() {
        let Some(of) = components(table, &classes, case, processes) else { continue };
        sum.processes += of.processes;
        sum.visits += of.visits;
        sum.nodes += of.nodes;
        sum.classes += of.classes;
    }
    let total = sum.processes + sum.visits + sum.nodes + sum.classes;
    (total > 0.0).then(|| VarianceShares {
        processes: sum.processes / total,
        visits: sum.visits / total,
        nodes: sum.nodes / total,
        classes: sum.classes / total,
    })
}

/// A node's mean of a case, and the number of visits that it is of.
struct NodeMean {
    value: f64,
    visits: f64,
}

fn components(
    table: &CostTable,
    classes: &[ClassNodes],
    case: usize,
    processes: f64,
) -> Option<Components> {
    let repeats = (0..table.rows.len()).map(|node| table.repeats(node, case));
    let repeats: Vec<Vec<f64>> = repeats.collect();
    let errors: Vec<f64> = repeats.iter().flat_map(|visits| contrasts(visits)).collect();
    let between_visits = bisquare::spread(&errors, 0.0)?.powi(2);
    let (mut centres, mut from_centre, mut of_visits) = (Vec::new(), Vec::new(), 0.0);
    for class in classes {
        let means = class.nodes.iter().map(|&node| &repeats[node]).filter(|it| !it.is_empty());
        let means: Vec<NodeMean> = means.map(|visits| NodeMean::of(visits)).collect();
        let Some(centre) = median_of_numbers(means.iter().map(|it| it.value)) else { continue };
        centres.extend(means.iter().map(|_| centre));
        from_centre.extend(means.iter().map(|it| it.value - centre));
        of_visits += means.iter().map(|it| between_visits / it.visits).sum::<f64>();
    }
    let count = from_centre.len() as f64;
    let within_classes = bisquare::spread(&from_centre, 0.0)?.powi(2);
    let mean = centres.iter().sum::<f64>() / count;
    // A variance is not negative: the method of moments has none below zero.
    Some(Components {
        // Repetitions of a visit cannot explain more than all by which visits differ.
        processes: processes.min(between_visits),
        visits: (between_visits - processes).max(0.0),
        nodes: (within_classes - of_visits / count).max(0.0),
        classes: centres.iter().map(|centre| (centre - mean).powi(2)).sum::<f64>() / count,
    })
}

impl NodeMean {
    fn of(visits: &[f64]) -> Self {
        let count = visits.len() as f64;
        Self { value: visits.iter().sum::<f64>() / count, visits: count }
    }
}
