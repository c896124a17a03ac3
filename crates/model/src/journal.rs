//! The journal: the events of a run, in order.
//!
//! A run only appends to it. The terminal, the store and a replay observe it, and the record is a
//! pure function of the journal: the same journal gives the same record, byte for byte.

mod variation;

use serde::{Deserialize, Serialize};

pub use self::variation::{CaseVariation, CycleVariation, MetricVariation};
use crate::calls::CallCount;
use crate::case::Case;
use crate::clock::{Calibration, ClockSync};
use crate::counters::{EventCounts, TreeCounts};
use crate::definition::{Definition, Timer};
use crate::program::{OutputDigest, Trial, Workload};
use crate::protocol::CpuProbe;
use crate::record::{Machine, Record, RowOutcome, Settings, TargetInfo, Tool};
use crate::study_method::StudyMethod;
use crate::worker::{BatchPlan, Disturbance, Sample};

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "entry")]
pub enum Entry {
    /// The run began.
    Started(Box<RunHeader>),
    /// A machine was connected and described.
    MachineDescribed {
        /// Its facts, without the clock.
        machine: Box<Machine>,
        /// Tracers attached to its system or to the workers.
        tracers: Vec<String>,
    },
    /// Its CPUs were probed, and one was chosen.
    CpuChosen {
        /// The machine's id.
        machine: String,
        /// The result of the probe.
        probe: Vec<CpuProbe>,
        /// The CPU that was chosen.
        cpu: Option<u32>,
    },
    /// Its clock was calibrated: once at the start, once at the end.
    Calibrated {
        /// The machine's id.
        machine: String,
        /// Rate, step and cost.
        calibration: Calibration,
        /// The moment.
        sync: ClockSync,
        /// Why better clocks were not used.
        rejected_clocks: Vec<String>,
    },
    /// The plan.
    Planned {
        /// The rows, in the order of the record.
        rows: Vec<PlannedRow>,
        /// The timers of the timer survey; empty unless all their cases are rows.
        #[serde(default)]
        timers: Vec<Timer>,
    },
    /// Further rows were planned, based on the figures of the others.
    RowsAdded {
        /// The rows, appended to the others.
        rows: Vec<PlannedRow>,
    },
    /// The measurements by study methods were planned.
    StudyMethodsPlanned {
        /// The rounds over which they are spread.
        rounds: u32,
        /// Their workers.
        workers: u32,
        /// How long they are expected to take, in seconds.
        expected_s: f64,
    },
    /// How far figures vary between runs, by earlier runs of the same system in the store.
    VariationKnown {
        /// The cases that have earlier runs.
        cases: Vec<CaseVariation>,
    },
    /// The comparisons of the run.
    Paired {
        /// The pairs of rows.
        pairs: Vec<Pairing>,
    },
    /// A row's pilot has finished.
    Piloted {
        /// The row's index.
        row: u32,
        /// Its batch plan.
        plan: BatchPlan,
    },
    /// A program has run once, untimed, after its caches were warm.
    WarmedUp {
        /// The row's index.
        row: u32,
        /// Its times and resource usage.
        trial: Box<Trial>,
        /// What it wrote.
        output: Option<OutputDigest>,
    },
    /// A worker has finished.
    Worker {
        /// The row's index.
        row: u32,
        /// What it was measured for.
        phase: Phase,
        /// When it finished, in seconds since the start of the run.
        at_s: f64,
        /// The comparison that it was measured for, as in [`Pairing::set`]; 0 without comparisons.
        #[serde(default)]
        set: u32,
        /// Its result.
        outcome: WorkerOutcome,
    },
    /// A control has finished: a worker, or a pair of workers, with identical arms.
    Control {
        /// The index of its row.
        row: u32,
        /// How its two arms were interleaved.
        design: Design,
        /// What it was measured for.
        phase: Phase,
        /// When it finished, in seconds since the start of the run.
        at_s: f64,
        /// The batches of arms 0 and 1, in order.
        samples: Vec<Sample>,
    },
    /// Events of some of a row's ops were counted, by a worker that is no repetition of the row.
    EventsCounted {
        /// The row's index.
        row: u32,
        /// The round.
        round: u32,
        /// When it finished, in seconds since the start of the run.
        at_s: f64,
        /// The comparison that it was counted for, as in [`Pairing::set`]; 0 without comparisons.
        #[serde(default)]
        set: u32,
        /// Its result.
        outcome: CountingOutcome,
    },
    /// A row's calls were counted.
    Counted {
        /// The row's index.
        row: u32,
        /// The calls.
        count: CallCount,
    },
    /// A row's calls could not be counted.
    NotCounted {
        /// The row's index.
        row: u32,
        /// Why.
        reason: String,
    },
    /// The monitor of a row's worker has ended, and its report was verified.
    MonitorReported {
        /// The row's index.
        row: u32,
        /// Observed calls of the counted ops; `None` if this worker did not count.
        observed_calls: Option<u64>,
        /// The state of its profile of the worker program.
        profile_state: Option<String>,
        /// Anomalies of all processes.
        anomalies: u64,
    },
    /// A row will not be measured further.
    Abandoned {
        /// The row's index.
        row: u32,
        /// `skipped`, `failed`, `timed-out` or `unmeasurable`.
        outcome: RowOutcome,
        /// Why.
        reason: String,
    },
    /// A row has enough repetitions.
    RowFinished {
        /// The row's index.
        row: u32,
        /// Whether the requested precision was reached.
        converged: bool,
    },
    /// The run ended, by itself or on Ctrl-C.
    Ended {
        /// RFC 3339, UTC.
        at: String,
        /// Whether everything requested was done.
        complete: bool,
    },
    /// The raw batches of the run were removed later: this entry stands for all entries between its
    /// start and now, and nothing follows it.
    Pruned {
        /// When. RFC 3339, UTC.
        at: String,
        /// The record of the run as it was then, without raw batches; null only where the store
        /// keeps it beside the entry.
        #[serde(default)]
        record: Option<Box<Record>>,
    },
}

