//! The history of a case: its series of figures, the changes found in it, and the updates of the
//! system in between, as plain data.

use oscost_model::record::Decomposition;
use oscost_model::unit::{Better, Unit};
use serde::Serialize;

/// The history of the requested cases.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Whether cases were named; otherwise it contains all cases of the store.
    pub named: bool,
    /// The requested target.
    pub target: String,
    /// The number of newest runs of a series that are searched for changes.
    pub window: usize,
    /// The series, by case.
    pub series: Vec<Series>,
    /// Runs without any figure here, by reason; their cases are unknown.
    pub without_figures: Vec<LeftOut>,
    /// Runs that are left out of at least one series, by reason.
    pub left_out: Vec<LeftOut>,
    /// Other targets with figures.
    pub other_targets: Vec<String>,
}

/// A case on a target, run by run, on machines and kernels of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The case.
    pub case: String,
    /// The target.
    pub target: String,
    /// Whether its peer is on another machine.
    pub peer: bool,
    /// How that machine was reached, if the records contain it.
    pub peer_host: Option<String>,
    /// The unit of its figures.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The revision of the benchmark.
    pub rev: u32,
    /// The class of the machines as text; of both, if the peer has its own.
    pub machine_class: String,
    /// The class of their kernels as text.
    pub kernel_class: String,
    /// The runs, the oldest first.
    pub points: Vec<Point>,
    /// How many runs of the series are older than these.
    pub older_runs: usize,
    /// The p value of the first split; `null` if there are too few runs for a test.
    pub p: Option<f64>,
    /// The p value corrected for all series of the request.
    pub q: Option<f64>,
    /// Whether a change would have been found without that correction.
    pub rejected_by_correction: bool,
    /// The autocorrelation, if it was so large that it was removed before the test.
    pub autocorrelation: Option<f64>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// A provisional shift of the newest runs against those before.
    pub recent_shift: Option<RecentShift>,
    /// The updates between two runs, in order.
    pub updates: Vec<Update>,
    /// Runs that contain the case and are not among the points, by reason.
    pub left_out: Vec<LeftOut>,
    /// Other targets on which the case was measured.
    pub other_targets: Vec<String>,
}

/// A run in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The run's id.
    pub run: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// The figure, in the unit of the series.
    pub median: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// The noise class of the machine.
    pub class: Option<String>,
    /// Whether the run was imported.
    pub imported: bool,
}

impl Point {
    /// Half of its interval, as a share of its figure.
    pub fn relative_half_width(&self) -> Option<f64> {
        let interval = self.interval.filter(|[low, high]| low <= high);
        interval.map(|[low, high]| (high - low) / 2.0 / self.median.abs())
    }
}

/// A change of the figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The index of the first point after it.
    pub point: usize,
    /// The last run before it.
    pub before: String,
    /// The first run after it.
    pub after: String,
    /// The median since the previous change, in the unit of the series.
    pub from: f64,
    /// The median up to the next one.
    pub to: f64,
    /// `to / from`.
    pub ratio: f64,
    /// The ratio's interval of 95 %; `null` with fewer than six runs on a side.
    pub ci95: Option<[f64; 2]>,
    /// The p value of the split at which it was found.
    pub p: f64,
    /// The corrected p value of the whole series.
    pub q: f64,
    /// Why it changed, by the events that both of these runs counted; `null` if one of them has
    /// none, if they cannot be compared, or if no case was named.
    pub decomposition: Option<Decomposition>,
    /// Why the counted events of both runs are not compared.
    pub not_decomposed: Option<String>,
}

/// A shift of the newest runs against those before them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecentShift {
    /// The number of newest runs.
    pub runs: usize,
    /// The number of runs that they are compared with.
    pub before: usize,
    /// The median of those, in the unit of the series.
    pub from: f64,
    /// The median of the newest.
    pub to: f64,
    /// `to / from`.
    pub ratio: f64,
}

/// An update between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Update {
    /// The index of the first point after it.
    pub point: usize,
    /// What was updated.
    pub part: UpdatedPart,
    /// Whether it is the peer's machine.
    pub peer: bool,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// What can be updated within a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdatedPart {
    /// The kernel's release.
    Kernel,
    /// The kernel's image, under the same release.
    Image,
    /// The processor's microcode.
    Microcode,
    /// The kernel's command line.
    CommandLine,
    /// The kernel's mitigations of processor vulnerabilities.
    Mitigations,
    /// The security modules.
    Modules,
    /// The tracers attached to the system.
    Tracers,
    /// The clock of the runs.
    Clock,
    /// The mode of timing, if it is one of those that depend on the cost alone.
    Mode,
    /// The CPU that workers are pinned to, if it is the same for some runs before and after.
    Cpu,
    /// The version of oscost.
    Oscost,
    /// The program that is timed.
    Worker,
}

impl UpdatedPart {
    /// All of them.
    pub const ALL: [UpdatedPart; 12] = [
        UpdatedPart::Kernel,
        UpdatedPart::Image,
        UpdatedPart::CommandLine,
        UpdatedPart::Mitigations,
        UpdatedPart::Modules,
        UpdatedPart::Tracers,
        UpdatedPart::Microcode,
        UpdatedPart::Clock,
        UpdatedPart::Mode,
        UpdatedPart::Cpu,
        UpdatedPart::Oscost,
        UpdatedPart::Worker,
    ];

    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            UpdatedPart::Kernel => "kernel",
            UpdatedPart::Image => "kernel image",
            UpdatedPart::Microcode => "microcode",
            UpdatedPart::CommandLine => "command line",
            UpdatedPart::Mitigations => "mitigations",
            UpdatedPart::Modules => "security modules",
            UpdatedPart::Tracers => "tracers",
            UpdatedPart::Clock => "clock",
            UpdatedPart::Mode => "mode",
            UpdatedPart::Cpu => "CPU",
            UpdatedPart::Oscost => "oscost",
            UpdatedPart::Worker => "worker",
        }
    }
}

/// Runs that are not in a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The reason.
    pub reason: String,
    /// Their number.
    pub runs: usize,
}
