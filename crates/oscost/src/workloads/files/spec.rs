//! Workloads as data.

use std::collections::BTreeMap;

use oscost_model::definition::{Axis, Definition};
use oscost_model::point::{Point, Value};
use oscost_model::program::{CompanionProgram, Figure, ProgramLimits, TrialTime};
use oscost_model::unit::Unit;

use crate::workloads::files::quoting;

/// Defaults of a workload file.
mod defaults {
    /// With ten trials a standard deviation is meaningful; most studies have as many.
    pub(in crate::workloads) const TRIALS: u32 = 10;
    /// See [`TRIALS`].
    pub(in crate::workloads) const MIN_TRIALS: u32 = 10;
    /// The smallest number of trials whose median is not the mean of both extremes.
    pub(in crate::workloads) const QUICK_TRIALS: u32 = 3;
}

/// A workload as its file describes it: with placeholders, and independent of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// `workload/kebab-name`.
    pub id: String,
    /// Where it was defined.
    pub origin: Origin,
    /// The question, ending in "?".
    pub asks: String,
    /// What is timed; then what is not.
    pub op: String,
    /// The expected figure, written before measuring.
    pub expected: String,
    /// References.
    pub source: String,
    /// Why it costs what it costs; may be empty.
    pub explanation: String,
    /// Raised when the work changes.
    pub rev: u32,
    /// The timed command.
    pub command: Vec<String>,
    /// The file that is its standard input.
    pub input: Option<String>,
    /// Environment variables of all its commands.
    pub variables: BTreeMap<String, String>,
    /// The working directory of its commands.
    pub folder: Folder,
    /// Commands before each trial, untimed.
    pub before: Vec<Vec<String>>,
    /// Commands after each trial, untimed.
    pub after: Vec<Vec<String>>,
    /// A program that runs during the trials.
    pub companion: Option<CompanionProgram>,
    /// Whether its standard output is read.
    pub reads_output: bool,
    /// The exit statuses that mean success.
    pub statuses: Vec<i32>,
    /// Whether every exit status means success.
    pub ignores_status: bool,
    /// Its resource limits.
    pub limits: ProgramLimits,
    /// Whether its trials have one CPU, that on which the run measures.
    pub one_cpu: bool,
    /// The number of timed trials.
    pub trials: u32,
    /// The minimum number of timed trials.
    pub min_trials: u32,
    /// The number of timed trials in a quick run.
    pub quick_trials: u32,
    /// The time for its trials, if their number depends on it.
    pub time: Option<TrialTime>,
    /// The figures that are read from its output.
    pub figures: Vec<ConditionalFigure>,
    /// The metric of its row: `real`, or the name of a figure.
    pub primary: String,
    /// Its axes, whose values replace placeholders.
    pub axes: Vec<WorkloadAxis>,
    /// Its requirements.
    pub needs: Vec<Need>,
    /// How its cache directory is filled.
    pub prepare: Option<Prepare>,
}

/// Where a workload was defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In oscost.
    BuiltIn,
    /// In a file of the user.
    File,
    /// On the command line, whose words are literal: placeholders are not replaced.
    CommandLine,
}

/// The working directory of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// An empty directory for each trial.
    Fresh,
    /// The directory that oscost was started in.
    Here,
    /// The prepared cache directory.
    Cache,
}

/// A figure, and the points at which it exists.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionalFigure {
    /// The figure.
    pub figure: Figure,
    /// The axis values at which it is read; if empty, at every point.
    pub when: Point,
}

/// An axis of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadAxis {
    /// Its name, which is also its placeholder.
    pub name: String,
    /// What it sets, in one line.
    pub sets: String,
    /// All its points.
    pub points: Vec<Value>,
    /// The default points.
    pub default_points: Vec<Value>,
    /// The words that a point stands for in a command; empty if it stands for its name.
    pub words: BTreeMap<String, Vec<String>>,
}

/// A requirement of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What is required.
    pub item: RequiredItem,
    /// The Debian package that contains it, if known.
    pub package: Option<String>,
}

/// What a workload can require.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredItem {
    /// A program, by name.
    Program(String),
    /// A file or a directory, by its absolute path.
    File(String),
    /// Any file whose name matches a pattern, with `*` in the last component.
    Glob(String),
}

/// How a cache directory is filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepare {
    /// Commands that run in it, once.
    pub commands: Vec<Vec<String>>,
    /// A file in it that exists afterwards.
    pub marker_file: String,
}

impl Spec {
    /// A workload of the user of which only the command is known.
    pub(in crate::workloads) fn of_command(id: &str, origin: Origin, command: Vec<String>) -> Self {
        let shown = quoting::command(&command);
        Spec {
            id: id.to_owned(),
            origin,
            asks: format!("What does `{shown}` cost?"),
            op: format!("`{shown}`, from before its process is created until its exit is known"),
            expected: "none was made".to_owned(),
            source: match origin {
                Origin::CommandLine => "the command line".to_owned(),
                Origin::BuiltIn | Origin::File => "a file of the user's own".to_owned(),
            },
            explanation: String::new(),
            rev: 1,
            command,
            input: None,
            variables: BTreeMap::new(),
            folder: Folder::Here,
            before: Vec::new(),
            after: Vec::new(),
            companion: None,
            reads_output: false,
            statuses: vec![0],
            ignores_status: false,
            limits: ProgramLimits::default(),
            one_cpu: false,
            trials: defaults::TRIALS,
            min_trials: defaults::MIN_TRIALS,
            quick_trials: defaults::QUICK_TRIALS,
            time: None,
            figures: Vec::new(),
            primary: "real".to_owned(),
            axes: Vec::new(),
            needs: Vec::new(),
            prepare: None,
        }
    }

    /// All words of commands in which placeholders are replaced, without those of the preparation.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        let companion = self.companion.iter().flat_map(|companion| &companion.command);
        let others = self.before.iter().chain(&self.after).flatten();
        self.command.iter().chain(companion).chain(others)
    }

    /// The part of the id after the slash.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(_, name)| name)
    }

    /// The unit of its row's figure.
    pub fn unit(&self) -> Unit {
        let primary = self.figures.iter().find(|it| it.figure.name == self.primary);
        primary.map_or(Unit::Seconds, |it| it.figure.unit)
    }

    /// Its definition, like that of a benchmark.
    pub fn definition(&self) -> Definition {
        let axis = |axis: &WorkloadAxis| Axis {
            name: axis.name.clone(),
            sets: axis.sets.clone(),
            points: axis.points.clone(),
            default_points: axis.default_points.clone(),
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
            // Programs sleep and read files: both belong to their results.
            switches: true,
            major_faults: true,
            bytes_axis: String::new(),
            peer_may_be_remote: false,
            setup_us: Point::none(),
            rev: self.rev,
            source: self.source.clone(),
        }
    }

    /// The first default point of each axis.
    pub fn default_point(&self) -> Point {
        self.axes.iter().fold(Point::none(), |point, axis| match axis.default_points.first() {
            Some(value) => point.with(axis.name.clone(), value.clone()),
            None => point,
        })
    }

    /// Its command for display: one line of bounded length, with quotes around words with blanks.
    pub fn display_command(&self) -> String {
        quoting::command(&self.command)
    }
}
