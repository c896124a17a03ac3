//! Joins a run of two targets with a study: for each row of its tables what was measured, by the
//! study's statistic and by oscost's.

use oscost_model::record::{Comparison, Conditions, Record, Row, RowOutcome};

use crate::studies::claims::judgement::JudgedClaim;
use crate::studies::claims::two_targets_judgement::{CaseRows, judge_two_targets};
use crate::studies::figures::unit::ClockRates;
use crate::studies::study::{Column, NoteCondition, Study, Table, TableRow, UnitEstimate};
use oscost_stats::moments;

/// A run joined with its study.
#[derive(Clone, Debug)]
pub struct TwoTargetComparison<'a> {
    /// The study.
    pub study: &'a Study,
    /// The columns that it compares.
    pub columns: &'a [Column; 2],
    /// The targets of its columns in this run; `None` if the run has no row of one.
    pub targets: [Option<&'a str>; 2],
    /// Its tables.
    pub tables: Vec<TwoTargetTable<'a>>,
    /// Its claims.
    pub claims: Vec<JudgedClaim<'a>>,
}

/// A table of a study, joined with the run.
#[derive(Clone, Debug)]
pub struct TwoTargetTable<'a> {
    /// The table.
    pub table: &'a Table,
    /// Its rows.
    pub rows: Vec<TwoTargetRow<'a>>,
}

/// A row of a study's table, joined with the run.
#[derive(Clone, Debug)]
pub struct TwoTargetRow<'a> {
    /// The row.
    pub row: &'a TableRow,
    /// The run's rows of its case: base and new.
    pub sides: [Option<&'a Row>; 2],
    /// The figures by the study's statistic, in the table's unit.
    pub statistics: [Option<RunStatistic>; 2],
    /// Their comparison.
    pub comparison: Option<&'a Comparison>,
    /// Notes on it that apply to this run.
    pub notes: Vec<String>,
}

impl TwoTargetRow<'_> {
    /// oscost's estimate of one side.
    pub fn estimate(&self, side: usize) -> Option<UnitEstimate<'_>> {
        self.row.estimate_in(self.sides[side]?)
    }
}

/// What was measured, by a study's statistic, in the unit of its table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunStatistic {
    /// The mean over runs.
    pub mean: f64,
    /// Their standard deviation; `None` for one run.
    pub deviation: Option<f64>,
    /// The number of runs: fewer than the study's if workers failed or the run was cut short.
    pub runs: usize,
}

/// Joins a run with a study; `None` if the study has one target.
pub fn compare_two_targets<'a>(
    study: &'a Study,
    record: &'a Record,
) -> Option<TwoTargetComparison<'a>> {
    let columns = study.columns.as_ref()?;
    let tables: Vec<TwoTargetTable<'_>> = study
        .tables
        .iter()
        .map(|table| {
            let rows = table.rows.iter().map(|row| join_row(row, record));
            TwoTargetTable { table, rows: rows.collect() }
        })
        .collect();
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let target = |side: usize| {
        let mut measured = rows().filter_map(|row| row.sides[side]);
        measured.next().map(|row| row.target.text.as_str())
    };
    let is_void = record.comparisons.iter().any(|it| it.flags.iter().any(|flag| flag == "VOID"));
    let void = is_void.then(|| {
        "the control shows a difference where there is none: no difference of this run is valid"
            .to_owned()
    });
    let unsound = void.or_else(|| {
        let why = record.conditions.iter().find_map(Conditions::not_claimable_reason)?;
        Some(format!("the run {why}: no verdict may be based on it"))
    });
    let claims = study.claims.iter().map(|claim| {
        let of_case = |case: &String| -> CaseRows<'_> {
            let row = rows().find(|row| row.row.key() == *case);
            row.map_or_else(CaseRows::default, |row| CaseRows {
                sides: row.sides,
                comparison: row.comparison,
            })
        };
        let cases: Vec<CaseRows<'_>> = claim.cases.iter().map(of_case).collect();
        judge_two_targets(study, claim, &cases, unsound.as_deref())
    });
    let targets = [target(0), target(1)];
    Some(TwoTargetComparison { study, columns, targets, claims: claims.collect(), tables })
}

