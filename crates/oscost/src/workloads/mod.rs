//! Whole workloads: programs that are measured as they are, from files or from the command line.
//!
//! What is this room for? A workload is a file (`workloads/NAME.toml`, or the user's own): what is
//! run, what is done before it and next to it, and which figures are read from its output. Here such
//! a file is read ([`parser`]), prepared for this machine ([`environment`]), its cache folder filled
//! ([`cache`]), and its figures read from the output of a trial ([`figures`](mod@figures)).
//!
//! What may it not know? How a trial is run and timed, which is the worker's task, and what its
//! figures mean.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use oscost_model::definition::{Axis, Definition};
use oscost_model::point::{Point, Value};
use oscost_model::program::{CompanionProgram, Figure, ProgramLimits};
use oscost_model::unit::Unit;

pub mod cache;
mod command;
pub mod environment;
pub mod figures;
pub mod parser;
mod quoting;

pub use cache::{CacheError, Prepared, clean, prepare};
pub use command::of_command;
pub use environment::{Missing, RunEnvironment};
pub use figures::figures;
pub use parser::{ParseError, parse};

/// The workloads that come with oscost: their names, and their files. The studies' come first.
const EMBEDDED: &[(&str, &str)] = &[
    ("kernel-build", include_str!("../../../../workloads/kernel-build.toml")),
    ("find", include_str!("../../../../workloads/find.toml")),
    ("frames", include_str!("../../../../workloads/frames.toml")),
    ("compile", include_str!("../../../../workloads/compile.toml")),
    ("tar", include_str!("../../../../workloads/tar.toml")),
    ("sqlite", include_str!("../../../../workloads/sqlite.toml")),
    ("http", include_str!("../../../../workloads/http.toml")),
];

/// The built-in ones, read once. A test reads them all.
static BUILT_IN: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    EMBEDDED
        .iter()
        .filter_map(|(name, text)| parser::built_in(text.as_bytes(), name).ok())
        .collect()
});

/// The workloads that come with oscost.
pub fn all() -> &'static [Spec] {
    &BUILT_IN
}

/// The workload of that name, with or without its family, that comes with oscost.
pub fn find(name: &str) -> Option<&'static Spec> {
    let name = name.strip_prefix("workload/").unwrap_or(name);
    all().iter().find(|spec| spec.name() == name)
}

/// Whether that name is one that comes with oscost; its figures are not to be mixed with others.
fn is_built_in(name: &str) -> bool {
    EMBEDDED.iter().any(|(its, _)| *its == name)
}

/// A workload, as its file has it: with placeholders, and for any machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// `workload/kebab-name`.
    pub id: String,
    /// Who wrote it.
    pub origin: Origin,
    /// The question, ending in "?".
    pub asks: String,
    /// What is inside the clock; then what is not.
    pub op: String,
    /// The prediction.
    pub expected: String,
    /// Where it comes from.
    pub source: String,
    /// Why it costs what it costs; empty where nothing is said.
    pub explanation: String,
    /// Raised when the work changes.
    pub rev: u32,
    /// What is timed, in words.
    pub command: Vec<String>,
    /// Variables for all its commands.
    pub variables: BTreeMap<String, String>,
    /// Where its commands stand.
    pub folder: Folder,
    /// What is done before each trial, untimed.
    pub before: Vec<Vec<String>>,
    /// What is done after each trial, untimed.
    pub after: Vec<Vec<String>>,
    /// What runs beside it.
    pub companion: Option<CompanionProgram>,
    /// Whether its standard output is read.
    pub reads_output: bool,
    /// The exit statuses by which it says that all went well.
    pub statuses: Vec<i32>,
    /// What it may not exceed.
    pub limits: ProgramLimits,
    /// How many trials are timed.
    pub trials: u32,
    /// The fewest that are.
    pub min_trials: u32,
    /// How many are timed in a quick run.
    pub quick_trials: u32,
    /// What is read from its output, and at which points.
    pub figures: Vec<ConditionalFigure>,
    /// `real`, or the name of a figure.
    pub primary: String,
    /// Its axes, whose values stand in its words.
    pub axes: Vec<WorkloadAxis>,
    /// What must be there.
    pub needs: Vec<Need>,
    /// What fills its cache folder.
    pub prepare: Option<Prepare>,
}

