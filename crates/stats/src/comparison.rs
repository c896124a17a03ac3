//! Comparison of two lists: differences, tests, and the power of a comparison.
//!
//! For ratios, callers pass logarithms.

use statrs::distribution::{ContinuousCDF, Normal};

use super::interval::{Interval, Nominal, median_hs};
use super::order;

/// A difference and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// The difference of the medians of two independent sorted lists, `new` minus `base`, with its
/// interval. `None` if a list is too short for an interval.
///
/// Each median has an interval by [`median_hs`] at its own level; the distances to their ends are
/// combined as root of squares (Zou and Donner 2008), so the interval may be asymmetric and assumes
/// nothing about the distributions.
pub fn median_difference(
    base: &[f64],
    new: &[f64],
    [of_base, of_new]: [Nominal; 2],
) -> Option<Difference> {
    let (b, n) = (order::median(base)?, order::median(new)?);
    let (around_b, around_n) = (median_hs(base, of_base)?, median_hs(new, of_new)?);
    let below = (n - around_n.lo).hypot(around_b.hi - b);
    let above = (around_n.hi - n).hypot(b - around_b.lo);
    let value = n - b;
    Some(Difference { value, interval: Interval { lo: value - below, hi: value + above } })
}

/// The p value of the exact two-sided sign test, from 0 to 1. Differences of exactly 0 are ignored;
/// without others the result is 1.
pub fn sign_test(differences: &[f64]) -> f64 {
    let positive = differences.iter().filter(|&&it| it > 0.0).count();
    let negative = differences.iter().filter(|&&it| it < 0.0).count();
    let n = positive + negative;
    // Terms C(n, k) / 2^n from k = 0 on, by their logarithms: 2^-n is zero from n = 1075 on.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=positive.min(negative) {
        tail += term.exp();
        term += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

/// The smallest shift of `count` values, with standard deviation `sd` around it, that the two-sided
/// sign test at `level` finds in 80 of 100 tests, in their unit. `None` if so few values never reach
/// the level.
pub(crate) fn sign_test_detectable(sd: f64, count: usize, level: f64) -> Option<f64> {
    const POWER: f64 = 0.8;
    let other_sign = sign_test_rank(count, level)?;
    // The share of values on the side of the shift, by bisection: more of them are found more often.
    let (mut low, mut high) = (0.5, 1.0);
    for _ in 0..50 {
        let share = (low + high) / 2.0;
        match at_most(other_sign, count, 1.0 - share) < POWER {
            true => low = share,
            false => high = share,
        }
    }
    Some(sd * Normal::standard().inverse_cdf(high))
}

/// How many of `count` values may have the other sign, at most, for the two-sided sign test to reach
/// `level`. `None` if so few values never do.
pub(crate) fn sign_test_rank(count: usize, level: f64) -> Option<usize> {
    (0..count / 2).take_while(|&k| 2.0 * at_most(k, count, 0.5) <= level).last()
}

/// The probability of at most `k` successes in `n` trials.
fn at_most(k: usize, n: usize, success: f64) -> f64 {
    // By logarithms, as in the sign test.
    let mut term = n as f64 * (-success).ln_1p();
    let mut sum = 0.0;
    for i in 0..=k {
        sum += term.exp();
        term += ((n - i) as f64 / (i + 1) as f64).ln() + success.ln() - (-success).ln_1p();
    }
    sum.min(1.0)
}

/// Adjusts p values for the false discovery rate (Benjamini and Hochberg 1995): if all hypotheses
/// with a result of at most `q` are rejected, the expected share of false rejections is at most
/// `q`. The results are in the order of the p values.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    let mut q = vec![1.0; p.len()];
    let mut min = 1.0f64;
    for (rank, &at) in order.iter().enumerate().rev() {
        // A factor of exactly 1 for the last, so that no q is below its p.
        min = min.min(p[at] * (p.len() as f64 / (rank + 1) as f64));
        q[at] = min;
    }
    q
}

/// The ratio of the standard errors of median and mean of normal values.
const MEDIAN_STANDARD_ERROR_FACTOR: f64 = 1.253;

/// The minimum detectable difference of the median of `count` differences with standard deviation
/// `sd`, in their unit: at 95 % confidence and 80 % power, so 1.96 + 0.842 standard errors of the
/// median.
pub fn detectable_difference(sd: f64, count: usize) -> f64 {
    MEDIAN_STANDARD_ERROR_FACTOR * (1.960 + 0.842) * sd / (count as f64).sqrt()
}

/// The same at another level of confidence.
pub fn detectable_difference_at(sd: f64, count: usize, nominal: Nominal) -> f64 {
    let quantile = |share: f64| Normal::standard().inverse_cdf(share);
    let factor = quantile((1.0 + nominal.share()) / 2.0) + quantile(0.8);
    MEDIAN_STANDARD_ERROR_FACTOR * factor * sd / (count as f64).sqrt()
}

/// The number of differences needed to detect `difference`, given their standard deviation `sd` in
/// the same unit; the inverse of [`detectable_difference`].
pub fn sample_size(sd: f64, difference: f64) -> f64 {
    (detectable_difference(sd, 1) / difference).powi(2).ceil()
}

/// The lag-one autocorrelation, from -1 to 1. `None` below three values, or if all are equal.
pub fn lag_one_autocorrelation(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let product: f64 = values.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum();
    (square > 0.0).then_some(product / square)
}

