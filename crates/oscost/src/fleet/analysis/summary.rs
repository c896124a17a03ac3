//! What is said of cases, nodes and classes, whether or not they differ.

use oscost_model::unit::Better;
use oscost_stats::bisquare::{self, SPREAD_EFFICIENCY};
use oscost_stats::interval::Nominal;
use oscost_stats::moments;
use oscost_stats::repeats::contrasts;
use oscost_stats::student::Estimate;

use crate::fleet::data::Fleet;
use crate::fleet::equals::{ClassNodes, MIN_EQUALS, classes};
use crate::fleet::findings::{CaseSpread, ClassSpread, NodeDeviation};
use crate::fleet::table::{CostTable, median_of_numbers};

/// The description of a fleet.
pub(super) struct Summary {
    pub(super) cases: Vec<CaseSpread>,
    pub(super) nodes: Vec<NodeDeviation>,
    pub(super) ratios: Vec<f32>,
    pub(super) classes: Vec<ClassSpread>,
}

impl Summary {
    /// The ratio of the costs of these cases on a node to the fleet's medians: the middle over the cases
    /// that it has, as logarithms. `None` without one.
    pub(super) fn ratio_of_cases(&self, node: usize, cases: &[usize]) -> Option<f64> {
        let first = node * self.cases.len();
        let logs = cases.iter().map(|case| f64::from(self.ratios[first + case]).ln());
        median_of_numbers(logs).map(f64::exp)
    }
}

pub(super) fn summarise(fleet: &Fleet, table: &CostTable) -> Summary {
    let nodes = fleet.nodes.len();
    let means: Vec<f64> = (0..nodes).flat_map(|node| table.means(node)).collect();
    let of_case = |case: usize| means.iter().copied().skip(case).step_by(table.cases.max(1));
    let medians: Vec<f64> =
        (0..table.cases).map(|case| median_of_numbers(of_case(case)).unwrap_or(f64::NAN)).collect();
    let cases = (0..table.cases)
        .map(|case| case_spread(fleet, table, case, of_case(case), medians[case]))
        .collect();
    let ratio = |(at, mean): (usize, &f64)| (mean - medians[at % table.cases]).exp() as f32;
    let ratios = means.iter().enumerate().map(ratio).collect();
    let nodes = node_deviations(table, &medians);
    let classes = class_spreads(fleet, &nodes);
    Summary { cases, nodes, ratios, classes }
}

/// The spread of a case; `means` are those of its nodes.
fn case_spread(
    fleet: &Fleet,
    table: &CostTable,
    case: usize,
    means: impl Iterator<Item = f64>,
    median: f64,
) -> CaseSpread {
    let repeats = (0..table.rows.len()).map(|node| table.repeats(node, case));
    let repeats: Vec<Vec<f64>> = repeats.filter(|visits| !visits.is_empty()).collect();
    let errors: Vec<f64> = repeats.iter().flat_map(|visits| contrasts(visits)).collect();
    let between_visits = bisquare::spread(&errors, 0.0);
    let means: Vec<f64> = means.filter(|mean| !mean.is_nan()).collect();
    let between_nodes = bisquare::spread(&means, median).filter(|_| means.len() >= MIN_EQUALS);
    let of_visits = between_visits.map_or(0.0, |spread| {
        let visits = repeats.iter().map(|visits| 1.0 / visits.len() as f64).sum::<f64>();
        spread * spread * visits / repeats.len() as f64
    });
    let cost = match fleet.cases[case].better {
        Better::Lower => median.exp(),
        Better::Higher => (-median).exp(),
    };
    CaseSpread {
        nodes: means.len(),
        median: (!median.is_nan()).then_some(cost),
        // A variance is not negative: the method of moments has none below zero.
        between_nodes: between_nodes.map(|spread| (spread * spread - of_visits).max(0.0).sqrt()),
        between_visits,
    }
}

/// How far each node is from the medians of the fleet: the median over cases in each visit, and the
/// mean of visits. Only visits are repetitions, since what disturbs a visit disturbs all of its cases.
fn node_deviations(table: &CostTable, medians: &[f64]) -> Vec<NodeDeviation> {
    let visit = |row: usize| {
        let from_median = table.row(row).iter().zip(medians).map(|(cost, median)| cost - median);
        median_of_numbers(from_median)
    };
    let of_nodes: Vec<Vec<f64>> =
        table.rows.iter().map(|rows| rows.clone().filter_map(visit).collect()).collect();
    let errors: Vec<f64> = of_nodes.iter().flat_map(|visits| contrasts(visits)).collect();
    let between_visits = bisquare::spread(&errors, 0.0);
    let degrees_of_freedom = SPREAD_EFFICIENCY * errors.len() as f64;
    let deviation = |(node, visits): (usize, &Vec<f64>)| {
        let count = visits.len() as f64;
        let value = (!visits.is_empty()).then(|| visits.iter().sum::<f64>() / count);
        let interval = value.zip(between_visits).map(|(value, spread)| {
            let standard_error = spread / count.sqrt();
            Estimate { value, standard_error, degrees_of_freedom }.interval(Nominal::FIXED)
        });
        let cases = table.means(node).iter().filter(|mean| !mean.is_nan()).count();
        NodeDeviation {
            cases,
            visits: visits.len(),
            ratio: value.map(f64::exp),
            ci95: interval.map(|it| [it.lo.exp(), it.hi.exp()]),
            between_visits: moments::standard_deviation(visits),
        }
    };
    of_nodes.iter().enumerate().map(deviation).collect()
}

fn class_spreads(fleet: &Fleet, deviations: &[NodeDeviation]) -> Vec<ClassSpread> {
    let spread = |class: ClassNodes| {
        let ratios: Vec<f64> =
            class.nodes.iter().filter_map(|&node| deviations[node].ratio).collect();
        let lowest = ratios.iter().copied().min_by(f64::total_cmp);
        let highest = ratios.iter().copied().max_by(f64::total_cmp);
        ClassSpread {
            class: class.class,
            nodes: class.nodes,
            ratio: median_of_numbers(ratios.iter().copied()),
            range: lowest.zip(highest).map(|(lowest, highest)| [lowest, highest]),
        }
    };
    classes(fleet).into_iter().map(spread).collect()
}
