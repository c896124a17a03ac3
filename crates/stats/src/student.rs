//! Estimates whose errors have Student's distribution.

use statrs::distribution::ContinuousCDF;

use super::between_runs::student;
use super::interval::{Interval, Nominal};

/// A figure with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Its standard error, in the same unit.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

/// A part of a weighted sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The figure.
    pub estimate: Estimate,
    /// Its weight, of either sign.
    pub weight: f64,
}

impl Estimate {
    /// The sum of independent figures times their weights, with the degrees of freedom of
    /// Satterthwaite (1946).
    pub fn sum(parts: &[Weighted]) -> Self {
        let value = parts.iter().map(|it| it.weight * it.estimate.value).sum();
        let variance = |it: &Weighted| (it.weight * it.estimate.standard_error).powi(2);
        let total: f64 = parts.iter().map(variance).sum();
        let squares: f64 =
            parts.iter().map(|it| variance(it).powi(2) / it.estimate.degrees_of_freedom).sum();
        // Without any variance the quantile does not matter.
        let degrees_of_freedom = if squares > 0.0 { total * total / squares } else { 1.0 };
        Self { value, standard_error: total.sqrt(), degrees_of_freedom }
    }

    /// The difference of two independent figures, this one minus the base (Welch 1947).
    #[must_use]
    pub fn minus(self, base: Self) -> Self {
        let of = |estimate: Self, weight: f64| Weighted { estimate, weight };
        Self::sum(&[of(self, 1.0), of(base, -1.0)])
    }

    /// The interval by Student's distribution.
    pub fn interval(&self, nominal: Nominal) -> Interval {
        if self.standard_error == 0.0 {
            return Interval { lo: self.value, hi: self.value };
        }
        let quantile = student(self.degrees_of_freedom)
            .map_or(f64::INFINITY, |it| it.inverse_cdf(0.5 + nominal.share() / 2.0));
        let half_width = quantile * self.standard_error;
        Interval { lo: self.value - half_width, hi: self.value + half_width }
    }

    /// The probability of a value of this size or larger, on either side, if the true one is 0.
    pub fn two_sided_p(&self) -> f64 {
        if self.standard_error == 0.0 {
            return if self.value == 0.0 { 1.0 } else { 0.0 };
        }
        let distance = self.value.abs() / self.standard_error;
        student(self.degrees_of_freedom).map_or(1.0, |it| 2.0 * it.cdf(-distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, standard_error: f64) -> Estimate {
        Estimate { value, standard_error, degrees_of_freedom: 9.0 }
    }

    #[test]
    fn a_difference_has_the_variance_of_both() {
        let found = estimate(5.0, 3.0).minus(estimate(1.0, 4.0));
        assert_eq!((found.value, found.standard_error), (4.0, 5.0));
        // 25^2 / (81 / 9 + 256 / 9).
        assert!((found.degrees_of_freedom - 625.0 * 9.0 / 337.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_p_of_an_estimate_is_that_of_the_tables() {
        // The 97.5 % quantile of Student's distribution with nine degrees of freedom.
        assert!((estimate(2.262_157, 1.0).two_sided_p() - 0.05).abs() < 1e-6);
        let interval = estimate(0.0, 2.0).interval(Nominal::FIXED);
        assert!((interval.hi - 4.524_314).abs() < 1e-4, "{interval:?}");
        assert_eq!([estimate(0.0, 0.0), estimate(1.0, 0.0)].map(|it| it.two_sided_p()), [1.0, 0.0]);
    }
}
