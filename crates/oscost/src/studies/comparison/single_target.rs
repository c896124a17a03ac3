//! Joins a run of one target with a study: for each row of its tables what was published and what
//! was measured, by the study's statistic and by oscost's, in each column of the table.

mod joined_rows;

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::record::{Conditions, Record, Row, RowOutcome};

pub use self::joined_rows::{
    ColumnResult, PredictionComparison, SingleTargetComparison, SingleTargetRow, SingleTargetTable,
    StudyStatistic,
};
use super::two_targets::notes;
use crate::studies::claims::claim::Criterion;
use crate::studies::claims::judgement::unsound_flag;
use crate::studies::claims::single_target_judgement::{RunFigures, judge_single_target};
use crate::studies::figures::between_runs;
use crate::studies::figures::bound::PredictionResult;
use crate::studies::figures::counted_cycles::counted_cycles;
use crate::studies::figures::formula::Variables;
use crate::studies::figures::published_figure::PublishedFigure;
use crate::studies::figures::rounds::{IntervalEstimate, Rounds};
use crate::studies::figures::statistic_variation;
use crate::studies::figures::study_statistic::{is_few_steps, row_statistic, statistic};
use crate::studies::figures::unit::{ClockRates, UnitKind, base_unit, counted_core_ghz};
use crate::studies::machine::condition;
use crate::studies::study::{Figure, NO_PEER, Study, Subject, Table, TableRow, UnitEstimate};
use oscost_stats::interval::{Interval, Nominal};

/// Joins a run with a study of one target. Earlier runs of the same study on the same system, the
/// newest first, add to its verdicts alone.
pub fn compare_single_target<'a>(
    study: &'a Study,
    record: &'a Record,
    earlier: &[Record],
) -> SingleTargetComparison<'a> {
    let rates = ClockRates::of(record);
    let clock = record.machines.first().and_then(|machine| machine.clock.as_ref());
    let clock_ns = clock.map(|clock| clock.c_in_ns);
    let measured = |row: &TableRow| measured_row(record, row);
    let nominal = Nominal::from_run_level(record.settings.nominal);
    let figures = run_figures(study, record);
    let earlier: Vec<RunFigures> = earlier.iter().map(|it| run_figures(study, it)).collect();
    let claims = study.claims.iter();
    let claims = claims.map(|claim| judge_single_target(study, claim, &figures, &earlier));
    let rounds = &figures.own;
    let tables = study.tables.iter().map(|table| {
        let all: Vec<Option<&Row>> = table.rows.iter().map(measured).collect();
        let join = TableJoin { study, table, all: &all, rounds, rates, clock_ns, nominal };
        let rows = (0..table.rows.len()).map(|at| join.row(at));
        SingleTargetTable { table, rows: rows.collect() }
    });
    SingleTargetComparison {
        study,
        clock_rates: rates,
        counted_core_ghz: counted_core_ghz(record).filter(|_| has_claim_in_cycles(study)),
        clock_step_ns: clock.map(|clock| clock.q_ns),
        tables: tables.collect(),
        conditions: condition::judge_all(&study.conditions, record),
        claims: claims.collect(),
    }
}

/// Whether the study claims something in cycles.
fn has_claim_in_cycles(study: &Study) -> bool {
    study.claims.iter().any(|claim| match &claim.criterion {
        Criterion::Within(quantities) => quantities.iter().any(|it| it.measure.is_in_cycles()),
        _ => false,
    })
}

