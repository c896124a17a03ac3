//! Variation between runs: where the long-run figure of a case lies, given one run and what earlier
//! runs of the same class showed (ISO 5725: intermediate precision, as opposed to repeatability,
//! which is the variation within a run).
//!
//! All figures and deviations are of logarithms, so a deviation of 0.05 is one of 5 %. The model has
//! random effects: the median of run `r` is `mu + b_r + e_r`, where `b_r` varies between runs and
//! `e_r` is known from the run's own repetitions (docs/explanation/METHOD.md, section 11).

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::gamma::ln_gamma;

use super::interval::{Interval, Nominal};
use super::moments;
use super::order;

/// The ratio of the standard errors of median and mean of normal values.
const MEDIAN_STANDARD_ERROR_FACTOR: f64 = 1.253;

/// The median of a run's repetitions, as a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunMedian {
    /// The median.
    pub value: f64,
    /// Its standard error, from the repetitions of the run alone.
    pub standard_error: f64,
    /// The number of repetitions.
    pub count: usize,
}

impl RunMedian {
    /// The median of these logarithms. `None` below two values, which have no standard error.
    pub fn of(logs: &[f64]) -> Option<Self> {
        let deviation = moments::standard_deviation(logs)?;
        let value = order::median(&order::sorted(logs))?;
        let count = logs.len();
        let standard_error = MEDIAN_STANDARD_ERROR_FACTOR * deviation / (count as f64).sqrt();
        Some(Self { value, standard_error, count })
    }

    /// The median of a run of which only the 95 % interval is known, by its logarithms. Its number
    /// of repetitions is taken for the smallest that has an interval, six: with more of them the
    /// standard error is larger than this, by at most a third, and what is not explained by it is
    /// counted as variation between runs.
    pub fn from_interval(value: f64, interval: Interval) -> Self {
        const REPETITIONS: usize = 6;
        /// The 97.5 % quantile of Student's distribution with five degrees of freedom.
        const QUANTILE: f64 = 2.571;
        let standard_error = interval.half_width() / QUANTILE;
        Self { value, standard_error, count: REPETITIONS }
    }

    fn variance(&self) -> f64 {
        self.standard_error * self.standard_error
    }

    fn degrees_of_freedom(&self) -> f64 {
        self.count.saturating_sub(1).max(1) as f64
    }
}

/// What is known of the variation between runs before a case has runs of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The standard deviation between runs of cases of its class.
    pub deviation: f64,
    /// How many degrees of freedom it is worth.
    pub degrees_of_freedom: f64,
}

impl Prior {
    /// The share of their degrees of freedom that runs have, where what their repetitions explain,
    /// `error`, was taken from their variance: what remains is relatively less certain than the sum of
    /// both. It is taken for at least that of its class, since that of noisy runs is often none by chance.
    pub(crate) fn share_of_freedom(&self, between: f64, error: f64) -> f64 {
        // Where nothing is known beforehand, the runs decide alone.
        if self.degrees_of_freedom == 0.0 || error == 0.0 {
            return 1.0;
        }
        let between = between.max(self.deviation * self.deviation);
        (between / (between + error)).powi(2)
    }
}

/// The variation of a case between runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunVariation {
    /// The standard deviation between runs, without that within a run.
    pub deviation: f64,
    /// The degrees of freedom of its estimate.
    pub degrees_of_freedom: f64,
}

impl RunVariation {
    /// The variation of a case with these earlier runs of one system; see [`Self::pooled`].
    pub fn of(earlier: &[RunMedian], prior: Prior) -> Self {
        Self::pooled(&[earlier], prior)
    }

    /// The variation of a case whose runs come from several systems, each with a long-run figure of
    /// its own. The variance of their medians around that of their system, less what their own
    /// repetitions explain, is shrunk towards the prior, with the degrees of freedom of both as
    /// weights (empirical Bayes). Noisy runs have few of them, see [`Prior`]: of what is between runs
    /// they show little. Systems with fewer than two runs leave the prior.
    pub fn pooled(systems: &[&[RunMedian]], prior: Prior) -> Self {
        let of_prior = prior.deviation * prior.deviation;
        let (mut squares, mut own) = (0.0, 0.0);
        for runs in systems {
            let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
            let Some(total) = moments::standard_deviation(&values) else { continue };
            let error = runs.iter().map(RunMedian::variance).sum::<f64>() / runs.len() as f64;
            let between = total * total - error;
            let share = prior.share_of_freedom(between, error);
            let degrees_of_freedom = share * (runs.len() - 1) as f64;
            squares += degrees_of_freedom * between;
            own += degrees_of_freedom;
        }
        // A variance is not negative: the method of moments has none below zero.
        let between = squares.max(0.0);
        let degrees_of_freedom = prior.degrees_of_freedom + own;
        let pooled = (prior.degrees_of_freedom * of_prior + between) / degrees_of_freedom;
        Self { deviation: pooled.sqrt(), degrees_of_freedom }
    }

