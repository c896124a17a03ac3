//! Programs as subjects: what a worker runs, and the result of a trial.

mod usage;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::usage::{GroupTimes, TreeUsage};
use crate::counters::TreeCounts;
use crate::parameter::{ParameterValues, SampledParameter, replace_placeholders};
use crate::unit::Unit;

/// The family of whole programs.
pub const FAMILY: &str = "workload";

/// The maximum number of words of a command: a list of files.
pub const MAX_COMMAND_WORDS: usize = 1_024;
/// The maximum length of all words of a command: a script.
pub const MAX_COMMAND_BYTES: usize = 64 << 10;

/// A program that a worker runs once per trial, with its environment. Commands are argument
/// vectors; no shell is involved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The command.
    pub command: Vec<String>,
    /// The file that is its standard input; `None` for an empty one.
    #[serde(default)]
    pub input: Option<String>,
    /// Environment variables of all commands, in addition to those of the supervisor.
    pub variables: BTreeMap<String, String>,
    /// The working directory of all commands; `None` for a fresh one that is removed after the
    /// trial.
    pub working_directory: Option<String>,
    /// Untimed commands before each trial.
    pub before: Vec<Vec<String>>,
    /// Untimed commands after each trial, also after a failed one.
    pub after: Vec<Vec<String>>,
    /// A program that runs from before the command starts until it has exited.
    pub companion: Option<CompanionProgram>,
    /// Whether its standard output is captured; otherwise it goes to /dev/null. Standard error is
    /// always captured.
    pub captures_output: bool,
    /// The exit statuses that mean success.
    pub ok_statuses: Vec<i32>,
    /// Whether every exit status means success. A program that a signal kills has none.
    #[serde(default)]
    pub ignores_status: bool,
    /// Whether it may leave processes running, as a daemon does. They are killed; what they used is
    /// not the program's.
    #[serde(default)]
    pub may_leave_processes: bool,
    /// Its resource limits.
    pub limits: ProgramLimits,
}

/// A program that the measured program needs while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompanionProgram {
    /// Its command. It writes a line when it is ready.
    pub command: Vec<String>,
    /// The environment variable that passes that line to the measured command; empty for none.
    pub variable: String,
    /// A prefix of the line in the variable.
    pub prefix: String,
}

/// Limits of a trial, which is killed when it exceeds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramLimits {
    /// Seconds, including the commands before and after it.
    pub seconds: u32,
    /// MiB of captured output.
    pub output_mib: u32,
    /// MiB of address space per process (RLIMIT_AS).
    pub memory_mib: Option<u32>,
    /// MiB per written file (RLIMIT_FSIZE).
    pub file_mib: Option<u32>,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self { seconds: 600, output_mib: 64, memory_mib: None, file_mib: None }
    }
}

/// The result of one trial of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// Nanoseconds from before the process was created until its exit was reported.
    pub real_ns: u64,
    /// Resource usage of its process tree: of all waited-for descendants (wait4(2)), and of those
    /// that the supervisor reaped.
    pub usage: TreeUsage,
    /// Lines on standard output; `None` if that is not captured.
    pub lines: Option<u64>,
    /// The end of the captured output.
    pub output: String,
    /// What identifies the standard output, if that is captured.
    #[serde(default)]
    pub digest: Option<OutputDigest>,
    /// The events of its process tree, if they were counted.
    #[serde(default)]
    pub counts: Option<TreeCounts>,
}

/// What identifies an output: two of the same digest are taken for equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputDigest {
    /// Its length.
    pub bytes: u64,
    /// Its hash (FNV-1a, 64 bits).
    pub hash: u64,
}

impl Default for OutputDigest {
    fn default() -> Self {
        Self { bytes: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl OutputDigest {
    /// Adds the next bytes of the output.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for &byte in bytes {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// One of several trials of a worker that runs programs in turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnResult {
    /// The number of the program.
    pub program: u8,
    /// When it had exited, in nanoseconds since the worker's start.
    pub ended_ns: u64,
    /// Its result.
    pub result: ProgramResult,
}

/// A trial as kept in the journal: times, resource usage, and figures parsed from the output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Nanoseconds from before the process was created until its exit was reported.
    pub real_ns: u64,
    /// Resource usage of its processes.
    pub usage: TreeUsage,
    /// Figures parsed from its output, by name.
    pub figures: BTreeMap<String, f64>,
    /// The values of sampled parameters.
    #[serde(default, skip_serializing_if = "ParameterValues::is_empty")]
    pub parameters: ParameterValues,
}

/// The file of a program, as it was before the first trial: another build of it is another program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutableFile {
    /// Its path, with symbolic links resolved.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content, of more than 16 MiB of the first 16, in hexadecimal digits.
    pub sha256: String,
}

/// A program that is measured as a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The program.
    pub program: Program,
    /// Its file; `None` on another machine, and where it was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ExecutableFile>,
    /// Whether it is pinned to the CPU on which the run measures, with all that it starts.
    #[serde(default)]
    pub one_cpu: bool,
    /// The number of timed trials; the maximum if time is short.
    pub trials: u32,
    /// The minimum number of timed trials.
    pub min_trials: u32,
    /// The time for its trials; `None` for its share of the time of all programs.
    #[serde(default)]
    pub time: Option<TrialTime>,
    /// Figures parsed from its output.
    pub figures: Vec<Figure>,
    /// The metric that is the row's figure: `real`, or the name of one of [`Self::figures`].
    pub primary: String,
    /// The parameters that have a random value in each round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sampled: Vec<SampledParameter>,
}

