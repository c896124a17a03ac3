//! What observes or filters another process: ptrace, monitors, seccomp filters and their listeners,
//! the calls that a filter forbids, BPF programs, the audit system, counters of events, points of
//! tracing.

pub mod argument_area;
pub mod attach;
pub mod audit;
pub mod auxiliary_vector;
pub mod bpf;
pub mod bpf_link;
pub mod bpf_objects;
pub mod filter_install;
pub mod forbidden_call;
pub mod mapping_count;
pub mod monitor;
pub mod perf;
pub mod program_trace;
pub mod ptrace;
pub mod running_process;
pub mod seccomp;
pub mod task_descriptor;
pub mod trace_event;
