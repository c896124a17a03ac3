//! Variances of many things of one kind, each of which is known from a few values: what all of them say
//! of one (Smyth 2004).

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::gamma::digamma;

use super::moments;

/// A variance as some values show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatedVariance {
    /// The variance.
    pub value: f64,
    /// Its degrees of freedom, above 0.
    pub degrees_of_freedom: f64,
}

impl EstimatedVariance {
    /// The upper confidence limit: if this were the true variance, such a share of estimates would be as
    /// small as this one.
    pub fn upper_limit(self, share: f64) -> f64 {
        let quantile = ChiSquared::new(self.degrees_of_freedom)
            .map_or(f64::NAN, |distribution| distribution.inverse_cdf(share));
        self.value * self.degrees_of_freedom / quantile
    }

    /// The mean of this and another estimate of a variance, weighted by their degrees of freedom; it has
    /// those of both.
    #[must_use]
    pub fn pooled_with(self, other: Self) -> Self {
        let degrees_of_freedom = self.degrees_of_freedom + other.degrees_of_freedom;
        let sum = self.value * self.degrees_of_freedom + other.value * other.degrees_of_freedom;
        Self { value: sum / degrees_of_freedom, degrees_of_freedom }
    }
}

/// Fewer variances do not show how far they differ.
const MIN_VARIANCES: usize = 3;
/// How far variances differ is taken from a confidence limit that is too low so often: a few that happen
/// to be alike say little of the next one.
const LIMIT_SHARE: f64 = 0.2;
/// The variances count for this part of what they would be worth: things that are measured together are
/// no independent evidence, and robust variances have heavier tails than chi-squared ones.
const WORTH: f64 = 0.5;
/// Variances that differ by no more than chance explains are worth no more degrees of freedom.
const MAX_DEGREES: f64 = 1000.0;
/// Variances that differ by many orders of magnitude are worth no fewer.
const MIN_DEGREES: f64 = 0.02;

/// What the variances of all things say of the variance of one: an estimate with the more degrees of
/// freedom, the less they differ by more than chance explains. `None` below three variances above 0;
/// those of 0 have no logarithm and are left out, so that the estimate is rather too large.
///
/// The true variances are taken for the inverse of chi-squared ones; location and spread of the
/// logarithms of the estimates give both numbers (Smyth 2004). The degrees of freedom are also limited
/// by those of all other variances together.
pub fn common_variance(variances: &[EstimatedVariance]) -> Option<EstimatedVariance> {
    let known = variances.iter().filter(|it| it.value > 0.0);
    let known: Vec<&EstimatedVariance> = known.collect();
    if known.len() < MIN_VARIANCES {
        return None;
    }
    let count = known.len() as f64;
    let log = |it: &&EstimatedVariance| it.value.ln() - mean_log(it.degrees_of_freedom);
    let logs: Vec<f64> = known.iter().map(log).collect();
    let between_logs = EstimatedVariance {
        value: moments::standard_deviation(&logs)?.powi(2),
        degrees_of_freedom: count - 1.0,
    };
    let by_chance = known.iter().map(|it| trigamma(it.degrees_of_freedom / 2.0)).sum::<f64>();
    let between = between_logs.upper_limit(LIMIT_SHARE) - by_chance / count;
    let of_differences = degrees_of_log_variance(between);
    let of_others =
        known.iter().map(|it| it.degrees_of_freedom).sum::<f64>() * (count - 1.0) / count;
    let mean = logs.iter().sum::<f64>() / count;
    Some(EstimatedVariance {
        value: (mean + mean_log(of_differences)).exp(),
        degrees_of_freedom: WORTH / (1.0 / of_differences + 1.0 / of_others),
    })
}

/// The mean of the logarithm of an estimate of a variance of 1.
fn mean_log(degrees_of_freedom: f64) -> f64 {
    digamma(degrees_of_freedom / 2.0) - (degrees_of_freedom / 2.0).ln()
}

/// The degrees of freedom of a variance whose logarithm has this variance.
fn degrees_of_log_variance(variance: f64) -> f64 {
    let (mut low, mut high) = (MIN_DEGREES, MAX_DEGREES);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if trigamma(middle / 2.0) > variance { low = middle } else { high = middle }
    }
    high
}

/// The derivative of the digamma function, of numbers above 0: the variance of the logarithm of a gamma
/// variable.
fn trigamma(x: f64) -> f64 {
    /// From here on the asymptotic series is exact to the last digits.
    const ASYMPTOTIC: f64 = 20.0;
    let (mut sum, mut at) = (0.0, x);
    while at < ASYMPTOTIC {
        sum += 1.0 / (at * at);
        at += 1.0;
    }
    let square = 1.0 / (at * at);
    let series = 1.0 + square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0));
    sum + series / at + square / 2.0
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::random::standard_normal;

    /// Variances of so many normal values each, whose true ones have logarithms with this standard
    /// deviation.
    fn estimates(count: usize, degrees: u32, between: f64, seed: u64) -> Vec<EstimatedVariance> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let estimate = |_| {
            let of_one = 4.0 * (between * standard_normal(&mut random)).exp();
            let squares: f64 = (0..degrees).map(|_| standard_normal(&mut random).powi(2)).sum();
            let degrees_of_freedom = f64::from(degrees);
            EstimatedVariance { value: of_one * squares / degrees_of_freedom, degrees_of_freedom }
        };
        (0..count).map(estimate).collect()
    }

    #[test]
    fn the_functions_have_the_values_of_the_tables() {
        for (x, expected) in [(1.0, PI * PI / 6.0), (0.5, PI * PI / 2.0), (2.0, 0.644_934_066_8)] {
            assert!((trigamma(x) - expected).abs() < 1e-9, "{x}");
        }
        assert!((degrees_of_log_variance(trigamma(3.5)) - 7.0).abs() < 1e-6);
        // The 5 % quantile of chi-squared with four degrees of freedom is 0.710723.
        let four = EstimatedVariance { value: 2.0, degrees_of_freedom: 4.0 };
        assert!((four.upper_limit(0.05) - 8.0 / 0.710_723).abs() < 1e-4);
        let pooled = four.pooled_with(EstimatedVariance { value: 5.0, degrees_of_freedom: 2.0 });
        assert_eq!((pooled.value, pooled.degrees_of_freedom), (3.0, 6.0));
    }

    #[test]
    fn equal_variances_are_worth_more_than_different_ones_and_few_are_worth_little() {
        for seed in 0..10 {
            let equal = common_variance(&estimates(200, 4, 0.0, seed)).unwrap();
            assert!((equal.value / 4.0).ln().abs() < 0.25, "{equal:?}");
            assert!(equal.degrees_of_freedom > 3.0, "{equal:?}");
            let different = common_variance(&estimates(200, 4, 2.0, seed)).unwrap();
            assert!(different.degrees_of_freedom < 1.0, "{different:?}");
            let few = common_variance(&estimates(3, 4, 0.0, seed)).unwrap();
            assert!(few.degrees_of_freedom <= 4.0, "{few:?}");
        }
    }

    #[test]
    fn two_variances_or_those_of_0_say_nothing() {
        let mut three = estimates(3, 4, 0.0, 1);
        assert!(common_variance(&three).is_some());
        three[1].value = 0.0;
        assert_eq!([common_variance(&three), common_variance(&three[..2])], [None, None]);
    }
}
