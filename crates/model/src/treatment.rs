//! Treatments, made ready to be done: what the text of a place names, as the supervisor takes it.
//!
//! There are two kinds. What is *applied* is done to one process before its work begins, and meets
//! all that it starts; what is *attached* is done to the whole system, for as long as a job lasts.

use serde::{Deserialize, Serialize};

/// What a place does: to the process that is measured, and to its system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treated {
    /// Done to the process, in this order.
    pub applied: Vec<Applied>,
    /// Done to its system, in this order.
    pub attached: Vec<Attached>,
}

/// Done to one process, and to all that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what", try_from = "Flat")]
pub enum Applied {
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
        by: i32,
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

impl Applied {
    /// Whether a process that already runs can take it upon itself: what fork twins need.
    pub fn fits_twins(&self) -> bool {
        !matches!(self, Applied::Env { .. } | Applied::Wrapper { .. })
    }

    /// Whether another process stands beside the measured one on its CPU and is woken by its
    /// calls: switches are then the treatment's, and no disturbance.
    pub fn has_monitor(&self) -> bool {
        matches!(self, Applied::SeccompTrace | Applied::SeccompNotify | Applied::Ptrace)
    }
}

/// What a control group is limited in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "of", try_from = "Flat")]
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
        most: u32,
    },
}

/// Done to the whole system while a job lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what", try_from = "Flat")]
pub enum Attached {
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
    /// A noisy neighbour.
    Antagonist {
        /// What it does.
        does: Noise,
        /// Whether it shares the measured CPU; else it has another one, if there is one.
        same_cpu: bool,
    },
}

/// What a noisy neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// It computes.
    Cpu,
    /// It writes through more memory than any cache holds.
    Memory,
    /// It makes system calls.
    Syscalls,
}

/// Any treatment as it is read: the fields of all of them. A reader for each would cost the cell,
/// which every fork copies, 50 KiB of program.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Flat {
    what: String,
    of: String,
    program: Option<Vec<u64>>,
    by: Option<i32>,
    limits: Option<Vec<Limit>>,
    name: Option<String>,
    value: Option<String>,
    command: Option<Vec<String>>,
    percent: Option<u32>,
    bytes: Option<u64>,
    most: Option<u32>,
    counts: Option<bool>,
    does: Option<Noise>,
    same_cpu: Option<bool>,
}

/// What a treatment of a name that nobody knows, or without one of its fields, is refused with.
const UNKNOWN: &str = "no such treatment, or it lacks a field";

impl TryFrom<Flat> for Applied {
    type Error = &'static str;

    fn try_from(it: Flat) -> Result<Self, Self::Error> {
        let read = || {
            Some(match it.what.as_str() {
                "seccomp" => Applied::Seccomp { program: it.program? },
                "seccomp-trace" => Applied::SeccompTrace,
                "seccomp-notify" => Applied::SeccompNotify,
                "ptrace" => Applied::Ptrace,
                "sud" => Applied::Sud,
                "nice" => Applied::Nice { by: it.by? },
                "cgroup" => Applied::Cgroup { limits: it.limits? },
                "env" => Applied::Env { name: it.name?, value: it.value? },
                "wrapper" => Applied::Wrapper { command: it.command? },
                _ => return None,
            })
        };
        read().ok_or(UNKNOWN)
    }
}

impl TryFrom<Flat> for Limit {
    type Error = &'static str;

    fn try_from(it: Flat) -> Result<Self, Self::Error> {
        let read = || {
            Some(match it.of.as_str() {
                "cpu" => Limit::Cpu { percent: it.percent? },
                "memory" => Limit::Memory { bytes: it.bytes? },
                "pids" => Limit::Pids { most: it.most? },
                _ => return None,
            })
        };
        read().ok_or(UNKNOWN)
    }
}

impl TryFrom<Flat> for Attached {
    type Error = &'static str;

    fn try_from(it: Flat) -> Result<Self, Self::Error> {
        let read = || {
            Some(match it.what.as_str() {
                "ebpf" => Attached::Ebpf { counts: it.counts? },
                "ftrace" => Attached::Ftrace,
                "clocksource" => Attached::Clocksource { name: it.name? },
                "antagonist" => Attached::Antagonist { does: it.does?, same_cpu: it.same_cpu? },
                _ => return None,
            })
        };
        read().ok_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_treatment_is_read_as_it_was_written() {
        let limits =
            vec![Limit::Cpu { percent: 50 }, Limit::Memory { bytes: 1 }, Limit::Pids { most: 2 }];
        let treated = Treated {
            applied: vec![
                Applied::Seccomp { program: vec![u64::MAX, 0] },
                Applied::SeccompTrace,
                Applied::SeccompNotify,
                Applied::Ptrace,
                Applied::Sud,
                Applied::Nice { by: -5 },
                Applied::Cgroup { limits },
                Applied::Env { name: "A".into(), value: "b c".into() },
                Applied::Wrapper { command: vec!["strace".into(), "-f".into()] },
            ],
            attached: vec![
                Attached::Ebpf { counts: true },
                Attached::Ftrace,
                Attached::Clocksource { name: "tsc".into() },
                Attached::Antagonist { does: Noise::Syscalls, same_cpu: true },
            ],
        };
        let text = serde_json::to_string(&treated).unwrap();
        assert_eq!(serde_json::from_str::<Treated>(&text).unwrap(), treated);
    }

    #[test]
    fn what_nobody_knows_or_lacks_a_field_is_refused() {
        for text in [
            r#"{"what":"magic"}"#,
            r#"{"what":"nice"}"#,
            r#"{"what":"nice","by":1,"colour":2}"#,
            r#"{"what":"cgroup","limits":[{"of":"time"}]}"#,
            r#"{"by":1}"#,
        ] {
            assert!(serde_json::from_str::<Applied>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Attached>(r#"{"what":"ebpf"}"#).is_err());
    }
}
