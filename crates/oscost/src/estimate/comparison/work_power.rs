//! The smallest change of work that is found in 80 of 100 comparisons by the whole rule: the interval of
//! 95 % lies beyond the margin, and p is small enough for the only discovery among all rows.

use oscost_stats::between_runs::RunDifference;
use oscost_stats::interval::Nominal;

/// Half the width of a normal interval of 95 %, in standard deviations.
pub(super) const Z_95: f64 = 1.960;

/// The distance beyond the end of an interval, in standard deviations, of an effect that is
/// detected in four of five comparisons.
pub(super) const Z_80: f64 = 0.842;

/// The probability that an interval of 95 % leaves.
const ALPHA: f64 = 0.05;

/// How well a change of work is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WorkPower {
    /// By half the width of its interval: p falls exponentially with the effect.
    HalfWidth(f64),
    /// By the standard error of the difference of a few runs a side.
    FewRuns(RunDifference),
}

impl WorkPower {
    /// The p of an effect of this size by an interval that reaches so far towards no effect.
    pub(super) fn p(value: f64, half_width: f64) -> f64 {
        // Exponential tails, as between runs of times.
        ALPHA.powf(value.abs() / half_width)
    }

    /// The smallest detectable effect, as a logarithm, among this many rows.
    pub(super) fn detectable(&self, margin: f64, rows: usize) -> f64 {
        match self {
            WorkPower::HalfWidth(half_width) => {
                let half_widths = 1.0 - (rows.max(1) as f64).ln() / ALPHA.ln();
                let needed = (margin + half_width).max(half_widths * half_width);
                needed + half_width * Z_80 / Z_95
            }
            WorkPower::FewRuns(difference) => {
                let beyond_margin = difference.detectable(Nominal::FIXED, margin, 1);
                beyond_margin.max(difference.detectable(Nominal::FIXED, 0.0, rows))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use oscost_stats::interval::Interval;

    use super::*;

    #[test]
    fn an_effect_among_many_rows_must_be_larger_than_one_alone() {
        let half_width = 0.0022;
        let power = WorkPower::HalfWidth(half_width);
        let alone = power.detectable(0.001, 1);
        assert!((alone - (0.001 + half_width * (1.0 + Z_80 / Z_95))).abs() < 1e-12);
        let among_many = power.detectable(0.001, 90);
        // Without chance its p is that of the only discovery.
        let shown = among_many - half_width * Z_80 / Z_95;
        assert!((WorkPower::p(shown, half_width) - ALPHA / 90.0).abs() < 1e-9, "{shown}");
        assert!(among_many > 1.5 * alone && among_many < 0.01, "{among_many}");
    }

    #[test]
    fn an_effect_of_a_few_runs_must_be_beyond_the_margin_and_small_enough_in_p() {
        let difference = RunDifference {
            value: 0.0,
            interval: Interval { lo: -0.002, hi: 0.002 },
            p: 1.0,
            standard_error: 0.0007,
            degrees_of_freedom: 4.0,
        };
        let power = WorkPower::FewRuns(difference);
        let margin = 0.001;
        let [one, many] = [1, 90].map(|rows| power.detectable(margin, rows));
        assert_eq!(one, difference.detectable(Nominal::FIXED, margin, 1));
        assert_eq!(many, difference.detectable(Nominal::FIXED, 0.0, 90));
        assert!(many > 2.0 * one, "{one} {many}");
    }
}