/// The time for the trials of a command, which are as many as fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialTime {
    /// Until the first look at a comparison, in seconds; without another look, of all trials.
    pub first_look_s: f64,
    /// Until the last look, if the first one finds no difference.
    pub last_look_s: Option<f64>,
}

impl TrialTime {
    /// The number of looks: each is an opportunity for a false discovery.
    pub fn looks(self) -> u32 {
        1 + u32::from(self.last_look_s.is_some())
    }
}

/// A figure parsed from the output of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the metric.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Where it comes from.
    pub source: FigureSource,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureSource {
    /// The first capture group of the last match of this regular expression.
    Pattern(String),
    /// The real time divided by the number of lines written in the warm-up.
    PerLine,
}

/// Real time from before the process was created until its exit was reported.
pub const REAL: &str = "real";
/// CPU time in user mode.
pub const USER: &str = "user";
/// CPU time in the kernel.
pub const SYSTEM: &str = "system";
/// CPU time, as the scheduler counts it.
pub const CPU: &str = "cpu";
/// The largest resident set of a single process.
pub const PEAK_MEMORY: &str = "peak-memory";

/// The value of a metric in a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricValue {
    /// The name of the metric.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Its value.
    pub value: f64,
}

/// The metrics of every workload: name, unit, and how it is computed from a trial.
type StandardMetric = (&'static str, Unit, fn(&Trial) -> f64);
const STANDARD_METRICS: [StandardMetric; 9] = [
    (REAL, Unit::Seconds, |it| it.real_ns as f64 * 1e-9),
    (CPU, Unit::Seconds, |it| it.usage.cpu_ns() as f64 * 1e-9),
    (USER, Unit::Seconds, |it| it.usage.user_ns as f64 * 1e-9),
    (SYSTEM, Unit::Seconds, |it| it.usage.system_ns as f64 * 1e-9),
    (PEAK_MEMORY, Unit::Bytes, |it| it.usage.peak_bytes as f64),
    ("minor-faults", Unit::TimesPerOp, |it| it.usage.minor_faults as f64),
    ("major-faults", Unit::TimesPerOp, |it| it.usage.major_faults as f64),
    ("voluntary-switches", Unit::TimesPerOp, |it| it.usage.voluntary_switches as f64),
    ("involuntary-switches", Unit::TimesPerOp, |it| it.usage.involuntary_switches as f64),
];

impl Program {
    /// Whether one worker can run it several times: it needs neither a fresh working directory nor a
    /// companion.
    pub fn can_take_turns(&self) -> bool {
        self.working_directory.is_some() && self.companion.is_none()
    }

    /// The program with these values in place of `{name}` in the words of its commands and in the
    /// path of its input.
    pub fn with_values(&self, values: &ParameterValues) -> Cow<'_, Program> {
        if values.is_empty() {
            return Cow::Borrowed(self);
        }
        let text =
            |text: &String| replace_placeholders(text, |name| Some(values.get(name)?.to_string()));
        let command = |words: &Vec<String>| words.iter().map(text).collect::<Vec<String>>();
        Cow::Owned(Program {
            command: command(&self.command),
            input: self.input.as_ref().map(text),
            before: self.before.iter().map(command).collect(),
            after: self.after.iter().map(command).collect(),
            ..self.clone()
        })
    }

    /// Whether this exit status means success.
    pub fn accepts(&self, status: i32) -> bool {
        match &self.ok_statuses[..] {
            _ if self.ignores_status => true,
            [] => status == 0,
            listed => listed.contains(&status),
        }
    }
}

impl Workload {
    /// The metrics of a trial: the standard ones, then those parsed from its output.
    pub fn metrics(&self, trial: &Trial) -> Vec<MetricValue> {
        let standard = STANDARD_METRICS.iter().map(|&(name, unit, value_of)| MetricValue {
            name: name.to_owned(),
            unit,
            value: value_of(trial),
        });
        let parsed = self.figures.iter().filter_map(|Figure { name, unit, .. }| {
            let value = *trial.figures.get(name)?;
            Some(MetricValue { name: name.clone(), unit: *unit, value })
        });
        standard.chain(parsed).collect()
    }

    /// Whether a metric is compared: of a command all are, one of which has the verdict; of other
    /// workloads the times that studies ask for and parsed figures.
    pub fn is_compared(&self, metric: &str) -> bool {
        let is_time = [REAL, USER, SYSTEM].contains(&metric);
        self.time.is_some() || is_time || self.figures.iter().any(|it| it.name == metric)
    }

    /// The middle of the range of each sampled parameter: its value in runs that are not timed.
    pub fn middle_values(&self) -> ParameterValues {
        self.sampled.iter().map(|it| (it.name.clone(), it.middle())).collect()
    }

    /// The unit of the row's figure.
    pub fn unit(&self) -> Unit {
        let figure = self.figures.iter().find(|it| it.name == self.primary);
        figure.map_or(Unit::Seconds, |it| it.unit)
    }
}

/// Whether a name is that of a standard metric.
pub fn is_standard_metric(metric: &str) -> bool {
    STANDARD_METRICS.iter().any(|(name, ..)| *name == metric)
}

#[cfg(test)]
mod tests;
