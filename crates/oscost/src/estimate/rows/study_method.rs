//! The figure of a row by the method of the study that measured it: its statistic, its treatment of
//! the clock, and nothing rejected (docs/explanation/METHOD.md, section 14).

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::clock::Calibration;
use oscost_model::journal::WorkerOutcome;
use oscost_model::study_method::{
    ClockCost, Statistic, StudyMethod, StudyMethodFigure, StudyMethodRound, TimingScope,
};
use oscost_model::unit::Unit;
use oscost_model::worker::{Mode, Sample, Windows};

use crate::estimate::rows::row_state::{Abandonment, ExperimentEntry, RowState};
use crate::estimate::rows::worker::in_unit;
use oscost_stats::{moments, order};

/// The samples of an experiment in one round.
#[derive(Clone, Debug)]
struct ExperimentPart {
    round: u32,
    samples: Vec<Sample>,
}

/// The samples of an experiment, in the rounds over which it was spread.
#[derive(Clone, Debug, Default)]
struct Experiment {
    parts: Vec<ExperimentPart>,
}

/// The statistic of a study over some experiments.
#[derive(Clone, Copy, Debug)]
struct StatisticValue {
    value: f64,
    deviation: Option<f64>,
}

/// Reads the samples of experiments.
#[derive(Clone, Copy, Debug)]
struct MethodReader<'a> {
    study_method: StudyMethod,
    clock: &'a Calibration,
    unit: Unit,
    /// Whether the op returns its figure.
    is_returned: bool,
}

/// The figure of a row by the method of its study; `None` if it has none.
pub(in crate::estimate) fn study_method_figure(
    state: &RowState,
    clock: Option<&Calibration>,
) -> Option<StudyMethodFigure> {
    let study_method = state.planned.study_method?;
    let figure = samples_of(state).and_then(|MadeOps { experiments, loss }| {
        let clock = clock.ok_or_else(|| "no clock was calibrated".to_owned())?;
        let is_returned = state.plan.as_ref().is_some_and(|plan| plan.mode == Mode::F);
        let unit = state.planned.definition.unit;
        let reader = MethodReader { study_method, clock, unit, is_returned };
        Ok(StudyMethodFigure { reason: loss, ..reader.figure(&experiments)? })
    });
    let without_value = |reason| StudyMethodFigure {
        method: study_method,
        iterations: 0,
        experiments: 0,
        ops: 0,
        value: None,
        deviation: None,
        rounds: Vec::new(),
        distance_from_rounds_pct: None,
        reason: Some(reason),
    };
    Some(figure.unwrap_or_else(without_value))
}

/// The samples of a row by its study method.
struct MadeOps {
    experiments: Vec<Experiment>,
    /// Why a worker was lost, and none after it was measured.
    loss: Option<String>,
}

/// The samples of each experiment, or why there are none.
fn samples_of(state: &RowState) -> Result<MadeOps, String> {
    if state.planned.workload.is_some() {
        return Err("a program is run as a whole: its trials are the figures of a study".to_owned());
    }
    if let Some(Abandonment { outcome, reason }) = &state.given_up {
        return Err(format!("the row is {}: {reason}", outcome.text()));
    }
    if state.plan.as_ref().is_some_and(|plan| plan.mode == Mode::T) {
        return Err("a rate is a slope over sizes: no op is timed alone".to_owned());
    }
    let mut found: BTreeMap<u32, Experiment> = BTreeMap::new();
    let mut lost = None;
    for ExperimentEntry { round, number, outcome } in &state.experiments {
        // A lost experiment may have been repeated: only the last outcome counts.
        lost = match outcome {
            WorkerOutcome::Sampled { samples, .. } => {
                let part = ExperimentPart { round: *round, samples: samples.clone() };
                found.entry(*number).or_default().parts.push(part);
                None
            }
            WorkerOutcome::Lost { reason, .. } => Some(reason.clone()),
            WorkerOutcome::Trial(_) => lost,
        };
    }
    for experiment in found.values_mut() {
        experiment.parts.retain(|part| op_count(&part.samples) > 0);
    }
    found.retain(|_, experiment| !experiment.parts.is_empty());
    match lost {
        loss if !found.is_empty() => {
            Ok(MadeOps { experiments: found.into_values().collect(), loss })
        }
        Some(reason) => Err(reason),
        None if state.experiments.is_empty() => Err("the run ended before it".to_owned()),
        None => Err("no op was completed".to_owned()),
    }
}

