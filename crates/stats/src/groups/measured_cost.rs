//! A cost, and how it is drawn again.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::interval::{Interval, NORMAL_95};
use crate::order;
use crate::random::standard_normal;
use crate::scaling::bootstrap_median;

/// A cost and its interval, all above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) value: f64,
    pub(super) interval: Interval,
}

/// A cost with what varies in it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCost {
    pub(super) cost: Cost,
    /// The values that the cost is the median of; empty if they are not known.
    pub(super) repetitions: Vec<f64>,
    /// Their median.
    median: f64,
    /// What varies besides the repetitions, as the standard deviation of the logarithm below and
    /// above the cost.
    pub(super) log_deviations: [f64; 2],
}

impl MeasuredCost {
    /// A cost that varies as its 95 % interval says. `None` unless the interval is positive, finite
    /// and contains the value.
    pub fn new(value: f64, interval: Interval) -> Option<Self> {
        let fits = interval.lo > 0.0 && interval.contains(value) && interval.hi.is_finite();
        let deviation = |end: f64| (end / value).ln().abs() / NORMAL_95;
        fits.then(|| Self {
            cost: Cost { value, interval },
            repetitions: Vec::new(),
            median: value,
            log_deviations: [deviation(interval.lo), deviation(interval.hi)],
        })
    }

    /// The same cost as the median of repetitions, which are resampled. What its interval holds
    /// beyond theirs, as the variation between runs, still varies beside them.
    #[must_use]
    pub fn with_repetitions(mut self, values: &[f64], interval: Interval) -> Self {
        let Some(of_repetitions) = Self::new(self.cost.value, interval) else { return self };
        let sorted = order::sorted(values);
        let have_ratios = sorted.first().is_some_and(|&least| least > 0.0);
        let Some(median) = order::median(&sorted).filter(|_| have_ratios) else { return self };
        let both = self.log_deviations.iter_mut().zip(of_repetitions.log_deviations);
        for (deviation, theirs) in both {
            // An interval that is no wider than theirs holds nothing beyond it.
            *deviation = (deviation.powi(2) - theirs.powi(2)).max(0.0).sqrt();
        }
        Self { repetitions: sorted, median, ..self }
    }

    /// A random draw of the cost: the median of resampled repetitions, and log-normal on each side
    /// what varies besides.
    pub(super) fn resampled(&self, random: &mut Xoshiro256PlusPlus) -> Cost {
        let drawn = bootstrap_median(&self.repetitions, random).unwrap_or(self.median);
        let deviate = standard_normal(random);
        let [below, above] = self.log_deviations;
        let besides = deviate * if deviate < 0.0 { below } else { above };
        let factor = drawn / self.median * besides.exp();
        let Cost { value, interval: Interval { lo, hi } } = self.cost;
        Cost { value: value * factor, interval: Interval { lo: lo * factor, hi: hi * factor } }
    }
}
