//! The history of a case: its series of figures, the changes found in it, and the updates of the
//! system in between, as plain data.

use oscost_model::record::{CountedMedians, Decomposition};
use oscost_model::unit::{Better, Unit};
use oscost_stats::between_runs::{RunMedian, RunVariation};
use oscost_stats::change::WINDOW_POINTS;
use oscost_stats::interval::{Interval, Nominal};
use serde::Serialize;

/// With fewer degrees of freedom than neighbours among six runs of one level have, the deviation
/// between runs is not known: an interval by it would be wide or narrow by chance.
const MIN_DEGREES_OF_FREEDOM: f64 = 3.5;

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
    /// Whether the verdict on the case rests on its other series: one that follows the core's rate has
    /// one in time and one in cycles of the core, and rests on that which varies less between runs.
    pub secondary: bool,
    /// The autocorrelation, if it was so large that it was removed before the test.
    pub autocorrelation: Option<f64>,
    /// The standard deviation of the figure's logarithm between runs of one level; `null` if too few
    /// runs show it.
    pub between_run_sd: Option<f64>,
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

impl Series {
    /// How far the figure varies from run to run, by neighbours among the runs that were searched for
    /// changes, as if there were none; `None` below two runs.
    pub fn variation_of_neighbours(&self) -> Option<RunVariation> {
        let runs: Vec<RunMedian> = self.points.iter().filter_map(Point::run_median).collect();
        let oldest = runs.len().saturating_sub(WINDOW_POINTS);
        RunVariation::by_neighbours(&[&runs[oldest..]], 0.0)
    }

    /// The figures of the runs, by their ids, as logarithms.
    pub fn run_medians(&self) -> impl Iterator<Item = (&str, RunMedian)> {
        self.points.iter().filter_map(|it| Some((it.run.as_str(), it.run_median()?)))
    }

    /// The indices at which levels begin, among the runs that were searched for changes, and the end of
    /// the last level.
    pub(super) fn level_bounds(&self) -> Vec<usize> {
        let oldest = self.points.len().saturating_sub(WINDOW_POINTS);
        let changes = self.changes.iter().map(|it| it.point);
        std::iter::once(oldest).chain(changes).chain([self.points.len()]).collect()
    }

    /// Sets the intervals between runs: the runs between two changes show how far the figure varies
    /// from run to run, which the repetitions of one run do not. A change is no variation, so only
    /// neighbours of one level are compared: around the mean of a level that was found in them the
    /// runs would vary by too little.
    pub fn set_intervals_between_runs(&mut self) {
        let runs: Vec<Option<RunMedian>> = self.points.iter().map(Point::run_median).collect();
        let levels: Vec<Vec<RunMedian>> = self
            .level_bounds()
            .windows(2)
            .map(|of| runs.get(of[0]..of[1]).unwrap_or(&[]).iter().flatten().copied().collect())
            .collect();
        let levels: Vec<&[RunMedian]> = levels.iter().map(Vec::as_slice).collect();
        let autocorrelation = self.autocorrelation.unwrap_or(0.0);
        let known = RunVariation::by_neighbours(&levels, autocorrelation)
            .filter(|it| it.degrees_of_freedom >= MIN_DEGREES_OF_FREEDOM);
        self.between_run_sd = known.map(|it| it.deviation);
        for (point, run) in self.points.iter_mut().zip(runs) {
            let interval = known.zip(run).map(|(it, run)| it.interval(&run, Nominal::FIXED));
            // What a run's repetitions leave open, further runs leave open too.
            point.between_run_ci95 = interval
                .zip(point.interval)
                .map(|(it, [low, high])| [it.lo.exp().min(low), it.hi.exp().max(high)]);
        }
    }
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
    /// What its repetitions leave open.
    pub interval: Option<[f64; 2]>,
    /// Where the long-run figure lies, by this run and by how far the runs of the series vary;
    /// `null` if too few of them show it.
    pub between_run_ci95: Option<[f64; 2]>,
    /// The noise class of the machine.
    pub class: Option<String>,
    /// Whether the run was imported.
    pub imported: bool,
    /// What the processor counted of its ops; `null` if nothing was.
    pub counts: Option<RunCounts>,
}

/// What was counted in a run, and what that depends on beside the op.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunCounts {
    /// The worker's content hash.
    pub worker: String,
    /// A hash of the id of the machine's boot.
    pub boot: Option<String>,
    /// The medians over its counting workers.
    pub medians: CountedMedians,
}

impl Point {
    /// Half of its interval, as a share of its figure.
    pub fn relative_half_width(&self) -> Option<f64> {
        let interval = self.interval.filter(|[low, high]| low <= high);
        interval.map(|[low, high]| (high - low) / 2.0 / self.median.abs())
    }

    /// Its figure, by its logarithm; `None` without an interval of costs.
    fn run_median(&self) -> Option<RunMedian> {
        let [low, high] = self.interval.filter(|[low, high]| 0.0 < *low && low <= high)?;
        let interval = Interval { lo: low.ln(), hi: high.ln() };
        (self.median > 0.0).then(|| RunMedian::from_interval(self.median.ln(), interval))
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
    /// Why it changed, by what runs of both levels counted; `null` if those of a level have nothing,
    /// or cannot be compared.
    pub decomposition: Option<Decomposition>,
    /// Why the counts of both levels are not compared; `null` also if there are none.
    pub not_decomposed: Option<String>,
    /// The runs by which it is explained; `null` without a decomposition.
    pub counted_runs: Option<CountedRuns>,
}

/// How many runs of two levels are compared by their counts: with one on each side, by its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CountedRuns {
    /// Before the change.
    pub before: usize,
    /// From it on.
    pub since: usize,
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

#[cfg(test)]
mod tests;
