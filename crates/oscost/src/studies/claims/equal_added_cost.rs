//! Whether a second target adds the same to several cases.

use std::collections::BTreeMap;

use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;

use super::claim::EQUAL_WITHIN_PCT;
use super::verdict::{MIN_ROUNDS, Verdict, judge_bounds};
use crate::studies::figures::rounds::IntervalEstimate;

/// The cost that is added to some cases on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedCost {
    /// In nanoseconds: the median over rounds of the mean over cases.
    pub mean: IntervalEstimate,
    /// The number of rounds with all cases on both targets.
    pub rounds: usize,
}

/// Whether the same is added to all cases.
pub(super) struct EqualAddedResult {
    pub(super) verdict: Verdict,
    pub(super) added: Option<AddedCost>,
    pub(super) each: Vec<Option<IntervalEstimate>>,
}

/// Judges whether the costs added to some cases, given by round, are the same.
///
/// The machine drifts between rounds, so a case is compared with the mean of all cases of the same
/// round, and the interval is that of the median of these differences. All intervals together
/// contain the true values in 95 % of runs (Bonferroni), so a constant is refuted in at most 5 %.
pub(super) fn equal_added(cases: &[BTreeMap<u32, f64>]) -> EqualAddedResult {
    let none = |verdict, added| EqualAddedResult { verdict, added, each: vec![None; cases.len()] };
    let undecided = |why: String| Verdict::Undecided(why);
    let rounds: Vec<Vec<f64>> = cases
        .first()
        .into_iter()
        .flat_map(BTreeMap::keys)
        .filter_map(|round| cases.iter().map(|case| case.get(round).copied()).collect())
        .collect();
    let means: Vec<f64> =
        rounds.iter().map(|round| round.iter().sum::<f64>() / round.len() as f64).collect();
    let sorted = order::sorted(&means);
    let Some(mean) = order::median(&sorted) else {
        let why = "no round has all of its cases on both targets".to_owned();
        return none(undecided(why), None);
    };
    let interval = median_hs(&sorted, Nominal::FIXED);
    let added =
        AddedCost { mean: IntervalEstimate { value: mean, interval }, rounds: rounds.len() };
    if rounds.len() < MIN_ROUNDS {
        let why =
            format!("{} rounds have all of its cases, and {MIN_ROUNDS} are needed", rounds.len());
        return none(undecided(why), Some(added));
    }
    if interval.is_none_or(|it| it.lo <= 0.0) {
        let why = "the interval of what is added on average reaches zero".to_owned();
        return none(undecided(why), Some(added));
    }
    let nominal = Nominal::FIXED.bonferroni(cases.len());
    let estimate = |case: usize| {
        let differences = rounds.iter().zip(&means).map(|(round, of_round)| round[case] - of_round);
        let differences: Vec<f64> = differences.map(|it| it / mean).collect();
        let sorted = order::sorted(&differences);
        Some(IntervalEstimate {
            value: order::median(&sorted)?,
            interval: median_hs(&sorted, nominal),
        })
    };
    let each: Vec<Option<IntervalEstimate>> = (0..cases.len()).map(estimate).collect();
    let bound = EQUAL_WITHIN_PCT / 100.0;
    let verdict = match each.iter().flatten().any(|it| it.interval.is_none()) {
        true => undecided(format!("{} rounds are too few to bound all intervals", rounds.len())),
        false => judge_bounds(&each, Interval { lo: -bound, hi: bound }),
    };
    EqualAddedResult { verdict, added: Some(added), each }
}

#[cfg(test)]
mod tests;
