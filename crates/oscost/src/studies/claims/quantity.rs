//! The quantities of a claim: numbers computed from the figures of some rows, and their bounds.

use crate::studies::figures::unit::{ClockRates, TableUnit};
use oscost_stats::interval::Interval;

/// A number, and its bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// How it is computed.
    pub measure: Measure,
    /// The lower bound, if there is one.
    pub min: Option<f64>,
    /// The upper bound, if there is one.
    pub max: Option<f64>,
}

/// How a number is computed from figures; rows are named by their keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// The figure of the first row over that of the second.
    Ratio(String, String),
    /// The largest figure over the smallest.
    Spread(Vec<String>),
    /// The smallest figure of the second rows over the largest of the first.
    Gap(Vec<String>, Vec<String>),
    /// The difference of the first row's figure from the mean of all, in per cent of that mean.
    FromMean(Vec<String>),
    /// The exponent with which the figure grows with the number: the slope of the regression line
    /// of their logarithms.
    Exponent(Vec<SeriesPoint>),
    /// The growth of the figure for some steps of the number: the slope of the regression line.
    Slope {
        /// The rows, each with its number.
        points: Vec<SeriesPoint>,
        /// The steps of the number.
        per: u64,
        /// The unit of the result.
        unit: TableUnit,
    },
    /// The smallest number whose figure reaches [`NEAR_LARGEST`] of the largest: above it there is
    /// nothing left to gain.
    Saturation(Vec<SeriesPoint>),
    /// The smallest figure beyond the saturation over the largest of all: a rate that falls again
    /// has not saturated.
    Retention(Vec<SeriesPoint>),
    /// The counted system calls of an op.
    Calls(String),
}

/// A row of a series: its number on the series' axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesPoint {
    /// The number.
    pub number: u64,
    /// The key of the row.
    pub key: String,
}

/// The largest or the smallest of some ratios.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtremeRatio {
    /// Which of the two.
    pub extreme: Extreme,
    /// The ratios.
    pub ratios: Vec<Measure>,
}

/// Which of several ratios is the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// A rate has reached its largest value when at most a tenth is missing: twice the noise of rates
/// on a shared machine, and less than the steps of a curve that still grows between points a factor
/// of four apart.
pub const NEAR_LARGEST: f64 = 0.9;

impl Measure {
    /// The keys of the rows from which it is computed.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Measure::Ratio(of, over) => vec![of, over],
            Measure::Spread(keys) | Measure::FromMean(keys) => {
                keys.iter().map(String::as_str).collect()
            }
            Measure::Gap(lower, upper) => lower.iter().chain(upper).map(String::as_str).collect(),
            Measure::Exponent(points)
            | Measure::Saturation(points)
            | Measure::Retention(points)
            | Measure::Slope { points, .. } => points.iter().map(|it| it.key.as_str()).collect(),
            Measure::Calls(key) => vec![key],
        }
    }

    /// The same measure of other rows: those whose keys `key` returns.
    #[must_use]
    pub fn with_keys(&self, key: &dyn Fn(&str) -> String) -> Measure {
        let all = |keys: &[String]| keys.iter().map(|it| key(it)).collect();
        let curve = |points: &[SeriesPoint]| -> Vec<SeriesPoint> {
            points.iter().map(|it| SeriesPoint { key: key(&it.key), ..it.clone() }).collect()
        };
        match self {
            Measure::Ratio(of, over) => Measure::Ratio(key(of), key(over)),
            Measure::Spread(keys) => Measure::Spread(all(keys)),
            Measure::Gap(lower, upper) => Measure::Gap(all(lower), all(upper)),
            Measure::FromMean(keys) => Measure::FromMean(all(keys)),
            Measure::Exponent(points) => Measure::Exponent(curve(points)),
            Measure::Slope { points, per, unit } => {
                Measure::Slope { points: curve(points), per: *per, unit: *unit }
            }
            Measure::Saturation(points) => Measure::Saturation(curve(points)),
            Measure::Retention(points) => Measure::Retention(curve(points)),
            Measure::Calls(of) => Measure::Calls(key(of)),
        }
    }

    /// The same measure of those rows that have figures, if it can be computed from some of its
    /// rows: the saturation of a rate needs at least three points.
    #[must_use]
    pub fn restricted_to(&self, has_figure: impl Fn(&str) -> bool) -> Measure {
        const MIN_POINTS: usize = 3;
        let (Measure::Saturation(points) | Measure::Retention(points)) = self else {
            return self.clone();
        };
        let measured = points.iter().filter(|it| has_figure(&it.key)).cloned();
        let measured: Vec<SeriesPoint> = measured.collect();
        match self {
            _ if measured.len() < MIN_POINTS => self.clone(),
            Measure::Retention(_) => Measure::Retention(measured),
            _ => Measure::Saturation(measured),
        }
    }

    /// Whether it is a number of system calls, which are counted, not timed.
    pub fn is_count(&self) -> bool {
        matches!(self, Measure::Calls(_))
    }

    /// Whether its value is in cycles of the core.
    pub fn is_in_cycles(&self) -> bool {
        matches!(self, Measure::Slope { unit: TableUnit::Cycles, .. })
    }

    /// The ratios of which it is the largest or the smallest, if it is one. The extreme of noisy
    /// figures exceeds the extreme of the true values, however many rounds there are: so each of
    /// these ratios is compared with the bounds by itself.
    pub fn extreme_ratio(&self) -> Option<ExtremeRatio> {
        let ratio = |of: &String, over: &String| Measure::Ratio(of.clone(), over.clone());
        match self {
            Measure::Spread(keys) => {
                let pairs = keys.iter().flat_map(|of| keys.iter().map(move |over| (of, over)));
                let pairs = pairs.filter(|(of, over)| of != over);
                let ratios = pairs.map(|(of, over)| ratio(of, over)).collect();
                Some(ExtremeRatio { extreme: Extreme::Largest, ratios })
            }
            Measure::Gap(lower, upper) => {
                let pairs = upper.iter().flat_map(|of| lower.iter().map(move |over| (of, over)));
                let ratios = pairs.map(|(of, over)| ratio(of, over)).collect();
                Some(ExtremeRatio { extreme: Extreme::Smallest, ratios })
            }
            _ => None,
        }
    }

    /// Its value, given the figures of rows in the base unit of their kind (or their counts of
    /// calls), on a machine with these clock rates. `None` if a figure is missing, or is not
    /// positive where another is divided by it or where it has a logarithm, which may happen to
    /// differences.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>, rates: ClockRates) -> Option<f64> {
        let above_0 = |key: &String| of(key).filter(|figure| *figure > 0.0);
        let all = |keys: &[String]| -> Option<Vec<f64>> { keys.iter().map(above_0).collect() };
        let curve = |points: &[SeriesPoint]| -> Option<Vec<(f64, f64)>> {
            points.iter().map(|it| Some((it.number as f64, of(&it.key)?))).collect()
        };
        let value = match self {
            Measure::Ratio(one, other) => of(one)? / above_0(other)?,
            Measure::Spread(keys) => {
                let figures = all(keys)?;
                largest(&figures) / smallest(&figures)
            }
            Measure::Gap(lower, upper) => smallest(&all(upper)?) / largest(&all(lower)?),
            Measure::FromMean(keys) => {
                let figures = all(keys)?;
                let mean = figures.iter().sum::<f64>() / figures.len() as f64;
                100.0 * (figures.first()? / mean - 1.0)
            }
            Measure::Exponent(points) => {
                let points = curve(points)?;
                points.iter().all(|(_, y)| *y > 0.0).then_some(())?;
                let logarithms = points.into_iter().map(|(x, y)| (x.ln(), y.ln()));
                slope(&logarithms.collect::<Vec<_>>())?
            }
            Measure::Slope { points, per, unit } => {
                slope(&curve(points)?)? * *per as f64 / unit.size(rates)?
            }
            Measure::Saturation(points) => {
                let figures = curve(points)?;
                figures.get(saturation_index(&figures)?)?.0
            }
            Measure::Retention(points) => {
                let figures = curve(points)?;
                let from = saturation_index(&figures)?;
                let rates: Vec<f64> = figures.iter().map(|(_, y)| *y).collect();
                smallest(&rates[from..]).min(largest(&rates)) / largest(&rates)
            }
            Measure::Calls(key) => of(key)?,
        };
        value.is_finite().then_some(value)
    }
}