    /// The same by the runs alone, where nothing is known beforehand. `None` if no system has two.
    pub fn without_prior(systems: &[&[RunMedian]]) -> Option<Self> {
        let is_known = systems.iter().any(|runs| runs.len() >= 2);
        is_known.then(|| Self::pooled(systems, Prior { deviation: 0.0, degrees_of_freedom: 0.0 }))
    }

    /// The variation of a series of runs between levels that were found in the same series, by how far
    /// neighbours differ: each item is the runs of one level, in order. A level that was placed where
    /// the series fits it best has too small a deviation around its own mean; the difference of two
    /// neighbours does not depend on where the levels begin, unless they are on two of them.
    ///
    /// Neighbours that are correlated differ by less than others: their variance is that of all over
    /// 1 - `autocorrelation` (von Neumann 1941). `None` if no level has two runs.
    pub fn by_neighbours(levels: &[&[RunMedian]], autocorrelation: f64) -> Option<Self> {
        let (mut squares, mut within, mut count, mut weight) = (0.0, 0.0, 0.0, 0.0);
        for runs in levels.iter().filter(|runs| runs.len() >= 2) {
            for pair in runs.windows(2) {
                squares += (pair[1].value - pair[0].value).powi(2) / 2.0;
                within += (pair[0].variance() + pair[1].variance()) / 2.0;
            }
            let differences = (runs.len() - 1) as f64;
            count += differences;
            // Neighbouring differences share a run: the variance of their sum of squares.
            weight += 3.0 * differences - 1.0;
        }
        if count == 0.0 {
            return None;
        }
        let independent = 1.0 - autocorrelation.clamp(0.0, 0.9);
        // A variance is not negative: the method of moments has none below zero.
        let between = (squares / independent - within).max(0.0) / count;
        let degrees_of_freedom = 2.0 * count * count / weight;
        Some(Self { deviation: between.sqrt(), degrees_of_freedom })
    }

    /// This variation, if it is at least as large as this deviation, otherwise that deviation.
    #[must_use]
    pub fn at_least(self, deviation: f64) -> Self {
        Self { deviation: self.deviation.max(deviation), ..self }
    }

    fn variance(&self) -> f64 {
        self.deviation * self.deviation
    }

    /// The interval for the long-run figure of the case, from one run.
    pub fn interval(&self, run: &RunMedian, nominal: Nominal) -> Interval {
        Uncertainty::of([self.term(), within_term(run)]).around(run.value, nominal)
    }

    /// The same of a variation that only earlier runs show, and of which what their repetitions explain
    /// is a part: at least what it gives by itself. That of a few boots is often small by chance, and the
    /// degrees of freedom of both terms are then those of the run's own error.
    pub fn interval_by_runs_alone(&self, run: &RunMedian, nominal: Nominal) -> Interval {
        let by_runs = Uncertainty::of([self.term()]).around(run.value, nominal);
        let by_both = self.interval(run, nominal);
        Interval { lo: by_both.lo.min(by_runs.lo), hi: by_both.hi.max(by_runs.hi) }
    }

    fn term(&self) -> VarianceTerm {
        VarianceTerm { variance: self.variance(), degrees_of_freedom: self.degrees_of_freedom }
    }
}

fn within_term(run: &RunMedian) -> VarianceTerm {
    VarianceTerm { variance: run.variance(), degrees_of_freedom: run.degrees_of_freedom() }
}

/// The mean over some runs of one system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunMean {
    /// The mean of their medians.
    pub value: f64,
    /// The interval for the long-run figure.
    pub interval: Interval,
}

