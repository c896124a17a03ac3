//! How much of the variance of figures is between processes, visits, NUMA nodes, nodes, and classes of
//! nodes.

use oscost_stats::bisquare;
use oscost_stats::repeats::contrasts;

use super::data::Fleet;
use super::equals::{ClassNodes, classes};
use super::findings::VarianceShares;
use super::numa::turns;
use super::table::{CostTable, median_of_numbers, variances_within_visits};

/// Variances of logarithms.
#[derive(Clone, Copy, Default)]
struct Components {
    processes: f64,
    visits: f64,
    /// `None` where nodes have one NUMA node, or none of these was visited twice.
    numa_nodes: Option<f64>,
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
    let parts: Vec<Vec<Vec<usize>>> =
        (0..table.rows.len()).map(|node| parts(fleet, table, node)).collect();
    let mut sum = Components::default();
    for (case, &processes) in within.iter().enumerate() {
        let costs: Vec<NodeCosts> =
            parts.iter().map(|parts| NodeCosts::of(table, parts, case)).collect();
        let Some(of) = components(&costs, &classes, processes) else { continue };
        sum.processes += of.processes;
        sum.visits += of.visits;
        sum.numa_nodes =
            [sum.numa_nodes, of.numa_nodes].into_iter().flatten().reduce(|one, other| one + other);
        sum.nodes += of.nodes;
        sum.classes += of.classes;
    }
    let numa_nodes = sum.numa_nodes.unwrap_or(0.0);
    let total = sum.processes + sum.visits + numa_nodes + sum.nodes + sum.classes;
    (total > 0.0).then(|| VarianceShares {
        processes: sum.processes / total,
        visits: sum.visits / total,
        numa_nodes: sum.numa_nodes.map(|it| it / total),
        nodes: sum.nodes / total,
        classes: sum.classes / total,
    })
}

/// The rows of a node's visits, those of each NUMA node together if it is known of all.
fn parts(fleet: &Fleet, table: &CostTable, node: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = table.rows[node].clone().collect();
    let turns = turns(fleet, table, node);
    match turns.values().map(Vec::len).sum::<usize>() == all.len() {
        true => turns.into_values().collect(),
        false => vec![all],
    }
}

/// The costs of a case on a node, those of each of its parts together.
struct NodeCosts {
    parts: Vec<Vec<f64>>,
}

/// What a node's mean of a case has in error, in proportion to variances.
struct ErrorShares {
    /// To that between visits.
    visits: f64,
    /// To that between parts.
    parts: f64,
}

impl NodeCosts {
    fn of(table: &CostTable, parts: &[Vec<usize>], case: usize) -> Self {
        let costs = |rows: &Vec<usize>| {
            let costs = rows.iter().map(|&row| table.row(row)[case]);
            costs.filter(|cost| !cost.is_nan()).collect::<Vec<f64>>()
        };
        let parts = parts.iter().map(costs).filter(|costs| !costs.is_empty()).collect();
        Self { parts }
    }

    fn visits(&self) -> f64 {
        self.parts.iter().map(Vec::len).sum::<usize>() as f64
    }

    /// The mean over its visits; NaN without one.
    fn mean(&self) -> f64 {
        self.parts.iter().flatten().sum::<f64>() / self.visits()
    }

    /// The mean of each part.
    fn part_means(&self) -> Vec<f64> {
        let mean = |costs: &Vec<f64>| costs.iter().sum::<f64>() / costs.len() as f64;
        self.parts.iter().map(mean).collect()
    }

    fn error_shares(&self) -> ErrorShares {
        let visits = self.visits();
        let share = |costs: &Vec<f64>| (costs.len() as f64 / visits).powi(2);
        ErrorShares { visits: 1.0 / visits, parts: self.parts.iter().map(share).sum() }
    }
}

/// The variance between the parts of nodes, by that between the visits of one part; `None` if no node
/// has two parts.
fn between_parts(nodes: &[NodeCosts], between_visits: f64) -> Option<f64> {
    let divided = || nodes.iter().filter(|node| node.parts.len() > 1);
    let errors: Vec<f64> = divided().flat_map(|node| contrasts(&node.part_means())).collect();
    let of_means = bisquare::spread(&errors, 0.0)?.powi(2);
    let parts = divided().flat_map(|node| &node.parts);
    let (mut count, mut shares) = (0.0, 0.0);
    for costs in parts {
        count += 1.0;
        shares += 1.0 / costs.len() as f64;
    }
    // A variance is not negative: the method of moments has none below zero.
    Some((of_means - between_visits * shares / count).max(0.0))
}

fn components(nodes: &[NodeCosts], classes: &[ClassNodes], processes: f64) -> Option<Components> {
    let spread_of = |errors: Vec<f64>| Some(bisquare::spread(&errors, 0.0)?.powi(2));
    let in_parts = nodes.iter().flat_map(|node| &node.parts).flat_map(|costs| contrasts(costs));
    // Where no part was visited twice, what parts differ by is a part of what visits do.
    let (between_visits, numa_nodes) = match spread_of(in_parts.collect()) {
        Some(between_visits) => (between_visits, between_parts(nodes, between_visits)),
        None => {
            let whole = nodes.iter().flat_map(|node| contrasts(&node.parts.concat()));
            (spread_of(whole.collect())?, None)
        }
    };
    let (mut centres, mut from_centre, mut of_errors) = (Vec::new(), Vec::new(), 0.0);
    for class in classes {
        let measured = class.nodes.iter().map(|&node| &nodes[node]);
        let measured: Vec<&NodeCosts> = measured.filter(|it| !it.parts.is_empty()).collect();
        let Some(centre) = median_of_numbers(measured.iter().map(|it| it.mean())) else { continue };
        for node in measured {
            centres.push(centre);
            from_centre.push(node.mean() - centre);
            let ErrorShares { visits, parts } = node.error_shares();
            of_errors += between_visits * visits + numa_nodes.unwrap_or(0.0) * parts;
        }
    }
    let count = from_centre.len() as f64;
    let within_classes = bisquare::spread(&from_centre, 0.0)?.powi(2);
    let mean = centres.iter().sum::<f64>() / count;
    // A variance is not negative: the method of moments has none below zero.
    Some(Components {
        // Repetitions of a visit cannot explain more than all by which visits differ.
        processes: processes.min(between_visits),
        visits: (between_visits - processes).max(0.0),
        numa_nodes,
        nodes: (within_classes - of_errors / count).max(0.0),
        classes: centres.iter().map(|centre| (centre - mean).powi(2)).sum::<f64>() / count,
    })
}
