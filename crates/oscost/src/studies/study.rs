//! A study as data: its tables as published, its method, and what it claims.

mod placement;

use oscost_model::program::FAMILY;
use oscost_model::record::{Estimate, Row};
use oscost_model::study_method::StudyMethod;
use oscost_model::unit::Unit;

pub use self::placement::Placement;
use super::claims::claim::Claim;
use super::figures::formula::Formula;
use super::figures::published_figure::PublishedFigure;
use super::figures::unit::{ClockRates, TableUnit};
use super::history::acts::Act;
use super::machine::condition::Condition;
use super::machine::machine_fact::MachineFact;
use super::system::{SystemFigure, Systems, TableSystems};

/// The reason in the record for a row that needs a second machine.
pub const NO_PEER: &str = "the peer is on another machine: name that with --peer ssh:HOST";

/// What the key of a row ends with whose peer is on another machine.
pub(super) const PEER_SUFFIX: &str = " peer";

/// A study.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// The name by which it is measured.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its authors.
    pub authors: Vec<String>,
    /// The year of its publication.
    pub year: u16,
    /// Where it was published.
    pub source: String,
    /// The machine and the system of its figures.
    pub measured_on: String,
    /// The clock rates of that machine, if they are stated.
    pub clock_rates: ClockRates,
    /// The systems that it measured side by side; none if it measured one machine.
    pub systems: Systems,
    /// The time that it takes to measure it again on a small machine.
    pub expected_duration: Option<ProfileSeconds>,
    /// The smallest time budget of its run.
    pub min_budget: Option<ProfileSeconds>,
    /// How its figures were obtained.
    pub protocol: Protocol,
    /// The base and what is compared with it; `None` if everything was measured on one target.
    pub columns: Option<[Column; 2]>,
    /// The facts of its machine.
    pub machine: Vec<MachineFact>,
    /// The configuration of its machine.
    pub conditions: Vec<Condition>,
    /// Its tables.
    pub tables: Vec<Table>,
    /// Its claims.
    pub claims: Vec<Claim>,
}

/// A time by profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileSeconds {
    /// Without options.
    pub seconds: u32,
    /// With `--quick`.
    pub quick_seconds: u32,
}

/// How the figures of a study were obtained, and how they are measured here.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Of two targets: the number of runs whose mean and deviation were published. Of programs: the
    /// number of their trials.
    pub runs: usize,
    /// Of one target: the default method of its rows; `None` if the study does not describe one
    /// that could be repeated.
    pub study_method: Option<StudyMethod>,
    /// The method of the study, in words.
    pub original: String,
    /// The method here, in words.
    pub replication: String,
}

/// A target with a column of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading, as published.
    pub name: String,
    /// The target on which it is measured.
    pub target: String,
}

/// A table of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name by which the study refers to it.
    pub name: String,
    /// Its caption.
    pub title: String,
    /// The unit of its figures.
    pub unit: TableUnit,
    /// Of one target: its columns, at least one.
    pub figures: Vec<Figure>,
    /// Its rows; those of its series follow the others.
    pub rows: Vec<TableRow>,
    /// Its curves.
    pub series: Vec<Series>,
    /// The systems of which its rows have figures.
    pub systems: Option<TableSystems>,
    /// Notes on all of its rows.
    pub notes: Vec<Note>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its heading; empty if the table has one column.
    pub name: String,
    /// Its unit.
    pub unit: TableUnit,
    /// How it is computed from the figure of a row.
    pub formula: Formula,
}

impl Figure {
    /// The column as it is in a row: if the table has no columns of its own, a row may have another
    /// unit.
    pub fn in_row(&self, row: &TableRow) -> Figure {
        let unit = if self.name.is_empty() { row.unit } else { self.unit };
        Figure { unit, ..self.clone() }
    }
}

/// A curve of a study's figure: rows that differ in one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The number in which its rows differ.
    pub axis: String,
    /// Its values, ascending.
    pub values: Vec<u64>,
    /// The index of its first row among those of the table.
    pub first: usize,
    /// Where the two sides of its rows run.
    pub placement: Placement,
    /// The study's statement about it.
    pub given: Option<String>,
}

impl Series {
    /// Its name without its placement.
    pub fn published_name(&self) -> &str {
        self.name.strip_suffix(self.placement.suffix()).unwrap_or(&self.name)
    }

    /// The indices of its rows among those of the table.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.values.len()
    }
}

/// A row of a study's table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// Its name, as published.
    pub name: String,
    /// The case that measures it, or why there is none.
    pub subject: Subject,
    /// The metric of a program; `None` for the case's own figure.
    pub metric: Option<String>,
    /// Whether its peer is on another machine.
    pub peer: bool,
    /// Where its two sides run.
    pub placement: Placement,
    /// The unit of its figures.
    pub unit: TableUnit,
    /// The number of their runs, or of a program's trials.
    pub runs: usize,
    /// The study's method of timing it.
    pub study_method: Option<StudyMethod>,
    /// Its line in the study's file, from 1.
    pub line: usize,
    /// The published figures, one for each column.
    pub published: Vec<Option<PublishedFigure>>,
    /// The published figures of the table's systems, in their order; none if it has no systems.
    pub by_system: Vec<Option<SystemFigure>>,
    /// The act that it measures, which other studies measured as well.
    pub same_as: Option<&'static Act>,
    /// What the study had predicted.
    pub predicted: Option<PublishedPrediction>,
    /// Notes on it.
    pub notes: Vec<Note>,
}

