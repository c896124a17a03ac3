//! A run of one place laid beside a study: for each row of its tables what was printed and what was
//! measured, by the study's own statistic and by oscost's, in each column of the table.

use std::collections::BTreeMap;

use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::study_method::{ClockCost, StudyMethod, StudyMethodFigure, TimingScope};
use oscost_model::worker::Mode;

use super::bound::PredictionResult;
use super::condition::{self, Condition, ConditionResult};
use super::formula::Variables;
use super::judgement::{JudgedClaim, RunFigures, judge_single_target};
use super::published::Published;
use super::rounds::{IntervalEstimate, Rounds};
use super::study::{Figure, NO_PEER, PublishedPrediction, Study, Subject, Table, TableRow};
use super::two_targets::notes;
use super::unit::{ClockRates, UnitKind, base_unit};
use oscost_stats::interval::{Interval, Nominal};

/// A run beside a study.
#[derive(Clone, Debug)]
pub struct SingleTargetComparison<'a> {
    /// The study.
    pub study: &'a Study,
    /// How fast the core was that was measured here, and its counter.
    pub clock_rates: ClockRates,
    /// The step of the clock here, in nanoseconds.
    pub clock_step_ns: Option<f64>,
    /// Its tables.
    pub tables: Vec<SingleTargetTable<'a>>,
    /// How it had its machine, and whether this one is so.
    pub conditions: Vec<(&'a Condition, ConditionResult)>,
    /// Its claims.
    pub claims: Vec<JudgedClaim<'a>>,
}

/// A table of a study, and what this run has of it.
#[derive(Clone, Debug)]
pub struct SingleTargetTable<'a> {
    /// The table.
    pub table: &'a Table,
    /// Its rows.
    pub rows: Vec<SingleTargetRow<'a>>,
}

/// A row of a study's table, and what this run has of it.
#[derive(Clone, Debug)]
pub struct SingleTargetRow<'a> {
    /// The row.
    pub row: &'a TableRow,
    /// The run's row of its case.
    pub measured: Option<&'a Row>,
    /// What stands in its columns.
    pub cells: Vec<ColumnResult<'a>>,
    /// What was expected of it, then and here.
    pub expected: Option<PredictionComparison<'a>>,
    /// What there is to say of it in this run.
    pub notes: Vec<String>,
}

/// What stands in a column of a row, in the column's unit.
#[derive(Clone, Debug)]
pub struct ColumnResult<'a> {
    /// The column, as it is in this row.
    pub figure: Figure,
    /// What was printed.
    pub published: Option<&'a Published>,
    /// By the study's own statistic.
    pub by_study_statistic: Option<StudyStatistic<'a>>,
    /// By oscost's.
    pub estimate: Option<IntervalEstimate>,
    /// How many times as much it was then, in time or as a rate: its least and its most.
    pub published_ratio: Option<[f64; 2]>,
    /// The same in cycles of the two cores.
    pub published_ratio_in_cycles: Option<[f64; 2]>,
}

/// A figure by the study's own statistic.
#[derive(Clone, Copy, Debug)]
pub struct StudyStatistic<'a> {
    /// The figure.
    pub value: f64,
    /// The standard deviation between experiments, where the figure is the row's own.
    pub deviation: Option<f64>,
    /// How it was found; `None` where it is oscost's estimate, or counted.
    pub by: Option<&'a StudyMethodFigure>,
}

/// What was expected of a row.
#[derive(Clone, Copy, Debug)]
pub struct PredictionComparison<'a> {
    /// As it was printed.
    pub printed: &'a PublishedPrediction,
    /// Whether the printed figure was so.
    pub published_result: PredictionResult,
    /// Whether this run's is so, with its whole interval.
    pub measured_result: PredictionResult,
    /// oscost's own guess, written before anything was measured.
    pub expected: &'a str,
    /// The floor of the row, in the unit of the prediction.
    pub floor: Option<f64>,
}