/// The ops in these samples.
fn op_count(samples: &[Sample]) -> u64 {
    samples.iter().map(|sample| sample.n).sum()
}

/// The windows in these samples.
fn window_count(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.windows.map_or(1, |it| it.count) as f64).sum()
}

impl Experiment {
    /// Its samples in all rounds that are included.
    fn samples(&self, is_included: impl Fn(u32) -> bool) -> Vec<Sample> {
        let parts = self.parts.iter().filter(|part| is_included(part.round));
        parts.flat_map(|part| &part.samples).copied().collect()
    }
}

impl MethodReader<'_> {
    /// The statistic over all ops, and that of each round: an experiment is one loop however many
    /// rounds it is spread over, and so is its part in each round.
    fn figure(&self, experiments: &[Experiment]) -> Result<StudyMethodFigure, String> {
        let samples_in = |is_included: &dyn Fn(u32) -> bool| -> Vec<Vec<Sample>> {
            let samples = experiments.iter().map(|it| it.samples(is_included));
            samples.filter(|samples| !samples.is_empty()).collect()
        };
        let all_rounds: BTreeSet<u32> =
            experiments.iter().flat_map(|it| &it.parts).map(|part| part.round).collect();
        let mut rounds = Vec::new();
        for round in all_rounds {
            let of_round = samples_in(&|other| other == round);
            let StatisticValue { value, deviation } = self.statistic(&of_round)?;
            let ops = of_round.iter().map(|samples| op_count(samples)).sum();
            rounds.push(StudyMethodRound { round, ops, value, deviation });
        }
        let all = samples_in(&|_| true);
        let StatisticValue { value, deviation } = self.statistic(&all)?;
        Ok(StudyMethodFigure {
            method: self.study_method,
            iterations: all.iter().map(|samples| op_count(samples)).min().unwrap_or(0),
            experiments: all.len() as u32,
            ops: all.iter().map(|samples| op_count(samples)).sum(),
            value: Some(value),
            deviation,
            distance_from_rounds_pct: distance_from_rounds_pct(value, &rounds),
            rounds,
            reason: None,
        })
    }

    /// The statistic over experiments.
    fn statistic(&self, experiments: &[Vec<Sample>]) -> Result<StatisticValue, String> {
        let StudyMethod { timed, statistic, .. } = self.study_method;
        let unit =
            |ns: f64| in_unit(ns, self.unit).ok_or_else(|| "its time is not above 0".to_owned());
        let means: Vec<f64> = experiments.iter().map(|samples| self.mean_ns(samples)).collect();
        let (value, deviation) = match (statistic, timed) {
            (Statistic::Mean, TimingScope::Each) => {
                let all: Vec<Sample> = experiments.iter().flatten().copied().collect();
                (unit(self.mean_of_windows_ns(&all))?, None)
            }
            (Statistic::Mean, TimingScope::Together) => {
                let whole: f64 = experiments.iter().map(|it| op_count(it) as f64).sum();
                let totals =
                    experiments.iter().zip(&means).map(|(it, mean)| op_count(it) as f64 * mean);
                (unit(totals.sum::<f64>() / whole)?, None)
            }
            (Statistic::MeanAndDeviation, _) => {
                let means = means.iter().map(|&ns| unit(ns)).collect::<Result<Vec<_>, _>>()?;
                (mean(&means), moments::standard_deviation(&means))
            }
            (Statistic::Minimum, TimingScope::Each) => {
                let all = experiments.iter().flatten().map(|sample| self.smallest_ns(sample));
                (unit(all.fold(f64::INFINITY, f64::min))?, None)
            }
            (Statistic::Minimum, TimingScope::Together) => {
                (unit(means.iter().copied().fold(f64::INFINITY, f64::min))?, None)
            }
        };
        Ok(StatisticValue { value, deviation })
    }

    /// The time of these ticks in so many windows.
    fn ns(&self, ticks: f64, windows: f64) -> f64 {
        if self.is_returned {
            return ticks / 1_000.0;
        }
        let subtracted_ticks = match self.study_method.clock {
            ClockCost::Included => 0.0,
            ClockCost::Subtracted => windows * self.clock.inside_ticks,
        };
        self.clock.ns(ticks - subtracted_ticks)
    }

    /// The mean time of an op over all windows of these samples. A figure that is returned is one
    /// of a window.
    fn mean_of_windows_ns(&self, samples: &[Sample]) -> f64 {
        let ticks = samples.iter().map(|sample| sample.ticks as f64).sum();
        let windows = window_count(samples);
        let ops = if self.is_returned { windows } else { op_count(samples) as f64 };
        self.ns(ticks, windows) / ops
    }

    /// The smallest time of an op in a window of this sample.
    fn smallest_ns(&self, sample: &Sample) -> f64 {
        let one = Windows { count: 1, smallest_ops: sample.n, smallest_ticks: sample.ticks };
        let Windows { smallest_ops, smallest_ticks, .. } = sample.windows.unwrap_or(one);
        let ops = if self.is_returned { 1 } else { smallest_ops.max(1) };
        self.ns(smallest_ticks as f64, 1.0) / ops as f64
    }

    /// The mean over the ops of an experiment.
    fn mean_ns(&self, samples: &[Sample]) -> f64 {
        if self.is_returned || self.study_method.timed == TimingScope::Each {
            return self.mean_of_windows_ns(samples);
        }
        // A study reads the clock once per loop, however many windows the loop is split into here.
        let included = match self.study_method.clock {
            ClockCost::Included => 1.0,
            ClockCost::Subtracted => 0.0,
        };
        let ticks: f64 = samples.iter().map(|sample| sample.ticks as f64).sum();
        let ops: f64 = samples.iter().map(|sample| sample.n as f64).sum();
        let subtracted_ticks = (window_count(samples) - included) * self.clock.inside_ticks;
        self.clock.ns(ticks - subtracted_ticks) / ops
    }
}

