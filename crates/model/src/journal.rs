//! The journal: what happened in a run, in order, as it happened.
//!
//! The run only appends to it. The terminal, the store and a replay are listeners, and the record
//! is a pure function of the journal: the same journal gives the same record, to the byte.

use serde::{Deserialize, Serialize};

use crate::calls::CallCount;
use crate::case::Case;
use crate::clock::{Calibration, ClockSync};
use crate::definition::{Definition, Timer};
use crate::program::{Trial, Workload};
use crate::protocol::CpuProbe;
use crate::record::{Machine, RowOutcome, Settings, TargetInfo, Tool};
use crate::study_method::StudyMethod;
use crate::worker::{BatchPlan, Disturbance, Sample};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "entry")]
pub enum Entry {
    /// The run began.
    Started(Box<RunHeader>),
    /// A machine was met.
    MachineDescribed {
        /// Its facts, its clock not known yet.
        machine: Box<Machine>,
        /// What was attached to its system or to the workers.
        tracers: Vec<String>,
    },
    /// Its CPUs were probed, and one was chosen.
    CpuChosen {
        /// The machine's id.
        machine: String,
        /// What the probe saw.
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
        /// Why better clocks were passed over.
        passed_over: Vec<String>,
    },
    /// What will be measured.
    Planned {
        /// The rows, in the order of the record.
        rows: Vec<PlannedRow>,
        /// The timers of the survey; none unless all of their cases are among the rows.
        #[serde(default)]
        timers: Vec<Timer>,
    },
    /// What will be measured as well, now that the figures of the others are known.
    RowsAdded {
        /// The rows, which follow the others.
        rows: Vec<PlannedRow>,
    },
    /// What will be compared with what.
    Paired {
        /// The pairs of rows.
        pairs: Vec<Pairing>,
    },
    /// A row's pilot came back.
    Piloted {
        /// The row's index.
        row: u32,
        /// How its workers time their ops.
        plan: BatchPlan,
    },
    /// A worker came back.
    Worker {
        /// The row's index.
        row: u32,
        /// What it was measured for.
        phase: Phase,
        /// When it came back, in seconds from the start of the run.
        at_s: f64,
        /// Which of the comparisons that its row is in it was measured for, as [`Versus::set`] says;
        /// in a run that compares nothing 0.
        #[serde(default)]
        set: u32,
        /// What it brought.
        outcome: WorkerOutcome,
    },
    /// A worker, or a pair of them, came back in which nothing differs: a control.
    Control {
        /// The index of the row that it was made of.
        row: u32,
        /// How its two arms were interleaved.
        design: Design,
        /// What it was measured for.
        phase: Phase,
        /// When it came back, in seconds from the start of the run.
        at_s: f64,
        /// The batches of arms 0 and 1, in order.
        samples: Vec<Sample>,
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
    /// A monitor that a row was counted or timed under has ended, and has seen what was made.
    MonitorReported {
        /// The row's index.
        row: u32,
        /// The calls that it saw of the counted ops; `None` where that was another time.
        observed_calls: Option<u64>,
        /// The state of its profile of the program that measures.
        profile_state: Option<String>,
        /// The anomalies that it saw, of all processes.
        anomalies: u64,
    },
    /// A row will not be measured any further.
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
        /// Whether the precision that was asked for was reached.
        converged: bool,
    },
    /// The run ended by itself or on Ctrl-C.
    Ended {
        /// RFC 3339, UTC.
        at: String,
        /// Whether everything that was asked for was done.
        complete: bool,
    },
}

/// How a run began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// A UUID, version 7.
    pub id: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The user's own words.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// The programs that measure.
    pub tool: Tool,
    /// What was asked for.
    pub settings: Settings,
}

/// A row to come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedRow {
    /// The case.
    pub case: Case,
    /// Its benchmark, as the worker defined it at the time.
    pub definition: Definition,
    /// Where it will be measured.
    pub target: TargetInfo,
    /// Whether the user asked for it; a reference case is measured all the same.
    pub requested: bool,
    /// Whether it is a reference case.
    pub is_reference: bool,
    /// Whether it was added to place a break of a curve.
    #[serde(default)]
    pub is_refinement: bool,
    /// Whether a treatment puts another process beside it that its calls wake: switches are then
    /// the treatment's.
    #[serde(default)]
    pub monitored: bool,
    /// The program that is run, where that is what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Box<Workload>>,
    /// The manner in which a study times it, where it is timed so as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study_method: Option<StudyMethod>,
}

/// Two rows of one case that are measured interleaved, to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The index of the row to compare with.
    pub base: u32,
    /// The index of the row to compare.
    pub new: u32,
    /// How they are interleaved.
    pub design: Design,
    /// The number that workers of both rows bear which were measured side by side.
    pub set: u32,
}

/// How two things are measured side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// As two or three copies of one process, batch by batch.
    Twins,
    /// In one process, while what differs is done to the system and undone again.
    Toggle,
    /// In two processes, one after the other.
    Pairs,
    /// In two boots of machines that repeat themselves to the last instruction.
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

/// What a worker is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A reference case before the first round.
    Before,
    /// A round that only fixes how many repetitions the real rounds get (`--thorough`).
    #[serde(rename = "trial")]
    Rehearsal(u32),
    /// A round.
    Round(u32),
    /// A reference case after the last round.
    After,
    /// An experiment in the manner of the row's study, by its number: no repetition of the row.
    StudyMethod(u32),
}

/// What a worker brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerOutcome {
    /// Batches.
    Sampled {
        /// The batches, in order.
        samples: Vec<Sample>,
        /// What disturbed them.
        disturbance: Box<Disturbance>,
        /// How often one op woke the monitor that it is under; none where it is under none.
        #[serde(default)]
        monitor_wakeups_per_op: Option<f64>,
        /// How the kernel let it speculate, in the words of its status; none where it was not asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speculation: Option<String>,
    },
    /// One trial of a program.
    Trial(Box<Trial>),
    /// Nothing.
    Lost {
        /// `failed` or `timed-out`.
        outcome: RowOutcome,
        /// Why.
        reason: String,
    },
}
