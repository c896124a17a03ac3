//! Studies: published measurements as data, and how a run compares with them.
//!
//! What is this room for? A study is a file under `studies/`: which cases it measured, by which
//! method and on which targets, what was published of them, to the letter, and what it claims. Here
//! such a file is read ([`parser`]), joined with a run's record ([`two_targets`] where the study
//! compares two targets, [`single_target`] where it has one), and its claims and conditions are
//! judged ([`claim`], [`condition`]).
//!
//! What may it not know? How anything was measured, and how it looks: a record comes in, and rows
//! and verdicts go out. Whether a case exists is a question for the catalog.

pub mod claim;
pub mod condition;
pub mod formula;
pub mod parser;
pub mod prediction;
pub mod published;
pub mod quantity;
mod rounds;
pub mod single_target;
pub mod two_targets;
pub mod unit;

use claim::Claim;
use condition::Condition;
use formula::Formula;
use oscost_model::study_method::StudyMethod;
pub use published::Published;
pub use unit::{ClockRates, TableUnit};

/// The studies that come with oscost: their names, and their files.
const EMBEDDED: &[(&str, &str)] = &[
    ("sunos-1999", include_str!("../../../../studies/sunos-1999.toml")),
    ("ph-2000", include_str!("../../../../studies/ph-2000.toml")),
    ("cs161-syscalls", include_str!("../../../../studies/cs161-syscalls.toml")),
    ("cse221-2014", include_str!("../../../../studies/cse221-2014.toml")),
    ("cs736-2019", include_str!("../../../../studies/cs736-2019.toml")),
];

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

/// The names of the studies that come with oscost.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

/// The study of that name that comes with oscost. A test reads them all.
pub fn find_built_in(name: &str) -> Option<Study> {
    let (_, text) = EMBEDDED.iter().find(|(its, _)| *its == name)?;
    parser::parse(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_that_comes_with_oscost_can_be_read_and_has_cases_of_the_catalog() {
        let catalog = oscost_worker::benchmarks::data();
        for name in built_in_names() {
            let (_, text) = EMBEDDED.iter().find(|(its, _)| *its == name).unwrap();
            let study = parser::parse(text.as_bytes()).unwrap_or_else(|it| panic!("{name}: {it}"));
            assert_eq!(study.id, name);
            assert!(text.is_ascii());
            for RequestedCase { case, line, .. } in study.requested_cases() {
                let parsed = oscost_model::case::Case::parse(case).unwrap();
                // Those of programs are held against their files by the command line's tests.
                if parsed.benchmark.starts_with("workload/") {
                    continue;
                }
                let definition = catalog.get(&parsed.benchmark);
                let definition = definition.unwrap_or_else(|| panic!("line {line}: {case}"));
                for (axis, value) in parsed.point.iter() {
                    let axis = definition.axis(axis);
                    assert!(axis.is_some_and(|axis| axis.points.contains(value)), "{case}");
                }
            }
        }
        assert_eq!(find_built_in("no-such"), None);
    }

    #[test]
    fn the_tables_of_ph_2000_stand_as_they_were_printed() {
        let study = find_built_in("ph-2000").unwrap();
        let printed: Vec<Vec<&str>> = study
            .tables
            .iter()
            .flat_map(|table| &table.rows)
            .filter(|row| row.published[0].is_some())
            .map(|row| {
                let figures = row.published.iter().flatten().map(|it| it.text.as_str());
                std::iter::once(row.name.as_str()).chain(figures).collect()
            })
            .collect();
        assert_eq!(
            printed,
            [
                ["getpid", "1.1577 (0.00000)", "5.8898 (0.00025)"],
                ["getrusage", "1.9145 (0.00000)", "6.6137 (0.00138)"],
                ["gettimeofday", "1.6703 (0.00184)", "6.3779 (0.00112)"],
                ["sigaction", "2.5609 (0.00010)", "7.2928 (0.01029)"],
                ["write", "1.4135 (0.00187)", "6.1637 (0.00075)"],
                ["null", "408.80 (00.618)", "2497.90 (40.923)"],
                ["simple", "2396.24 (11.124)", "8206.62 (11.795)"],
                ["/bin/sh", "9385.66 (26.761)", "18223.96 (26.777)"],
                ["kernel build, real", "702.47 (0.07)", "727.44 (0.29)"],
                ["kernel build, user", "669.35 (0.60)", "673.67 (0.55)"],
                ["kernel build, sys", "33.00 (0.61)", "53.60 (0.70)"],
                ["find / -print, real", "5.68 (0.58)", "6.24 (0.54)"],
                ["find / -print, user", "1.61 (0.09)", "1.59 (0.09)"],
                ["find / -print, sys", "3.27 (0.09)", "3.90 (0.17)"],
                ["Quake 2, demo1 (fps)", "22.89 (0.03)", "22.87 (0.05)"],
                ["Quake 2, demo2 (fps)", "23.30 (0.00)", "23.30 (0.00)"],
            ]
        );
        let Some([standard, ph]) = &study.columns else { panic!("{study:?}") };
        assert_eq!([&*standard.name, &*standard.target], ["Standard", "local"]);
        assert_eq!([&*ph.name, &*ph.target], ["pH", "ph"]);
        assert_eq!(study.protocol.runs, 10);
    }
}
