//! A run of one place laid beside a study: for each row of its tables what was printed and what was
//! measured, by the study's own statistic and by oscost's, in each column of the table.

use std::collections::BTreeMap;

use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::study_method::{ClockCost, StudyMethod, StudyMethodFigure, TimingScope};
use oscost_model::worker::Mode;

use super::claim::{Judged, Witness, judge_within};
use super::condition::{Condition, Found};
use super::formula::Known;
use super::lay::notes;
use super::prediction::Held;
use super::rounds::{Rounds, Spot};
use super::unit::{Kind, plainest};
use super::{Beats, Figure, Predicted, Published, Study, Subject, Table, TableRow, condition};
use oscost_stats::interval::{Interval, Nominal};

/// A run beside a study.
#[derive(Clone, Debug)]
pub struct Beside<'a> {
    /// The study.
    pub study: &'a Study,
    /// How fast the core was that was measured here, and its counter.
    pub beats: Beats,
    /// The step of the clock here, in nanoseconds.
    pub step_ns: Option<f64>,
    /// Its tables.
    pub tables: Vec<BesideTable<'a>>,
    /// How it had its machine, and whether this one is so.
    pub conditions: Vec<(&'a Condition, Found)>,
    /// Its claims.
    pub claims: Vec<Judged<'a>>,
}

/// A table of a study, and what this run has of it.
#[derive(Clone, Debug)]
pub struct BesideTable<'a> {
    /// The table.
    pub table: &'a Table,
    /// Its rows.
    pub rows: Vec<BesideRow<'a>>,
}

/// A row of a study's table, and what this run has of it.
#[derive(Clone, Debug)]
pub struct BesideRow<'a> {
    /// The row.
    pub row: &'a TableRow,
    /// The run's row of its case.
    pub found: Option<&'a Row>,
    /// What stands in its columns.
    pub cells: Vec<Cell<'a>>,
    /// What was expected of it, then and here.
    pub expected: Option<Expected<'a>>,
    /// What there is to say of it in this run.
    pub notes: Vec<String>,
}

/// What stands in a column of a row, in the column's unit.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The column, as it is in this row.
    pub figure: Figure,
    /// What was printed.
    pub then: Option<&'a Published>,
    /// By the study's own statistic.
    pub here: Option<Here<'a>>,
    /// By oscost's.
    pub own: Option<Spot>,
    /// How many times as much it was then, in time or as a rate: its least and its most.
    pub then_over_here: Option<[f64; 2]>,
    /// The same in cycles of the two cores.
    pub in_cycles: Option<[f64; 2]>,
}

/// A figure by the study's own statistic.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    /// The figure.
    pub value: f64,
    /// The standard deviation between experiments, where the figure is the row's own.
    pub deviation: Option<f64>,
    /// How it was found; `None` where it is oscost's estimate, or counted.
    pub by: Option<&'a StudyMethodFigure>,
}

/// What was expected of a row.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// As it was printed.
    pub printed: &'a Predicted,
    /// Whether the printed figure was so.
    pub then: Held,
    /// Whether this run's is so, with its whole interval.
    pub here: Held,
    /// oscost's own guess, written before anything was measured.
    pub expected: &'a str,
    /// The floor of the row, in the unit of the prediction.
    pub floor: Option<f64>,
}

/// Lays a run beside a study of one place.
pub fn beside<'a>(study: &'a Study, record: &'a Record) -> Beside<'a> {
    let beats = Beats::of(record);
    let clock = record.machines.first().and_then(|machine| machine.clock.as_ref());
    let clock_ns = clock.map(|clock| clock.c_in_ns);
    let found = |row: &TableRow| found(record, row);
    let mut rounds = Rounds::default();
    let mut calls = BTreeMap::new();
    for row in study.rows() {
        let Some(measured) = found(row) else { continue };
        rounds.add(row, measured);
        if let Some(counted) = calls_of(measured) {
            calls.insert(row.key(), counted);
        }
    }
    let claims = study.claims.iter();
    let nominal = Nominal::of_run(record.settings.nominal);
    let witness = Witness { rounds: &rounds, calls: &calls, beats, nominal };
    let claims = claims.map(|claim| judge_within(study, claim, &witness));
    let conditions = study.conditions.iter().map(|it| (it, condition::judge(it, record)));
    let tables = study.tables.iter().map(|table| {
        let all: Vec<Option<&Row>> = table.rows.iter().map(found).collect();
        let laying = Laying { study, table, all: &all, rounds: &rounds, beats, clock_ns, nominal };
        let rows = (0..table.rows.len()).map(|at| laying.row(at));
        BesideTable { table, rows: rows.collect() }
    });
    Beside {
        study,
        beats,
        step_ns: clock.map(|clock| clock.q_ns),
        tables: tables.collect(),
        conditions: conditions.collect(),
        claims: claims.collect(),
    }
}

