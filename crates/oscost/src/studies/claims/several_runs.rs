//! The quantities of a claim in one run or several: this one, and earlier ones of the same study on the
//! same system. What a run's rounds leave open is less than what runs differ by
//! (docs/explanation/METHOD.md, section 14).

use std::collections::{BTreeMap, BTreeSet};

use oscost_stats::between_runs::{RunMedian, RunVariation, run_mean};
use oscost_stats::interval::{Interval, Nominal};

use super::judgement::IntervalBasis;
use super::quantity::Measure;
use super::verdict::MIN_ROUNDS;
use crate::studies::figures::between_runs::{prior, widened};
use crate::studies::figures::rounds::{IntervalEstimate, Rounds};
use crate::studies::figures::unit::ClockRates;

/// From this number of runs on their mean is judged. The deviation of fewer is hardly known, so they
/// only widen the interval of the newest.
const MIN_POOLED_RUNS: usize = 4;

/// The figures of one run by one statistic.
#[derive(Clone, Copy)]
pub(super) struct RunRounds<'a> {
    /// The figures by round.
    pub(super) rounds: &'a Rounds,
    /// The figures over all ops, if they are not the medians over the rounds.
    pub(super) over_all_ops: Option<&'a BTreeMap<String, f64>>,
    /// The standard deviation between runs of the logarithms of those figures of which it is known.
    pub(super) between_runs: &'a BTreeMap<String, f64>,
    /// The clock rates of its machine.
    pub(super) rates: ClockRates,
}

impl RunRounds<'_> {
    /// A measure in this run alone.
    fn estimate(&self, measure: &Measure, nominal: Nominal) -> Option<IntervalEstimate> {
        // Between two steps of a number there is none.
        let estimate = match Scale::of(measure) {
            Some(_) => Rounds::estimate,
            None => Rounds::estimate_of_steps,
        };
        let by_round =
            estimate(self.rounds, &measure.keys(), nominal, &|of| measure.value(of, self.rates))?;
        let Some(over_all_ops) = self.over_all_ops else { return Some(by_round) };
        // What is judged is what the tables show: a statistic such as the minimum still moves with
        // the number of ops, and its values in the rounds may be on one side of it.
        let value = measure.value(&|key| over_all_ops.get(key).copied(), self.rates)?;
        let interval =
            by_round.interval.map(|it| Interval { lo: it.lo.min(value), hi: it.hi.max(value) });
        Some(IntervalEstimate { value, interval })
    }

    /// A measure in this run as one value of several, with what its rounds leave open.
    fn run_median(&self, measure: &Measure, scale: Scale) -> Option<RunMedian> {
        let values =
            self.rounds.values_by_round(&measure.keys(), &|of| measure.value(of, self.rates))?;
        let scaled: Option<Vec<f64>> = values.into_iter().map(|it| scale.apply(it)).collect();
        let median = RunMedian::of(&scaled?)?;
        let Some(over_all_ops) = self.over_all_ops else { return Some(median) };
        let value = measure.value(&|key| over_all_ops.get(key).copied(), self.rates)?;
        Some(RunMedian { value: scale.apply(value)?, ..median })
    }

    /// The standard deviation between runs of a measure on its scale, by those of its rows: they are
    /// taken to vary independently of each other, since how far they vary together was not measured.
    /// `None` if that of a row is not known.
    fn deviation(&self, measure: &Measure, scale: Scale) -> Option<f64> {
        let figure = |key: &str| match self.over_all_ops {
            Some(over_all_ops) => over_all_ops.get(key).copied(),
            None => self.rounds.median(key),
        };
        let scaled = |moved: &str, log: f64| {
            let moved_figure =
                |key: &str| Some(figure(key)? * if key == moved { log.exp() } else { 1.0 });
            scale.apply(measure.value(&moved_figure, self.rates)?)
        };
        // Of the rows of a measure each counts once.
        let keys: BTreeSet<&str> = measure.keys().into_iter().collect();
        let part = |key: &str| {
            let deviation = *self.between_runs.get(key)?;
            // The delta method, by the difference over two deviations.
            Some(((scaled(key, deviation)? - scaled(key, -deviation)?) / 2.0).powi(2))
        };
        let variance: Option<f64> = keys.into_iter().map(part).sum();
        variance.map(f64::sqrt)
    }

    /// A measure by this run alone, with an interval between runs: what its rounds leave open, and what
    /// its rows vary by between runs. `None` if that is not known.
    fn between_runs(
        &self,
        alone: IntervalEstimate,
        measure: &Measure,
        nominal: Nominal,
    ) -> Option<IntervalEstimate> {
        let scale = Scale::of(measure)?;
        let deviation = self.deviation(measure, scale)?;
        let Interval { lo, hi } = alone.interval?;
        let within = Interval { lo: scale.apply(lo)?, hi: scale.apply(hi)? };
        let interval = widened(scale.apply(alone.value)?, within, deviation, nominal);
        Some(IntervalEstimate { interval: Some(scale.invert_interval(interval)), ..alone })
    }

    /// Whether a measure has a value here that can be compared with those of other runs.
    pub(super) fn has(&self, measure: &Measure) -> bool {
        match Scale::of(measure) {
            Some(scale) => self.run_median(measure, scale).is_some_and(|it| it.count >= MIN_ROUNDS),
            None => self.estimate(measure, Nominal::FIXED).is_some_and(|it| it.interval.is_some()),
        }
    }
}

