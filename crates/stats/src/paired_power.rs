//! Which effects a comparison of pairs finds: a test and an interval must both show one. They are the sign
//! test and the interval of the median (docs/explanation/METHOD.md, section 11), or the signed-rank test
//! and the interval of the pseudomedian (section 13).

use statrs::distribution::{ContinuousCDF, Normal};

use super::between_runs::{found_beyond, student};
use super::comparison::{detectable_difference_at, sign_test_detectable, sign_test_rank};
use super::interval::{MedianRanks, Nominal};
use super::signed_rank;

/// The share of comparisons in which a detectable effect is found.
const POWER: f64 = 0.8;

/// Of more pairs one of both conditions decides alone.
const MAX_COUNTED_PAIRS: usize = 500;

/// The median absolute deviation of n normal values is without bias, but its distribution is skewed:
/// in the median it is too small by this over n (simulated, from six to sixty values).
const MEDIAN_OF_DEVIATIONS: f64 = 0.4;

/// Beyond this share of values below a point the power is next to none.
const MAX_SHARE_BELOW: f64 = 0.9;

/// When pairs show an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairCriterion {
    /// The level of the two-sided test against no effect.
    pub level: f64,
    /// The level of the interval.
    pub nominal: Nominal,
    /// The interval lies beyond this, in the unit of the values.
    pub margin: f64,
}

impl PairCriterion {
    /// The smallest effect of `count` values, with robust standard deviation `sd` around it, that is
    /// found in 80 of 100 comparisons by the sign test and the interval of the median, in their unit.
    /// `None` if so few values never show one.
    ///
    /// The interval lies beyond the margin if few enough values lie below it, so that both conditions
    /// count values of one sample: what counts is how often they hold together.
    pub fn detectable(&self, sd: f64, count: usize) -> Option<f64> {
        let ranks = CriticalRanks {
            below_zero: sign_test_rank(count, self.level)?,
            interval: MedianRanks::of(self.nominal, count)?,
        };
        if sd == 0.0 {
            return Some(self.margin);
        }
        let sd = sd * (1.0 + MEDIAN_OF_DEVIATIONS / count as f64);
        if count > MAX_COUNTED_PAIRS {
            let of_test = sign_test_detectable(sd, count, self.level)?;
            let of_interval = self.margin + detectable_difference_at(sd, count, self.nominal);
            return Some(of_test.max(of_interval));
        }
        // By bisection: a larger effect is found more often. Ten deviations beyond the margin all
        // values are.
        let (mut low, mut high) = (0.0, self.margin + 10.0 * sd);
        for _ in 0..40 {
            let effect = (low + high) / 2.0;
            let below = |point: f64| Normal::standard().cdf((point - effect) / sd);
            match ranks.power(count, below(0.0), below(self.margin)) < POWER {
                true => low = effect,
                false => high = effect,
            }
        }
        Some(high)
    }

    /// The same by the signed-rank test and the interval of the pseudomedian, which find nearly what
    /// Student's distribution does of the mean of normal values.
    pub fn detectable_by_ranks(&self, sd: f64, count: usize) -> Option<f64> {
        let of_interval = 1.0 - self.nominal.share();
        let smallest_p = 2f64.powf(1.0 - count as f64);
        if smallest_p > self.level.min(of_interval) {
            return None;
        }
        let sd = sd * (1.0 + MEDIAN_OF_DEVIATIONS / count as f64);
        let standard_error = sd / (signed_rank::EFFICIENCY * count as f64).sqrt();
        let degrees_of_freedom = count as f64 - 1.0;
        let distribution = student(degrees_of_freedom)?;
        let beyond = |level: f64| {
            let quantile = distribution.inverse_cdf(1.0 - level / 2.0);
            standard_error * found_beyond(quantile, degrees_of_freedom)
        };
        Some(beyond(self.level).max(self.margin + beyond(of_interval)))
    }
}

/// How many values may lie below a point.
struct CriticalRanks {
    /// Below zero.
    below_zero: usize,
    /// Below the margin, as the ranks that the end of the interval lies between.
    interval: MedianRanks,
}

impl CriticalRanks {
    /// The probability that `count` values show an effect, by the shares of all values below zero and
    /// below the margin.
    fn power(&self, count: usize, below_zero: f64, below_margin: f64) -> f64 {
        if below_margin > MAX_SHARE_BELOW {
            return 0.0;
        }
        let MedianRanks { outer, inward } = self.interval;
        let odds = below_margin / (1.0 - below_margin);
        let mut term = (1.0 - below_margin).powf(count as f64);
        let mut power = 0.0;
        for number in 0..=outer {
            // Of the values below the margin, so many are below zero, too.
            let both = term * at_most(self.below_zero, number, below_zero / below_margin);
            // With `outer` values below the margin, the end of the interval is between two values of
            // which one lies below it.
            power += if number == outer { inward * both } else { both };
            term *= (count - number) as f64 / (number + 1) as f64 * odds;
        }
        power
    }
}

