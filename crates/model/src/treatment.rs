//! Resolved treatments, as the supervisor executes them.
//!
//! An *applied* treatment changes one process before its work begins, and its descendants inherit
//! it; an *attached* treatment changes the whole system for the duration of a job.

use serde::{Deserialize, Serialize};

use crate::raw_call::RawCall;

/// The treatments of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreatmentSet {
    /// Applied to the process, in this order.
    pub applied: Vec<AppliedTreatment>,
    /// Attached to its system, in this order.
    pub attached: Vec<AttachedTreatment>,
}

/// A treatment of a process and its descendants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AppliedTreatment {
    /// A seccomp filter (SECCOMP_SET_MODE_FILTER).
    Seccomp {
        /// Its classic BPF program, one instruction (`struct sock_filter`) per number: the code in
        /// the highest 16 bits, then 8 bits `jt`, 8 bits `jf`, 32 bits `k`.
        program: Vec<u64>,
    },
    /// A filter that stops every call for a tracer (SECCOMP_RET_TRACE), and the tracer.
    SeccompTrace,
    /// A filter that notifies a listener of every call (SECCOMP_RET_USER_NOTIF), and the listener,
    /// which continues all calls.
    SeccompNotify,
    /// A tracer that stops every call at its entry and its exit (PTRACE_SYSCALL).
    Ptrace,
    /// Syscall User Dispatch with a selector that allows every call.
    Sud,
    /// A change of the nice value.
    Nice {
        /// The increment; a negative one needs privilege.
        increment: i32,
    },
    /// Ops that are timed one by one, each after a walk through memory. It is part of the work: a
    /// program has no ops.
    Cool {
        /// The bytes of the walk; 0 for none.
        walk_bytes: u64,
    },
    /// How the prepared raw system calls of an op are made. It is part of the work: a program makes
    /// its own.
    Call {
        /// Inlined, or through a function.
        how: RawCall,
    },
    /// A cgroup of its own.
    Cgroup {
        /// The limits of the cgroup; may be empty.
        limits: Vec<Limit>,
    },
    /// An environment variable.
    Env {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A program that starts the measured command.
    Wrapper {
        /// The program and its arguments; the measured command follows them.
        command: Vec<String>,
    },
}

impl AppliedTreatment {
    /// Whether a running process can apply it to itself, as fork twins require.
    pub fn supports_twins(&self) -> bool {
        !matches!(self, AppliedTreatment::Env { .. } | AppliedTreatment::Wrapper { .. })
    }

    /// Whether programs under it can take turns in one worker: it is neither part of the worker's own
    /// start, nor a cgroup, which would be charged for all trials of a worker together.
    pub fn allows_turns(&self) -> bool {
        !matches!(
            self,
            AppliedTreatment::Env { .. }
                | AppliedTreatment::Wrapper { .. }
                | AppliedTreatment::Sud
                | AppliedTreatment::Cgroup { .. }
        )
    }

    /// Whether it adds a process on the measured CPU that is woken by the measured system calls:
    /// context switches are then no disturbance.
    pub fn has_monitor(&self) -> bool {
        matches!(
            self,
            AppliedTreatment::SeccompTrace
                | AppliedTreatment::SeccompNotify
                | AppliedTreatment::Ptrace
        )
    }
}

/// A limit of a cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Limit {
    /// CPU time, as a share of one CPU.
    Cpu {
        /// In per cent.
        percent: u32,
    },
    /// Memory.
    Memory {
        /// In bytes.
        bytes: u64,
    },
    /// Processes and threads.
    Pids {
        /// The maximum number.
        max: u32,
    },
}

/// A treatment of the whole system for the duration of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AttachedTreatment {
    /// An eBPF program at the entry of every system call (`raw_syscalls:sys_enter`).
    Ebpf {
        /// Whether it counts the calls by number; otherwise it is empty.
        counts: bool,
    },
    /// ftrace events at the entry and exit of every system call.
    Ftrace,
    /// Another clock source of the kernel.
    Clocksource {
        /// Its name.
        name: String,
    },
    /// The monitor pH, which a monitor process of the tool attaches.
    Ph {
        /// The command of the monitor process.
        monitor_command: Vec<String>,
    },
    /// A noisy neighbour.
    Antagonist {
        /// Its load.
        load: AntagonistLoad,
        /// Whether it runs on the measured CPU; otherwise on another one, if there is one.
        same_cpu: bool,
    },
}

/// The load of a noisy neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AntagonistLoad {
    /// Computation.
    Cpu,
    /// Writes to more memory than the caches hold.
    Memory,
    /// System calls.
    Syscalls,
}
