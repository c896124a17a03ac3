//! What tool and supervisor say to each other: one JSON object a line, Orders in, Events out.

use serde::{Deserialize, Serialize};

use crate::calls::CallCount;
use crate::clock::{Calibration, ClockKind, ClockSync, ClockVerdict};
use crate::facts::Facts;
use crate::monitor_report::MonitorReport;
use crate::program::ProgramResult;
use crate::treatment::AttachedTreatment;
use crate::watch::SystemActivity;
use crate::worker::{BatchPlan, Disturbance, Sample, WorkerSpec};

/// The version of this page. Unequal versions do not talk.
pub const PROTOCOL: u32 = 5;

/// The longest line either side reads: a worker of 10,000 samples fits eight times.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// The name that whoever measures on a machine holds there, in the abstract socket space. It stays
/// the same in all versions, or two versions would measure at once.
pub const LOCK_NAME: &str = "oscost.run";

/// What the reason of a worker ends with that could not reach its other end on another machine. The
/// next worker would not reach it either.
pub const PEER_UNREACHABLE_HINT: &str =
    "is a firewall between? The other way may be open: swap --at and --peer";

/// What the tool asks of the supervisor. `id` is the tool's name for the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order", deny_unknown_fields)]
pub enum Order {
    /// Start a worker; it answers `ready`, then waits for `go`.
    Measure {
        /// The job.
        id: u64,
        /// What the worker must know.
        spec: Box<WorkerSpec>,
    },
    /// Time so many more groups of batches.
    Go {
        /// The job.
        id: u64,
        /// Groups of batches.
        batches: u32,
        /// Of a worker that is toggled, the arm that they are of.
        #[serde(default)]
        arm: u8,
    },
    /// Bring back the samples and end.
    Stop {
        /// The job.
        id: u64,
    },
    /// Count the calls of some untimed ops.
    Count {
        /// The job.
        id: u64,
        /// What the worker must know; its task is `count`.
        spec: Box<WorkerSpec>,
    },
    /// Be the other end for a worker on another machine; it answers `ready` with its address, and
    /// `served` when that worker has ended.
    Serve {
        /// The job.
        id: u64,
        /// What the worker must know; its task is `serve`.
        spec: Box<WorkerSpec>,
    },
    /// Do something to the whole system until `stop`: it answers `ready` when that is done and has
    /// settled, and `detached` when it is undone.
    Attach {
        /// The job.
        id: u64,
        /// What is done, in this order.
        treatments: Vec<AttachedTreatment>,
        /// The CPU that is measured on.
        cpu: Option<u32>,
        /// The CPU of a neighbour that is to have another one; `None` for the last that may be used.
        other_cpu: Option<u32>,
    },
    /// Spin on each of these CPUs at once and look for gaps.
    Probe {
        /// The job.
        id: u64,
        /// The CPUs; none for wherever the scheduler puts it.
        cpus: Vec<u32>,
        /// How long to spin, in milliseconds.
        spin_ms: u64,
        /// The clock to look at.
        clock: ClockKind,
    },
    /// Keep other runs off this machine until the session ends or `stop`. It answers `ready` when
    /// the machine is the session's, and `held` when it is somebody else's: who then wants to wait
    /// hears `ready` later.
    Lock {
        /// The job.
        id: u64,
        /// Whether to wait for whoever has it.
        wait: bool,
    },
    /// Note who else uses the machine; it answers `ready`, then sleeps until `stop`.
    Watch {
        /// The job.
        id: u64,
        /// Processes of the tool's own, which are left out with all below them.
        excluded_pids: Vec<u32>,
    },
    /// Learn a clock's rate, step and cost on this CPU.
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
    /// The job that the order is about.
    pub fn id(&self) -> u64 {
        match *self {
            Order::Measure { id, .. }
            | Order::Go { id, .. }
            | Order::Stop { id }
            | Order::Count { id, .. }
            | Order::Serve { id, .. }
            | Order::Attach { id, .. }
            | Order::Probe { id, .. }
            | Order::Lock { id, .. }
            | Order::Watch { id, .. }
            | Order::Calibrate { id, .. } => id,
        }
    }
}

