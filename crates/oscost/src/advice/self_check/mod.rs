//! Which of a machine's conditions limit oscost itself: its rows, its treatments and its checks.
//!
//! A rule is one function of the facts that were gathered; it says of one subject what is so, what
//! that costs and what to do. Noise is not judged here (that is [`super::doctor`]).

mod conditions;
mod judgement;
mod limits;
mod places;
mod process;
mod system;
#[cfg(test)]
mod tests;
mod worker;

pub use conditions::{
    CallTrial, Conditions, Folder, FolderAccess, HostConditions, LockFile, ProcView, ProcessState,
    WorkerConditions,
};
pub use judgement::{Judgement, State};
pub use worker::{IO_URING, PTRACE, USERFAULTFD};

/// A rule: its subject and its function.
type Rule = (&'static str, fn(&Conditions) -> Judgement);

/// All rules. Subjects of the same state are listed in this order.
const RULES: &[Rule] = &[
    ("worker", worker::worker),
    ("/proc", system::proc),
    ("other users", system::other_users),
    ("/dev/null", places::null_device),
    ("/dev/shm", places::shared_memory),
    ("ptrace", worker::ptrace),
    ("seccomp", process::seccomp),
    ("io_uring", worker::io_uring),
    ("userfaultfd", worker::userfaultfd),
    ("perf events", worker::perf_events),
    ("BPF", process::bpf),
    ("capabilities", process::capabilities),
    ("user namespaces", process::user_namespaces),
    ("open files", limits::open_files),
    ("processes", limits::processes),
    ("file size", limits::file_size),
    ("address space", limits::address_space),
    ("stack", limits::stack),
    ("locked memory", limits::locked_memory),
    ("CPUs", system::cpus),
    ("CPU quota", system::cpu_quota),
    ("clock", worker::clock),
    ("timer slack", system::timer_slack),
    ("store", places::store),
    ("lock file", places::lock_file),
    ("temporary files", places::temporary),
];

/// Judges all conditions, worst first.
pub fn judge(conditions: &Conditions) -> Vec<Judgement> {
    let judged = |(subject, rule): &Rule| Judgement { subject, ..rule(conditions) };
    let mut judgements: Vec<Judgement> = RULES.iter().map(judged).collect();
    judgements.sort_by_key(|judgement| judgement.state);
    judgements
}