/// The mean over runs of one system, each with the same weight, and its interval. `None` below two
/// runs.
///
/// It needs no prior: the variance of the medians has both parts, that between runs and that within.
/// It is taken for at least what the repetitions explain, since a few runs may agree by chance.
pub fn run_mean(runs: &[RunMedian], nominal: Nominal) -> Option<RunMean> {
    let values: Vec<f64> = runs.iter().map(|run| run.value).collect();
    let (value, deviation) = (moments::mean(&values)?, moments::standard_deviation(&values)?);
    let count = runs.len() as f64;
    let within = runs.iter().map(RunMedian::variance).sum::<f64>() / count;
    let variance = (deviation * deviation).max(within) / count;
    let uncertainty = Uncertainty::of([VarianceTerm { variance, degrees_of_freedom: count - 1.0 }]);
    Some(RunMean { value, interval: uncertainty.around(value, nominal) })
}

/// The long-run figure of a case by several runs of one machine: the mean of their medians, and its
/// interval. `None` without runs.
///
/// Runs of one boot share where the kernel placed its code, so their number does not reduce the
/// variation between runs; `independent` is how many boots they are of.
pub fn long_run_mean(
    runs: &[RunMedian],
    variation: RunVariation,
    independent: usize,
    nominal: Nominal,
) -> Option<RunMean> {
    let value = moments::mean(&runs.iter().map(|run| run.value).collect::<Vec<f64>>())?;
    let VarianceTerm { variance, degrees_of_freedom } = variation.term();
    let variance = variance / independent.max(1) as f64;
    let between = VarianceTerm { variance, degrees_of_freedom };
    let uncertainty = Uncertainty::of([between, mean_term(runs)]);
    Some(RunMean { value, interval: uncertainty.around(value, nominal) })
}

/// A difference between runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunDifference {
    /// New minus base.
    pub value: f64,
    /// Its interval of 95 %.
    pub interval: Interval,
    /// The probability of a difference of this size or larger if the cases do not differ.
    pub p: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

/// The difference between the long-run figures of two sides, each with at least one run of a case
/// that varies by `variation` between runs. `None` if a side has no runs.
///
/// `alternations` is how many pairs of neighbours in time the sides form. Runs of one side in a row
/// share the state of the machine, so their number does not reduce its variance; alternation does.
/// `common` is a difference between the sides that all cases may have shared: nothing reduces it.
pub fn run_difference(
    base: &[RunMedian],
    new: &[RunMedian],
    alternations: usize,
    variation: RunVariation,
    common: f64,
) -> Option<RunDifference> {
    let mean =
        |runs: &[RunMedian]| moments::mean(&runs.iter().map(|run| run.value).collect::<Vec<_>>());
    let value = mean(new)? - mean(base)?;
    // One estimate for both sides, so it is one term, however many runs it applies to.
    let VarianceTerm { degrees_of_freedom, .. } = variation.term();
    let variance = variance_between_sides(alternations, variation, common);
    let between = VarianceTerm { variance, degrees_of_freedom };
    let uncertainty = Uncertainty::of([between, mean_term(base), mean_term(new)]);
    let Uncertainty { standard_error, degrees_of_freedom } = uncertainty;
    let interval = uncertainty.around(value, Nominal::FIXED);
    let p = uncertainty.two_sided_p(value);
    Some(RunDifference { value, interval, p, standard_error, degrees_of_freedom })
}

/// How far two sides of one cost differ by the variation between runs, as a variance: what
/// [`run_difference`] adds to that of the repetitions. It does not depend on the figures of the sides.
pub fn variance_between_sides(alternations: usize, variation: RunVariation, common: f64) -> f64 {
    let shares = 2.0 / alternations.max(1) as f64;
    (shares * variation.variance()).max(common * common)
}

/// What the repetitions of these runs leave open of the mean of their medians.
fn mean_term(runs: &[RunMedian]) -> VarianceTerm {
    let count = runs.len() as f64;
    let total: f64 = runs.iter().map(RunMedian::variance).sum();
    let squares: f64 =
        runs.iter().map(|run| run.variance().powi(2) / run.degrees_of_freedom()).sum();
    // One run of large variance has its own degrees of freedom, not those of all.
    let degrees_of_freedom = if squares > 0.0 { total * total / squares } else { 1.0 };
    VarianceTerm { variance: total / (count * count), degrees_of_freedom }
}

impl RunDifference {
    /// Its interval at another level.
    pub fn interval_at(&self, nominal: Nominal) -> Interval {
        self.uncertainty().around(self.value, nominal)
    }