fn join_row<'a>(row: &'a TableRow, record: &'a Record) -> TwoTargetRow<'a> {
    // Both targets have the same cases, and the rows of the base come first: that identifies them
    // even if both targets are the same.
    let mut of_case =
        record.results.iter().enumerate().filter(|(_, it)| Some(it.case.as_str()) == row.case());
    let (base, new) = (of_case.next(), of_case.next());
    let indices = [base, new].map(|it| it.map(|(at, _)| at as u32));
    let sides = [base, new].map(|it| it.map(|(_, row)| row));
    let primary = sides[0].and_then(|row| row.primary_metric.as_deref());
    let metric = row.metric.as_deref().filter(|metric| Some(*metric) != primary);
    let metric = metric.unwrap_or("primary");
    let of_both = |it: &&Comparison| {
        !it.control && it.metric == metric && [Some(it.base), Some(it.new)] == indices
    };
    let comparison = record.comparisons.iter().find(of_both);
    let statistics = sides.map(|side| run_statistic(side?, row));
    let notes = notes(row, sides);
    TwoTargetRow { row, sides, statistics, comparison, notes }
}

/// The notes on a row that apply to a run.
pub(in crate::studies) fn notes(row: &TableRow, [base, new]: [Option<&Row>; 2]) -> Vec<String> {
    let no_calls = base.and_then(|base| no_calls_evidence(base, new));
    let notes = row.notes.iter().filter_map(|note| match (note.when, no_calls.as_deref()) {
        (NoteCondition::Always, _) => Some(note.text.clone()),
        (NoteCondition::NoCalls, Some(counted)) => Some(format!("{} ({counted})", note.text)),
        (NoteCondition::NoCalls, None) => None,
    });
    notes.collect()
}

/// A row by the statistic of a study: over as many of its first repetitions as the study had runs,
/// but over all of them for another metric than its figure.
fn run_statistic(of: &Row, row: &TableRow) -> Option<RunStatistic> {
    if of.outcome != RowOutcome::Measured {
        return None;
    }
    if let Some(metric) = &row.metric {
        let metric = of.metrics.get(metric)?;
        let factor = row.unit.conversion_from(metric.unit, ClockRates::default())?;
        let estimate = &metric.estimate;
        return Some(RunStatistic {
            mean: estimate.mean * factor,
            deviation: estimate.sd.map(|sd| sd * factor),
            runs: estimate.repetitions as usize,
        });
    }
    let factor = row.unit.conversion_from(of.unit, ClockRates::default())?;
    let mut workers: Vec<(u32, f64)> =
        of.repetitions.iter().filter_map(|worker| Some((worker.round, worker.value?))).collect();
    workers.sort_by_key(|(round, _)| *round);
    let values: Vec<f64> =
        workers.into_iter().take(row.runs).map(|(_, value)| value * factor).collect();
    Some(RunStatistic {
        mean: moments::mean(&values)?,
        deviation: moments::standard_deviation(&values),
        runs: values.len(),
    })
}

/// For a row whose ops were counted and made no call: how that is known, and how many calls the
/// monitor on the other target observed.
fn no_calls_evidence(base: &Row, new: Option<&Row>) -> Option<String> {
    let calls = base.calls.as_ref().filter(|calls| calls.counted_ops > 0)?;
    let made: f64 = calls.per_op.values().chain(calls.peer_per_op.values()).sum();
    let vdso = match calls.vdso {
        Some(true) => ", code of the vDSO executed",
        Some(false) | None => "",
    };
    let monitor = new.and_then(|row| row.monitor.as_ref());
    let observed = monitor.map(|it| format!("; the monitor observed {}", it.observed_calls));
    let observed = observed.unwrap_or_default();
    (made == 0.0)
        .then(|| format!("counted here: no call in {} ops{vdso}{observed}", calls.counted_ops))
}

#[cfg(test)]
mod tests;
