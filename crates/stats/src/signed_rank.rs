//! The signed-rank test (Wilcoxon 1945) and the estimate that belongs to it (Hodges and Lehmann 1963),
//! for differences of pairs: those of pairs in random order are symmetric, since either member may come
//! first, and their order says nothing else.
//!
//! Of normal differences they need 0.67 times as many as the sign test and the median; of differences
//! with heavy tails the sign test may need fewer. Time and memory grow with the square of the number of
//! values, so thousands of pairs are merged beforehand.

use super::interval::{Interval, Nominal};
use super::order;

/// How many normal values the mean needs for each one of the pseudomedian: 3 / pi.
pub const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// The p value of the exact two-sided signed-rank test, from 0 to 1. Differences of exactly 0 are
/// ignored; without others the result is 1. Those of one size share their ranks.
pub fn signed_rank_test(differences: &[f64]) -> f64 {
    let values: Vec<f64> = differences.iter().copied().filter(|&it| it != 0.0).collect();
    let averages = pair_averages(&values);
    // As many averages are above 0 as the ranks of the differences above 0 add up to.
    let above = averages.iter().filter(|&&it| it > 0.0).count();
    let below = averages.iter().filter(|&&it| it < 0.0).count();
    // One of 0 belongs to both sides by half. Rounded up it is less evidence, never more.
    let shared = averages.len() - above - below;
    let smaller = above.min(below) + shared.div_ceil(2);
    let tail: f64 = rank_sums(values.len()).iter().take(smaller + 1).sum();
    (2.0 * tail).min(1.0)
}

/// The pseudomedian: the median of the averages of all two values, and of each with itself. `None`
/// without values.
pub fn pseudomedian(values: &[f64]) -> Option<f64> {
    order::median_in_place(&mut pair_averages(values))
}

/// The interval of the pseudomedian by the same test: what it does not reject. It holds with at least
/// the nominal probability. `None` if there are too few values, below six at 95 %.
pub fn pseudomedian_interval(values: &[f64], nominal: Nominal) -> Option<Interval> {
    let tail = (1.0 - nominal.share()) / 2.0;
    let mut rejected = 0.0;
    let is_rejected = |probability: &f64| {
        rejected += probability;
        rejected <= tail
    };
    let outside = rank_sums(values.len()).iter().copied().take_while(is_rejected).count();
    let averages = order::sorted(&pair_averages(values));
    let first = outside.checked_sub(1)?;
    Some(Interval { lo: averages[first], hi: averages[averages.len() - outside] })
}

/// The averages of all two values, and of each with itself.
fn pair_averages(values: &[f64]) -> Vec<f64> {
    let all = values.iter().enumerate();
    all.flat_map(|(at, value)| values[..=at].iter().map(move |other| (value + other) / 2.0))
        .collect()
}

/// The probabilities that the ranks of the positive ones of so many values add up to 0, 1, 2 and so
/// on, if each has either sign with probability 1/2.
fn rank_sums(count: usize) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for rank in 1..=count {
        let mut next = vec![0.0; probabilities.len() + rank];
        for (sum, probability) in probabilities.iter().enumerate() {
            next[sum] += probability / 2.0;
            next[sum + rank] += probability / 2.0;
        }
        probabilities = next;
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::interval::median_hs;
    use crate::random::standard_normal;

    #[test]
    fn the_test_agrees_with_published_tables() {
        // Sums of ranks whose two-sided p is the largest below 5 % (Wilcoxon and Wilcox 1964).
        for (count, critical) in [(6, 0), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89)] {
            let tail = |sum: usize| 2.0 * rank_sums(count)[..=sum].iter().sum::<f64>();
            assert!(tail(critical) <= 0.05 && tail(critical + 1) > 0.05, "{count}");
        }
        let equal_signs: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(signed_rank_test(&equal_signs), 2.0 / 64.0);
        // The ranks of those below 0 add up to 8.
        let ten = [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -7.0, 8.0, 9.0, 10.0, 0.0];
        assert!((signed_rank_test(&ten) - 0.048_828_125).abs() < 1e-12);
        assert_eq!([signed_rank_test(&[]), signed_rank_test(&[0.0; 9])], [1.0; 2]);
        assert_eq!(signed_rank_test(&[3.0, -3.0, 3.0, -3.0]), 1.0, "they share their ranks");
    }

    #[test]
    fn an_interval_has_the_averages_that_the_test_does_not_reject() {
        let values = [1.1, 2.7, 3.2, 4.9, 5.3, 6.8, 8.4];
        let interval = pseudomedian_interval(&values, Nominal::FIXED).unwrap();
        let p_without = |shift: f64| signed_rank_test(&values.map(|it| it - shift));
        assert!(p_without(interval.lo - 0.01) <= 0.05 && p_without(interval.lo + 0.01) > 0.05);
        assert!(p_without(interval.hi + 0.01) <= 0.05 && p_without(interval.hi - 0.01) > 0.05);
        assert!(interval.contains(pseudomedian(&values).unwrap()));
        assert_eq!(pseudomedian_interval(&values[..5], Nominal::FIXED), None);
        assert!(pseudomedian_interval(&values[..6], Nominal::FIXED).is_some());
        assert_eq!(pseudomedian(&[1.0, 2.0, 30.0]), Some(8.75));
        assert_eq!(pseudomedian(&[]), None);
    }

    #[test]
    fn it_holds_its_level_and_is_narrower_than_the_interval_of_the_median() {
        const COUNT: usize = 20;
        const SAMPLES: usize = 4_000;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(28);
        let (mut held, mut found, mut width, mut width_of_median) = (0, 0, 0.0, 0.0);
        for _ in 0..SAMPLES {
            // The difference of two costs with a tail on one side is symmetric.
            let mut cost = || 0.1 * standard_normal(&mut random).powi(2);
            let values: Vec<f64> = (0..COUNT).map(|_| cost() - cost()).collect();
            found += usize::from(signed_rank_test(&values) <= 0.05);
            let interval = pseudomedian_interval(&values, Nominal::FIXED).unwrap();
            held += usize::from(interval.contains(0.0));
            let normal: Vec<f64> = (0..COUNT).map(|_| standard_normal(&mut random)).collect();
            width += pseudomedian_interval(&normal, Nominal::FIXED).unwrap().half_width();
            let of_median = median_hs(&order::sorted(&normal), Nominal::FIXED).unwrap();
            width_of_median += of_median.half_width();
        }
        let share = |count: usize| count as f64 / SAMPLES as f64;
        assert!((0.94..0.97).contains(&share(held)), "{}", share(held));
        assert!(share(found) < 0.06, "{}", share(found));
        assert!(width < 0.9 * width_of_median, "{}", width / width_of_median);
    }

    proptest! {
        #[test]
        fn exchanged_pairs_change_the_sign_alone(
            values in prop::collection::vec(-1e3..1e3f64, 6..40),
        ) {
            let exchanged: Vec<f64> = values.iter().map(|it| -it).collect();
            let interval = |values: &[f64]| pseudomedian_interval(values, Nominal::FIXED).unwrap();
            let (one, other) = (interval(&values), interval(&exchanged));
            prop_assert_eq!((one.lo, one.hi), (-other.hi, -other.lo));
            prop_assert_eq!(signed_rank_test(&values), signed_rank_test(&exchanged));
        }
    }
}