/// Lays a run beside a study of one place.
pub fn compare_single_target<'a>(
    study: &'a Study,
    record: &'a Record,
) -> SingleTargetComparison<'a> {
    let beats = ClockRates::of(record);
    let clock = record.machines.first().and_then(|machine| machine.clock.as_ref());
    let clock_ns = clock.map(|clock| clock.c_in_ns);
    let found = |row: &TableRow| found(record, row);
    let mut rounds = Rounds::default();
    let mut calls = BTreeMap::new();
    for row in study.rows() {
        let Some(measured) = found(row) else { continue };
        rounds.add(row, measured);
        if let Some(counted) = calls_per_op(measured) {
            calls.insert(row.key(), counted);
        }
    }
    let claims = study.claims.iter();
    let nominal = Nominal::from_run_level(record.settings.nominal);
    let witness = RunFigures { rounds: &rounds, calls: &calls, beats, nominal };
    let claims = claims.map(|claim| judge_single_target(study, claim, &witness));
    let conditions = study.conditions.iter().map(|it| (it, condition::judge(it, record)));
    let tables = study.tables.iter().map(|table| {
        let all: Vec<Option<&Row>> = table.rows.iter().map(found).collect();
        let laying =
            TableJoin { study, table, all: &all, rounds: &rounds, beats, clock_ns, nominal };
        let rows = (0..table.rows.len()).map(|at| laying.row(at));
        SingleTargetTable { table, rows: rows.collect() }
    });
    SingleTargetComparison {
        study,
        clock_rates: beats,
        clock_step_ns: clock.map(|clock| clock.q_ns),
        tables: tables.collect(),
        conditions: conditions.collect(),
        claims: claims.collect(),
    }
}

/// The run's row of a study's row.
fn found<'a>(record: &'a Record, row: &TableRow) -> Option<&'a Row> {
    let Subject::Case(case) = &row.subject else { return None };
    // Where the run had no peer, its row says so, and has none.
    let is_far = |it: &Row| it.target.peer.is_some() || it.reason.as_deref() == Some(NO_PEER);
    let same = |it: &&Row| it.case == *case && is_far(it) == row.peer;
    record.results.iter().find(same)
}

/// The system calls that an op of the row was counted to make.
fn calls_per_op(row: &Row) -> Option<f64> {
    let calls = row.calls.as_ref().filter(|calls| calls.counted_ops > 0)?;
    // A sum of nothing is -0.0, which would be shown so.
    Some(calls.per_op.values().fold(0.0, |sum, times| sum + times))
}

/// A table that is being laid beside a run.
struct TableJoin<'a, 'b> {
    study: &'a Study,
    table: &'a Table,
    all: &'b [Option<&'a Row>],
    rounds: &'b Rounds,
    beats: ClockRates,
    /// What an empty timed interval shows.
    clock_ns: Option<f64>,
    /// The level of its intervals.
    nominal: Nominal,
}

/// What a formula is told of by the study's own statistic.
struct StatisticVariables<'a, 'b> {
    laying: &'b TableJoin<'a, 'b>,
    at: usize,
}

impl Variables for StatisticVariables<'_, '_> {
    fn own_figure(&self) -> Option<f64> {
        let row = self.laying.table.rows.get(self.at)?;
        statistic(row, self.laying.all[self.at]?, self.laying.clock_ns)
    }

    fn row(&self, name: &str) -> Option<f64> {
        let rows = &self.laying.table.rows;
        let at = rows.iter().position(|row| row.name == name)?;
        statistic(&rows[at], self.laying.all[at]?, self.laying.clock_ns)
    }

    fn calls(&self) -> Option<f64> {
        calls_per_op(self.laying.all[self.at]?)
    }
}

/// What a formula is told of in one round.
struct RoundVariables<'a> {
    of: &'a dyn Fn(&str) -> Option<f64>,
    this: String,
    rows: &'a [TableRow],
    calls: Option<f64>,
}