/// The figures of a run for the claims of a study.
fn run_figures(study: &Study, record: &Record) -> RunFigures {
    let clock = record.machines.first().and_then(|machine| machine.clock.as_ref());
    let clock_ns = clock.map(|clock| clock.c_in_ns);
    let clock_step_ns = clock.map(|clock| clock.q_ns);
    let mut figures = RunFigures {
        by_study: Rounds::default(),
        over_all_ops: BTreeMap::new(),
        coarse: BTreeSet::new(),
        own: Rounds::default(),
        between_runs: BTreeMap::new(),
        between_runs_by_study: BTreeMap::new(),
        calls: BTreeMap::new(),
        study_methods: BTreeMap::new(),
        unsound_rows: BTreeMap::new(),
        unsound_run: record.conditions.first().and_then(Conditions::not_claimable_reason),
        rates: ClockRates::of(record).with_counted_core(record),
        nominal: Nominal::from_run_level(record.settings.nominal),
    };
    for row in study.rows() {
        let Some(measured) = measured_row(record, row) else { continue };
        figures.own.add(row, measured);
        if let Some(deviation) = between_runs::deviation(measured) {
            figures.between_runs.entry(row.key()).or_insert(deviation);
        }
        let deviation =
            row.study_method.and_then(|it| statistic_variation::deviation(measured, it.statistic));
        if let Some(deviation) = deviation {
            figures.between_runs_by_study.entry(row.key()).or_insert(deviation);
        }
        if let Some(by_study) = row_statistic(row, measured, clock_ns) {
            figures.by_study.insert(row.key(), by_study.by_round);
            if let Some(value) = by_study.over_all_ops {
                figures.over_all_ops.entry(row.key()).or_insert(value);
            }
        }
        let by = measured.study_method.as_ref().filter(|_| row.study_method.is_some());
        if by.zip(clock_step_ns).is_some_and(|(by, step_ns)| is_few_steps(by, step_ns)) {
            figures.coarse.insert(row.key());
        }
        if let Some(study_method) = row.study_method {
            figures.study_methods.entry(row.key()).or_insert(study_method);
        }
        let unsound = unsound_flag(measured).or_else(|| unsound_peer(record, measured));
        if let Some(why) = unsound {
            figures.unsound_rows.insert(row.key(), why);
        }
        if let Some(counted) = calls_per_op(measured) {
            figures.calls.insert(row.key(), counted);
        }
    }
    figures
}

/// Why no claim may rest on a row that is measured with another machine, as what the row is: as much
/// noise there moves its figures as noise here.
fn unsound_peer(record: &Record, row: &Row) -> Option<String> {
    let peer = row.target.peer.as_deref()?;
    let conditions = record.conditions.iter().find(|it| it.machine == peer)?;
    let why = conditions.not_claimable_reason()?;
    Some(format!("measured with a peer that {why}"))
}

/// The run's row of a study's row.
fn measured_row<'a>(record: &'a Record, row: &TableRow) -> Option<&'a Row> {
    let Subject::Case(case) = &row.subject else { return None };
    // A row of a run without a peer has the reason instead.
    let is_remote = |it: &Row| it.target.peer.is_some() || it.reason.as_deref() == Some(NO_PEER);
    let same = |it: &&Row| it.case == *case && is_remote(it) == row.peer;
    record.results.iter().find(same)
}

/// The counted system calls of an op of the row.
fn calls_per_op(row: &Row) -> Option<f64> {
    let calls = row.calls.as_ref().filter(|calls| calls.counted_ops > 0)?;
    // The sum of an empty iterator is -0.0, which would be shown with its sign.
    Some(calls.per_op.values().fold(0.0, |sum, times| sum + times))
}

/// A table that is being joined with a run.
struct TableJoin<'a, 'b> {
    study: &'a Study,
    table: &'a Table,
    all: &'b [Option<&'a Row>],
    rounds: &'b Rounds,
    rates: ClockRates,
    /// What an empty timed interval shows.
    clock_ns: Option<f64>,
    /// The level of its intervals.
    nominal: Nominal,
}

/// The variables of a formula, by the study's statistic.
struct StatisticVariables<'a, 'b> {
    join: &'b TableJoin<'a, 'b>,
    at: usize,
}

impl Variables for StatisticVariables<'_, '_> {
    fn own_figure(&self) -> Option<f64> {
        let row = self.join.table.rows.get(self.at)?;
        statistic(row, self.join.all[self.at]?, self.join.clock_ns)
    }

    fn row(&self, name: &str) -> Option<f64> {
        let rows = &self.join.table.rows;
        let at = rows.iter().position(|row| row.name == name)?;
        statistic(&rows[at], self.join.all[at]?, self.join.clock_ns)
    }

    fn calls(&self) -> Option<f64> {
        calls_per_op(self.join.all[self.at]?)
    }
}

