//! Programs as subjects: what a worker is told to run, and what one trial brings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::unit::Unit;

/// The family of whole programs.
pub const FAMILY: &str = "workload";

/// What a worker runs, once a trial, and all that surrounds it. Commands are words: no shell reads
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The command. Its standard input is empty.
    pub command: Vec<String>,
    /// Variables that are set for all commands, beside those that the supervisor has.
    pub variables: BTreeMap<String, String>,
    /// Where all commands stand; `None` for a fresh folder that goes with the trial.
    pub working_directory: Option<String>,
    /// What is done before each trial, untimed.
    pub before: Vec<Vec<String>>,
    /// What is done after each trial, however it went, untimed.
    pub after: Vec<Vec<String>>,
    /// What runs beside the command from before it begins until it has ended.
    pub companion: Option<CompanionProgram>,
    /// Whether its standard output is read; else it goes to /dev/null. What it says on standard
    /// error is always read.
    pub captures_output: bool,
    /// The exit statuses by which it says that all went well.
    pub ok_statuses: Vec<i32>,
    /// What it may not exceed.
    pub limits: ProgramLimits,
}

/// A program that another one needs while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompanionProgram {
    /// Its command. The first line that it writes says that it is ready.
    pub command: Vec<String>,
    /// The variable that holds that line for the measured command; empty for none.
    pub variable: String,
    /// What stands before the line in the variable.
    pub prefix: String,
}

/// What a trial may not exceed; it is ended where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLimits {
    /// Seconds that it may take, with what is done before and after it.
    pub seconds: u32,
    /// MiB that it may write to what is read.
    pub output_mib: u32,
    /// MiB of address space for each of its processes (RLIMIT_AS).
    pub memory_mib: Option<u32>,
    /// MiB of each file that it writes (RLIMIT_FSIZE).
    pub file_mib: Option<u32>,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self { seconds: 600, output_mib: 64, memory_mib: None, file_mib: None }
    }
}

/// What one trial of a program brought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// From before its process was made until its end was known.
    pub real_ns: u64,
    /// What the kernel charged it and all that it has started and waited for (wait4(2)), and those
    /// that were left to us.
    pub usage: TreeUsage,
    /// How many lines it has written to standard output; unknown where that is not read.
    pub lines: Option<u64>,
    /// The last of what it wrote to what is read.
    pub output: String,
}

/// What the kernel charged a tree of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeUsage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// The largest resident set of any one of its processes, in bytes.
    pub peak_bytes: u64,
    /// Faults that waited for no disk.
    pub minor_faults: u64,
    /// Faults that waited for one.
    pub major_faults: u64,
    /// Switches because a task waited.
    pub voluntary_switches: u64,
    /// Switches that the scheduler forced.
    pub involuntary_switches: u64,
}

impl TreeUsage {
    /// Of both together.
    #[must_use]
    pub fn merged_with(self, other: TreeUsage) -> TreeUsage {
        TreeUsage {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// A trial as the journal keeps it: its times, its account, and what was read from its output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// From before its process was made until its end was known.
    pub real_ns: u64,
    /// What the kernel charged its processes.
    pub usage: TreeUsage,
    /// What was read from its output, by name.
    pub figures: BTreeMap<String, f64>,
}

/// A program that is measured as a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// What is run.
    pub program: Program,
    /// How many trials are timed; at most so many, where time is short.
    pub trials: u32,
    /// The fewest that are.
    pub min_trials: u32,
    /// What is read from its output.
    pub figures: Vec<Figure>,
    /// The metric that is the row's figure: `real`, or the name of one of [`Self::figures`].
    pub primary: String,
}

/// A figure that is read from what a program has written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name, as a metric.
    pub name: String,
    /// What it is counted in.
    pub unit: Unit,
    /// How it is found.
    pub source: FigureSource,
}

/// How a figure is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureSource {
    /// The first group of this regular expression, where it matches last.
    Pattern(String),
    /// The real time over the number of lines that the warm-up has written.
    PerLine,
}

/// The time from before the process was made until its end was known.
pub const REAL: &str = "real";
/// CPU time in user mode.
pub const USER: &str = "user";
/// CPU time in the kernel.
pub const SYSTEM: &str = "system";
/// The largest resident set of one process.
pub const PEAK_MEMORY: &str = "peak-memory";

/// A metric of a trial: its name, its unit, its figure.
pub type Measured = (String, Unit, f64);

/// The metrics that every workload has: names, units, and what they are of a trial.
type StandardMetric = (&'static str, Unit, fn(&Trial) -> f64);
const STANDARD_METRICS: [StandardMetric; 8] = [
    (REAL, Unit::Seconds, |it| it.real_ns as f64 * 1e-9),
    (USER, Unit::Seconds, |it| it.usage.user_ns as f64 * 1e-9),
    (SYSTEM, Unit::Seconds, |it| it.usage.system_ns as f64 * 1e-9),
    (PEAK_MEMORY, Unit::Bytes, |it| it.usage.peak_bytes as f64),
    ("minor-faults", Unit::TimesPerOp, |it| it.usage.minor_faults as f64),
    ("major-faults", Unit::TimesPerOp, |it| it.usage.major_faults as f64),
    ("voluntary-switches", Unit::TimesPerOp, |it| it.usage.voluntary_switches as f64),
    ("involuntary-switches", Unit::TimesPerOp, |it| it.usage.involuntary_switches as f64),
];

impl Workload {
    /// The metrics of a trial: those that every workload has, then those that were read from its
    /// output.
    pub fn metrics(&self, trial: &Trial) -> Vec<Measured> {
        let fixed =
            STANDARD_METRICS.iter().map(|(name, unit, of)| ((*name).to_owned(), *unit, of(trial)));
        let read = self.figures.iter().filter_map(|figure| {
            Some((figure.name.clone(), figure.unit, *trial.figures.get(&figure.name)?))
        });
        fixed.chain(read).collect()
    }

    /// Whether a metric is compared between places: times, and what was read. What else the kernel
    /// counts is shown.
    pub fn is_compared(&self, metric: &str) -> bool {
        [REAL, USER, SYSTEM].contains(&metric) || self.figures.iter().any(|it| it.name == metric)
    }

    /// The unit of the row's figure.
    pub fn unit(&self) -> Unit {
        let figure = self.figures.iter().find(|it| it.name == self.primary);
        figure.map_or(Unit::Seconds, |it| it.unit)
    }
}

/// Whether a name is that of a metric that every workload has.
pub fn is_standard_metric(metric: &str) -> bool {
    STANDARD_METRICS.iter().any(|(name, ..)| *name == metric)
}
