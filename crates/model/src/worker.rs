//! What a worker is told to do, and what it brings back.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::channel::ChannelObservation;
use crate::clock::Calibration;
use crate::file::FileObservation;
use crate::program::Program;
use crate::treatment::AppliedTreatment;

/// All that one worker must know. No worker tunes itself: what its pilot found stands in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// What is measured.
    pub subject: Subject,
    /// Where all its randomness comes from: jitter, environment and stack padding.
    pub seed: u64,
    /// The CPU it is pinned to; `None` leaves it where the scheduler puts it.
    pub cpu: Option<u32>,
    /// Its clock, calibrated once for the whole run.
    pub clock: Calibration,
    /// How many things are compared within it: 1, or 2 to 3 fork twins.
    pub arms: u8,
    /// What is done to each arm, before its work is built; to those beyond the list, nothing.
    #[serde(default)]
    pub treatments: Vec<Vec<AppliedTreatment>>,
    /// Whether something is done to its system and undone again while it lasts: each `go` then
    /// names its arm, and is answered with `went`.
    #[serde(default)]
    pub toggled: bool,
    /// Whether the work is done in a process forked from the worker even where nothing is applied to
    /// it: beside a worker that something is applied to, one that is not would be another process.
    #[serde(default)]
    pub forked: bool,
    /// How many workers share the work; 1 for now.
    pub workers: u16,
    /// Where the other end of a two-ended case stands, if not beside this one.
    #[serde(default)]
    pub remote_end: Option<RemoteEnd>,
    /// The CPU that a second process beside it is pinned to where it is to be another one; `None`
    /// for the last that may be used.
    #[serde(default)]
    pub peer_cpu: Option<u32>,
    /// What it does with its subject.
    pub task: Task,
    /// After so many milliseconds the supervisor ends it and reports `timed-out`.
    pub timeout_ms: u64,
}

impl WorkerSpec {
    /// The treatments of an arm.
    pub fn treatments_of(&self, arm: u8) -> &[AppliedTreatment] {
        self.treatments.get(usize::from(arm)).map_or(&[], Vec::as_slice)
    }
}

/// The other end of a case, on another machine: a worker that serves it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteEnd {
    /// Where it listens: an address and a port.
    pub addr: String,
    /// What opens its door: 128 bits in hexadecimal, made for this one case and worker.
    pub token: String,
}

/// What a worker measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A benchmark at a point.
    Case(Case),
    /// A program; its task is [`Task::Run`].
    Program(Box<Program>),
}

/// What a worker does with its subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Finds mode, ops per batch and batch length for all later workers.
    Pilot {
        /// Interruptions longer than 5 us in a second, as the probe found them.
        interruptions_per_s: f64,
    },
    /// Times batches as the pilot found them.
    Measure(BatchPlan),
    /// Counts the instructions of ops, by a plan of its own that travels with the samples: there is
    /// no noise that a pilot could tell it of, and nobody who could pass on what the pilot says, for
    /// all orders are given before the machine is booted.
    Exact,
    /// Runs some ops untimed, so that a tracer can count their calls.
    Count {
        /// Ops before the counting starts.
        warm_ops: u64,
        /// Ops that are counted.
        ops: u64,
    },
    /// Runs a program once.
    Run {
        /// Whether nobody looks at how long it takes: then all that it writes is read.
        warm_up: bool,
    },
    /// Is the other end for a worker on another machine, until that one ends.
    Serve {
        /// The address at which it listens, on a port of the system's choice.
        bind: String,
        /// What whoever connects must show.
        token: String,
    },
}

