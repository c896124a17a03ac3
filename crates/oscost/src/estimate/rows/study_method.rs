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
mod tests;