/// Who wrote a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It comes with oscost.
    BuiltIn,
    /// A person's own file.
    File,
    /// Words of the command line: they are taken as they stand, placeholders too.
    CommandLine,
}

/// Where the commands of a workload stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// In an empty folder that goes with the trial.
    Fresh,
    /// Where oscost was started.
    Here,
    /// In the folder that was prepared.
    Cache,
}

/// A figure, and the points at which there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionalFigure {
    /// The figure.
    pub figure: Figure,
    /// The axis values at which it is read; everywhere when empty.
    pub when: Point,
}

/// An axis of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadAxis {
    /// Its name, and its placeholder.
    pub name: String,
    /// What it sets, in one line.
    pub sets: String,
    /// Every point that it offers.
    pub points: Vec<Value>,
    /// The points that are measured when none is asked for.
    pub usual: Vec<Value>,
    /// The words that stand for a point in place of its name; empty where the name itself does.
    pub words: BTreeMap<String, Vec<String>>,
}

/// Something that must be there before a workload can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is.
    pub item: RequiredItem,
    /// The package of Debian that has it, if that is known.
    pub package: Option<String>,
}

/// What can be needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredItem {
    /// A program, by its name.
    Program(String),
    /// A file or a folder, by its whole path.
    File(String),
    /// Some file whose name fits a pattern: `*` stands for any letters of its last part.
    Glob(String),
}

/// What fills a cache folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// What is done in it, once.
    pub commands: Vec<Vec<String>>,
    /// A file in it that is there when all is done.
    pub marker_file: String,
}

impl Spec {
    /// What stands behind the slash.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(_, name)| name)
    }

    /// What its row's figure is counted in.
    pub fn unit(&self) -> Unit {
        let primary = self.figures.iter().find(|it| it.figure.name == self.primary);
        primary.map_or(Unit::Seconds, |it| it.figure.unit)
    }

    /// What is said of it as of any benchmark.
    pub fn definition(&self) -> Definition {
        let axis = |axis: &WorkloadAxis| Axis {
            name: axis.name.clone(),
            sets: axis.sets.clone(),
            points: axis.points.clone(),
            default_points: axis.usual.clone(),
            implied: None,
            price_list_points: Vec::new(),
            thorough_points: Vec::new(),
            range: None,
            item: String::new(),
        };
        Definition {
            id: self.id.clone(),
            asks: self.asks.clone(),
            op: self.op.clone(),
            expected: self.expected.clone(),
            unit: self.unit(),
            explanation: self.explanation.clone(),
            calls: Vec::new(),
            floor: Vec::new(),
            compare_with: Vec::new(),
            axes: self.axes.iter().map(axis).collect(),
            needs: Vec::new(),
            in_price_list: false,
            // A program waits, and is waited for: both are its results.
            switches: true,
            major_faults: true,
            bytes_axis: String::new(),
            peer_may_be_remote: false,
            setup_us: Point::none(),
            rev: self.rev,
            source: self.source.clone(),
        }
    }

    /// The first of its usual points.
    pub fn default_point(&self) -> Point {
        self.axes.iter().fold(Point::none(), |point, axis| match axis.usual.first() {
            Some(value) => point.with(axis.name.clone(), value.clone()),
            None => point,
        })
    }

    /// Its command as it is shown: in one line, quoted where words have blanks, and bounded.
    pub fn display_command(&self) -> String {
        quoting::command(&self.command)
    }
}

#[cfg(test)]
mod tests;
