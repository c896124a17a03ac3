//! The history of a case: its series of figures, the changes found in it, and what was updated
//! meanwhile, as plain data.

use oscost_model::unit::{Better, Unit};
use serde::Serialize;

/// What was asked about, and what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Whether cases were named; otherwise it is of all that the store has.
    pub named: bool,
    /// The place that was asked about.
    pub target: String,
    /// Changes are looked for among so many of the newest runs of a series.
    pub window: usize,
    /// The series, by case.
    pub series: Vec<Series>,
    /// Runs without any figure here, by the reason why: nobody knows what cases they are of.
    pub without_figures: Vec<LeftOut>,
    /// Runs that are left out of one of the series at least, by the reason why.
    pub left_out: Vec<LeftOut>,
    /// Other places that there are figures of.
    pub other_targets: Vec<String>,
}

/// A case at a place, run by run, on machines and kernels of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The case.
    pub case: String,
    /// The place.
    pub target: String,
    /// Whether its other end stands on a machine of its own.
    pub peer: bool,
    /// How that end was reached, where the records tell.
    pub peer_host: Option<String>,
    /// What its figures are counted in.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The revision of the benchmark.
    pub rev: u32,
    /// The class of the machines, in words; of both ends' where there are two.
    pub machine_class: String,
    /// The class of their kernels, in words.
    pub kernel_class: String,
    /// The runs, the oldest first.
    pub points: Vec<Point>,
    /// How many runs of the series are older than these.
    pub older_runs: usize,
    /// How often chance parts the runs as far as their farthest two parts are; `null` where they are
    /// too few to ask.
    pub p: Option<f64>,
    /// What that is worth among all series that were asked about at once.
    pub q: Option<f64>,
    /// Whether a change would have been found had this series been asked about alone.
    pub rejected_by_correction: bool,
    /// The share of how far a run strays that the next one shares, where that is so much that it was
    /// taken out before chance was asked.
    pub autocorrelation: Option<f64>,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// Where the newest runs lie elsewhere than those before; it is provisional.
    pub recent_shift: Option<RecentShift>,
    /// What was updated between two runs, in order.
    pub updates: Vec<Update>,
    /// Runs that have the case and are not among the points, by the reason why.
    pub left_out: Vec<LeftOut>,
    /// Other places that the case was measured at.
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
    /// How quiet the machine was: `clean` or `noisy`.
    pub class: Option<String>,
    /// Whether the run came as a record from elsewhere.
    pub imported: bool,
}

impl Point {
    /// Half of its interval, as a share of its figure.
    pub fn relative_half_width(&self) -> Option<f64> {
        let interval = self.interval.filter(|[low, high]| low <= high);
        interval.map(|[low, high]| (high - low) / 2.0 / self.median.abs())
    }
}

/// A place from which on the figure is another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The first point behind it, counted from 0.
    pub point: usize,
    /// The last run before it.
    pub before: String,
    /// The first run behind it.
    pub after: String,
    /// The median from the change before it on, in the unit of the series.
    pub from: f64,
    /// The median up to the next one.
    pub to: f64,
    /// `to / from`.
    pub ratio: f64,
    /// The ratio's interval of 95 %; `null` with fewer than six runs on a side.
    pub ci95: Option<[f64; 2]>,
    /// How often chance parts the part that it was found in as far.
    pub p: f64,
    /// What the p of the whole series is worth among all that were asked about.
    pub q: f64,
}

/// The newest runs lie elsewhere than those before them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecentShift {
    /// How many are the newest.
    pub runs: usize,
    /// How many they are held against.
    pub before: usize,
    /// The median of those, in the unit of the series.
    pub from: f64,
    /// The median of the newest.
    pub to: f64,
    /// `to / from`.
    pub ratio: f64,
}

/// Something that is another one from a run on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Update {
    /// The first point with it, counted from 0.
    pub point: usize,
    /// What was updated.
    pub part: UpdatedPart,
    /// Whether that is the machine of the other end.
    pub peer: bool,
    /// What it was.
    pub from: String,
    /// What it is.
    pub to: String,
}

/// What can be updated without leaving a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdatedPart {
    /// The kernel's release.
    Kernel,
    /// The kernel's image, under the same release.
    Image,
    /// The processor's microcode.
    Microcode,
    /// What the kernel was told at its start.
    CommandLine,
    /// What the kernel does against faults of the processor.
    Mitigations,
    /// The security modules.
    Modules,
    /// What is attached to the system.
    Tracers,
    /// The clock that is read.
    Clock,
    /// The mode of timing, of those that the cost alone chooses between.
    Mode,
    /// The CPU that cells are pinned to, where it stays the same for some runs on either side.
    Cpu,
    /// The version of oscost.
    Oscost,
    /// The program that is timed.
    Worker,
}

impl UpdatedPart {
    /// All that is watched.
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

    /// What it is called.
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
    /// Why not.
    pub why: String,
    /// How many.
    pub runs: usize,
}
