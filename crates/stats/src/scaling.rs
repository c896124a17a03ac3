//! Scaling: the law by which a cost grows with a size, its fixed and marginal cost, and intervals.
//!
//! Laws are fitted with an intercept and relative weights, since a cost has a fixed and a growing
//! part, and its uncertainty is proportional to it (docs/explanation/METHOD.md, section 8). Without
//! an intercept, 500 + 2 N would always be classified as logarithmic (test S15).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::interval::Interval;
use super::order;

/// The minimum number of sizes; with fewer, laws can hardly be distinguished.
pub const MIN_SIZES: usize = 8;
/// The minimum ratio of the largest to the smallest size.
pub const MIN_SIZE_RATIO: f64 = 100.0;
/// The minimum growth over the measured sizes, as a share of the fixed cost ...
const MIN_RELATIVE_GROWTH: f64 = 0.05;
/// ... and in units of the uncertainty of a point.
const GROWTH_SDS: f64 = 3.0;
/// The BIC difference below which a second law is reported too: odds of about twenty to one.
pub const BIC_MARGIN: f64 = 6.0;
/// The default number of bootstrap resamples.
pub const RESAMPLES: usize = 2_000;

/// A law of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Constant.
    Constant,
    /// The logarithm to base 2.
    Log,
    /// Linear.
    Linear,
    /// The size times its logarithm to base 2.
    NLog,
    /// The square.
    Square,
    /// The cube.
    Cube,
}

impl Law {
    /// All laws, in the order of their growth.
    pub const ALL: [Law; 6] =
        [Law::Constant, Law::Log, Law::Linear, Law::NLog, Law::Square, Law::Cube];

    /// The law as text, such as `N log N`.
    pub fn text(self) -> &'static str {
        match self {
            Law::Constant => "1",
            Law::Log => "log N",
            Law::Linear => "N",
            Law::NLog => "N log N",
            Law::Square => "N^2",
            Law::Cube => "N^3",
        }
    }

    /// The value of the law at a size, by which the marginal cost is multiplied.
    pub fn value_at(self, n: f64) -> f64 {
        match self {
            Law::Constant => 0.0,
            Law::Log => n.log2(),
            Law::Linear => n,
            Law::NLog => n * n.log2(),
            Law::Square => n * n,
            Law::Cube => n * n * n,
        }
    }

    /// The size of at least 1 at which [`Self::value_at`] is `value`; `None` if there is none.
    pub fn size_at(self, value: f64) -> Option<f64> {
        let found = match self {
            Law::Constant => return None,
            Law::Log => value.exp2(),
            Law::Linear => value,
            Law::NLog => {
                // Newton's method from above: the function is convex and increasing.
                let mut n = value.max(2.0);
                for _ in 0..60 {
                    n -= (n * n.log2() - value) / (n.log2() + std::f64::consts::LOG2_E);
                }
                n
            }
            Law::Square => value.sqrt(),
            Law::Cube => value.cbrt(),
        };
        (found.is_finite() && found >= 1.0).then_some(found)
    }
}

/// A size, its cost, and the repetitions behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeCost {
    /// The size, at least 1.
    pub n: f64,
    /// The cost: the median of the repetitions.
    pub figure: f64,
    /// The standard deviation of the cost's natural logarithm.
    pub sd: f64,
    /// The values of the repetitions.
    pub repetitions: Vec<f64>,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueWithInterval {
    /// The value.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// A fitted law.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The law.
    pub law: Law,
    /// Another law that fits about as well.
    pub runner_up: Option<Law>,
    /// The fixed cost.
    pub fixed: ValueWithInterval,
    /// The cost per unit of the law; `None` for a constant.
    pub marginal: Option<ValueWithInterval>,
    /// The size at which the growing part equals the fixed part; `None` for a constant, or if its
    /// interval is unbounded.
    pub crossover: Option<ValueWithInterval>,
    /// The sum of squared residuals in units of each point's uncertainty.
    pub chi_square: f64,
}