/// How an op is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mode {
    /// Unrolled: batches of 1, 2, 4 and 8 copies of the op; the slope is the op without its loop.
    U,
    /// Batched: many ops between two clock reads.
    B,
    /// Single shots: one op between two clock reads.
    S,
    /// Cold: one op between two clock reads, after an untimed eviction each time.
    C,
    /// Throughput: the slope of time against bytes moved.
    T,
    /// Found: the work brings a figure of its own (a clock's step, how late a timer was), in
    /// thousandths of a nanosecond; nothing is subtracted from it.
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

    /// Whether the figure is the slope over a group of batches, not a batch's own quotient.
    pub fn is_slope(self) -> bool {
        matches!(self, Mode::U | Mode::T)
    }

    /// Whether a sample is one op, so that quantiles are quantiles of ops.
    pub fn is_single_shot(self) -> bool {
        matches!(self, Mode::S | Mode::C | Mode::F)
    }
}

/// What the pilot found, and every later worker of the case obeys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchPlan {
    /// How the op is timed.
    pub mode: Mode,
    /// Turns of the loop in a batch; in mode T the bytes of the smallest batch.
    pub iterations: u64,
    /// Copies of the op in a turn, one batch of a group for each; `[1]` outside U and T.
    pub unroll_factors: Vec<u32>,
    /// Groups of batches in a worker; odd, so that the median is one of them.
    pub groups: u32,
    /// The length that the longest batch of a group aims at, in nanoseconds.
    pub batch_ns: f64,
    /// The clock is so coarse, or interruptions so frequent, that no batch length suits both.
    pub coarse_clock: bool,
}

/// One timed batch. Raw ticks travel; they become time when they are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Which of the things compared within the worker.
    pub arm: u8,
    /// The group, or the round of fork twins, that it belongs to.
    pub round: u32,
    /// Its place in the worker's order.
    pub batch: u32,
    /// Ops in it (mode T: bytes).
    pub n: u64,
    /// Ticks from START to STOP; signed, since nothing is clamped. In mode F the figure that the
    /// work found, in thousandths of a nanosecond.
    pub ticks: i64,
    /// CPU time of the thread around it, in nanoseconds; null in mode U, where the kernel is not
    /// entered to ask, and where it does not say.
    pub cpu_ns: Option<u64>,
    /// Involuntary switches around it (`ru_nivcsw`); in mode U 1 stands for any number.
    pub involuntary_switches: u32,
    /// Major faults around it (`ru_majflt`).
    pub major_faults: u32,
    /// It ended on another CPU than it began on.
    pub migrated: bool,
}

/// What a worker brings back beside its samples: signals of disturbance over its whole timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// Wall time from the first batch to the last, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the thread meanwhile, in nanoseconds.
    pub cpu_ns: u64,
    /// Time ready but not running, in nanoseconds (`/proc/thread-self/schedstat`, second field).
    pub run_delay_ns: Option<u64>,
    /// Time that the hypervisor took from this CPU, in ticks of USER_HZ (`/proc/stat`).
    pub steal_ticks: Option<u64>,
    /// Throttled periods of the cgroup's CPU quota (`cpu.stat`).
    pub throttled_periods: Option<u64>,
    /// Switches could not be counted, so that nothing was rejected for them.
    #[serde(default)]
    pub switches_uncounted: bool,
    /// What the kernel charged the thread meanwhile; unknown where it does not say.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// What the worker saw of the file that its ops worked on; none where there is no such file.
    #[serde(default)]
    pub file: Option<FileObservation>,
    /// What the worker saw of the channel that its ops went through; none where there is none.
    #[serde(default)]
    pub channel: Option<ChannelObservation>,
}

/// What the kernel charged a thread for some ops (getrusage(2)), the account's own reads between
/// batches included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Ops that were run meanwhile, untimed ones before a batch included.
    pub ops: u64,
    /// CPU time in user mode, in nanoseconds. The kernel shares CPU time out between user and
    /// system by what its tick met: over less than a hundred ticks the split is a guess.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds; shared out likewise.
    pub system_ns: u64,
    /// Faults that waited for no disk.
    pub minor_faults: u64,
    /// Faults that waited for one.
    pub major_faults: u64,
    /// Switches because the thread waited.
    pub voluntary_switches: u64,
    /// Switches that the scheduler forced.
    pub involuntary_switches: u64,
}