/// The scale on which a measure varies from run to run.
#[derive(Clone, Copy)]
enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    /// The scale of a measure; `None` of a number that has steps, which does not vary around a mean.
    fn of(measure: &Measure) -> Option<Self> {
        match measure {
            Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) | Measure::Retention(_) => {
                Some(Scale::Logarithmic)
            }
            // These may be zero or negative.
            Measure::FromMean(_) | Measure::Exponent(_) | Measure::Slope { .. } => {
                Some(Scale::Linear)
            }
            Measure::Saturation(_) | Measure::Calls(_) => None,
        }
    }

    /// A value on this scale; `None` if it has none.
    fn apply(self, value: f64) -> Option<f64> {
        let scaled = match self {
            Scale::Linear => value,
            Scale::Logarithmic => value.ln(),
        };
        scaled.is_finite().then_some(scaled)
    }

    /// The value that is this on the scale.
    fn invert(self, scaled: f64) -> f64 {
        match self {
            Scale::Linear => scaled,
            Scale::Logarithmic => scaled.exp(),
        }
    }

    fn invert_interval(self, Interval { lo, hi }: Interval) -> Interval {
        Interval { lo: self.invert(lo), hi: self.invert(hi) }
    }
}

/// What the interval of a measure contains, by a run and this many earlier ones.
pub(super) fn interval_basis(
    this: &RunRounds<'_>,
    earlier: usize,
    measure: &Measure,
) -> IntervalBasis {
    if earlier > 0 {
        return IntervalBasis::SeveralRuns;
    }
    let alone = this.estimate(measure, Nominal::FIXED);
    match alone.and_then(|it| this.between_runs(it, measure, Nominal::FIXED)) {
        Some(_) => IntervalBasis::VariationOfRows,
        None => IntervalBasis::Rounds,
    }
}

