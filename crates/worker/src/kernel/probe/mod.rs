//! What observes or filters another process: ptrace, monitors, seccomp filters and their listeners,
//! BPF programs, the audit system, counters of events.

pub mod audit;
pub mod bpf;
pub mod monitor;
pub mod perf;
pub mod ptrace;
pub mod seccomp;
