//! The summary of a run: what a history needs of it.

use oscost_model::record::CountedMedians;
use oscost_model::unit::Unit;
use oscost_model::worker::Mode;

/// The summary of a run for histories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The number of the rules by which it was made from the record.
    pub rules: u32,
    /// The version of the tool.
    pub tool: String,
    /// Content hash of the worker.
    pub worker: String,
    /// Content hash of the worker's catalog.
    pub catalog: String,
    /// How the worker is linked.
    pub link: String,
    /// The host of the peer, if that is another machine.
    pub peer: Option<String>,
    /// Whether the clock's rate changed during the run.
    pub clock_drifted: bool,
    /// What the conditions of the run say of it as a whole; `None` of a summary that an older
    /// oscost has stored.
    pub run_state: Option<RunState>,
    /// The machines of the run.
    pub machine_states: Vec<MachineState>,
    /// One figure for each measured row.
    pub figures: Vec<Figure>,
}

/// What the conditions of a run say of it as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// The flags of its machines.
    pub flags: Vec<String>,
    /// The time that workers lost, in per cent, of the machine that lost most.
    pub lost_pct: Option<f64>,
}

/// The state of a machine during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineState {
    /// The class of the machine, as text.
    pub machine: String,
    /// The class of its kernel, as text.
    pub kernel: String,
    /// The kernel's release.
    pub release: Option<String>,
    /// The build id of its image.
    pub build_id: Option<String>,
    /// The processor's microcode.
    pub microcode: Option<String>,
    /// The kernel command line.
    pub command_line: Option<String>,
    /// The mitigations of CPU vulnerabilities.
    pub mitigations: Option<String>,
    /// The security modules.
    pub modules: Option<String>,
    /// The attached tracers.
    pub tracers: Option<String>,
    /// The clock.
    pub clock: Option<String>,
    /// The noise class: `quiet`, `noisy` or `very-noisy`.
    pub class: Option<String>,
    /// A hash of the id of its boot.
    pub boot: Option<String>,
}

/// The figure of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The case.
    pub case: String,
    /// The target, as typed.
    pub target: String,
    /// The index of its machine in the run; `None` if the record names none.
    pub machine: Option<usize>,
    /// The index of the peer's machine; `None` if it is the same machine.
    pub peer: Option<usize>,
    /// The CPU that its workers were pinned to.
    pub cpu: Option<u32>,
    /// The revision of the benchmark.
    pub rev: u32,
    /// Its unit.
    pub unit: Unit,
    /// Its mode.
    pub mode: Option<Mode>,
    /// Identifies the measured program among others with the same name: a command, and behind a space
    /// the build of its program, if that is known; `None` for benchmarks.
    pub subject: Option<String>,
    /// The backing of the file that its ops used.
    pub file: Option<String>,
    /// The states of its monitor's profile.
    pub monitor: Option<String>,
    /// The row's flags.
    pub flags: Vec<String>,
    /// The figure.
    pub median: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
    /// What was counted of its ops; `None` if nothing was, and of a figure in cycles, which stands
    /// beside one in time.
    pub counts: Option<Box<CountedMedians>>,
    /// The further metrics of a program, by their names; none of a benchmark.
    pub metrics: Vec<MetricFigure>,
}

/// A further metric of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricFigure {
    /// Its name.
    pub metric: String,
    /// Its median over the trials.
    pub median: f64,
    /// The interval of the run.
    pub interval: Option<[f64; 2]>,
}

/// A run without a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsummarisedRun {
    /// The run's id.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// Whether it was imported.
    pub imported: bool,
}

/// A run with its summary.
#[derive(Clone, Debug, PartialEq)]
pub struct SummarisedRun {
    /// The run's id.
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    /// Whether it was imported.
    pub imported: bool,
    /// The summary.
    pub summary: Summary,
}
