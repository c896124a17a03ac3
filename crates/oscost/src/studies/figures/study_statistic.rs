//! The figure of a row by the statistic of its study: over all ops, and in each round.

use std::collections::BTreeMap;

use oscost_model::record::{Row, RowOutcome};
use oscost_model::study_method::{
    ClockCost, Statistic, StudyMethod, StudyMethodFigure, TimingScope,
};
use oscost_model::worker::Mode;

use super::unit::{BaseUnit, UnitKind, base_unit};
use crate::studies::study::TableRow;

/// The figure of a row in the base unit of its kind: by the study's method if it has one, else by
/// oscost's own estimate. `clock_ns` is what an empty timed interval shows.
pub(in crate::studies) fn statistic(
    row: &TableRow,
    measured: &Row,
    clock_ns: Option<f64>,
) -> Option<f64> {
    if measured.outcome != RowOutcome::Measured {
        return None;
    }
    if let Some(metric) = &row.metric {
        let metric = measured.metrics.get(metric)?;
        return Some(metric.estimate.mean * base_unit(metric.unit).size);
    }
    let BaseUnit { size, .. } = base_unit(measured.unit);
    match (row.study_method, &measured.study_method) {
        (Some(study_method), Some(by)) => {
            let correction = correction_of(&study_method, by, measured, clock_ns)?;
            Some(by.value? * size + correction)
        }
        (Some(_), None) => None,
        (None, _) => measured.estimate.as_ref().map(|it| it.median * size),
    }
}

/// The largest share of the smallest op that a step of the clock may be: the smallest of ops that
/// are timed one by one is a multiple of that step.
const MAX_STEP_SHARE: f64 = 0.02;

/// Whether a figure of a study's method is the smallest of ops, each timed by itself, and only a few
/// steps of the clock.
pub fn is_few_steps(by: &StudyMethodFigure, step_ns: f64) -> bool {
    let StudyMethod { statistic, timed, .. } = by.method;
    (statistic, timed) == (Statistic::Minimum, TimingScope::Each)
        && by.value.is_some_and(|value| step_ns > MAX_STEP_SHARE * value)
}

/// The statistic of a study for a row, in the base unit of its kind.
pub(in crate::studies) struct RowStatistic {
    /// In each round.
    pub(in crate::studies) by_round: BTreeMap<u32, f64>,
    /// Over all ops of all rounds.
    pub(in crate::studies) over_all_ops: Option<f64>,
}

/// The statistic of the study, in each round and over all ops; `None` if the row has no study
/// method, or was not measured by it.
pub(in crate::studies) fn row_statistic(
    row: &TableRow,
    measured: &Row,
    clock_ns: Option<f64>,
) -> Option<RowStatistic> {
    let (study_method, by) = row.study_method.zip(measured.study_method.as_ref())?;
    if measured.outcome != RowOutcome::Measured || row.metric.is_some() {
        return None;
    }
    let BaseUnit { size, .. } = base_unit(measured.unit);
    let correction = correction_of(&study_method, by, measured, clock_ns)?;
    let figure = |value: f64| value * size + correction;
    let by_round = by.rounds.iter().map(|it| (it.round, figure(it.value))).collect();
    Some(RowStatistic { by_round, over_all_ops: by.value.map(figure) })
}

/// The difference between a row's figure and the measured one, in the base unit.
fn correction_of(
    study_method: &StudyMethod,
    by: &StudyMethodFigure,
    measured: &Row,
    clock_ns: Option<f64>,
) -> Option<f64> {
    // Only a time includes the clock's cost.
    let clock_ns = clock_ns.filter(|_| base_unit(measured.unit).kind == UnitKind::Time);
    // A figure that the op itself reports does not include the clock.
    let clock_ns = if measured.mode == Some(Mode::F) { Some(0.0) } else { clock_ns };
    clock_correction(study_method, by, clock_ns)
}

/// The difference between a row's figure and the measured one, in nanoseconds: another row of the
/// study may be of the same case, and only one of both include the clock's cost. `None` if their
/// methods differ in anything else.
fn clock_correction(
    study_method: &StudyMethod,
    by: &StudyMethodFigure,
    clock_ns: Option<f64>,
) -> Option<f64> {
    let other = StudyMethod { clock: study_method.clock, ..by.method };
    if other != *study_method {
        return None;
    }
    let cost = || {
        let windows = match study_method.timed {
            TimingScope::Each => 1.0,
            TimingScope::Together => by.iterations.max(1) as f64,
        };
        Some(clock_ns? / windows)
    };
    match (study_method.clock, by.method.clock) {
        (ClockCost::Included, ClockCost::Subtracted) => cost(),
        (ClockCost::Subtracted, ClockCost::Included) => cost().map(|cost| -cost),
        _ => Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::study_method::Statistic;

    use super::*;

    #[test]
    fn two_rows_of_one_case_may_differ_in_the_clock_s_cost() {
        let together = StudyMethod {
            timed: TimingScope::Together,
            iterations: 1_000_000,
            experiments: 1,
            statistic: Statistic::Mean,
            clock: ClockCost::Included,
        };
        let each = StudyMethod { timed: TimingScope::Each, ..together };
        let by = |study_method| StudyMethodFigure {
            method: study_method,
            iterations: 10,
            experiments: 1,
            ops: 10,
            value: Some(100.0),
            deviation: None,
            rounds: Vec::new(),
            distance_from_rounds_pct: None,
            reason: None,
        };
        let without = StudyMethod { clock: ClockCost::Subtracted, ..each };
        let correction =
            |study_method: &StudyMethod, by| clock_correction(study_method, &by, Some(20.0));
        assert_eq!(correction(&each, by(each)), Some(0.0));
        assert_eq!(correction(&without, by(each)), Some(-20.0));
        assert_eq!(correction(&each, by(without)), Some(20.0));
        let subtracted = StudyMethod { clock: ClockCost::Subtracted, ..together };
        assert_eq!(correction(&subtracted, by(together)), Some(-2.0), "once in ten ops");
        assert_eq!(correction(&together, by(each)), None);
        assert_eq!(clock_correction(&without, &by(each), None), None);
    }
}