impl Variables for RoundVariables<'_> {
    fn own_figure(&self) -> Option<f64> {
        (self.of)(&self.this)
    }

    fn row(&self, name: &str) -> Option<f64> {
        (self.of)(&self.rows.iter().find(|row| row.name == name)?.key())
    }

    fn calls(&self) -> Option<f64> {
        self.calls
    }
}

/// The figure of a row by its study's statistic, in the plainest unit of its kind: by its manner
/// where it has one, else oscost's own.
fn statistic(row: &TableRow, measured: &Row, clock_ns: Option<f64>) -> Option<f64> {
    if measured.outcome != RowOutcome::Measured {
        return None;
    }
    if let Some(metric) = &row.metric {
        let metric = measured.metrics.get(metric)?;
        return Some(metric.estimate.mean * base_unit(metric.unit).1);
    }
    let (kind, one) = base_unit(measured.unit);
    // Only a time has the clock's cost in it.
    let clock_ns = clock_ns.filter(|_| kind == UnitKind::Time);
    match (row.study_method, &measured.study_method) {
        (Some(study_method), Some(by)) => {
            // What an op brings itself has no clock in it.
            let clock_ns = if measured.mode == Some(Mode::F) { Some(0.0) } else { clock_ns };
            Some(by.value? * one + clock_correction(&study_method, by, clock_ns)?)
        }
        (Some(_), None) => None,
        (None, _) => measured.estimate.as_ref().map(|it| it.median * one),
    }
}

/// By how much a row's figure differs from the one that was found, in nanoseconds: another row of
/// the study may be of the same case, and have the clock's cost where this one has not. `None` where
/// their manners differ in more than that.
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