/// Fits all laws by relative least squares, selects one by BIC, and computes bootstrap intervals
/// from `resamples` draws with `seed`.
///
/// `None` with fewer than [`MIN_SIZES`] sizes, a range below [`MIN_SIZE_RATIO`], or numbers that
/// are not positive and finite.
pub fn fit_scaling(sizes: &[SizeCost], resamples: usize, seed: u64) -> Option<Scaling> {
    let is_valid = |size: &SizeCost| {
        size.n >= 1.0
            && size.n.is_finite()
            && size.figure > 0.0
            && size.figure.is_finite()
            && size.sd.is_normal()
    };
    let smallest = sizes.iter().map(|size| size.n).fold(f64::INFINITY, f64::min);
    let largest = sizes.iter().map(|size| size.n).fold(0.0, f64::max);
    let enough = sizes.len() >= MIN_SIZES && largest >= MIN_SIZE_RATIO * smallest;
    if !enough || !sizes.iter().all(is_valid) {
        return None;
    }
    let points: Vec<(f64, f64)> = sizes.iter().map(|size| (size.n, size.figure)).collect();
    let mut fits: Vec<Fit> = Law::ALL.iter().map(|&law| Fit::of(law, &points)).collect();
    fits.sort_by(|one, other| one.bic.total_cmp(&other.bic));
    let sds = order::sorted(&sizes.iter().map(|size| size.sd).collect::<Vec<_>>());
    let min_growth = MIN_RELATIVE_GROWTH.max(GROWTH_SDS * order::median(&sds)?);
    let grows = |fit: &Fit| {
        let growth = fit.marginal * (fit.law.value_at(largest) - fit.law.value_at(smallest));
        growth > min_growth * fit.fixed
    };
    let resampled = |fit: &Fit| ResampledCosts::of(fit.law, sizes, resamples, seed);
    // A law without significant growth is replaced by the constant.
    let best = fits.first().filter(|fit| fit.law == Law::Constant || grows(fit));
    let best = best.map(|fit| (fit, resampled(fit)));
    let is_significant =
        |(fit, drawn): &(&Fit, ResampledCosts)| fit.law == Law::Constant || drawn.marginal.lo > 0.0;
    let (fit, drawn) = match best.filter(is_significant) {
        Some(best) => best,
        None => {
            let constant = fits.iter().find(|fit| fit.law == Law::Constant)?;
            (constant, resampled(constant))
        }
    };
    let second = fits
        .iter()
        .filter(|other| other.law != fit.law && fit.law != Law::Constant)
        .filter(|other| other.law != Law::Constant && grows(other))
        .find(|other| other.bic - fit.bic < BIC_MARGIN);
    let growing = fit.law != Law::Constant;
    let crossover = fit.law.size_at(fit.fixed / fit.marginal).filter(|_| growing);
    let squares = sizes
        .iter()
        .map(|size| ((size.figure / fit.cost_at(size.n)).ln() / size.sd).powi(2))
        .sum::<f64>();
    Some(Scaling {
        law: fit.law,
        runner_up: second.map(|other| other.law),
        fixed: ValueWithInterval { value: fit.fixed, interval: drawn.fixed },
        marginal: growing
            .then_some(ValueWithInterval { value: fit.marginal, interval: drawn.marginal }),
        crossover: crossover
            .zip(drawn.crossover)
            .map(|(value, interval)| ValueWithInterval { value, interval }),
        chi_square: squares,
    })
}

/// The sums of relative least squares: the response is 1 everywhere, and the columns of the fixed
/// and the growing part are divided by the cost.
struct Sums {
    /// The largest value of the law, which scales the sums so that a cube loses no precision.
    unit: f64,
    ones: f64,
    grown: f64,
    both: f64,
    one: f64,
    growth: f64,
}

impl Sums {
    fn of(law: Law, points: &[(f64, f64)]) -> Self {
        let top = points.iter().map(|&(n, _)| law.value_at(n)).fold(0.0, f64::max);
        let unit = if top > 0.0 { top } else { 1.0 };
        let mut sums = Self { unit, ones: 0.0, grown: 0.0, both: 0.0, one: 0.0, growth: 0.0 };
        for &(n, figure) in points {
            let (u, v) = (1.0 / figure, law.value_at(n) / unit / figure);
            sums.ones += u * u;
            sums.grown += v * v;
            sums.both += u * v;
            sums.one += u;
            sums.growth += v;
        }
        sums
    }

    /// The unconstrained solution: the fixed and the growing part, of any sign.
    fn unconstrained(&self) -> (f64, f64) {
        let Self { ones, grown, both, one, growth, .. } = *self;
        let determinant = ones * grown - both * both;
        ((one * grown - growth * both) / determinant, (growth * ones - one * both) / determinant)
    }
}

/// The slope of the relative least-squares line through points, of any sign.
pub(super) fn relative_slope(points: &[(f64, f64)]) -> f64 {
    let sums = Sums::of(Law::Linear, points);
    sums.unconstrained().1 / sums.unit
}

/// A law fitted to points: `fixed + marginal * law(n)`, both non-negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    law: Law,
    pub(super) fixed: f64,
    pub(super) marginal: f64,
    bic: f64,
}