/// What the supervisor answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The first event of a session.
    Hello(Box<Hello>),
    /// A worker stands ready for `go`.
    Ready {
        /// The job.
        id: u64,
        /// The worker's process.
        pid: u32,
        /// Where its data socket listens, for two-ended benchmarks.
        addr: Option<String>,
    },
    /// What a pilot found.
    Piloted {
        /// The job.
        id: u64,
        /// How later workers of the case time their ops.
        plan: BatchPlan,
    },
    /// A worker that is toggled has timed what the last `go` asked for.
    BatchesDone {
        /// The job.
        id: u64,
    },
    /// What a worker measured.
    Sampled {
        /// The job.
        id: u64,
        /// Its batches, in order.
        samples: Vec<Sample>,
        /// What disturbed it.
        disturbance: Box<Disturbance>,
        /// For each arm, how often the monitor that it is under was woken by one op; `None` for
        /// those that are under none.
        #[serde(default)]
        monitor_wakeups_per_op: Vec<Option<f64>>,
        /// For each of several arms, how the kernel lets it speculate, in the words of its status.
        #[serde(default)]
        speculation: Vec<Option<String>>,
        /// The plan that they follow, where the worker made it itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<Box<BatchPlan>>,
    },
    /// What a trial of a program brought.
    ProgramExited {
        /// The job.
        id: u64,
        /// Its times, its account and its output.
        result: Box<ProgramResult>,
    },
    /// What was done to the system is undone.
    Detached {
        /// The job.
        id: u64,
        /// The calls that it counted, of all processes, where it counts.
        counted: Option<u64>,
        /// What a monitor saw that was attached.
        #[serde(default)]
        monitor_report: Option<Box<MonitorReport>>,
    },
    /// What a counted copy called.
    Counted {
        /// The job.
        id: u64,
        /// The calls.
        count: Box<CallCount>,
    },
    /// Whom a worker served has ended.
    Served {
        /// The job.
        id: u64,
        /// Connections that did not show the token, or came from elsewhere: they were closed.
        unauthorised_connections: u64,
    },
    /// Somebody else has the machine.
    Busy {
        /// The job.
        id: u64,
        /// Who, in words.
        holder: String,
    },
    /// What a probe saw.
    Probed {
        /// The job.
        id: u64,
        /// One entry for each CPU that could be probed.
        cpus: Vec<CpuProbe>,
    },
    /// What a watch saw.
    Watched {
        /// The job.
        id: u64,
        /// What went on between `ready` and `stop`.
        activity: Box<SystemActivity>,
    },
    /// What a calibration found.
    Calibrated {
        /// The job.
        id: u64,
        /// Rate, step and cost of the clock.
        calibration: Calibration,
        /// The moment at which it ended, on both clocks.
        sync: ClockSync,
    },
    /// The place does not offer what the case needs.
    Skipped {
        /// The job.
        id: u64,
        /// What is missing, in words.
        missing: String,
        /// The arm that lacks it, where there are several.
        #[serde(default)]
        arm: Option<u8>,
    },
    /// The job went wrong.
    Failed {
        /// The job.
        id: u64,
        /// The op at which it went wrong, where that is known.
        at_op: Option<u64>,
        /// What went wrong, in words.
        reason: String,
        /// Its number, where it was an error of a call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        errno: Option<i32>,
        /// The arm that it went wrong in, where there are several.
        #[serde(default)]
        arm: Option<u8>,
    },
    /// The job took longer than it may.
    TimedOut {
        /// The job.
        id: u64,
        /// What it was given, in milliseconds.
        after_ms: u64,
        /// What it waited for, where the job says so itself.
        reason: Option<String>,
    },
}

