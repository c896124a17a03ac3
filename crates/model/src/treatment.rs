//! Treatments, made ready to be done: what the text of a place names, as the supervisor takes it.
//!
//! There are two kinds. What is *applied* is done to one process before its work begins, and meets
//! all that it starts; what is *attached* is done to the whole system, for as long as a job lasts.

use serde::{Deserialize, Serialize};

/// What a place does: to the process that is measured, and to its system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreatmentSet {
    /// Done to the process, in this order.
    pub applied: Vec<AppliedTreatment>,
    /// Done to its system, in this order.
    pub attached: Vec<AttachedTreatment>,
}

/// Done to one process, and to all that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AppliedTreatment {
    /// A seccomp filter (SECCOMP_SET_MODE_FILTER).
    Seccomp {
        /// Its classic BPF program, an instruction each (`struct sock_filter`): the code in the
        /// highest 16 bits, then 8 bits `jt`, 8 bits `jf`, 32 bits `k`.
        program: Vec<u64>,
    },
    /// A filter that stops every call for a tracer (SECCOMP_RET_TRACE), and the tracer.
    SeccompTrace,
    /// A filter that asks a listener about every call (SECCOMP_RET_USER_NOTIF), and the listener,
    /// which lets all go on.
    SeccompNotify,
    /// A tracer that stops every call at its entry and its exit (PTRACE_SYSCALL).
    Ptrace,
    /// Syscall User Dispatch with a selector that lets every call through.
    Sud,
    /// A nice value, added to its own.
    Nice {
        /// How much nicer; below zero it takes a right.
        increment: i32,
    },
    /// A control group of its own.
    Cgroup {
        /// What it is limited in; none for the group alone.
        limits: Vec<Limit>,
    },
    /// A variable of its environment.
    Env {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Another program that starts it.
    Wrapper {
        /// The program and its arguments; the measured command follows them.
        command: Vec<String>,
    },
}

impl AppliedTreatment {
    /// Whether a process that already runs can take it upon itself: what fork twins need.
    pub fn supports_twins(&self) -> bool {
        !matches!(self, AppliedTreatment::Env { .. } | AppliedTreatment::Wrapper { .. })
    }

    /// Whether another process stands beside the measured one on its CPU and is woken by its
    /// calls: switches are then the treatment's, and no disturbance.
    pub fn has_monitor(&self) -> bool {
        matches!(
            self,
            AppliedTreatment::SeccompTrace
                | AppliedTreatment::SeccompNotify
                | AppliedTreatment::Ptrace
        )
    }
}

/// What a control group is limited in.
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
        /// How many.
        max: u32,
    },
}

/// Done to the whole system while a job lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AttachedTreatment {
    /// An eBPF program at the entry of every call of every process (`raw_syscalls:sys_enter`).
    Ebpf {
        /// Whether it counts the calls by their numbers; else it does nothing.
        counts: bool,
    },
    /// ftrace's events at the entry and the exit of every call, into its ring buffer.
    Ftrace,
    /// Another clock source of the kernel's.
    Clocksource {
        /// Its name.
        name: String,
    },
    /// The monitor pH, which a program of the tool's attaches and holds.
    Ph {
        /// That program and its arguments.
        monitor_command: Vec<String>,
    },
    /// A noisy neighbour.
    Antagonist {
        /// What it does.
        load: AntagonistLoad,
        /// Whether it shares the measured CPU; else it has another one, if there is one.
        same_cpu: bool,
    },
}

/// What a noisy neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AntagonistLoad {
    /// It computes.
    Cpu,
    /// It writes through more memory than any cache holds.
    Memory,
    /// It makes system calls.
    Syscalls,
}