impl Fit {
    /// The relative least-squares fit: residuals are divided by the cost.
    pub(super) fn of(law: Law, points: &[(f64, f64)]) -> Self {
        let sums = Sums::of(law, points);
        let Sums { unit, ones, grown, one, growth, .. } = sums;
        let alone = |sum: f64, squares: f64| if squares > 0.0 { sum / squares } else { 0.0 };
        let free = sums.unconstrained();
        let (fixed, marginal) = match law {
            Law::Constant => (alone(one, ones), 0.0),
            _ if !(free.0.is_finite() && free.1.is_finite()) => (alone(one, ones), 0.0),
            _ if free.0 < 0.0 => (0.0, alone(growth, grown)),
            _ if free.1 < 0.0 => (alone(one, ones), 0.0),
            _ => free,
        };
        let residual = |&(n, figure): &(f64, f64)| {
            ((fixed + marginal * law.value_at(n) / unit) / figure - 1.0).powi(2)
        };
        let count = points.len() as f64;
        // The floor avoids the logarithm of rounding errors for points that lie exactly on a law.
        let squares = points.iter().map(residual).sum::<f64>().max(1e-20 * count);
        let parameters = if law == Law::Constant { 1.0 } else { 2.0 };
        let bic = count * (squares / count).ln() + parameters * count.ln();
        Self { law, fixed, marginal: marginal / unit, bic }
    }

    /// The fitted cost of a size.
    pub(super) fn cost_at(&self, n: f64) -> f64 {
        self.fixed + self.marginal * self.law.value_at(n)
    }
}

/// The bootstrap intervals of a law's costs: the repetitions of each size are resampled with
/// replacement, and the law is fitted to their medians.
struct ResampledCosts {
    fixed: Interval,
    marginal: Interval,
    crossover: Option<Interval>,
}

impl ResampledCosts {
    fn of(law: Law, sizes: &[SizeCost], resamples: usize, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut fixed, mut marginal) = (Vec::new(), Vec::new());
        let mut crossovers = Vec::new();
        let mut points = Vec::with_capacity(sizes.len());
        for _ in 0..resamples.max(1) {
            points.clear();
            points.extend(sizes.iter().map(|size| (size.n, resample_median(size, &mut random))));
            let fit = Fit::of(law, &points);
            fixed.push(fit.fixed);
            marginal.push(fit.marginal);
            // Without growth the crossover is beyond every size.
            let at = law.size_at(fit.fixed / fit.marginal);
            crossovers.push(at.unwrap_or(if fit.fixed > fit.marginal {
                f64::INFINITY
            } else {
                1.0
            }));
        }
        let crossover = central_interval(&crossovers);
        Self {
            fixed: central_interval(&fixed),
            marginal: central_interval(&marginal),
            crossover: crossover.hi.is_finite().then_some(crossover),
        }
    }
}

/// The median of a bootstrap resample of the repetitions; the cost itself if there are none.
pub(super) fn resample_median(size: &SizeCost, random: &mut Xoshiro256PlusPlus) -> f64 {
    let drawn = bootstrap_median(&size.repetitions, random).filter(|&figure| figure > 0.0);
    drawn.unwrap_or(size.figure)
}

/// The median of as many values, each drawn from all of them; `None` without values.
pub(super) fn bootstrap_median(values: &[f64], random: &mut Xoshiro256PlusPlus) -> Option<f64> {
    let count = values.len() as u128;
    let one = |_| values[((u128::from(random.next_u64()) * count) >> 64) as usize];
    let drawn: Vec<f64> = (0..values.len()).map(one).collect();
    order::median(&order::sorted(&drawn))
}

/// The central 95 % of resampled values.
pub(super) fn central_interval(values: &[f64]) -> Interval {
    let sorted = order::sorted(values);
    let rank = |share: f64| ((sorted.len() - 1) as f64 * share).round() as usize;
    Interval { lo: sorted[rank(0.025)], hi: sorted[rank(0.975)] }
}

/// The exponent of a curve over its last decade, with its 95 % interval: the weighted slope of the
/// logarithms. `None` with fewer than two sizes in that decade.
pub fn last_exponent(sizes: &[SizeCost]) -> Option<ValueWithInterval> {
    let largest = sizes.iter().map(|size| size.n).fold(0.0, f64::max);
    let last = || sizes.iter().filter(|size| size.n * 10.0 >= largest && size.figure > 0.0);
    let weight = |size: &SizeCost| size.sd.powi(-2);
    let total: f64 = last().map(weight).sum();
    let mean =
        |of: fn(&SizeCost) -> f64| last().map(|size| weight(size) * of(size)).sum::<f64>() / total;
    let (x, y) = (mean(|size| size.n.ln()), mean(|size| size.figure.ln()));
    let xx: f64 = last().map(|size| weight(size) * (size.n.ln() - x).powi(2)).sum();
    let xy: f64 =
        last().map(|size| weight(size) * (size.n.ln() - x) * (size.figure.ln() - y)).sum();
    let (value, half) = (xy / xx, 1.96 / xx.sqrt());
    let interval = Interval { lo: value - half, hi: value + half };
    (value.is_finite() && half.is_finite()).then_some(ValueWithInterval { value, interval })
}

#[cfg(test)]
mod tests;