/// The medians of `count` consecutive blocks of nearly equal length.
pub fn block_medians(values: &[f64], count: usize) -> Vec<f64> {
    let bound = |block: usize| block * values.len() / count;
    let block = |at: usize| order::median(&order::sorted(&values[bound(at)..bound(at + 1)]));
    (0..count).filter_map(block).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sign_test_finds_its_smallest_shift_in_four_of_five() {
        // Six of six, at 5 %: each on one side with probability 0.8^(1/6), 0.9635, or 1.793 sd.
        let six = sign_test_detectable(1.0, 6, 0.05).unwrap();
        assert!((six - 1.793).abs() < 1e-3, "{six}");
        assert_eq!(sign_test_detectable(1.0, 5, 0.05), None);
        assert_eq!(sign_test_detectable(1.0, 6, 0.01), None);
        // 8 or fewer of 30 on the other side are rarer than 1 in 40 (B(30, 1/2): 0.0081; 9: 0.0214;
        // 10: 0.0494).
        assert!((at_most(9, 30, 0.5) - 0.0214).abs() < 1e-4);
        let found = |count| sign_test_detectable(0.02, count, 0.05).unwrap();
        assert!(found(30) < found(12) && found(1_000) > 0.0, "{}", found(30));
        // Many values: 2.802 standard errors of the median.
        let ratio = found(10_000) / detectable_difference(0.02, 10_000);
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn the_sign_test_agrees_with_binomial_tables() {
        let signs = |positive: usize, negative: usize| {
            sign_test(&[vec![1.0; positive], vec![-1.0; negative], vec![0.0; 3]].concat())
        };
        for (positive, negative, p) in [
            (6, 0, 2.0 / 64.0),
            (5, 0, 2.0 / 32.0),
            (9, 1, 22.0 / 1024.0),
            (2, 10, 2.0 * 79.0 / 4096.0),
            (3, 3, 1.0),
            (0, 0, 1.0),
        ] {
            let found = signs(positive, negative);
            assert!((found - p).abs() < 1e-12, "{positive} and {negative}: {found}, not {p}");
        }
        let many = signs(2_000, 1_000);
        assert!(many < 1e-60 && signs(1_500, 1_500) == 1.0, "{many}");
    }

    #[test]
    fn adjusted_p_values_agree_with_the_paper() {
        // The fifteen p values of Benjamini and Hochberg (1995), section 3.2: four discoveries.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let q = benjamini_hochberg(&p);
        assert_eq!(q.iter().filter(|&&q| q <= 0.05).count(), 4, "{q:?}");
        assert!((q[0] - 0.0015).abs() < 1e-12 && (q[14] - 1.0).abs() < 1e-12);
        assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
    }

    #[test]
    fn the_detectable_difference_follows_its_formula() {
        assert!((detectable_difference(0.02, 16) - 3.5 * 0.02 / 4.0).abs() < 1e-4);
        assert_eq!(sample_size(0.02, 0.01), 50.0, "(3.51 x 2)^2, rounded up to a whole pair");
    }

    #[test]
    fn autocorrelation_is_found_and_removed_by_blocks() {
        let slow: Vec<f64> = (0..40).map(|i| (f64::from(i) / 6.0).sin()).collect();
        let fast: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        assert!(
            lag_one_autocorrelation(&slow).unwrap() > 0.9
                && lag_one_autocorrelation(&fast).unwrap() < -0.9
        );
        assert_eq!(
            [lag_one_autocorrelation(&[1.0, 2.0]), lag_one_autocorrelation(&[1.0; 9])],
            [None, None]
        );
        assert_eq!(block_medians(&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 40.0], 2), [2.0, 25.0]);
    }

    #[test]
    fn a_median_difference_combines_both_intervals() {
        let base: Vec<f64> = (1..=10).map(f64::from).collect();
        let new: Vec<f64> = base.iter().map(|value| value + 3.0).collect();
        let both = [Nominal::FIXED; 2];
        let Difference { value, interval } = median_difference(&base, &new, both).unwrap();
        let half = median_hs(&base, Nominal::FIXED).unwrap().half_width();
        assert!((value - 3.0).abs() < 1e-12);
        assert!((interval.half_width() - 2f64.sqrt() * half).abs() < 1e-12);
        assert!(median_difference(&base[..5], &new, both).is_none());
    }

    proptest! {
        #[test]
        fn q_values_keep_the_order_of_p_values_and_are_never_smaller(
            p in prop::collection::vec(0.0..=1.0f64, 1..60),
        ) {
            let q = benjamini_hochberg(&p);
            for (one, &p_one) in p.iter().enumerate() {
                prop_assert!(q[one] >= p_one && q[one] <= 1.0);
                for (other, &p_other) in p.iter().enumerate() {
                    prop_assert!(p_one > p_other || q[one] <= q[other]);
                }
            }
        }

        #[test]
        fn swapping_the_lists_only_changes_the_sign(
            base in prop::collection::vec(-1e3..1e3f64, 6..40),
            new in prop::collection::vec(-1e3..1e3f64, 6..40),
        ) {
            let (base, new) = (order::sorted(&base), order::sorted(&new));
            let both = [Nominal::FIXED; 2];
            let one = median_difference(&base, &new, both).unwrap();
            let other = median_difference(&new, &base, both).unwrap();
            prop_assert!((one.value + other.value).abs() < 1e-9);
            prop_assert!((one.interval.lo + other.interval.hi).abs() < 1e-9);
            prop_assert!(one.interval.contains(one.value));
        }
    }
}
