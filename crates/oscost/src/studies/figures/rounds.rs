//! The figures of the rows of a run, by round.
//!
//! The workers of a round run in succession, and the machine drifts from round to round. So what is
//! computed from several rows (a ratio, a slope) is computed in each round that has them all, and
//! the interval is that of the median of these values.

use std::collections::BTreeMap;

use oscost_model::record::{Row, RowOutcome};

use super::unit::{BaseUnit, base_unit};
use crate::studies::study::TableRow;
use oscost_stats::interval::{Interval, Nominal, median_exact, median_hs};
use oscost_stats::order;

/// A figure and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalEstimate {
    /// The figure.
    pub value: f64,
    /// Its interval; `None` if there are too few values for one.
    pub interval: Option<Interval>,
}

/// The figure of a row, by its key; `None` if there is none.
pub(in crate::studies) type Figures<'a> = dyn Fn(&str) -> Option<f64> + 'a;

/// The figures of some rows by round, each in the base unit of its kind.
#[derive(Clone, Debug, Default)]
pub(in crate::studies) struct Rounds(BTreeMap<String, BTreeMap<u32, f64>>);

impl Rounds {
    /// Adds a row by its key. A program's metrics other than its own figure are left out, since the
    /// record does not have them by round.
    pub(in crate::studies) fn add(&mut self, row: &TableRow, measured: &Row) {
        let is_other_metric = row.metric.is_some() && row.metric != measured.primary_metric;
        if measured.outcome != RowOutcome::Measured || is_other_metric {
            return;
        }
        let BaseUnit { size, .. } = base_unit(measured.unit);
        let workers = measured.repetitions.iter();
        let values = workers.filter_map(|worker| Some((worker.round, worker.value? * size)));
        self.insert(row.key(), values.collect());
    }

    /// Adds the figures of a row by round. Of two rows with one key the first decides.
    pub(in crate::studies) fn insert(&mut self, key: String, by_round: BTreeMap<u32, f64>) {
        self.0.entry(key).or_insert(by_round);
    }

    /// The number of rounds that have a figure of a row.
    pub(in crate::studies) fn count(&self, key: &str) -> usize {
        self.0.get(key).map_or(0, BTreeMap::len)
    }

    /// The median over rounds of a row's figure.
    pub(in crate::studies) fn median(&self, key: &str) -> Option<f64> {
        let values: Vec<f64> = self.0.get(key)?.values().copied().collect();
        order::median(&order::sorted(&values))
    }

    /// Whether a row has any figure.
    pub(in crate::studies) fn has(&self, key: &str) -> bool {
        self.count(key) > 0
    }

    /// The values of `of` in each round that has figures of all these rows, in the order of the
    /// rounds. `None` if `of` has no value in one of them: the rounds that are left would be
    /// selected by their result.
    pub(in crate::studies) fn values_by_round(
        &self,
        keys: &[&str],
        of: &dyn Fn(&Figures<'_>) -> Option<f64>,
    ) -> Option<Vec<f64>> {
        let Some(first) = keys.first().and_then(|key| self.0.get(*key)) else {
            return Some(vec![]);
        };
        let in_round = |round: &u32| {
            let figure = |key: &str| self.0.get(key)?.get(round).copied();
            keys.iter().all(|key| figure(key).is_some()).then(|| of(&figure))
        };
        first.keys().filter_map(in_round).collect()
    }

    /// The median of these values, with its interval.
    pub(in crate::studies) fn estimate(
        &self,
        keys: &[&str],
        nominal: Nominal,
        of: &dyn Fn(&Figures<'_>) -> Option<f64>,
    ) -> Option<IntervalEstimate> {
        let sorted = order::sorted(&self.values_by_round(keys, of)?);
        Some(IntervalEstimate {
            value: order::median(&sorted)?,
            interval: median_hs(&sorted, nominal),
        })
    }

    /// The same of values that have steps, such as the sizes of a series: the median is one of them,
    /// of two in the middle the lower, and so are the ends of its interval.
    pub(in crate::studies) fn estimate_of_steps(
        &self,
        keys: &[&str],
        nominal: Nominal,
        of: &dyn Fn(&Figures<'_>) -> Option<f64>,
    ) -> Option<IntervalEstimate> {
        let sorted = order::sorted(&self.values_by_round(keys, of)?);
        let middle = sorted.len().checked_sub(1)? / 2;
        Some(IntervalEstimate {
            value: *sorted.get(middle)?,
            interval: median_exact(&sorted, nominal),
        })
    }
}