/// Two costs are equal if their ratio differs from 1 by at most this factor, whole interval: a
/// twentieth is what code layout and the placement of pages move a cost by from run to run.
pub const EQUAL_FACTOR: f64 = 1.05;

impl Quantity {
    /// Whether it says only that one cost is above another: its ratio may also be 1.
    pub fn is_order(&self) -> bool {
        let is_ratio = matches!(self.measure, Measure::Ratio(..) | Measure::Gap(..));
        is_ratio && self.min == Some(1.0) && self.max.is_none()
    }

    /// Whether an interval of the ratio of an order shows that there is no difference.
    pub fn is_equal(&self, it: &Interval) -> bool {
        self.is_order() && 1.0 / EQUAL_FACTOR <= it.lo && it.hi <= EQUAL_FACTOR
    }

    /// The same quantity of other rows.
    #[must_use]
    pub fn with_keys(&self, key: &dyn Fn(&str) -> String) -> Quantity {
        Quantity { measure: self.measure.with_keys(key), ..self.clone() }
    }

    /// Whether all of an interval lies within the bounds.
    pub fn holds(&self, it: &Interval) -> bool {
        self.min.is_none_or(|min| min <= it.lo) && self.max.is_none_or(|max| it.hi <= max)
    }

    /// Whether all of an interval lies outside the bounds.
    pub fn is_outside(&self, it: &Interval) -> bool {
        self.min.is_some_and(|min| it.hi < min) || self.max.is_some_and(|max| max < it.lo)
    }

    /// Whether it lies so far outside that a claim is refuted: of ratios of costs, further than two
    /// costs that are equal may be apart.
    pub fn fails(&self, it: &Interval) -> bool {
        let is_ratio =
            matches!(self.measure, Measure::Ratio(..) | Measure::Gap(..) | Measure::Spread(_));
        let factor = if is_ratio { EQUAL_FACTOR } else { 1.0 };
        self.min.is_some_and(|min| it.hi < min / factor)
            || self.max.is_some_and(|max| max * factor < it.lo)
    }
}

fn smallest(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

fn largest(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The index of the first of some points whose figure reaches [`NEAR_LARGEST`] of the largest.
pub(super) fn saturation_index(points: &[(f64, f64)]) -> Option<usize> {
    let bar = NEAR_LARGEST * points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    points.iter().position(|(_, y)| *y >= bar)
}

/// The slope of the least-squares line; `None` if all points have the same x.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let along = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    let across = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum::<f64>();
    (across > 0.0).then(|| along / across)
}

#[cfg(test)]
mod tests;
