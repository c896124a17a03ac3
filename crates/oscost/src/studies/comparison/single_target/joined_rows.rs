//! A run of one target, joined with its study: tables, rows, and the results in their columns.

use oscost_model::record::Row;
use oscost_model::study_method::StudyMethodFigure;

use crate::studies::claims::judgement::JudgedClaim;
use crate::studies::figures::bound::PredictionResult;
use crate::studies::figures::published_figure::PublishedFigure;
use crate::studies::figures::rounds::IntervalEstimate;
use crate::studies::figures::unit::ClockRates;
use crate::studies::machine::condition::JudgedCondition;
use crate::studies::study::{Figure, PublishedPrediction, Study, Table, TableRow};

/// A run joined with its study.
#[derive(Clone, Debug)]
pub struct SingleTargetComparison<'a> {
    /// The study.
    pub study: &'a Study,
    /// The clock rates of the run's machine.
    pub clock_rates: ClockRates,
    /// The frequency of the core that the processor counted, by which claims in cycles are judged;
    /// `None` if it counted none, or without such a claim.
    pub counted_core_ghz: Option<f64>,
    /// The step of the run's clock.
    pub clock_step_ns: Option<f64>,
    /// Its tables.
    pub tables: Vec<SingleTargetTable<'a>>,
    /// The configuration of its machine, and whether this machine has the same.
    pub conditions: Vec<JudgedCondition<'a>>,
    /// Its claims.
    pub claims: Vec<JudgedClaim<'a>>,
}

/// A table of a study, joined with the run.
#[derive(Clone, Debug)]
pub struct SingleTargetTable<'a> {
    /// The table.
    pub table: &'a Table,
    /// Its rows.
    pub rows: Vec<SingleTargetRow<'a>>,
}

/// A row of a study's table, joined with the run.
#[derive(Clone, Debug)]
pub struct SingleTargetRow<'a> {
    /// The row.
    pub row: &'a TableRow,
    /// The run's row of its case.
    pub measured: Option<&'a Row>,
    /// The results in its columns.
    pub cells: Vec<ColumnResult<'a>>,
    /// What was predicted of it, and whether it holds.
    pub expected: Option<PredictionComparison<'a>>,
    /// Notes on it that apply to this run.
    pub notes: Vec<String>,
}

/// The results in a column of a row, in the column's unit.
#[derive(Clone, Debug)]
pub struct ColumnResult<'a> {
    /// The column, as it is in this row.
    pub figure: Figure,
    /// The published figure.
    pub published: Option<&'a PublishedFigure>,
    /// The figure by the study's statistic.
    pub by_study_statistic: Option<StudyStatistic<'a>>,
    /// The figure by oscost's own estimate.
    pub estimate: Option<IntervalEstimate>,
    /// The ratio of the published figure to this run's: its minimum and its maximum.
    pub published_ratio: Option<[f64; 2]>,
    /// The same ratio in cycles of the two cores, each at its frequency.
    pub published_ratio_in_cycles: Option<[f64; 2]>,
    /// The cycles that the processor counted for it, by oscost's own estimate.
    pub counted_cycles: Option<f64>,
    /// The published figure in cycles of its core over these.
    pub published_ratio_in_counted_cycles: Option<[f64; 2]>,
}

/// A figure by the study's statistic.
#[derive(Clone, Copy, Debug)]
pub struct StudyStatistic<'a> {
    /// The figure.
    pub value: f64,
    /// The standard deviation between experiments, where the figure is the row's own.
    pub deviation: Option<f64>,
    /// How it was measured; `None` if it is oscost's estimate or a count.
    pub by: Option<&'a StudyMethodFigure>,
}

/// What was predicted of a row.
#[derive(Clone, Copy, Debug)]
pub struct PredictionComparison<'a> {
    /// The published prediction.
    pub printed: &'a PublishedPrediction,
    /// Whether it held for the published figure.
    pub published_result: PredictionResult,
    /// Whether it holds for this run's figure, with its whole interval.
    pub measured_result: PredictionResult,
    /// oscost's own expectation, written before measuring.
    pub expected: &'a str,
    /// The floor of the row, in the unit of the prediction.
    pub floor: Option<f64>,
}
