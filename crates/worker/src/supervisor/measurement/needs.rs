//! The needs of a case, checked before its work is built.

use std::fs::File;

use oscost_model::clock::ClockKind;
use oscost_model::definition::{Definition, Requirement};
use oscost_model::point::Point;
use oscost_model::resource::Resource;

use crate::kernel::event::io_uring;
use crate::kernel::machine::resources;
use crate::kernel::time::vdso;
use crate::kernel::{Errno, counter};

/// Why an op that sleeps, or that measures time, has no figure when instructions are counted.
pub(super) const NO_PASSING_TIME: &str =
    "the passage of time, which instruction counts do not include";

/// The first need that is not met at `point`, as text. A remote peer has its own CPU; time passes
/// for every clock except the instruction counter. Before it was pinned, the process was allowed the
/// CPUs `allowed`.
pub(super) fn unmet_need(
    definition: &Definition,
    point: &Point,
    has_remote_peer: bool,
    clock: ClockKind,
    allowed: &[u32],
) -> Option<String> {
    let counts = clock == ClockKind::Instructions;
    definition
        .needs
        .iter()
        .filter(|need| point.includes(&need.when))
        .filter(|need| {
            !has_remote_peer || need.requirement != Requirement::Resource(Resource::SecondCpu)
        })
        .filter(|need| counts || need.requirement != Requirement::WallTime)
        .find_map(|need| unmet_reason(&need.requirement, allowed))
}

/// A note about the seccomp filter of this process; empty if there is none.
pub(super) fn seccomp_note() -> &'static str {
    /// The mode in which a filter decides (`Seccomp` in proc(5)).
    const BY_FILTER: &str = "2";
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
    match mode.map(str::trim) {
        Some(BY_FILTER) => {
            "; a seccomp filter restricts system calls here (with docker: --security-opt \
             seccomp=unconfined)"
        }
        _ => "",
    }
}

/// The sysctl that disables io_uring for all users, or for all outside a group.
const IO_URING_SYSCTL: &str = "/proc/sys/kernel/io_uring_disabled";

/// Why io_uring is not available, and what to do; `None` if it is.
fn io_uring_unavailable() -> Option<String> {
    let error = io_uring::Ring::new(1).err()?;
    let switch = std::fs::read_to_string(IO_URING_SYSCTL).unwrap_or_default();
    Some(io_uring_refusal(error, switch.trim(), seccomp_note()))
}

fn io_uring_refusal(error: Errno, switch: &str, filtered: &str) -> String {
    match (error, switch) {
        (Errno::ENOSYS, _) if filtered.is_empty() => {
            format!("this kernel has no io_uring (Linux 5.1, CONFIG_IO_URING): {error}")
        }
        (Errno::EPERM, "1" | "2") => format!(
            "io_uring is disabled: {IO_URING_SYSCTL} is {switch}; \
             `sysctl kernel.io_uring_disabled=0` enables it"
        ),
        _ => format!("io_uring_setup(2) is refused: {error}{filtered}"),
    }
}

fn unmet_reason(requirement: &Requirement, allowed: &[u32]) -> Option<String> {
    match requirement {
        Requirement::Readable(path) => {
            File::open(path).err().map(|error| format!("cannot open {path} for reading: {error}"))
        }
        Requirement::VdsoFunction(name) => {
            // x86-64 and aarch64 prefix the function's name differently.
            let found = vdso::has_function(&format!("__vdso_{name}"))
                || vdso::has_function(&format!("__kernel_{name}"));
            (!found).then(|| format!("this kernel's vDSO has no {name}"))
        }
        Requirement::Counter => counter::unusable_reason(),
        Requirement::IoUring => io_uring_unavailable(),
        Requirement::WallTime => Some(NO_PASSING_TIME.to_owned()),
        Requirement::Resource(Resource::SecondCpu) => resources::missing_second_cpu(allowed),
        Requirement::Resource(what) => resources::missing(*what),
        Requirement::Capability(_) => None,
        Requirement::Undefined(reason) => Some(reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_io_uring_names_the_reason_and_the_remedy() {
        let filter = "; a filter";
        let switched = io_uring_refusal(Errno::EPERM, "2", "");
        assert!(switched.contains("io_uring_disabled is 2"), "{switched}");
        assert!(switched.contains("`sysctl kernel.io_uring_disabled=0`"), "{switched}");
        // The sysctl is checked before any filter.
        assert_eq!(io_uring_refusal(Errno::EPERM, "2", filter), switched);
        let filtered = io_uring_refusal(Errno::EPERM, "0", filter);
        assert!(filtered.ends_with(filter) && !filtered.contains("disabled"), "{filtered}");
        let pretended = io_uring_refusal(Errno::ENOSYS, "0", filter);
        assert!(pretended.ends_with(filter), "a filter may say ENOSYS too: {pretended}");
        assert!(io_uring_refusal(Errno::ENOSYS, "", "").contains("Linux 5.1"));
    }

    #[test]
    fn a_missing_or_forbidden_feature_is_not_a_fault() {
        assert!([Errno::ENOSYS, Errno::EPERM, Errno::EROFS].into_iter().all(Errno::is_unavailable));
        assert!(
            ![Errno::EINVAL, Errno::EPROTO, Errno::EMFILE].into_iter().any(Errno::is_unavailable)
        );
    }
}