/// What a row measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A case, in full.
    Case(String),
    /// Nothing that can be measured here, and why.
    Unmeasurable(String),
}

impl Subject {
    /// Whether it is a program, which has trials and no method of timing an op.
    pub fn is_program(&self) -> bool {
        let family = |case: &str| case.split('/').next() == Some(FAMILY);
        matches!(self, Subject::Case(case) if family(case))
    }
}

/// A study's prediction of a row, as published.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedPrediction {
    /// The hardware's part.
    pub hardware: Option<PublishedFigure>,
    /// The software's part.
    pub software: Option<PublishedFigure>,
    /// The whole.
    pub total: Option<PublishedFigure>,
}

impl TableRow {
    /// The case that measures it.
    pub fn case(&self) -> Option<&str> {
        match &self.subject {
            Subject::Case(case) => Some(case),
            Subject::Unmeasurable(_) => None,
        }
    }

    /// Whether its subject is a program.
    pub fn is_program(&self) -> bool {
        self.subject.is_program()
    }

    /// The key by which claims refer to it: its case, then its metric if it has one, then `peer` if
    /// its peer is on another machine.
    pub fn key(&self) -> String {
        let case = self.case().unwrap_or_default();
        let metric = self.metric.as_ref().map(|metric| format!(" {metric}")).unwrap_or_default();
        let peer = if self.peer { PEER_SUFFIX } else { "" };
        format!("{case}{metric}{peer}")
    }

    /// Its name without its placement.
    pub fn published_name(&self) -> &str {
        self.name.strip_suffix(self.placement.suffix()).unwrap_or(&self.name)
    }

    /// oscost's own estimate of it in a measured row: that of its metric, or of the row's figure.
    pub fn estimate_in<'a>(&self, measured: &'a Row) -> Option<UnitEstimate<'a>> {
        let unit_estimate = |estimate, unit| UnitEstimate { estimate, unit };
        match &self.metric {
            Some(metric) => {
                measured.metrics.get(metric).map(|it| unit_estimate(&it.estimate, it.unit))
            }
            None => measured.estimate.as_ref().map(|it| unit_estimate(it, measured.unit)),
        }
    }
}

/// An estimate with its unit.
#[derive(Clone, Copy, Debug)]
pub struct UnitEstimate<'a> {
    /// The estimate.
    pub estimate: &'a Estimate,
    /// Its unit.
    pub unit: Unit,
}

/// A note on a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it is shown.
    pub when: NoteCondition,
    /// Whether it says what differs from the study: the act, the statistic, the size or the
    /// placement. The checklist shows those.
    pub differs: bool,
    /// The note.
    pub text: String,
}

/// When a note is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteCondition {
    /// With every run.
    Always,
    /// If the run counted no system call in its ops.
    NoCalls,
}

/// A case that a study measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestedCase<'a> {
    /// The case, in full.
    pub case: &'a str,
    /// Its line in the study's file, from 1.
    pub line: usize,
    /// The study's method, by which it is timed as well.
    pub study_method: Option<StudyMethod>,
    /// Whether its peer is on another machine.
    pub peer: bool,
}

impl Study {
    /// All rows of all tables.
    pub fn rows(&self) -> impl Iterator<Item = &TableRow> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The cases of all rows, each at most once without and once with a remote peer, by the method
    /// of the first row that has one.
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

    /// Whether one of its tables shows the system calls of programs. Those of benchmarks are counted
    /// in every run.
    pub fn counts_calls_of_programs(&self) -> bool {
        self.tables.iter().any(|table| {
            let counts = table.figures.iter().any(|figure| figure.formula.has_calls());
            counts && table.rows.iter().any(TableRow::is_program)
        })
    }

    /// Whether its figures are instructions, which only emulated machines count.
    pub fn has_instructions(&self) -> bool {
        self.tables.iter().all(|table| table.unit == TableUnit::Instructions)
    }

    /// The placements in which a claim on these rows is judged: both if one of them is of a row
    /// whose study states none.
    pub(super) fn placements(&self, keys: &[String]) -> Vec<Placement> {
        let is_open = |key: &String| self.placement_of(key) != Placement::Stated;
        match keys.iter().any(is_open) {
            true => Placement::BOTH.to_vec(),
            false => vec![Placement::Stated],
        }
    }

    /// The key of the same row in this placement, if its study states none; else the key itself.
    pub(super) fn key_in(&self, key: &str, placement: Placement) -> String {
        match self.placement_of(key) {
            Placement::Stated => key.to_owned(),
            _ => placement.of_case(key).unwrap_or_else(|| key.to_owned()),
        }
    }

    fn placement_of(&self, key: &str) -> Placement {
        self.row(key).map_or(Placement::Stated, |row| row.placement)
    }

    /// The first row with this key.
    pub fn row(&self, key: &str) -> Option<&TableRow> {
        self.rows().find(|row| row.case().is_some() && row.key() == key)
    }
}