/// The header of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// A UUID, version 7.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The user's label.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// The programs that measure.
    pub tool: Tool,
    /// The settings.
    pub settings: Settings,
}

/// A planned row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedRow {
    /// The case.
    pub case: Case,
    /// The definition of its benchmark at the time.
    pub definition: Definition,
    /// Its target.
    pub target: TargetInfo,
    /// Whether the user requested it; reference cases are always measured.
    pub requested: bool,
    /// Whether it is a reference case.
    pub is_reference: bool,
    /// Whether it was added to locate a break of a curve.
    #[serde(default)]
    pub is_refinement: bool,
    /// Whether a treatment adds a process that is woken by its calls: context switches are then no
    /// disturbance.
    #[serde(default)]
    pub monitored: bool,
    /// The program, if the row is a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Box<Workload>>,
    /// The study method, if it is also timed by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study_method: Option<StudyMethod>,
}

/// Two rows that are measured interleaved, to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The index of the row to compare with.
    pub base: u32,
    /// The index of the row to compare.
    pub new: u32,
    /// How they are interleaved.
    pub design: Design,
    /// The number in the worker entries of both rows that belong to this comparison.
    pub set: u32,
    /// How often it may be looked at while it is measured, with the end of the measurement as a
    /// possible consequence; 1 if the number of pairs depends on time alone.
    #[serde(default = "one")]
    pub looks: u32,
}

fn one() -> u32 {
    1
}

/// How two arms are interleaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Two or three forked copies of one process, batch by batch.
    Twins,
    /// One process, while the treatment of the system is toggled.
    Toggle,
    /// Two processes, one after the other.
    Pairs,
    /// Two boots of deterministic machines with instruction counting.
    Boots,
}

impl Design {
    /// The design as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            Design::Twins => "twins",
            Design::Toggle => "toggle",
            Design::Pairs => "pairs",
            Design::Boots => "boots",
        }
    }
}

/// The purpose of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A reference case before the first round.
    Before,
    /// A round that only determines the number of repetitions of the real rounds (`--thorough`).
    Rehearsal(u32),
    /// A round.
    Round(u32),
    /// A reference case after the last round.
    After,
    /// Ops by the row's study method; not a repetition of the row.
    StudyMethod {
        /// The round.
        round: u32,
        /// The experiment that they belong to: a short one may have parts in several rounds.
        experiment: u32,
    },
}

/// The result of a worker that counted events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountingOutcome {
    /// Counts of batches.
    Batches(Box<EventCounts>),
    /// Counts of a program's process tree.
    Tree(Box<TreeCounts>),
    /// No result.
    Lost {
        /// `skipped`, `failed` or `timed-out`.
        outcome: RowOutcome,
        /// Why.
        reason: String,
    },
}

/// The result of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerOutcome {
    /// Samples.
    Sampled {
        /// The batches, in order.
        samples: Vec<Sample>,
        /// Their disturbance.
        disturbance: Box<Disturbance>,
        /// Wakeups of the monitor per op; null without a monitor.
        #[serde(default)]
        monitor_wakeups_per_op: Option<f64>,
        /// Its speculation status as reported by the kernel; null if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speculation: Option<String>,
    },
    /// One trial of a program.
    Trial(Box<Trial>),
    /// No result.
    Lost {
        /// `failed` or `timed-out`.
        outcome: RowOutcome,
        /// Why.
        reason: String,
    },
}