impl<'a> TableJoin<'a, '_> {
    fn row(&self, at: usize) -> SingleTargetRow<'a> {
        let row = &self.table.rows[at];
        let found = self.all[at];
        let columns = self.table.figures.iter().zip(&row.published);
        let cells: Vec<ColumnResult<'a>> = columns
            .map(|(figure, then)| self.cell(at, figure.in_row(row), then.as_ref()))
            .collect();
        SingleTargetRow {
            row,
            measured: found,
            expected: self.expected(at, &cells),
            notes: notes(row, [found, None]),
            cells,
        }
    }

    fn cell(&self, at: usize, figure: Figure, then: Option<&'a Published>) -> ColumnResult<'a> {
        let size = figure.unit.size(self.beats);
        let here = self.here(at, &figure);
        let own = self.own(at, &figure);
        let over = |scale: f64| {
            let (then, here) = (then.filter(|it| !it.is_bound)?, here?);
            (here.value > 0.0).then(|| [then.low, then.high].map(|it| it * scale / here.value))
        };
        let then_size = figure.unit.size(self.study.clock_rates);
        let is_measured = figure.unit.kind() != UnitKind::Plain;
        let then_over_here = is_measured.then(|| over(then_size? / size?)).flatten();
        let is_time = figure.unit.kind() == UnitKind::Time;
        let ghz = self.study.clock_rates.core_ghz.zip(self.beats.core_ghz).filter(|_| is_time);
        let in_cycles = then_over_here.zip(ghz);
        let in_cycles = in_cycles.map(|(times, (then, here))| times.map(|it| it * then / here));
        ColumnResult {
            figure,
            published: then,
            by_study_statistic: here,
            estimate: own,
            published_ratio: then_over_here,
            published_ratio_in_cycles: in_cycles,
        }
    }

    /// Whether what was measured for the row counts what the column does.
    fn is_of_kind(&self, at: usize, figure: &Figure) -> bool {
        let unit = self.all[at].map(|row| match &self.table.rows[at].metric {
            Some(metric) => row.metrics.get(metric).map_or(row.unit, |metric| metric.unit),
            None => row.unit,
        });
        figure.formula.degree() == Ok(0)
            || unit.is_some_and(|unit| base_unit(unit).0 == figure.unit.kind())
    }

    fn here(&self, at: usize, figure: &Figure) -> Option<StudyStatistic<'a>> {
        let known = StatisticVariables { laying: self, at };
        let size = figure.unit.size(self.beats).filter(|_| self.is_of_kind(at, figure))?;
        let value = figure.formula.value(&known)? / size;
        let row = self.all[at]?;
        let by = row.study_method.as_ref().filter(|_| self.table.rows[at].study_method.is_some());
        let one = base_unit(row.unit).1 / size;
        let per = figure.formula.own_figure_factor();
        let deviation = by.and_then(|by| by.deviation).zip(per).map(|(sd, per)| sd * per * one);
        Some(StudyStatistic { value, deviation, by })
    }

    /// By oscost's estimate: of the row's own figure that with its interval, of a formula of several
    /// rows its median over rounds.
    fn own(&self, at: usize, figure: &Figure) -> Option<IntervalEstimate> {
        let row = self.all[at].filter(|row| row.outcome == RowOutcome::Measured)?;
        let size = figure.unit.size(self.beats).filter(|_| self.is_of_kind(at, figure))?;
        // What is counted is no estimate.
        figure.formula.has_figures().then_some(())?;
        let table_row = &self.table.rows[at];
        if let Some(per) = figure.formula.own_figure_factor() {
            let (estimate, unit) = match &table_row.metric {
                Some(metric) => row.metrics.get(metric).map(|it| (&it.estimate, it.unit))?,
                None => (row.estimate.as_ref()?, row.unit),
            };
            let one = base_unit(unit).1 * per / size;
            let ends = estimate.ci95.map(|ends| ends.map(|end| end * one));
            let interval = ends.map(|[lo, hi]| Interval { lo, hi });
            return Some(IntervalEstimate { value: estimate.median * one, interval });
        }
        let names = figure.formula.rows();
        let rows = &self.table.rows;
        let others = names.iter().map(|name| rows.iter().find(|row| row.name == **name));
        let others: Option<Vec<String>> = others.map(|row| row.map(TableRow::key)).collect();
        let mut keys = others?;
        keys.push(table_row.key());
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let calls = calls_per_op(row);
        let spot = self.rounds.estimate(&keys, self.nominal, &|of| {
            figure.formula.value(&RoundVariables { of, this: table_row.key(), rows, calls })
        })?;
        let scaled = |it: Interval| Interval { lo: it.lo / size, hi: it.hi / size };
        Some(IntervalEstimate { value: spot.value / size, interval: spot.interval.map(scaled) })
    }

    fn expected(&self, at: usize, cells: &[ColumnResult<'a>]) -> Option<PredictionComparison<'a>> {
        let row = &self.table.rows[at];
        let printed = row.predicted.as_ref()?;
        // Where only its parts are predicted, they are taken for the whole.
        let parts = || {
            let [hardware, software] = [&printed.hardware, &printed.software]
                .map(|part| part.as_ref().map(Published::bound));
            Some(hardware?.sum(&software?))
        };
        let bound = printed.total.as_ref().map(Published::bound).or_else(parts);
        let first = cells.first()?;
        let measured = self.all[at];
        let size = first.figure.unit.size(self.beats);
        let floor = measured.and_then(|row| {
            let floor = row.floor.as_ref()?.value?;
            Some(floor * base_unit(row.unit).1 / size?)
        });
        let then = first.published.filter(|it| !it.is_bound).zip(bound).map(|(then, bound)| {
            bound.judge(f64::midpoint(then.low, then.high), Some([then.low, then.high]))
        });
        let own = first.estimate.map(|own| (own.value, own.interval.map(|it| [it.lo, it.hi])));
        let here = own.zip(bound).map(|((value, interval), bound)| bound.judge(value, interval));
        let [then, here] = [then, here].map(|held| held.unwrap_or(PredictionResult::Undecided));
        let expected = measured.map_or("", |row| row.expected.as_str());
        Some(PredictionComparison {
            printed,
            published_result: then,
            measured_result: here,
            expected,
            floor,
        })
    }
}

#[cfg(test)]
mod tests;
