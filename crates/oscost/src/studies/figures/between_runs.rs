//! How far the figure of a row varies between runs, by the two intervals that its record has.

use oscost_model::record::Row;
use oscost_stats::between_runs::Prior;
use oscost_stats::interval::{Interval, Nominal};
use oscost_stats::student::Estimate;

/// The degrees of freedom of what is known of the variation between runs: those of the prior of a
/// class. Where earlier runs have more, the deviation is stated too small and its quantile too large by
/// the same factor.
const DEGREES_OF_FREEDOM: f64 = 4.0;

/// The standard deviation between runs of the logarithm of a row's figure; `None` if the record has no
/// interval between runs of it.
///
/// That interval also has what the repetitions of this run leave open, which a figure by rounds has of
/// its own: only what is beyond it is taken.
pub(in crate::studies) fn deviation(row: &Row) -> Option<f64> {
    let estimate = row.estimate.as_ref()?;
    let between = log_half_width(estimate.between_run_ci95?)?;
    let within = log_half_width(estimate.ci95?)?;
    let beyond = (between * between - within * within).max(0.0).sqrt();
    Some(beyond / half_width(1.0, Nominal::FIXED))
}

/// Half the width of an interval that leaves open what varies between runs by this deviation.
fn half_width(deviation: f64, nominal: Nominal) -> f64 {
    let degrees_of_freedom = DEGREES_OF_FREEDOM;
    let spread = Estimate { value: 0.0, standard_error: deviation, degrees_of_freedom };
    spread.interval(nominal).half_width()
}

/// An interval of a value, widened by what the value varies by between runs.
pub(in crate::studies) fn widened(
    value: f64,
    within: Interval,
    deviation: f64,
    nominal: Nominal,
) -> Interval {
    let between = half_width(deviation, nominal);
    Interval {
        lo: value - (value - within.lo).hypot(between),
        hi: value + (within.hi - value).hypot(between),
    }
}

/// What is known of a variation between runs before a quantity has several runs.
pub(in crate::studies) fn prior(deviation: f64) -> Prior {
    Prior { deviation, degrees_of_freedom: DEGREES_OF_FREEDOM }
}

fn log_half_width([low, high]: [f64; 2]) -> Option<f64> {
    let half = (high / low).ln() / 2.0;
    (low > 0.0 && half.is_finite()).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::test_record::{measured_row, stored_record};

    fn row(ci95: [f64; 2], between_run_ci95: Option<[f64; 2]>) -> Row {
        let mut row = measured_row(&stored_record(), "a", &[100.0; 6]);
        let estimate = row.estimate.as_mut().unwrap();
        (estimate.ci95, estimate.between_run_ci95) = (Some(ci95), between_run_ci95);
        row
    }

    #[test]
    fn the_deviation_of_a_row_is_what_its_interval_between_runs_has_beyond_that_of_the_run() {
        let ends = |half: f64| [100.0 * (-half).exp(), 100.0 * half.exp()];
        // A class of 5 %: 2.776 times that with four degrees of freedom.
        let between = 0.138_822f64.hypot(0.02);
        let found = deviation(&row(ends(0.02), Some(ends(between)))).unwrap();
        assert!((found - 0.05).abs() < 1e-5, "{found}");
        assert_eq!(deviation(&row(ends(0.02), None)), None);
        assert_eq!(deviation(&row([-1.0, 1.0], Some([-2.0, 2.0]))), None);
        let exact = deviation(&row([100.0; 2], Some([100.0; 2])));
        assert_eq!(exact, Some(0.0));
    }

    #[test]
    fn a_widened_interval_of_a_row_is_its_interval_between_runs() {
        let within = Interval { lo: -0.02, hi: 0.02 };
        let found = widened(0.0, within, 0.05, Nominal::FIXED);
        assert!((found.hi - 0.138_822f64.hypot(0.02)).abs() < 1e-5, "{found:?}");
        assert_eq!(found.lo, -found.hi);
        assert!(widened(0.0, within, 0.05, Nominal::FIXED.bonferroni(6)).hi > 1.3 * found.hi);
    }
}
