//! The figures of a fleet as logarithms of costs, in a row for each visit.

use std::ops::Range;

use oscost_model::unit::Better;

use super::data::{Fleet, NodeVisit};

/// The logarithm of a cost, which is larger where a figure is worse. `None` unless the figure is a
/// positive number.
pub(super) fn log_cost(better: Better, median: f64) -> Option<f64> {
    let log = match better {
        Better::Lower => median.ln(),
        Better::Higher => -median.ln(),
    };
    log.is_finite().then_some(log)
}

/// The costs of some visits: of those that something may be concluded from, if not said otherwise.
pub(super) struct CostTable {
    /// The number of cases: the length of a row.
    pub(super) cases: usize,
    /// The rows of each node, in the order of the fleet's nodes.
    pub(super) rows: Vec<Range<usize>>,
    /// The visit of each row, as its index in the fleet; none of rows that are no visits.
    pub(super) visits: Vec<usize>,
    /// The rows; NaN where a case was not measured.
    logs: Vec<f64>,
}

impl CostTable {
    /// The costs of the visits that something may be concluded from.
    pub(super) fn of(fleet: &Fleet) -> Self {
        Self::of_visits(fleet, |visit| visit.not_claimable.is_none())
    }

    /// The costs of the other visits.
    pub(super) fn of_unclaimable(fleet: &Fleet) -> Self {
        Self::of_visits(fleet, |visit| visit.not_claimable.is_some())
    }

    fn of_visits(fleet: &Fleet, is_part: impl Fn(&NodeVisit) -> bool) -> Self {
        let cases = fleet.cases.len();
        let is_part = |at: &usize| is_part(&fleet.visits[*at]);
        let mut visits: Vec<usize> = (0..fleet.visits.len()).filter(is_part).collect();
        visits.sort_by_key(|&at| fleet.visits[at].node);
        let mut logs = vec![f64::NAN; visits.len() * cases];
        for (row, &at) in visits.iter().enumerate() {
            for figure in &fleet.visits[at].figures {
                let case = figure.case as usize;
                let log = log_cost(fleet.cases[case].better, figure.median);
                logs[row * cases + case] = log.unwrap_or(f64::NAN);
            }
        }
        let first_row = |node: usize| visits.partition_point(|&at| fleet.visits[at].node < node);
        let rows = (0..fleet.nodes.len()).map(|node| first_row(node)..first_row(node + 1));
        Self { cases, rows: rows.collect(), visits, logs }
    }

    /// A table of other values than the costs of visits, by the rows of each node.
    pub(super) fn of_rows(cases: usize, of_nodes: Vec<Vec<Vec<f64>>>) -> Self {
        let mut table = Self { cases, rows: Vec::new(), visits: Vec::new(), logs: Vec::new() };
        let mut first = 0;
        for rows in of_nodes {
            let end = first + rows.len();
            table.rows.push(first..end);
            table.logs.extend(rows.into_iter().flatten());
            first = end;
        }
        table
    }

    /// The costs of one visit.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.logs[row * self.cases..(row + 1) * self.cases]
    }

    /// The costs of a case in the visits of a node that have it.
    pub(super) fn repeats(&self, node: usize, case: usize) -> Vec<f64> {
        let costs = self.rows[node].clone().map(|row| self.row(row)[case]);
        costs.filter(|cost| !cost.is_nan()).collect()
    }

    /// The mean over the visits of each case on a node; NaN where it was not measured.
    pub(super) fn means(&self, node: usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.cases];
        let mut counts = vec![0u32; self.cases];
        for row in self.rows[node].clone() {
            for (case, cost) in self.row(row).iter().enumerate().filter(|(_, cost)| !cost.is_nan())
            {
                sums[case] += cost;
                counts[case] += 1;
            }
        }
        sums.iter().zip(counts).map(|(sum, count)| sum / f64::from(count)).collect()
    }
}

/// The median variance of each case's figure within a visit; 0 if no figure has an interval.
pub(super) fn variances_within_visits(fleet: &Fleet, table: &CostTable) -> Vec<f64> {
    let mut variances = vec![Vec::new(); table.cases];
    for figure in table.visits.iter().flat_map(|&at| &fleet.visits[at].figures) {
        variances[figure.case as usize].push(f64::from(figure.log_error).powi(2));
    }
    variances.into_iter().map(|of| median_of_numbers(of.into_iter()).unwrap_or(0.0)).collect()
}

/// The median of those that are numbers. `None` without.
pub(super) fn median_of_numbers(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    oscost_stats::order::median_in_place(&mut numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_cost_with_the_other_sign_and_zero_is_none() {
        assert_eq!(log_cost(Better::Lower, 1f64.exp()), Some(1.0));
        assert_eq!(log_cost(Better::Higher, 1f64.exp()), Some(-1.0));
        assert_eq!([0.0, -1.0, f64::NAN].map(|it| log_cost(Better::Lower, it)), [None; 3]);
    }
}