impl Event {
    /// The job that the event is about; `None` for `hello`.
    pub fn id(&self) -> Option<u64> {
        match *self {
            Event::Hello(_) => None,
            Event::Ready { id, .. }
            | Event::Piloted { id, .. }
            | Event::Sampled { id, .. }
            | Event::ProgramExited { id, .. }
            | Event::BatchesDone { id }
            | Event::Detached { id, .. }
            | Event::Counted { id, .. }
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

/// The head of an event: all that the supervisor reads of what a worker says, before it passes the
/// line on unchanged. The tool reads the whole.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EventHead {
    /// Which event.
    pub event: EventKind,
    /// The job.
    pub id: u64,
}

/// The events that a worker may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the variant of `Event` of the same name")]
pub enum EventKind {
    Ready,
    Piloted,
    Sampled,
    ProgramExited,
    BatchesDone,
    Detached,
    Counted,
    Served,
    Probed,
    Watched,
    Calibrated,
    Skipped,
    Failed,
    TimedOut,
}

/// Who the supervisor is and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`] of the supervisor.
    pub protocol: u32,
    /// Content hash of its catalog.
    pub catalog_hash: String,
    /// Content hash of its program.
    pub worker_hash: String,
    /// How it was built.
    pub build: WorkerBuild,
    /// Which clocks can be used here, best first.
    pub clocks: Vec<ClockVerdict>,
    /// The machine under it.
    pub facts: Facts,
    /// The private folder that it made for its workers, and removes; `None` where it could not.
    pub scratch_directory: Option<String>,
    /// Over which addresses its ssh session came; `None` where it came otherwise.
    #[serde(default)]
    pub ssh_endpoints: Option<SshEndpoints>,
}

/// The two ends of the connection that an ssh session came over, as the machine it came to saw
/// them (`SSH_CONNECTION`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshEndpoints {
    /// The address that it came from.
    pub from: String,
    /// The address that it came to.
    pub to: String,
}

impl SshEndpoints {
    /// Reads the variable that sshd(8) sets: client address and port, server address and port.
    pub fn parse(text: &str) -> Option<SshEndpoints> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [from, _, to, _] = words[..] else { return None };
        Some(SshEndpoints { from: from.to_owned(), to: to.to_owned() })
    }
}

/// How a worker was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerBuild {
    /// `static-pie` or `dynamic`.
    pub link: String,
    /// The C library and its version.
    pub libc: String,
    /// The version of the package.
    pub version: String,
}

/// What a spin on one CPU saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuProbe {
    /// The CPU.
    pub cpu: u32,
    /// How long the spin took, in nanoseconds.
    pub spin_ns: u64,
    /// Gaps over 1 us.
    pub gaps_over_1us: u64,
    /// Gaps over 5 us: interruptions.
    pub gaps_over_5us: u64,
    /// Time in gaps over 1 us, in nanoseconds.
    pub lost_ns: u64,
    /// The longest gap, in nanoseconds.
    pub max_gap_ns: u64,
    /// Time ready but not running, in nanoseconds.
    pub run_delay_ns: Option<u64>,
    /// Estimated rate of the core in cycles per nanosecond, from a chain of multiplications.
    pub core_cycles_per_ns: Option<f64>,
}

impl CpuProbe {
    /// Interruptions in a second.
    pub fn interruptions_per_s(&self) -> f64 {
        self.gaps_over_5us as f64 / (self.spin_ns.max(1) as f64 / 1e9)
    }

    /// The share of the spin that was lost in gaps, in per cent.
    pub fn lost_pct(&self) -> f64 {
        100.0 * self.lost_ns as f64 / self.spin_ns.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_ends_of_an_ssh_connection_are_read_and_nothing_else_is() {
        let came = SshEndpoints::parse("10.0.0.1 40000 fe80::1%eth0 22").unwrap();
        assert_eq!((came.from.as_str(), came.to.as_str()), ("10.0.0.1", "fe80::1%eth0"));
        for bad in ["", "10.0.0.1", "a b c", "a b c d e"] {
            assert_eq!(SshEndpoints::parse(bad), None, "{bad}");
        }
    }
}