/// The run's row of a study's row.
fn found<'a>(record: &'a Record, row: &TableRow) -> Option<&'a Row> {
    let Subject::Case(case) = &row.subject else { return None };
    // Where the run had no peer, its row says so, and has none.
    let is_far =
        |it: &Row| it.target.peer.is_some() || it.reason.as_deref() == Some(super::NO_PEER);
    let same = |it: &&Row| it.case == *case && is_far(it) == row.peer;
    record.results.iter().find(same)
}

/// The system calls that an op of the row was counted to make.
fn calls_of(row: &Row) -> Option<f64> {
    let calls = row.calls.as_ref().filter(|calls| calls.counted_ops > 0)?;
    // A sum of nothing is -0.0, which would be shown so.
    Some(calls.per_op.values().fold(0.0, |sum, times| sum + times))
}

/// A table that is being laid beside a run.
struct Laying<'a, 'b> {
    study: &'a Study,
    table: &'a Table,
    all: &'b [Option<&'a Row>],
    rounds: &'b Rounds,
    beats: Beats,
    /// What an empty timed interval shows.
    clock_ns: Option<f64>,
    /// The level of its intervals.
    nominal: Nominal,
}

/// What a formula is told of by the study's own statistic.
struct ByStatistic<'a, 'b> {
    laying: &'b Laying<'a, 'b>,
    at: usize,
}

impl Known for ByStatistic<'_, '_> {
    fn this(&self) -> Option<f64> {
        let row = self.laying.table.rows.get(self.at)?;
        statistic(row, self.laying.all[self.at]?, self.laying.clock_ns)
    }

    fn row(&self, name: &str) -> Option<f64> {
        let rows = &self.laying.table.rows;
        let at = rows.iter().position(|row| row.name == name)?;
        statistic(&rows[at], self.laying.all[at]?, self.laying.clock_ns)
    }

    fn calls(&self) -> Option<f64> {
        calls_of(self.laying.all[self.at]?)
    }
}

/// What a formula is told of in one round.
struct InRound<'a> {
    of: &'a dyn Fn(&str) -> Option<f64>,
    this: String,
    rows: &'a [TableRow],
    calls: Option<f64>,
}

impl Known for InRound<'_> {
    fn this(&self) -> Option<f64> {
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
        return Some(metric.estimate.mean * plainest(metric.unit).1);
    }
    let (kind, one) = plainest(measured.unit);
    // Only a time has the clock's cost in it.
    let clock_ns = clock_ns.filter(|_| kind == Kind::Time);
    match (row.study_method, &measured.study_method) {
        (Some(study_method), Some(by)) => {
            // What an op brings itself has no clock in it.
            let clock_ns = if measured.mode == Some(Mode::F) { Some(0.0) } else { clock_ns };
            Some(by.value? * one + clock_apart(&study_method, by, clock_ns)?)
        }
        (Some(_), None) => None,
        (None, _) => measured.estimate.as_ref().map(|it| it.median * one),
    }
}

/// By how much a row's figure differs from the one that was found, in nanoseconds: another row of
/// the study may be of the same case, and have the clock's cost where this one has not. `None` where
/// their manners differ in more than that.
fn clock_apart(
    study_method: &StudyMethod,
    by: &StudyMethodFigure,
    clock_ns: Option<f64>,
) -> Option<f64> {
    let other = StudyMethod { clock: study_method.clock, ..by.study_method };
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
    match (study_method.clock, by.study_method.clock) {
        (ClockCost::Included, ClockCost::Subtracted) => cost(),
        (ClockCost::Subtracted, ClockCost::Included) => cost().map(|cost| -cost),
        _ => Some(0.0),
    }
}

