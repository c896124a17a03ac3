//! How pairs are tested: by their signs, or by their signed ranks. Each has its own centre of the pairs,
//! and its own interval of it.

use oscost_stats::comparison::{sample_size, sign_test};
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;
use oscost_stats::paired_power::PairCriterion;
use oscost_stats::signed_rank::{pseudomedian, pseudomedian_interval, signed_rank_test};

/// The test of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairTest {
    /// Signs, and the median: whatever the distribution is.
    #[default]
    Signs,
    /// Signed ranks, and the pseudomedian: of pairs whose members are in random order, so that nothing
    /// but an effect makes them asymmetric.
    SignedRanks,
}

impl PairTest {
    /// The centre of these values; `all` has those that they were merged from.
    pub(super) fn centre(self, values: &[f64], all: &[f64]) -> Option<f64> {
        match self {
            PairTest::Signs => order::median(&order::sorted(all)),
            PairTest::SignedRanks => pseudomedian(values),
        }
    }

    /// The interval of the centre; `None` with too few values.
    pub(super) fn interval(self, values: &[f64], nominal: Nominal) -> Option<Interval> {
        match self {
            PairTest::Signs => median_hs(&order::sorted(values), nominal),
            PairTest::SignedRanks => pseudomedian_interval(values, nominal),
        }
    }

    /// The probability of values like these if nothing differs.
    pub(super) fn p(self, values: &[f64]) -> f64 {
        match self {
            PairTest::Signs => sign_test(values),
            PairTest::SignedRanks => signed_rank_test(values),
        }
    }

    /// The smallest effect that is found in 80 of 100 comparisons of so many values with this robust
    /// deviation; `None` if they are too few for any.
    pub(super) fn detectable(self, by: PairCriterion, sd: f64, count: usize) -> Option<f64> {
        match self {
            PairTest::Signs => by.detectable(sd, count),
            PairTest::SignedRanks => by.detectable_by_ranks(sd, count),
        }
    }

    /// How many values with this deviation detect an effect.
    pub(super) fn count_needed(self, sd: f64, effect: f64) -> f64 {
        /// The efficiency of the median of normal values over that of the pseudomedian:
        /// (2 / pi) / (3 / pi).
        const SHARE: f64 = 2.0 / 3.0;
        let by_signs = sample_size(sd, effect);
        match self {
            PairTest::Signs => by_signs,
            PairTest::SignedRanks => (SHARE * by_signs).ceil(),
        }
    }
}