/// The variables of a formula, in cycles that the processor counted.
struct CycleVariables<'a, 'b> {
    join: &'b TableJoin<'a, 'b>,
    at: usize,
}

impl CycleVariables<'_, '_> {
    /// The cycles of a row whose figure is its own, not one of its metrics.
    fn of(&self, at: usize) -> Option<f64> {
        self.join.table.rows[at].metric.is_none().then_some(())?;
        counted_cycles(self.join.all[at]?)
    }
}

impl Variables for CycleVariables<'_, '_> {
    fn own_figure(&self) -> Option<f64> {
        self.of(self.at)
    }

    fn row(&self, name: &str) -> Option<f64> {
        self.of(self.join.table.rows.iter().position(|row| row.name == name)?)
    }

    fn calls(&self) -> Option<f64> {
        calls_per_op(self.join.all[self.at]?)
    }
}

/// The variables of a formula in one round.
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

impl<'a> TableJoin<'a, '_> {
    fn row(&self, at: usize) -> SingleTargetRow<'a> {
        let row = &self.table.rows[at];
        let measured = self.all[at];
        let columns = self.table.figures.iter().zip(&row.published);
        let cells: Vec<ColumnResult<'a>> = columns
            .map(|(figure, published)| self.cell(at, figure.in_row(row), published.as_ref()))
            .collect();
        SingleTargetRow {
            row,
            measured,
            expected: self.expected(at, &cells),
            notes: notes(row, [measured, None]),
            cells,
        }
    }

    fn cell(
        &self,
        at: usize,
        figure: Figure,
        published: Option<&'a PublishedFigure>,
    ) -> ColumnResult<'a> {
        let size = figure.unit.size(self.rates);
        let by_study_statistic = self.by_statistic(at, &figure);
        let estimate = self.by_estimate(at, &figure);
        let ratio = |scale: f64| {
            let published = published.filter(|it| !it.is_bound)?;
            let measured = by_study_statistic?.value;
            (measured > 0.0)
                .then(|| [published.low, published.high].map(|it| it * scale / measured))
        };
        let published_size = figure.unit.size(self.study.clock_rates);
        let is_measured = figure.unit.kind() != UnitKind::Plain;
        let published_ratio = is_measured.then(|| ratio(published_size? / size?)).flatten();
        let is_time = figure.unit.kind() == UnitKind::Time;
        let ghz = self.study.clock_rates.core_ghz.zip(self.rates.core_ghz).filter(|_| is_time);
        let published_ratio_in_cycles = published_ratio.zip(ghz).map(|(ratio, ghz)| {
            let (published_ghz, measured_ghz) = ghz;
            ratio.map(|it| it * published_ghz / measured_ghz)
        });
        let counted_cycles = self.counted_cycles(at, &figure);
        let published_cycles = || {
            let it = published.filter(|it| !it.is_bound)?;
            let cycles = published_size? * self.study.clock_rates.core_ghz?;
            Some([it.low, it.high].map(|end| end * cycles))
        };
        let published_ratio_in_counted_cycles = counted_cycles
            .and_then(|counted| published_cycles().map(|ends| ends.map(|end| end / counted)));
        ColumnResult {
            figure,
            published,
            by_study_statistic,
            estimate,
            published_ratio,
            published_ratio_in_cycles,
            counted_cycles,
            published_ratio_in_counted_cycles,
        }
    }

    /// What the column is in cycles that the processor counted, if it is a time of which all parts were
    /// counted.
    fn counted_cycles(&self, at: usize, figure: &Figure) -> Option<f64> {
        let is_time = figure.unit.kind() == UnitKind::Time && figure.formula.degree() == Ok(1);
        let cycles = figure.formula.value(&CycleVariables { join: self, at })?;
        (is_time && cycles > 0.0).then_some(cycles)
    }

    /// Whether the measured figure of the row is of the kind of the column.
    fn is_of_kind(&self, at: usize, figure: &Figure) -> bool {
        let unit = self.all[at].map(|row| match &self.table.rows[at].metric {
            Some(metric) => row.metrics.get(metric).map_or(row.unit, |metric| metric.unit),
            None => row.unit,
        });
        figure.formula.degree() == Ok(0)
            || unit.is_some_and(|unit| base_unit(unit).kind == figure.unit.kind())
    }

    fn by_statistic(&self, at: usize, figure: &Figure) -> Option<StudyStatistic<'a>> {
        let variables = StatisticVariables { join: self, at };
        let size = figure.unit.size(self.rates).filter(|_| self.is_of_kind(at, figure))?;
        let value = figure.formula.value(&variables)? / size;
        let row = self.all[at]?;
        let by = row.study_method.as_ref().filter(|_| self.table.rows[at].study_method.is_some());
        let factor = base_unit(row.unit).size / size;
        let per = figure.formula.own_figure_factor();
        let deviation = by.and_then(|by| by.deviation).zip(per).map(|(sd, per)| sd * per * factor);
        Some(StudyStatistic { value, deviation, by })
    }

    /// By oscost's estimate: that of the row's own figure, or for a formula of several rows the
    /// median over rounds.
    fn by_estimate(&self, at: usize, figure: &Figure) -> Option<IntervalEstimate> {
        let row = self.all[at].filter(|row| row.outcome == RowOutcome::Measured)?;
        let size = figure.unit.size(self.rates).filter(|_| self.is_of_kind(at, figure))?;
        // A count is not an estimate.
        figure.formula.has_figures().then_some(())?;
        let table_row = &self.table.rows[at];
        if let Some(per) = figure.formula.own_figure_factor() {
            let UnitEstimate { estimate, unit } = table_row.estimate_in(row)?;
            let factor = base_unit(unit).size * per / size;
            let ends = estimate.ci95.map(|ends| ends.map(|end| end * factor));
            let interval = ends.map(|[lo, hi]| Interval { lo, hi });
            return Some(IntervalEstimate { value: estimate.median * factor, interval });
        }
        let names = figure.formula.rows();
        let rows = &self.table.rows;
        let others = names.iter().map(|name| rows.iter().find(|row| row.name == **name));
        let others: Option<Vec<String>> = others.map(|row| row.map(TableRow::key)).collect();
        let mut keys = others?;
        keys.push(table_row.key());
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let calls = calls_per_op(row);
        let estimate = self.rounds.estimate(&keys, self.nominal, &|of| {
            figure.formula.value(&RoundVariables { of, this: table_row.key(), rows, calls })
        })?;
        let scaled = |it: Interval| Interval { lo: it.lo / size, hi: it.hi / size };
        Some(IntervalEstimate {
            value: estimate.value / size,
            interval: estimate.interval.map(scaled),
        })
    }

    fn expected(&self, at: usize, cells: &[ColumnResult<'a>]) -> Option<PredictionComparison<'a>> {
        let row = &self.table.rows[at];
        let printed = row.predicted.as_ref()?;
        // If only its parts are predicted, the whole is their sum.
        let parts = || {
            let [hardware, software] = [&printed.hardware, &printed.software]
                .map(|part| part.as_ref().map(PublishedFigure::bound));
            Some(hardware?.sum(&software?))
        };
        let bound = printed.total.as_ref().map(PublishedFigure::bound).or_else(parts);
        let first = cells.first()?;
        let measured = self.all[at];
        let size = first.figure.unit.size(self.rates);
        let floor = measured.and_then(|row| {
            let floor = row.floor.as_ref()?.value?;
            Some(floor * base_unit(row.unit).size / size?)
        });
        let published = first.published.filter(|it| !it.is_bound);
        let of_published = published.zip(bound).map(|(it, bound)| {
            bound.judge(f64::midpoint(it.low, it.high), Some([it.low, it.high]))
        });
        let of_measured = first.estimate.zip(bound).map(|(it, bound)| {
            bound.judge(it.value, it.interval.map(|interval| [interval.lo, interval.hi]))
        });
        let [published_result, measured_result] =
            [of_published, of_measured].map(|result| result.unwrap_or(PredictionResult::Undecided));
        let expected = measured.map_or("", |row| row.expected.as_str());
        Some(PredictionComparison { printed, published_result, measured_result, expected, floor })
    }
}

#[cfg(test)]
mod tests;