/// The probability of at most `limit` successes in `count` trials.
fn at_most(limit: usize, count: usize, success: f64) -> f64 {
    if count <= limit {
        return 1.0;
    }
    if success >= 1.0 {
        return 0.0;
    }
    let odds = success / (1.0 - success);
    let (mut sum, mut term) = (0.0, (1.0 - success).powf(count as f64));
    for number in 0..=limit {
        sum += term;
        term *= (count - number) as f64 / (number + 1) as f64 * odds;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::comparison::sign_test;
    use crate::interval::median_hs;
    use crate::random::standard_normal;
    use crate::signed_rank::{pseudomedian_interval, signed_rank_test};
    use crate::{order, robust};

    const MARGIN: f64 = 0.01;

    /// The share of comparisons of so many pairs that find the effect which is detectable by the
    /// median of robust deviations.
    fn power(criterion: PairCriterion, sd: f64, count: usize) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(17 + count as u64);
        let mut values = |effect: f64| -> Vec<f64> {
            (0..count).map(|_| effect + sd * standard_normal(&mut random)).collect()
        };
        let small_sample_factor = count as f64 / (count as f64 - 0.8);
        let deviations: Vec<f64> = (0..1_001)
            .filter_map(|_| robust::mad_sd(&order::sorted(&values(0.0))))
            .map(|it| small_sample_factor * it)
            .collect();
        let median = order::median(&order::sorted(&deviations)).unwrap();
        let effect = criterion.detectable(median, count).unwrap();
        let found = (0..4_000).filter(|_| {
            let values = values(effect);
            let interval = median_hs(&order::sorted(&values), criterion.nominal).unwrap();
            interval.lo > criterion.margin && sign_test(&values) <= criterion.level
        });
        found.count() as f64 / 4_000.0
    }

    #[test]
    fn a_detectable_effect_is_found_in_four_of_five_comparisons_by_both_conditions() {
        for level in [0.05, 0.001, 0.05 / 40.0] {
            let criterion = PairCriterion { level, nominal: Nominal::FIXED, margin: MARGIN };
            for (count, sd) in [(12, 0.005), (16, 0.02), (30, 0.05), (60, 0.02), (30, 0.002)] {
                let power = power(criterion, sd, count);
                assert!((0.75..0.85).contains(&power), "{level}, {count} of sd {sd}: {power}");
            }
        }
    }

    #[test]
    fn an_effect_that_ranks_detect_is_found_in_four_of_five_comparisons() {
        for (level, looks) in [(0.05, 1), (0.025, 2), (0.05 / 40.0, 1)] {
            let nominal = Nominal::FIXED.bonferroni(looks);
            for (count, sd) in [(20, 0.005), (20, 0.02), (30, 0.02), (60, 0.02)] {
                let criterion = PairCriterion { level, nominal, margin: MARGIN };
                let effect = criterion.detectable_by_ranks(sd, count).unwrap();
                // The deviation was taken for the median of robust ones.
                let sd = sd * (1.0 + MEDIAN_OF_DEVIATIONS / count as f64);
                let mut random = Xoshiro256PlusPlus::seed_from_u64(28 + count as u64);
                let found = (0..1_000).filter(|_| {
                    let values: Vec<f64> =
                        (0..count).map(|_| effect + sd * standard_normal(&mut random)).collect();
                    let interval = pseudomedian_interval(&values, nominal).unwrap();
                    interval.lo > MARGIN && signed_rank_test(&values) <= level
                });
                let power = found.count() as f64 / 1_000.0;
                assert!((0.74..0.86).contains(&power), "{level}, {count} of sd {sd}: {power}");
            }
        }
    }

    #[test]
    fn few_values_never_reach_a_level() {
        let at = |level| PairCriterion { level, nominal: Nominal::FIXED, margin: MARGIN };
        assert_eq!(at(0.001).detectable(0.02, 10), None);
        assert_eq!(at(0.05).detectable(0.02, 5), None);
        assert!(at(0.05).detectable(0.02, 6).is_some() && at(0.001).detectable(0.02, 11).is_some());
        assert_eq!(at(0.05).detectable(0.0, 30), Some(MARGIN));
        assert_eq!(at(0.001).detectable_by_ranks(0.02, 10), None);
        assert_eq!(at(0.05).detectable_by_ranks(0.02, 5), None);
        assert!(at(0.05).detectable_by_ranks(0.02, 6).is_some());
        assert_eq!(at(0.05).detectable_by_ranks(0.0, 30), Some(MARGIN));
    }

    #[test]
    fn counted_pairs_go_over_into_many() {
        for margin in [0.0, MARGIN] {
            let criterion = PairCriterion { level: 0.05, nominal: Nominal::FIXED, margin };
            let [counted, many] =
                [500, 501].map(|count| criterion.detectable(0.02, count).unwrap());
            assert!((many / counted - 1.0).abs() < 0.05, "margin {margin}: {counted} {many}");
        }
    }

    #[test]
    fn a_condition_alone_has_the_probability_of_its_binomial() {
        let interval = || MedianRanks::of(Nominal::FIXED, 12).unwrap();
        let of_interval = CriticalRanks { below_zero: 12, interval: interval() };
        let MedianRanks { outer, inward } = interval();
        assert_eq!(outer, 3);
        // 79 and 220 of 4096: two of twelve or fewer, and three.
        let expected = (79.0 + inward * 220.0) / 4096.0;
        assert!((of_interval.power(12, 0.5, 0.5) - expected).abs() < 1e-12);
        // Those below zero are half of those below the margin: none of three is with 1/8.
        let none = CriticalRanks { below_zero: 0, interval: interval() };
        let expected = (1.0 + 12.0 / 2.0 + 66.0 / 4.0 + inward * 220.0 / 8.0) / 4096.0;
        assert!((none.power(12, 0.25, 0.5) - expected).abs() < 1e-12);
    }
}
