//! The batches of a worker: their plan, their samples, and what disturbed them.

use serde::{Deserialize, Serialize};

use crate::channel::ChannelObservation;
use crate::file::FileObservation;

/// A timed worker runs its op for at least this time before its first batch, in nanoseconds: page and
/// dentry caches and the branch predictor have settled by then. (The 20 ms of the frequency ramp are
/// spent once per run, by the probe's spin.)
pub const WARM_UP_NS: u64 = 3_000_000;
/// The same of a worker that counts events: 10,000 calls of 100 ns. Instructions depend on no cache, and
/// the batches in which the counters settle follow.
pub const COUNTED_WARM_UP_NS: u64 = 1_000_000;

/// How an op is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Unrolled: batches with unroll factors 1, 2, 4 and 8; the slope excludes the loop.
    U,
    /// Batched: many ops between two clock reads.
    B,
    /// Single shots: one op between two clock reads.
    S,
    /// Cold: one op between two clock reads, after an untimed eviction each time.
    C,
    /// Throughput: the slope of time against bytes moved.
    T,
    /// Found: the work itself computes the figure (a clock's step, the delay of a timer), in
    /// picoseconds; nothing is subtracted from it.
    F,
}

impl Mode {
    /// The letter of the mode.
    pub fn text(self) -> &'static str {
        match self {
            Mode::U => "U",
            Mode::B => "B",
            Mode::S => "S",
            Mode::C => "C",
            Mode::T => "T",
            Mode::F => "F",
        }
    }

    /// Whether the pilot selects it by what an op costs. A case near a border changes between such modes,
    /// which agree there within 1 % (docs/explanation/METHOD.md, section 2).
    pub fn is_by_cost(self) -> bool {
        matches!(self, Mode::U | Mode::B | Mode::S)
    }

    /// Whether the figure is the slope over a group of batches, not time per op of a batch.
    pub fn is_slope(self) -> bool {
        matches!(self, Mode::U | Mode::T)
    }

    /// Whether a sample is one op, so that quantiles are quantiles of ops.
    pub fn is_single_shot(self) -> bool {
        matches!(self, Mode::S | Mode::C | Mode::F)
    }
}

/// The batch plan of a case, found by its pilot and used by every later worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchPlan {
    /// How the op is timed.
    pub mode: Mode,
    /// Loop iterations in a batch; in mode T the bytes of the smallest batch.
    pub iterations: u64,
    /// Unroll factors, one batch of a group for each; `[1]` outside modes U and T.
    pub unroll_factors: Vec<u32>,
    /// Groups of batches per worker; odd, so that the median is one of them.
    pub groups: u32,
    /// The target length of the longest batch of a group, in nanoseconds.
    pub batch_ns: f64,
    /// Whether the clock is so coarse, or interruptions so frequent, that no batch length suits
    /// both.
    pub coarse_clock: bool,
}

/// One timed batch, in raw ticks, which are converted to time when they are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// The arm.
    pub arm: u8,
    /// The group, or the round of fork twins, that it belongs to.
    pub round: u32,
    /// Its position in the worker's order.
    pub batch: u32,
    /// Ops in it (mode T: bytes).
    pub n: u64,
    /// Ticks from START to STOP; signed, since nothing is clamped. In mode F the figure computed by
    /// the work, in picoseconds.
    pub ticks: i64,
    /// CPU time of the thread around it, in nanoseconds; null in mode U, where no system call is
    /// made between batches, and where the kernel does not provide it.
    pub cpu_ns: Option<u64>,
    /// Involuntary switches around it (`ru_nivcsw`); in mode U 1 stands for any number.
    pub involuntary_switches: u32,
    /// Major faults around it (`ru_majflt`).
    pub major_faults: u32,
    /// Whether it ended on another CPU than it started on.
    pub migrated: bool,
    /// Its windows, if it holds several: then `n` and `ticks` are their sums. Only by the method of
    /// a study; null for one window.
    pub windows: Option<Windows>,
}

/// The windows of a sample that holds several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Windows {
    /// Their number.
    pub count: u64,
    /// Ops of the one with the smallest time per op.
    pub smallest_ops: u64,
    /// Its ticks.
    pub smallest_ticks: i64,
}

/// Indicators of disturbance over the whole timed part of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// Wall time from the first batch to the last, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Runnable time without a CPU, in nanoseconds (`/proc/thread-self/schedstat`, second field).
    pub run_delay_ns: Option<u64>,
    /// Stolen time of this CPU, in ticks of USER_HZ (`/proc/stat`).
    pub steal_ticks: Option<u64>,
    /// Time between the readings of the stolen time in which this CPU was not idle, stolen time
    /// included, in the same ticks: with what lies between the batches. Null if it was not measured.
    #[serde(default)]
    pub busy_ticks: Option<u64>,
    /// Throttled periods of the cgroup (`cpu.stat`).
    pub throttled_periods: Option<u64>,
    /// Whether context switches could not be counted, so that no batch was rejected for them.
    #[serde(default)]
    pub switches_uncounted: bool,
    /// Resource usage of the thread; null if the kernel does not provide it.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// The core's rate after its last batch, in cycles per nanosecond; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_cycles_per_ns: Option<f64>,
    /// The file that its ops used; null if there is none.
    #[serde(default)]
    pub file: Option<FileObservation>,
    /// The channel that its ops used; null if there is none.
    #[serde(default)]
    pub channel: Option<ChannelObservation>,
}

/// The name of the metric of a row that has its minor faults per op.
pub const MINOR_FAULTS: &str = "minor-faults";
/// The same of the processes that an op creates and waits for; a row without such faults has none.
pub const CHILD_MINOR_FAULTS: &str = "child-minor-faults";

/// Resource usage of a thread for some ops (getrusage(2)), including the getrusage(2) calls between
/// batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Ops including untimed ones before a batch.
    pub ops: u64,
    /// CPU time in user mode, in nanoseconds. The kernel splits CPU time into user and system by
    /// sampling at its tick: below a hundred ticks the split is a rough estimate.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds; split likewise.
    pub system_ns: u64,
    /// Minor faults.
    pub minor_faults: u64,
    /// Minor faults of the children of its process that were waited for meanwhile, and of theirs.
    #[serde(default)]
    pub child_minor_faults: u64,
    /// Major faults.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}
