//! Whether a cost follows the rate of the core: a cost of so many cycles takes longer on a slower
//! core, one that waits for memory or for a disk does not (docs/explanation/METHOD.md, section 11).
//!
//! All figures are logarithms: a cost that follows the core has a slope of 1 over the period of its
//! clock, one that does not has a slope of 0.

use statrs::distribution::ContinuousCDF;

use super::between_runs::{RunMedian, student};
use super::interval::{Interval, Nominal};
use super::moments;

/// What is known of a slope beforehand: nothing decides between 0 and 1.
const PRIOR_SLOPE: f64 = 0.5;
/// The standard deviation of slopes around it.
const PRIOR_SLOPE_SD: f64 = 0.5;

/// The deviation of a cost around its line is taken for at least this much, with as much weight as
/// [`RESIDUAL_DEGREES_OF_FREEDOM`]: a few values may lie on a line by chance.
const MIN_RESIDUAL_SD: f64 = 0.02;
/// The weight of that deviation.
const RESIDUAL_DEGREES_OF_FREEDOM: f64 = 4.0;

/// A cost follows the core if its slope differs with certainty from one half, and from three halves:
/// it is then nearer to 1 than to 0.
const SLOPE_OF_FOLLOWERS: Interval = Interval { lo: 0.5, hi: 1.5 };

/// A cost, and the core's rate at that time, as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedCost {
    /// The cost, in time.
    pub cost: f64,
    /// The core's rate, in cycles per time.
    pub rate: f64,
}

/// A run of a case as one value in time, and as one in cycles of the core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatedRun {
    /// Its median in time.
    pub time: RunMedian,
    /// Its median in cycles.
    pub cycles: RunMedian,
}

impl RatedRun {
    /// The run as a value of a regression.
    pub fn rated_cost(&self) -> RatedCost {
        RatedCost { cost: self.time.value, rate: self.cycles.value - self.time.value }
    }
}

/// The sums of a regression of costs over the period of the core's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeriodRegression {
    /// The squares of the periods around the mean of their group.
    pub periods: f64,
    /// The products of period and cost around their means.
    pub products: f64,
    /// The squares of the costs around the mean of their group.
    pub costs: f64,
    /// The number of values less that of groups.
    pub degrees_of_freedom: f64,
}

impl PeriodRegression {
    /// The regression over groups that may lie on different levels: of another system, or of the
    /// other side of a comparison. What groups differ by does not enter it.
    pub fn of(groups: &[&[RatedCost]]) -> Self {
        let groups = groups.iter().filter_map(|group| Self::of_group(group));
        groups.fold(Self::default(), Self::plus)
    }

    /// The sums of one group; `None` without values.
    fn of_group(group: &[RatedCost]) -> Option<Self> {
        let of = |value: fn(&RatedCost) -> f64| group.iter().map(value).collect::<Vec<f64>>();
        let (costs, periods) = (of(|it| it.cost), of(|it| -it.rate));
        let (cost, period) = (moments::mean(&costs)?, moments::mean(&periods)?);
        let degrees_of_freedom = (group.len() - 1) as f64;
        let mut sums = Self { degrees_of_freedom, ..Self::default() };
        for (it, at) in costs.iter().zip(&periods) {
            sums.periods += (at - period).powi(2);
            sums.products += (at - period) * (it - cost);
            sums.costs += (it - cost).powi(2);
        }
        Some(sums)
    }

    /// The regression over the values of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            periods: self.periods + other.periods,
            products: self.products + other.products,
            costs: self.costs + other.costs,
            degrees_of_freedom: self.degrees_of_freedom + other.degrees_of_freedom,
        }
    }

    /// Its slope; `None` with fewer than three values, or if the period did not change.
    fn slope(&self) -> Option<KnownSlope> {
        let own = self.degrees_of_freedom - 1.0;
        if own < 1.0 || self.periods <= 0.0 {
            return None;
        }
        let slope = self.products / self.periods;
        let squares = (self.costs - slope * self.products).max(0.0);
        let least = MIN_RESIDUAL_SD * MIN_RESIDUAL_SD;
        let (variance, degrees_of_freedom) = match squares / own {
            variance if variance >= least => (variance, own),
            _ => {
                let all = RESIDUAL_DEGREES_OF_FREEDOM + own;
                ((RESIDUAL_DEGREES_OF_FREEDOM * least + squares) / all, all)
            }
        };
        Some(KnownSlope { slope, variance: variance / self.periods, degrees_of_freedom })
    }
}

/// A slope, and how well it is known.
#[derive(Clone, Copy, Debug)]
struct KnownSlope {
    slope: f64,
    variance: f64,
    degrees_of_freedom: f64,
}

/// How a cost depends on the period of the core's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreDependence {
    /// The slope, shrunk towards one half: what is not known decides nothing.
    pub slope: f64,
    /// Its interval of 95 %.
    pub interval: Interval,
}

impl CoreDependence {
    /// The dependence by regressions of different precision, such as over the runs of a case and over
    /// the workers of its runs.
    pub fn of(regressions: &[PeriodRegression]) -> Self {
        let prior = 1.0 / (PRIOR_SLOPE_SD * PRIOR_SLOPE_SD);
        let known: Vec<KnownSlope> = regressions.iter().filter_map(|it| it.slope()).collect();
        let precision = prior + known.iter().map(|it| 1.0 / it.variance).sum::<f64>();
        let own: f64 = known.iter().map(|it| it.slope / it.variance).sum();
        let slope = (prior * PRIOR_SLOPE + own) / precision;
        // Satterthwaite (1946); the prior is known.
        let squares: f64 = known
            .iter()
            .map(|it| (1.0 / (it.variance * precision)).powi(2) / it.degrees_of_freedom)
            .sum();
        // The sum of no values is -0.
        let degrees_of_freedom = (1.0 / squares.abs()).min(1e6);
        let quantile = student(degrees_of_freedom)
            .map_or(f64::INFINITY, |it| it.inverse_cdf(0.5 + Nominal::FIXED.share() / 2.0));
        let half_width = quantile / precision.sqrt();
        Self { slope, interval: Interval { lo: slope - half_width, hi: slope + half_width } }
    }

    /// Whether the cost follows the core, by what is known.
    pub fn follows(&self) -> bool {
        SLOPE_OF_FOLLOWERS.lo < self.interval.lo && self.interval.hi < SLOPE_OF_FOLLOWERS.hi
    }
}

#[cfg(test)]
mod tests;
