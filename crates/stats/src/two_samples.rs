//! The difference of two independent figures of which only a summary is known: their values are in
//! records, or were never kept.

use statrs::distribution::ContinuousCDF;

use super::between_runs::student;
use super::comparison::Difference;
use super::interval::{Interval, Nominal};
use super::scaling::ValueWithInterval;

/// The difference of two independent figures, `new` minus `base`, with the interval that follows
/// from theirs: the distances to their ends are combined as root of squares (Zou and Donner 2008),
/// so it may be asymmetric. It has the level of the two intervals.
///
/// If errors of both have a common part, the true interval is narrower.
pub fn independent_difference(base: ValueWithInterval, new: ValueWithInterval) -> Difference {
    let below = (new.value - new.interval.lo).hypot(base.interval.hi - base.value);
    let above = (new.interval.hi - new.value).hypot(base.value - base.interval.lo);
    let value = new.value - base.value;
    Difference { value, interval: Interval { lo: value - below, hi: value + above } }
}

/// The mean of independent values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleMean {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the values.
    pub standard_deviation: f64,
    /// How many there are.
    pub count: u32,
}

impl SampleMean {
    /// The variance of the mean.
    fn variance(&self) -> f64 {
        self.standard_deviation.powi(2) / f64::from(self.count)
    }
}

/// The difference of the means of two independent samples, `new` minus `base`, with its interval,
/// whether or not their variances are equal (Welch 1947). `None` if a sample has fewer than two
/// values.
pub fn mean_difference(base: SampleMean, new: SampleMean, nominal: Nominal) -> Option<Difference> {
    if base.count < 2 || new.count < 2 {
        return None;
    }
    let value = new.mean - base.mean;
    let variance = base.variance() + new.variance();
    if variance == 0.0 {
        return Some(Difference { value, interval: Interval { lo: value, hi: value } });
    }
    let part = |of: &SampleMean| of.variance().powi(2) / f64::from(of.count - 1);
    let degrees_of_freedom = variance.powi(2) / (part(&base) + part(&new));
    let quantile = student(degrees_of_freedom)?.inverse_cdf(0.5 + nominal.share() / 2.0);
    let half_width = quantile * variance.sqrt();
    let interval = Interval { lo: value - half_width, hi: value + half_width };
    Some(Difference { value, interval })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figure(value: f64, lo: f64, hi: f64) -> ValueWithInterval {
        ValueWithInterval { value, interval: Interval { lo, hi } }
    }

    #[test]
    fn distances_to_the_ends_are_combined_as_root_of_squares() {
        let found = independent_difference(figure(10.0, 7.0, 13.0), figure(15.0, 11.0, 23.0));
        assert_eq!(found.value, 5.0);
        // 4 below the new one and 3 above the base; 8 above the new one and 3 below the base.
        assert_eq!(found.interval.lo, 0.0);
        assert!((found.interval.hi - (5.0 + 73f64.sqrt())).abs() < 1e-12);
        let same = independent_difference(figure(1.0, 1.0, 1.0), figure(3.0, 2.5, 4.0));
        assert_eq!(same.interval, Interval { lo: 1.5, hi: 3.0 }, "an exact base adds nothing");
    }

    #[test]
    fn means_of_unequal_variances_have_the_interval_of_welch() {
        // Two samples of fifteen: t = 2.49 with 24.94 degrees of freedom, whose quantile is 2.060.
        let base = SampleMean { mean: 20.8, standard_deviation: 7.9f64.sqrt(), count: 15 };
        let new = SampleMean { mean: 23.0, standard_deviation: 3.8f64.sqrt(), count: 15 };
        let found = mean_difference(base, new, Nominal::FIXED).unwrap();
        assert!((found.value - 2.2).abs() < 1e-12);
        assert!((found.interval.half_width() - 1.819).abs() < 2e-3, "{found:?}");
        let one = SampleMean { count: 1, ..base };
        assert_eq!(mean_difference(one, new, Nominal::FIXED), None);
        let constant = |mean: f64| SampleMean { mean, standard_deviation: 0.0, count: 6 };
        let exact = mean_difference(constant(1.0), constant(3.0), Nominal::FIXED).unwrap();
        assert_eq!(exact.interval, Interval { lo: 2.0, hi: 2.0 });
    }

    proptest! {
        #[test]
        fn swapping_the_samples_only_changes_the_sign(
            means in [-1e3..1e3f64, -1e3..1e3f64],
            deviations in [0.1..1e3f64, 0.1..1e3f64],
            counts in [2..100u32, 2..100u32],
        ) {
            let sample = |at: usize| SampleMean {
                mean: means[at],
                standard_deviation: deviations[at],
                count: counts[at],
            };
            let one = mean_difference(sample(0), sample(1), Nominal::FIXED).unwrap();
            let other = mean_difference(sample(1), sample(0), Nominal::FIXED).unwrap();
            prop_assert!((one.value + other.value).abs() < 1e-9);
            prop_assert!((one.interval.lo + other.interval.hi).abs() < 1e-6);
            prop_assert!(one.interval.contains(one.value));
        }
    }
}
