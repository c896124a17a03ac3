//! A study as data: its tables as published, its method, and what it claims.

use oscost_model::study_method::StudyMethod;

use super::claim::Claim;
use super::condition::Condition;
use super::formula::Formula;
use super::published::Published;
use super::unit::{ClockRates, TableUnit};

/// Why a row of two machines is not measured on one: the reason that its row in the record has.
pub const NO_PEER: &str = "the other end is on another machine: name it by --peer ssh:HOST";

/// A study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// Who made it.
    pub authors: Vec<String>,
    /// When it was published.
    pub year: u16,
    /// Where it was published.
    pub source: String,
    /// The machine and the system of its figures.
    pub measured_on: String,
    /// How fast that machine's core was, and its counter, where that is stated.
    pub clock_rates: ClockRates,
    /// How long it takes to measure it again.
    pub expected_duration: Option<ExpectedDuration>,
    /// How its figures came about.
    pub protocol: Protocol,
    /// What is compared with, and what is compared; `None` where all was measured at one place.
    pub columns: Option<[Column; 2]>,
    /// How it had its machine.
    pub conditions: Vec<Condition>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// What it claims.
    pub claims: Vec<Claim>,
}

/// How long it takes to measure a study again on a small machine, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedDuration {
    /// As it is.
    pub seconds: u32,
    /// With `--quick`.
    pub quick_seconds: u32,
}

/// How the figures of a study came about, and what stands beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Of two places: the runs whose mean and deviation are printed. Of programs: their trials.
    pub runs: usize,
    /// Of one place: how its rows are timed, where nothing else is said of them; `None` where the
    /// study says nothing that could be done again.
    pub study_method: Option<StudyMethod>,
    /// What the study did.
    pub original: String,
    /// What is done here.
    pub replication: String,
}

/// A place whose figures stand in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// As it is printed.
    pub name: String,
    /// The place that it is measured at.
    pub target: String,
}

/// A table of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// As it is referred to.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What its figures are counted in.
    pub unit: TableUnit,
    /// Of one place: what stands in its columns; one at least.
    pub figures: Vec<Figure>,
    /// Its rows, those of its series behind the others.
    pub rows: Vec<TableRow>,
    /// Its curves.
    pub series: Vec<Series>,
    /// What there is to say of all of them.
    pub notes: Vec<Note>,
}

/// What stands in a column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// As it is printed above it; empty where the table has one column.
    pub name: String,
    /// What it is counted in.
    pub unit: TableUnit,
    /// How it comes of the figure of its row.
    pub formula: Formula,
}

impl Figure {
    /// The column as it is in a row: where the table has no columns of its own, a row may be counted
    /// in another unit.
    pub fn in_row(&self, row: &TableRow) -> Figure {
        let unit = if self.name.is_empty() { row.unit } else { self.unit };
        Figure { unit, ..self.clone() }
    }
}

/// A curve of a study's figure: rows that differ in one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// As it is named.
    pub name: String,
    /// The number in which its rows differ.
    pub axis: String,
    /// Its values, ascending.
    pub values: Vec<u64>,
    /// Where its rows begin among those of the table.
    pub first: usize,
    /// What the study states of it in words.
    pub given: Option<String>,
}

impl Series {
    /// Where its rows stand among those of the table.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.values.len()
    }
}

/// A row of a study's table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// As it is printed.
    pub name: String,
    /// The case that measures it, or why there is none.
    pub subject: Subject,
    /// The metric of a program that it is; `None` for the case's own figure.
    pub metric: Option<String>,
    /// Whether its other end is on another machine.
    pub peer: bool,
    /// What its figures are counted in.
    pub unit: TableUnit,
    /// Of how many runs they are, or a program's trials.
    pub runs: usize,
    /// How it is timed in the study's own manner.
    pub study_method: Option<StudyMethod>,
    /// Where it stands in the study's file, from 1.
    pub line: usize,
    /// What was published, a figure a column.
    pub published: Vec<Option<Published>>,
    /// What the study had expected.
    pub predicted: Option<PublishedPrediction>,
    /// What there is to say of it.
    pub notes: Vec<Note>,
}

/// What a row is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A case, in full.
    Case(String),
    /// Nothing that can be measured: why.
    Unmeasurable(String),
}

/// What a study had expected of a row, as it was printed.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedPrediction {
    /// Of the hardware.
    pub hardware: Option<Published>,
    /// Of the software.
    pub software: Option<Published>,
    /// In all.
    pub total: Option<Published>,
}

impl TableRow {
    /// The case that measures it.
    pub fn case(&self) -> Option<&str> {
        match &self.subject {
            Subject::Case(case) => Some(case),
            Subject::Unmeasurable(_) => None,
        }
    }

    /// What a claim calls it: its case, behind a blank its metric if it has one, and `peer` if its
    /// other end is on another machine.
    pub fn key(&self) -> String {
        let case = self.case().unwrap_or_default();
        let metric = self.metric.as_ref().map(|metric| format!(" {metric}")).unwrap_or_default();
        let peer = if self.peer { " peer" } else { "" };
        format!("{case}{metric}{peer}")
    }
}

/// Something that there is to say of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it is so.
    pub when: NoteCondition,
    /// What it says.
    pub text: String,
}

/// When a note is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteCondition {
    /// With each run.
    Always,
    /// Where the run's own count saw its ops make no system call.
    NoCalls,
}

/// A case that a study wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestedCase<'a> {
    /// The case, in full.
    pub case: &'a str,
    /// Where it stands in the study's file, from 1.
    pub line: usize,
    /// The manner that it is timed in as well.
    pub study_method: Option<StudyMethod>,
    /// Whether its other end is on another machine.
    pub peer: bool,
}

impl Study {
    /// All rows of all tables.
    pub fn rows(&self) -> impl Iterator<Item = &TableRow> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The cases of all rows, each once for each place of its other end; the first row that has one
    /// says how it is timed.
    pub fn requested_cases(&self) -> Vec<RequestedCase<'_>> {
        let mut found: Vec<RequestedCase<'_>> = Vec::new();
        for row in self.rows() {
            let Some(case) = row.case() else { continue };
            let same = |it: &&mut RequestedCase<'_>| it.case == case && it.peer == row.peer;
            match found.iter_mut().find(same) {
                Some(it) => it.study_method = it.study_method.or(row.study_method),
                None => {
                    let (line, study_method, peer) = (row.line, row.study_method, row.peer);
                    found.push(RequestedCase { case, line, study_method, peer });
                }
            }
        }
        found
    }

    /// The first row that a claim calls so.
    pub fn row(&self, key: &str) -> Option<&TableRow> {
        self.rows().find(|row| row.case().is_some() && row.key() == key)
    }
}