impl<'a> Laying<'a, '_> {
    fn row(&self, at: usize) -> BesideRow<'a> {
        let row = &self.table.rows[at];
        let found = self.all[at];
        let columns = self.table.figures.iter().zip(&row.published);
        let cells: Vec<Cell<'a>> =
            columns.map(|(figure, then)| self.cell(at, figure.of(row), then.as_ref())).collect();
        BesideRow {
            row,
            found,
            expected: self.expected(at, &cells),
            notes: notes(row, [found, None]),
            cells,
        }
    }

    fn cell(&self, at: usize, figure: Figure, then: Option<&'a Published>) -> Cell<'a> {
        let size = figure.unit.size(self.beats);
        let here = self.here(at, &figure);
        let own = self.own(at, &figure);
        let over = |scale: f64| {
            let (then, here) = (then.filter(|it| !it.is_bound)?, here?);
            (here.value > 0.0).then(|| [then.low, then.high].map(|it| it * scale / here.value))
        };
        let then_size = figure.unit.size(self.study.beats);
        let is_measured = figure.unit.kind() != Kind::Plain;
        let then_over_here = is_measured.then(|| over(then_size? / size?)).flatten();
        let is_time = figure.unit.kind() == Kind::Time;
        let ghz = self.study.beats.core_ghz.zip(self.beats.core_ghz).filter(|_| is_time);
        let in_cycles = then_over_here.zip(ghz);
        let in_cycles = in_cycles.map(|(times, (then, here))| times.map(|it| it * then / here));
        Cell { figure, then, here, own, then_over_here, in_cycles }
    }

    /// Whether what was measured for the row counts what the column does.
    fn is_of_kind(&self, at: usize, figure: &Figure) -> bool {
        let unit = self.all[at].map(|row| match &self.table.rows[at].metric {
            Some(metric) => row.metrics.get(metric).map_or(row.unit, |metric| metric.unit),
            None => row.unit,
        });
        figure.formula.degree() == Ok(0)
            || unit.is_some_and(|unit| plainest(unit).0 == figure.unit.kind())
    }

    fn here(&self, at: usize, figure: &Figure) -> Option<Here<'a>> {
        let known = ByStatistic { laying: self, at };
        let size = figure.unit.size(self.beats).filter(|_| self.is_of_kind(at, figure))?;
        let value = figure.formula.value(&known)? / size;
        let row = self.all[at]?;
        let by = row.study_method.as_ref().filter(|_| self.table.rows[at].study_method.is_some());
        let one = plainest(row.unit).1 / size;
        let per = figure.formula.per_this();
        let deviation = by.and_then(|by| by.deviation).zip(per).map(|(sd, per)| sd * per * one);
        Some(Here { value, deviation, by })
    }

    /// By oscost's estimate: of the row's own figure that with its interval, of a formula of several
    /// rows its median over rounds.
    fn own(&self, at: usize, figure: &Figure) -> Option<Spot> {
        let row = self.all[at].filter(|row| row.outcome == RowOutcome::Measured)?;
        let size = figure.unit.size(self.beats).filter(|_| self.is_of_kind(at, figure))?;
        // What is counted is no estimate.
        figure.formula.has_figures().then_some(())?;
        let table_row = &self.table.rows[at];
        if let Some(per) = figure.formula.per_this() {
            let (estimate, unit) = match &table_row.metric {
                Some(metric) => row.metrics.get(metric).map(|it| (&it.estimate, it.unit))?,
                None => (row.estimate.as_ref()?, row.unit),
            };
            let one = plainest(unit).1 * per / size;
            let ends = estimate.ci95.map(|ends| ends.map(|end| end * one));
            let interval = ends.map(|[lo, hi]| Interval { lo, hi });
            return Some(Spot { value: estimate.median * one, interval });
        }
        let names = figure.formula.rows();
        let rows = &self.table.rows;
        let others = names.iter().map(|name| rows.iter().find(|row| row.name == **name));
        let others: Option<Vec<String>> = others.map(|row| row.map(TableRow::key)).collect();
        let mut keys = others?;
        keys.push(table_row.key());
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let calls = calls_of(row);
        let spot = self.rounds.spot(&keys, self.nominal, &|of| {
            figure.formula.value(&InRound { of, this: table_row.key(), rows, calls })
        })?;
        let scaled = |it: Interval| Interval { lo: it.lo / size, hi: it.hi / size };
        Some(Spot { value: spot.value / size, interval: spot.interval.map(scaled) })
    }

    fn expected(&self, at: usize, cells: &[Cell<'a>]) -> Option<Expected<'a>> {
        let row = &self.table.rows[at];
        let printed = row.predicted.as_ref()?;
        // Where only its parts are predicted, they are taken for the whole.
        let parts = || {
            let [hardware, software] = [&printed.hardware, &printed.software]
                .map(|part| part.as_ref().map(Published::bound));
            Some(hardware?.plus(&software?))
        };
        let bound = printed.total.as_ref().map(Published::bound).or_else(parts);
        let first = cells.first()?;
        let measured = self.all[at];
        let size = first.figure.unit.size(self.beats);
        let floor = measured.and_then(|row| {
            let floor = row.floor.as_ref()?.value?;
            Some(floor * plainest(row.unit).1 / size?)
        });
        let then = first.then.filter(|it| !it.is_bound).zip(bound).map(|(then, bound)| {
            bound.judge(f64::midpoint(then.low, then.high), Some([then.low, then.high]))
        });
        let own = first.own.map(|own| (own.value, own.interval.map(|it| [it.lo, it.hi])));
        let here = own.zip(bound).map(|((value, interval), bound)| bound.judge(value, interval));
        let [then, here] = [then, here].map(|held| held.unwrap_or(Held::Undecided));
        let expected = measured.map_or("", |row| row.expected.as_str());
        Some(Expected { printed, then, here, expected, floor })
    }
}

#[cfg(test)]
mod tests;