/// A measure by a run and by earlier ones: alone, widened by what its rows vary by between runs; by a
/// few also by what they differ by, and from [`MIN_POOLED_RUNS`] on by their mean.
pub(super) fn estimate(
    this: &RunRounds<'_>,
    earlier: &[RunRounds<'_>],
    measure: &Measure,
    nominal: Nominal,
) -> Option<IntervalEstimate> {
    let alone = this.estimate(measure, nominal)?;
    if earlier.is_empty() {
        return Some(this.between_runs(alone, measure, nominal).unwrap_or(alone));
    }
    let Some(scale) = Scale::of(measure) else {
        let others = earlier.iter().map(|run| run.estimate(measure, nominal)?.interval);
        let interval = others.fold(alone.interval, |one, other| Some(hull(one?, other?)));
        return Some(IntervalEstimate { interval, ..alone });
    };
    let all = std::iter::once(this).chain(earlier);
    let runs: Option<Vec<RunMedian>> = all.map(|run| run.run_median(measure, scale)).collect();
    let runs = runs?;
    if runs.len() >= MIN_POOLED_RUNS {
        let mean = run_mean(&runs, nominal)?;
        let interval = Some(scale.invert_interval(mean.interval));
        return Some(IntervalEstimate { value: scale.invert(mean.value), interval });
    }
    let variation = match this.deviation(measure, scale) {
        Some(deviation) => RunVariation::of(&runs, prior(deviation)),
        None => RunVariation::without_prior(&[&runs])?,
    };
    let between = scale.invert_interval(variation.interval(runs.first()?, nominal));
    // What this run leaves open, further runs leave open too.
    let interval = alone.interval.map(|it| hull(it, between));
    Some(IntervalEstimate { interval, ..alone })
}

/// The smallest interval that contains both.
fn hull(one: Interval, other: Interval) -> Interval {
    Interval { lo: one.lo.min(other.lo), hi: one.hi.max(other.hi) }
}

#[cfg(test)]
mod tests {
    use oscost_model::seed::Seed;

    use super::super::quantity::SeriesPoint;
    use super::*;

    fn by_round(values: impl Iterator<Item = f64>) -> BTreeMap<u32, f64> {
        (0..).zip(values).collect()
    }

    /// A run of two rows with these ratios in its rounds.
    fn rounds(ratios: &[f64]) -> Rounds {
        let mut rounds = Rounds::default();
        rounds.insert("a".to_owned(), by_round(ratios.iter().copied()));
        rounds.insert("b".to_owned(), by_round(ratios.iter().map(|_| 1.0)));
        rounds
    }

    /// Ten rounds around a ratio, within 1 % of it.
    fn around(ratio: f64) -> Rounds {
        let share = |round: u32| 1.0 + 0.005 * (f64::from(round % 5) - 2.0);
        rounds(&(0..10).map(|round| ratio * share(round)).collect::<Vec<_>>())
    }

    fn ratio() -> Measure {
        Measure::Ratio("a".to_owned(), "b".to_owned())
    }

    fn over(runs: &[Rounds], measure: &Measure) -> IntervalEstimate {
        over_with(runs, measure, &BTreeMap::new())
    }

    /// The same where the rows of these keys vary so far between runs.
    fn over_with(
        runs: &[Rounds],
        measure: &Measure,
        between_runs: &BTreeMap<String, f64>,
    ) -> IntervalEstimate {
        let runs: Vec<RunRounds<'_>> = runs.iter().map(|it| run(it, between_runs)).collect();
        let (this, earlier) = runs.split_first().unwrap();
        estimate(this, earlier, measure, Nominal::FIXED).unwrap()
    }

    fn run<'a>(rounds: &'a Rounds, between_runs: &'a BTreeMap<String, f64>) -> RunRounds<'a> {
        RunRounds { rounds, over_all_ops: None, between_runs, rates: ClockRates::default() }
    }

    fn varying(deviation: f64, keys: &[&str]) -> BTreeMap<String, f64> {
        keys.iter().map(|key| ((*key).to_owned(), deviation)).collect()
    }

    #[test]
    fn few_runs_that_differ_widen_the_interval_and_equal_ones_do_not() {
        let alone = over(&[around(2.0)], &ratio());
        let agreeing = over(&[around(2.0), around(2.0)], &ratio());
        assert_eq!(agreeing.value, alone.value);
        let width = |it: &IntervalEstimate| it.interval.unwrap().half_width();
        assert!(width(&agreeing) < 1.5 * width(&alone), "{agreeing:?} {alone:?}");
        let differing = over(&[around(2.0), around(2.2)], &ratio());
        assert_eq!(differing.value, alone.value, "it is still that of this run");
        assert!(differing.interval.unwrap().contains(2.2), "{differing:?}");
    }

    #[test]
    fn from_four_runs_on_the_mean_is_judged_and_more_runs_narrow_its_interval() {
        let run = |at: u32| around(2.0 * (1.0 + 0.02 * (f64::from(at % 3) - 1.0)));
        let several = |count: u32| over(&(0..count).map(run).collect::<Vec<_>>(), &ratio());
        let [three, four, eleven] = [3, 4, 11].map(several);
        let width = |it: &IntervalEstimate| it.interval.unwrap().half_width();
        assert!(width(&eleven) < width(&four) && width(&four) < width(&three), "{four:?}");
        assert!((three.value - 1.96).abs() < 1e-9 && (eleven.value - 2.0).abs() < 0.01);
        assert!(eleven.interval.unwrap().contains(2.0), "{eleven:?}");
    }

    #[test]
    fn a_number_with_steps_has_the_intervals_of_all_runs() {
        let point = |number: u64, key: &str| SeriesPoint { number, key: key.to_owned() };
        let saturation = Measure::Saturation(vec![point(1, "b"), point(2, "a")]);
        // Where `a` is twice `b` the second point is the first near the largest; else the first is.
        let found = over(&[around(2.0), around(2.0)], &saturation);
        assert_eq!(found.interval, Some(Interval { lo: 2.0, hi: 2.0 }));
        let found = over(&[around(2.0), around(1.0), around(2.0), around(2.0)], &saturation);
        assert_eq!(found.interval, Some(Interval { lo: 1.0, hi: 2.0 }));
    }

    #[test]
    fn the_interval_of_a_number_with_steps_ends_at_steps() {
        let point = |number: u64, key: &str| SeriesPoint { number, key: key.to_owned() };
        let saturation = Measure::Saturation(vec![point(256, "b"), point(1024, "a")]);
        // In three of twelve rounds the first point is near the largest already.
        let ratios: Vec<f64> = (0..12).map(|round| if round < 3 { 1.0 } else { 2.0 }).collect();
        let found = over(&[rounds(&ratios)], &saturation);
        let interval = Some(Interval { lo: 256.0, hi: 1024.0 });
        assert_eq!((found.value, found.interval), (1024.0, interval));
        let found = over(&[rounds(&ratios[..6])], &saturation);
        assert_eq!(found.value, 256.0, "of three and three rounds the lower");
    }

    #[test]
    fn a_run_without_six_rounds_of_all_rows_is_not_comparable() {
        let unknown = BTreeMap::new();
        let has = |rounds: &Rounds| run(rounds, &unknown).has(&ratio());
        assert!(has(&around(2.0)) && !has(&rounds(&[2.0; 5])) && !has(&Rounds::default()));
        assert!(!has(&rounds(&[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, -1.0])), "it has no logarithm");
    }

    #[test]
    fn one_run_has_the_variation_between_runs_of_its_rows() {
        let known = varying(0.05, &["a", "b"]);
        let [alone, between] = [BTreeMap::new(), known.clone()]
            .map(|known| over_with(&[around(2.0)], &ratio(), &known));
        assert_eq!(alone.value, between.value);
        let log_half = |it: &IntervalEstimate| {
            let interval = it.interval.unwrap();
            (interval.hi / interval.lo).ln() / 2.0
        };
        // 2.776 times 5 % of two rows.
        let expected = (2.776 * 0.05 * 2f64.sqrt()).hypot(log_half(&alone));
        assert!((log_half(&between) / expected - 1.0).abs() < 0.01, "{between:?}");
        let rounds = around(2.0);
        let basis = |known: &BTreeMap<String, f64>, earlier: usize| {
            interval_basis(&run(&rounds, known), earlier, &ratio())
        };
        assert_eq!(basis(&known, 0), IntervalBasis::VariationOfRows);
        assert_eq!(basis(&varying(0.05, &["a"]), 0), IntervalBasis::Rounds, "of one row only");
        assert_eq!(basis(&known, 1), IntervalBasis::SeveralRuns);
        // A row over itself cancels.
        let own = Measure::Ratio("a".to_owned(), "a".to_owned());
        let found = over_with(&[around(2.0)], &own, &known).interval.unwrap();
        assert!((found.lo - 1.0).abs() < 1e-9 && (found.hi - 1.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_slope_varies_by_its_rows_as_far_as_they_enter_it() {
        let point = |number: u64, key: &str| SeriesPoint { number, key: key.to_owned() };
        let points = vec![point(0, "b"), point(1, "a")];
        let unit = crate::studies::TableUnit::Nanoseconds;
        let slope = Measure::Slope { points, per: 1, unit };
        let half = |known: &BTreeMap<String, f64>| {
            over_with(&[around(2.0)], &slope, known).interval.unwrap().half_width()
        };
        // The slope is a - b: 5 % of 2 and of 1.
        let expected = (2.776 * 0.05 * 5f64.sqrt()).hypot(half(&BTreeMap::new()));
        let found = half(&varying(0.05, &["a", "b"]));
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    }

    #[test]
    fn intervals_of_one_run_and_few_hold_the_true_ratio_where_runs_vary_as_their_class() {
        const CASES: u64 = 400;
        const TRUE_RATIO: f64 = 2.0;
        const CLASS: f64 = 0.05;
        let known = varying(CLASS, &["a", "b"]);
        let unknown = BTreeMap::new();
        let (mut held, mut held_by_rounds) = ([0u32; 3], 0u32);
        let mut seed = Seed::new(28);
        let mut normal = || (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
        for _ in 0..CASES {
            // The rows of a class vary by different deviations.
            let deviations = [(); 2].map(|()| CLASS * (0.3 * normal()).exp());
            let runs = [(); 3].map(|()| {
                let [a, b] = deviations.map(|deviation| (deviation * normal()).exp());
                let ratio = TRUE_RATIO * a / b;
                let noise = (0..12).map(|_| ratio * (0.02 * normal()).exp());
                rounds(&noise.collect::<Vec<f64>>())
            });
            for (at, held) in held.iter_mut().enumerate() {
                let found = over_with(&runs[..=at], &ratio(), &known).interval.unwrap();
                *held += u32::from(found.contains(TRUE_RATIO));
            }
            let alone = over_with(&runs[..1], &ratio(), &unknown).interval.unwrap();
            held_by_rounds += u32::from(alone.contains(TRUE_RATIO));
        }
        let share = |count: u32| f64::from(count) / CASES as f64;
        assert!(held.iter().all(|&it| share(it) >= 0.93), "{held:?} of {CASES}");
        // The control.
        assert!(share(held_by_rounds) < 0.5, "{held_by_rounds} of {CASES}");
    }
}
