//! What rows of a run came to, round by round.
//!
//! Workers of one round follow each other, and the machine drifts from round to round: so what is made
//! of several rows (a ratio, a slope) is made in each round that has them all, and the median of
//! these gets the interval.

use std::collections::BTreeMap;

use oscost_model::record::{Row, RowOutcome};

use super::study::TableRow;
use super::unit::base_unit;
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;

/// A figure and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalEstimate {
    /// The figure.
    pub value: f64,
    /// Its interval; `None` where there is too little for one.
    pub interval: Option<Interval>,
}

/// The figure of a row, by its name; `None` where there is none.
pub(super) type Figures<'a> = dyn Fn(&str) -> Option<f64> + 'a;

/// The figures of some rows, by round, each in the plainest unit of its kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds(BTreeMap<String, BTreeMap<u32, f64>>);

impl Rounds {
    /// Adds a row, by the name that claims and formulas have for it. Of a metric that stands beside
    /// a program's own figure no round is known: it is left out.
    pub(super) fn add(&mut self, row: &TableRow, measured: &Row) {
        let beside = row.metric.is_some() && row.metric != measured.primary_metric;
        if measured.outcome != RowOutcome::Measured || beside {
            return;
        }
        let (key, row) = (row.key(), measured);
        let (_, one) = base_unit(row.unit);
        let workers = row.repetitions.iter();
        let values = workers.filter_map(|worker| Some((worker.round, worker.value? * one)));
        self.0.insert(key, values.collect());
    }

    /// Whether a row has figures at all.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|rounds| !rounds.is_empty())
    }

    /// What `of` comes to, given the figures of these rows in one round: in each round that has them
    /// all, in the order of the rounds. `None` where it comes to nothing in one of these: what is
    /// left would be chosen by what came out.
    pub(super) fn values_by_round(
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

    /// The median of that over the rounds, with its interval.
    pub(super) fn estimate(
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
}