    /// The effect that is found in 80 of 100 such comparisons by the whole rule: its interval,
    /// corrected for this many hypotheses of which it is the only true one (Benjamini and Hochberg:
    /// what the level leaves is divided by their number), lies beyond a margin (a logarithm).
    pub fn detectable(&self, nominal: Nominal, margin: f64, hypotheses: usize) -> f64 {
        let level = nominal.bonferroni(hypotheses);
        let uncertainty = self.uncertainty();
        let quantile = uncertainty.quantile(0.5 + level.share() / 2.0);
        let beyond = found_beyond(quantile, uncertainty.degrees_of_freedom);
        margin + uncertainty.median_standard_error() * beyond
    }

    fn uncertainty(&self) -> Uncertainty {
        let Self { standard_error, degrees_of_freedom, .. } = *self;
        Uncertainty { standard_error, degrees_of_freedom }
    }
}

/// A part of a variance, and how well it is known.
#[derive(Clone, Copy, Debug)]
struct VarianceTerm {
    variance: f64,
    degrees_of_freedom: f64,
}

/// The standard error of a figure.
#[derive(Clone, Copy, Debug)]
struct Uncertainty {
    standard_error: f64,
    degrees_of_freedom: f64,
}

impl Uncertainty {
    /// The sum of variances, with the degrees of freedom of Satterthwaite (1946).
    fn of<const N: usize>(terms: [VarianceTerm; N]) -> Self {
        let total: f64 = terms.iter().map(|term| term.variance).sum();
        let squares: f64 =
            terms.iter().map(|term| term.variance.powi(2) / term.degrees_of_freedom).sum();
        // Without any variance the quantile does not matter.
        let degrees_of_freedom = if squares > 0.0 { total * total / squares } else { 1.0 };
        Self { standard_error: total.sqrt(), degrees_of_freedom }
    }

    /// The `p` quantile of Student's distribution.
    fn quantile(&self, p: f64) -> f64 {
        student(self.degrees_of_freedom).map_or(f64::INFINITY, |it| it.inverse_cdf(p))
    }

    /// The standard error without the skewness of its distribution: half of all samples have a smaller
    /// one than the true one (Wilson and Hilferty 1931).
    fn median_standard_error(&self) -> f64 {
        self.standard_error / (1.0 - 2.0 / (9.0 * self.degrees_of_freedom)).powf(1.5)
    }

    fn around(&self, value: f64, nominal: Nominal) -> Interval {
        if self.standard_error == 0.0 {
            return Interval { lo: value, hi: value };
        }
        let half_width = self.standard_error * self.quantile(0.5 + nominal.share() / 2.0);
        Interval { lo: value - half_width, hi: value + half_width }
    }

    fn two_sided_p(&self, value: f64) -> f64 {
        if self.standard_error == 0.0 {
            return if value == 0.0 { 1.0 } else { 0.0 };
        }
        let distance = value.abs() / self.standard_error;
        student(self.degrees_of_freedom).map_or(1.0, |it| 2.0 * it.cdf(-distance))
    }
}

/// The effect, in true standard errors, whose t value lies beyond this quantile in 80 of 100 samples. The
/// standard error of a sample varies, too, and the further out the quantile is, the more of the effect
/// that takes: the noncentral t distribution (Jennett and Welch 1939).
pub(crate) fn found_beyond(quantile: f64, degrees_of_freedom: f64) -> f64 {
    /// The 80 % quantile of a normal distribution.
    const Z_80: f64 = 0.842;
    let mean = mean_deviation(degrees_of_freedom);
    // The mean square of standard errors is 1.
    let of_errors = quantile * quantile * (1.0 - mean * mean);
    quantile * mean + Z_80 * (1.0 + of_errors).sqrt()
}

/// The mean of the standard deviations of normal samples whose true one is 1.
fn mean_deviation(degrees_of_freedom: f64) -> f64 {
    // The difference of two large logarithms loses what is left of it; the series does not.
    const MANY: f64 = 1e6;
    if degrees_of_freedom > MANY {
        return 1.0 - 0.25 / degrees_of_freedom;
    }
    let half = degrees_of_freedom / 2.0;
    (ln_gamma(half + 0.5) - ln_gamma(half)).exp() / half.sqrt()
}

pub(crate) fn student(degrees_of_freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()
}

#[cfg(test)]
mod tests;