/// How far the statistic over all ops lies from the median of the rounds', in per cent of that
/// median.
fn distance_from_rounds_pct(value: f64, rounds: &[StudyMethodRound]) -> Option<f64> {
    let mut values: Vec<f64> = rounds.iter().map(|round| round.value).collect();
    values.sort_by(f64::total_cmp);
    let median = order::median(&values).filter(|&median| values.len() > 1 && median != 0.0)?;
    Some(100.0 * (value - median) / median.abs())
}

/// The mean of at least one value, since experiments without samples are dropped.
fn mean(values: &[f64]) -> f64 {
    moments::mean(values).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use oscost_model::clock::ClockKind;

    use super::*;

    const CLOCK: Calibration = Calibration {
        kind: ClockKind::Tsc,
        ticks_per_ns: 2.0,
        quantum_ticks: 1.0,
        inside_ticks: 40.0,
        pair_ticks: 80.0,
    };

    fn study_method(timed: TimingScope, statistic: Statistic, clock: ClockCost) -> StudyMethod {
        StudyMethod { timed, iterations: 3, experiments: 2, statistic, clock }
    }

    fn window(n: u64, ticks: i64) -> Sample {
        // Disturbances are ignored by the method of a study.
        Sample { n, ticks, involuntary_switches: 1, migrated: true, ..Sample::default() }
    }

    /// Experiments that were done in one round.
    fn in_one_round(experiments: &[Vec<Sample>]) -> Vec<Experiment> {
        experiments.iter().map(|samples| in_rounds(&[(0, samples)])).collect()
    }

    /// An experiment with parts in these rounds.
    fn in_rounds(parts: &[(u32, &[Sample])]) -> Experiment {
        let part = |&(round, samples): &(u32, &[Sample])| {
            let samples = samples.to_vec();
            ExperimentPart { round, samples }
        };
        Experiment { parts: parts.iter().map(part).collect() }
    }

    fn value_and_deviation(
        study_method: StudyMethod,
        unit: Unit,
        experiments: &[Vec<Sample>],
    ) -> (Option<f64>, Option<f64>) {
        let figure = MethodReader { study_method, clock: &CLOCK, unit, is_returned: false }
            .figure(&in_one_round(experiments))
            .unwrap();
        assert_eq!((figure.reason, figure.method), (None, study_method));
        (figure.value, figure.deviation)
    }

    /// Shots of 100, 100 and 10,000 ns; then of 100, 200 and 300 ns.
    fn shots() -> Vec<Vec<Sample>> {
        let of = |ns: [i64; 3]| ns.map(|ns| window(1, 2 * ns)).to_vec();
        vec![of([100, 100, 10_000]), of([100, 200, 300])]
    }

    #[test]
    fn a_mean_includes_interruptions_and_a_minimum_does_not() {
        let of = |statistic| study_method(TimingScope::Each, statistic, ClockCost::Included);
        let in_ns = |statistic| value_and_deviation(of(statistic), Unit::NsPerOp, &shots());
        assert_eq!(in_ns(Statistic::Mean), (Some(1_800.0), None));
        assert_eq!(in_ns(Statistic::Minimum), (Some(100.0), None));
        let (mean, deviation) = in_ns(Statistic::MeanAndDeviation);
        // Experiments of 3,400 and 200 ns, with one degree of freedom.
        assert_eq!(mean, Some(1_800.0));
        assert!((deviation.unwrap() - 3_200.0 / 2f64.sqrt()).abs() < 1e-9, "{deviation:?}");
    }

    #[test]
    fn one_experiment_has_no_deviation() {
        let of = study_method(TimingScope::Each, Statistic::MeanAndDeviation, ClockCost::Included);
        assert_eq!(value_and_deviation(of, Unit::NsPerOp, &shots()[1..]), (Some(200.0), None));
    }

    #[test]
    fn the_clock_is_subtracted_from_each_window_or_from_none() {
        let of = |timed, clock| {
            value_and_deviation(
                study_method(timed, Statistic::Mean, clock),
                Unit::NsPerOp,
                &shots()[1..],
            )
            .0
        };
        assert_eq!(of(TimingScope::Each, ClockCost::Included), Some(200.0));
        assert_eq!(of(TimingScope::Each, ClockCost::Subtracted), Some(180.0));
        // Three windows are one loop, which includes the clock once.
        let in_loop = of(TimingScope::Together, ClockCost::Included).unwrap();
        assert!((in_loop - (600.0 - 2.0 * 20.0) / 3.0).abs() < 1e-9, "{in_loop}");
        assert_eq!(of(TimingScope::Together, ClockCost::Subtracted), Some(180.0));
    }

    #[test]
    fn the_figure_of_a_loop_is_its_total_over_its_ops() {
        let loops = vec![vec![window(100, 20_000)], vec![window(300, 120_000)]];
        let of = |statistic| study_method(TimingScope::Together, statistic, ClockCost::Included);
        assert_eq!(value_and_deviation(of(Statistic::Mean), Unit::NsPerOp, &loops).0, Some(175.0));
        assert_eq!(
            value_and_deviation(of(Statistic::Minimum), Unit::NsPerOp, &loops).0,
            Some(100.0)
        );
        assert_eq!(
            value_and_deviation(of(Statistic::MeanAndDeviation), Unit::NsPerOp, &loops).0,
            Some(150.0)
        );
        let read = MethodReader {
            study_method: of(Statistic::Mean),
            clock: &CLOCK,
            unit: Unit::NsPerOp,
            is_returned: false,
        };
        let figure = read.figure(&in_one_round(&loops)).unwrap();
        assert_eq!((figure.iterations, figure.experiments), (100, 2));
    }

    #[test]
    fn each_round_has_the_statistic_of_its_own_ops() {
        let [one, other] = &shots()[..] else { panic!("two experiments") };
        let of = |statistic| MethodReader {
            study_method: study_method(TimingScope::Each, statistic, ClockCost::Included),
            clock: &CLOCK,
            unit: Unit::NsPerOp,
            is_returned: false,
        };
        // The first experiment has shots in both rounds, the second one in the last only.
        let experiments = [in_rounds(&[(0, &one[..2]), (1, &one[2..])]), in_rounds(&[(1, other)])];
        let mean = of(Statistic::Mean).figure(&experiments).unwrap();
        let round = |round, ops, value| StudyMethodRound { round, ops, value, deviation: None };
        assert_eq!(mean.rounds, [round(0, 2, 100.0), round(1, 4, 2_650.0)]);
        assert_eq!((mean.value, mean.ops, mean.iterations), (Some(1_800.0), 6, 3));
        // The median of the rounds is 1,375 ns.
        let distance = mean.distance_from_rounds_pct.unwrap();
        assert!((distance - 100.0 * (1_800.0 / 1_375.0 - 1.0)).abs() < 1e-9, "{distance}");
        let minimum = of(Statistic::Minimum).figure(&experiments).unwrap();
        assert_eq!((minimum.value, minimum.distance_from_rounds_pct), (Some(100.0), Some(0.0)));
        let spread = of(Statistic::MeanAndDeviation).figure(&experiments).unwrap();
        assert_eq!((spread.rounds[0].deviation, spread.rounds[1].value), (None, 5_100.0));
        // The experiments' means in the last round are 10,000 and 200 ns.
        let deviation = spread.rounds[1].deviation.unwrap();
        assert!((deviation - 9_800.0 / 2f64.sqrt()).abs() < 1e-9, "{deviation}");
        assert_eq!(spread.value, Some(1_800.0), "the mean of the means of whole experiments");
    }

    #[test]
    fn a_loop_spread_over_rounds_includes_the_clock_once() {
        let experiment = in_rounds(&[(0, &[window(100, 20_000)]), (3, &[window(100, 30_000)])]);
        let read = MethodReader {
            study_method: study_method(TimingScope::Together, Statistic::Mean, ClockCost::Included),
            clock: &CLOCK,
            unit: Unit::NsPerOp,
            is_returned: false,
        };
        let figure = read.figure(&[experiment]).unwrap();
        let value = figure.value.unwrap();
        assert!((value - (25_000.0 - 20.0) / 200.0).abs() < 1e-9, "{value}");
        let rounds: Vec<(u32, f64)> = figure.rounds.iter().map(|it| (it.round, it.value)).collect();
        assert_eq!(rounds, [(0, 100.0), (3, 150.0)]);
        assert_eq!((figure.experiments, figure.iterations, figure.ops), (1, 200, 200));
    }

    #[test]
    fn one_round_has_no_distance_from_the_others() {
        let of = study_method(TimingScope::Each, Statistic::Mean, ClockCost::Included);
        let read = MethodReader {
            study_method: of,
            clock: &CLOCK,
            unit: Unit::NsPerOp,
            is_returned: false,
        };
        let figure = read.figure(&in_one_round(&shots())).unwrap();
        assert_eq!((figure.rounds.len(), figure.distance_from_rounds_pct), (1, None));
    }

    #[test]
    fn a_rate_is_that_of_the_mean_time_and_needs_a_positive_time() {
        let loops = vec![vec![window(100, 20_000)]];
        let of = study_method(TimingScope::Together, Statistic::Mean, ClockCost::Included);
        assert_eq!(value_and_deviation(of, Unit::BytesPerSecond, &loops).0, Some(1e7));
        let read = MethodReader {
            study_method: of,
            clock: &CLOCK,
            unit: Unit::BytesPerSecond,
            is_returned: false,
        };
        assert!(read.figure(&in_one_round(&[vec![window(100, -1)]])).is_err());
        let below = value_and_deviation(of, Unit::NsPerOp, &[vec![window(100, -200)]]).0;
        assert_eq!(below, Some(-1.0), "nothing is clamped");
    }

    #[test]
    fn a_returned_figure_does_not_include_the_clock() {
        let samples = vec![vec![window(1, 1_500), window(1, 2_500)]];
        let of = study_method(TimingScope::Each, Statistic::Mean, ClockCost::Subtracted);
        let read = MethodReader {
            study_method: of,
            clock: &CLOCK,
            unit: Unit::NsPerOp,
            is_returned: true,
        };
        assert_eq!(read.figure(&in_one_round(&samples)).unwrap().value, Some(2.0));
    }
}
