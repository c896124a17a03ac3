//! Counting calls in the kernel: programs that follow a process tree by eBPF.
//!
//! Purpose: the programs, what they share with this process, the process tree that they follow, and
//! what /proc says about the time of a process. It must not know how a program is run, what a call
//! costs, or how anything is shown.
//!
//! * [`KernelCounter`]: loads the programs, attaches them while something is counted, and reads what
//!   they have counted. Nothing is pinned: programs and maps live as long as this process's
//!   descriptors, however it ends.
//! * [`process_times`]: what the kernel has charged a running process.
//! * [`stolen_time`]: what a hypervisor has taken from this machine meanwhile.
//! * [`c_library`]: the C library of a program, at whose functions clock reads are counted.
//!
//! What makes a call cheap or expensive is a table of `oscost_model`, which the counter of the worker
//! reads as well ([`oscost_model::call_classes`]): the programs get it as the entries of a map.

#[cfg(not(feature = "ebpf"))]
mod absent;
pub mod c_library;
#[cfg(feature = "ebpf")]
mod clock_probes;
pub mod event_sum;
pub mod form_sum;
pub mod layout;
pub mod process_times;
#[cfg(feature = "ebpf")]
mod skipped_runs;
pub mod stolen_time;
pub mod totals;
#[cfg(feature = "ebpf")]
mod tree;

#[cfg(not(feature = "ebpf"))]
pub use absent::KernelCounter;
#[cfg(feature = "ebpf")]
pub use tree::KernelCounter;

use std::path::Path;

use crate::ph::requirements::{
    Availability, BUILD, Requirement, check_requirements, pid_namespace,
};

/// Why calls cannot be counted in the kernel here; `None` if nothing is known to forbid it.
pub fn missing_requirement() -> Option<String> {
    let requirements = check_requirements(BUILD, Path::new("/"));
    first_missing(&requirements).or_else(|| pid_namespace().err())
}

/// The first requirement that is not met.
fn first_missing(requirements: &[Requirement]) -> Option<String> {
    let missing = requirements.iter().find(|it| it.availability == Availability::No)?;
    Some(format!("{}: {}", missing.name, missing.detail))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ph::requirements::Build;

    #[test]
    fn a_kernel_without_type_information_is_the_reason_of_a_tracer() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        file("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
        file("proc/self/status", "CapEff:\t000001ffffffffff\n");
        file("proc/self/uid_map", "         0          0 4294967295\n");
        let missing = || first_missing(&check_requirements(Build::With, root.path()));
        let why = missing().unwrap();
        assert!(why.starts_with("btf: no /sys/kernel/btf/vmlinux"), "{why}");
        file("sys/kernel/btf/vmlinux", "");
        assert_eq!(missing(), None);
    }
}
