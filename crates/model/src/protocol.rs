//! The protocol between tool and supervisor: one JSON object a line, orders in, events out.

mod cpu_probe;
mod hello;

use serde::{Deserialize, Serialize};

pub use self::cpu_probe::CpuProbe;
pub use self::hello::{Hello, SlurmNode, SshEndpoints, WorkerBuild};
use crate::calls::CallCount;
use crate::clock::{Calibration, ClockKind, ClockSync};
use crate::counters::EventCounts;
use crate::monitor_report::MonitorReport;
use crate::program::{GroupTimes, ProgramResult, TurnResult};
use crate::program_calls::ProgramCalls;
use crate::treatment::AttachedTreatment;
use crate::watch::SystemActivity;
use crate::worker::{BatchPlan, Disturbance, Sample, WorkerSpec};

/// The version of the protocol. Both sides must have the same.
pub const PROTOCOL: u32 = 10;

/// The longest line that either side accepts: eight times a worker of 10,000 samples.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// The abstract socket name that serves as the lock of a machine. It is the same in all versions,
/// or two versions could measure at once.
pub const LOCK_NAME: &str = "oscost.run";

/// The end of the failure reason of a worker that could not connect to its peer on another machine.
/// The next worker could not connect either.
pub const PEER_UNREACHABLE_HINT: &str =
    "a firewall may block it; the other direction may be open: swap --at and --peer";

/// Orders from the tool to the supervisor. `id` identifies the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order", deny_unknown_fields)]
pub enum Order {
    /// Start a worker; it sends `ready`, then waits for `go`.
    Measure {
        /// The job.
        id: u64,
        /// The worker's specification.
        spec: Box<WorkerSpec>,
    },
    /// Time more groups of batches.
    Go {
        /// The job.
        id: u64,
        /// The number of groups.
        batches: u32,
        /// The arm, if the worker is toggled.
        #[serde(default)]
        arm: u8,
    },
    /// Return the samples and exit.
    Stop {
        /// The job.
        id: u64,
    },
    /// Count the calls of some untimed ops.
    Count {
        /// The job.
        id: u64,
        /// The worker's specification; its task is `count`.
        spec: Box<WorkerSpec>,
    },
    /// Count the calls of a running process by a tracer; it sends `ready` when it traces all of its
    /// threads, and `forms-counted` when the time is up, or at `stop`.
    CountProcess {
        /// The job.
        id: u64,
        /// The process.
        pid: u32,
        /// For how long, in milliseconds.
        for_ms: u64,
        /// Whether its descendants are counted with it.
        children: bool,
    },
    /// Start the peer of a worker on another machine; it sends `ready` with its address, and
    /// `served` when that worker has exited.
    Serve {
        /// The job.
        id: u64,
        /// The worker's specification; its task is `serve`.
        spec: Box<WorkerSpec>,
    },
    /// Apply treatments to the whole system until `stop`; it sends `ready` when they are in effect,
    /// and `detached` when they are undone.
    Attach {
        /// The job.
        id: u64,
        /// The treatments, in order.
        treatments: Vec<AttachedTreatment>,
        /// The measuring CPU.
        cpu: Option<u32>,
        /// The CPU for a noisy neighbour on another CPU; `None` for the last allowed one.
        other_cpu: Option<u32>,
    },
    /// Spin on these CPUs simultaneously and record gaps.
    Probe {
        /// The job.
        id: u64,
        /// The CPUs; empty to leave the choice to the scheduler.
        cpus: Vec<u32>,
        /// How long to spin, in milliseconds.
        spin_ms: u64,
        /// The clock to read.
        clock: ClockKind,
    },
    /// Lock the machine against other runs until the session ends or `stop`. It sends `ready` when
    /// the lock is held, or `busy` if another process holds it; with `wait`, `ready` follows later.
    Lock {
        /// The job.
        id: u64,
        /// Whether to wait for the lock.
        wait: bool,
    },
    /// Record other activity on the machine; it sends `ready`, then sleeps until `stop`.
    Watch {
        /// The job.
        id: u64,
        /// The tool's own processes, which are left out with their descendants.
        excluded_pids: Vec<u32>,
    },
    /// Measure a clock's rate, step and cost on this CPU.
    Calibrate {
        /// The job.
        id: u64,
        /// The CPU; `None` leaves it to the scheduler.
        cpu: Option<u32>,
        /// The clock.
        clock: ClockKind,
    },
}

impl Order {
    /// The job of the order.
    pub fn id(&self) -> u64 {
        match *self {
            Order::Measure { id, .. }
            | Order::Go { id, .. }
            | Order::Stop { id }
            | Order::Count { id, .. }
            | Order::CountProcess { id, .. }
            | Order::Serve { id, .. }
            | Order::Attach { id, .. }
            | Order::Probe { id, .. }
            | Order::Lock { id, .. }
            | Order::Watch { id, .. }
            | Order::Calibrate { id, .. } => id,
        }
    }
}

