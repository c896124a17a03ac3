//! What was measured and counted of a program: its trials, its counted runs, its watch.

use serde::{Deserialize, Serialize};

use super::amount::Amount;
use crate::program_calls::ProgramCalls;
use crate::record::Estimate;

/// How the time of a program in one mode was made of those of its trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialFigure {
    /// The median.
    Median,
    /// The mean: what ticks give one trial too much another has too little.
    Mean,
    /// The mean CPU time, divided by the ticks of control groups.
    Pooled,
    /// The one observation of a running process.
    Watched,
}

impl TrialFigure {
    /// Its name in a bill.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Pooled => "pooled",
            Self::Watched => "watched",
        }
    }
}

bill! {
    /// The runs of the program that were not counted.
    pub struct BilledTrials {
        /// From before the process was created until its exit was reported, in seconds.
        pub real: Estimate,
        /// CPU time in user mode, in seconds. Its `median` and interval are those of the figure that
        /// `user_figure` names; `raw_median` is the median.
        pub user: Estimate,
        /// What the user time is, as `system_figure`: `mean` where few clock ticks find a run in user
        /// mode. Empty in documents of before it was told: the median.
        #[serde(default)]
        pub user_figure: String,
        /// CPU time in the kernel, in seconds.
        pub system: Estimate,
        /// The system time that the bill is compared with.
        pub system_time: Amount,
        /// What `system_time` is: `median` of the trials, their `mean` where few clock ticks find a
        /// run in the kernel, `pooled` where those of control groups divide its CPU time, or `watched`,
        /// the one observation of a running process.
        pub system_figure: String,
        /// The source of the times: `rusage`, `proc` (/proc/PID/stat) of a watched process, or
        /// `cgroup`: the CPU time by rusage, divided in the ratio of the clock ticks of control groups
        /// in which further runs were.
        pub source: String,
        /// The clock ticks of these groups, about: their CPU time over the time between two; null of
        /// another source.
        #[serde(default)]
        pub clock_ticks: Option<f64>,
        /// Why `system_time` may be too low; null if nothing is known.
        #[serde(default)]
        pub doubt: Option<String>,
        /// Minor faults of a run, the median.
        pub minor_faults: f64,
        /// Major faults of a run, the median.
        pub major_faults: f64,
        /// Voluntary context switches of a run, the median; null if not known.
        pub voluntary_switches: Option<f64>,
        /// Involuntary context switches of a run, the median; null if not known.
        pub involuntary_switches: Option<f64>,
    }

    /// What was counted.
    pub struct BilledCounts {
        /// The counts: of each form the median of the counted runs.
        pub calls: ProgramCalls,
        /// How many runs were counted.
        pub runs: u32,
        /// Forms whose count was not the same in all of them.
        pub varying_forms: u32,
        /// What counting added to the real time, in per cent; null if that is not known, as of a
        /// watched process, and of one that was counted without its treatments.
        pub added_pct: Option<f64>,
        /// The counter: `ptrace`, or `ebpf`.
        #[serde(default)]
        pub counter: String,
        /// Why it was not the other one; null if that was asked for, or is the default.
        #[serde(default)]
        pub counter_reason: Option<String>,
        /// Events of all counted runs that the counter had no room for.
        #[serde(default)]
        pub lost_events: u64,
    }

    /// A running process that was watched for some time.
    pub struct Watched {
        /// The process.
        pub pid: u32,
        /// For how long, in seconds.
        pub seconds: f64,
        /// Its threads when the watch began.
        pub threads: u32,
        /// Whether its descendants were counted with it.
        pub children: bool,
        /// Whether it ended meanwhile: its times are then those of a moment before its end. They
        /// contain what the counter added to them.
        pub ended: bool,
        /// Nanoseconds of its threads on a CPU, as the scheduler counted them (schedstat); null if one
        /// of them has ended, whose part is lost, as their context switches then are, and null with
        /// descendants, whose threads are not read.
        pub on_cpu_ns: Option<u64>,
    }

    /// Time that a hypervisor took from the CPUs of a machine, as far as its kernel is told.
    pub struct StolenTime {
        /// Nanoseconds of all CPUs together, in hundredths of a second.
        pub ns: f64,
        /// In so many seconds: from the first run of the program to the last one, with the prices that
        /// were measured between them; or in the watch.
        pub seconds: f64,
    }
}

impl BilledTrials {
    /// The CPU time of a trial in both modes, in nanoseconds: the mean.
    pub fn cpu_ns(&self) -> f64 {
        1e9 * (self.user.mean + self.system.mean)
    }
}