/// Events from the supervisor to the tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The first event of a session.
    Hello(Box<Hello>),
    /// A worker is ready for `go`.
    Ready {
        /// The job.
        id: u64,
        /// The worker's process.
        pid: u32,
        /// The address of its data socket, for two-ended benchmarks.
        addr: Option<String>,
    },
    /// The result of a pilot.
    Piloted {
        /// The job.
        id: u64,
        /// The batch plan for later workers of the case.
        plan: BatchPlan,
    },
    /// A toggled worker has timed the batches of the last `go`.
    BatchesDone {
        /// The job.
        id: u64,
    },
    /// The samples of a worker.
    Sampled {
        /// The job.
        id: u64,
        /// Its batches, in order.
        samples: Vec<Sample>,
        /// What disturbed it.
        disturbance: Box<Disturbance>,
        /// For each arm, wakeups of its monitor per op; `None` for arms without a monitor.
        #[serde(default)]
        monitor_wakeups_per_op: Vec<Option<f64>>,
        /// For each of several arms, its speculation status as reported by the kernel.
        #[serde(default)]
        speculation: Vec<Option<String>>,
        /// The batch plan, if the worker made it itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Box<BatchPlan>>,
    },
    /// The counted events of a worker.
    EventsCounted {
        /// The job.
        id: u64,
        /// The counts.
        counts: Box<EventCounts>,
    },
    /// A trial of a program has ended.
    ProgramExited {
        /// The job.
        id: u64,
        /// Its times, resource usage and output.
        result: Box<ProgramResult>,
    },
    /// Programs have taken their turns, or one of them has failed.
    TurnsTaken {
        /// The job.
        id: u64,
        /// The trials that succeeded, in their order.
        trials: Vec<TurnResult>,
        /// The program that failed, after all of them, and how.
        failure: Option<TurnFailure>,
        /// What the control group of all of them was charged, or why they had none and have not run;
        /// `None` if they were to have none.
        #[serde(default)]
        group: Option<Result<GroupTimes, String>>,
    },
    /// Treatments of the system have been undone.
    Detached {
        /// The job.
        id: u64,
        /// Counted calls of all processes, if the treatment counts them.
        counted: Option<u64>,
        /// The report of an attached monitor.
        #[serde(default)]
        monitor_report: Option<Box<MonitorReport>>,
    },
    /// The calls of a counted process.
    Counted {
        /// The job.
        id: u64,
        /// The calls.
        count: Box<CallCount>,
    },
    /// The calls of a program by form.
    FormsCounted {
        /// The job.
        id: u64,
        /// The calls.
        calls: Box<ProgramCalls>,
    },
    /// The worker that was served has exited.
    Served {
        /// The job.
        id: u64,
        /// Connections that were closed since they lacked the token or came from another address.
        unauthorised_connections: u64,
    },
    /// Another process holds the machine's lock.
    Busy {
        /// The job.
        id: u64,
        /// A description of the holder.
        holder: String,
    },
    /// The result of a probe.
    Probed {
        /// The job.
        id: u64,
        /// One entry for each CPU that could be probed.
        cpus: Vec<CpuProbe>,
    },
    /// The result of a watch.
    Watched {
        /// The job.
        id: u64,
        /// The activity between `ready` and `stop`.
        activity: Box<SystemActivity>,
    },
    /// The result of a calibration.
    Calibrated {
        /// The job.
        id: u64,
        /// Rate, step and cost of the clock.
        calibration: Calibration,
        /// The moment at which it ended, on both clocks.
        sync: ClockSync,
    },
    /// The target does not meet a requirement of the case.
    Skipped {
        /// The job.
        id: u64,
        /// What is missing.
        missing: String,
        /// The affected arm, if there are several.
        #[serde(default)]
        arm: Option<u8>,
    },
    /// The job failed.
    Failed {
        /// The job.
        id: u64,
        /// The op that failed, if known.
        at_op: Option<u64>,
        /// The reason.
        reason: String,
        /// The error number, if a system call failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        errno: Option<i32>,
        /// The affected arm, if there are several.
        #[serde(default)]
        arm: Option<u8>,
    },
    /// The job exceeded its time limit.
    TimedOut {
        /// The job.
        id: u64,
        /// The time limit, in milliseconds.
        after_ms: u64,
        /// What it waited for, if known.
        reason: Option<String>,
    },
}

impl Event {
    /// The job of the event; `None` for `hello`.
    pub fn id(&self) -> Option<u64> {
        match *self {
            Event::Hello(_) => None,
            Event::Ready { id, .. }
            | Event::Piloted { id, .. }
            | Event::Sampled { id, .. }
            | Event::EventsCounted { id, .. }
            | Event::ProgramExited { id, .. }
            | Event::TurnsTaken { id, .. }
            | Event::BatchesDone { id }
            | Event::Detached { id, .. }
            | Event::Counted { id, .. }
            | Event::FormsCounted { id, .. }
            | Event::Served { id, .. }
            | Event::Busy { id, .. }
            | Event::Probed { id, .. }
            | Event::Watched { id, .. }
            | Event::Calibrated { id, .. }
            | Event::Skipped { id, .. }
            | Event::Failed { id, .. }
            | Event::TimedOut { id, .. } => Some(id),
        }
    }
}

/// The failure of a program among others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnFailure {
    /// The number of the program.
    pub program: u8,
    /// What the worker of it alone would have answered.
    pub event: Box<Event>,
}

/// The part of an event that the supervisor parses before it forwards a worker's line unchanged.
/// The tool parses the whole.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EventHead {
    /// The kind of event.
    pub event: EventKind,
    /// The job.
    pub id: u64,
}

/// The events that a worker may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the variant of `Event` of the same name")]
pub enum EventKind {
    Ready,
    Piloted,
    Sampled,
    EventsCounted,
    ProgramExited,
    TurnsTaken,
    BatchesDone,
    Detached,
    Counted,
    FormsCounted,
    Served,
    Probed,
    Watched,
    Calibrated,
    Skipped,
    Failed,
    TimedOut,
}
