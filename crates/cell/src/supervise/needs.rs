//! What a case needs of its place, asked before anything is built.

use std::fs::File;

use oscost_model::definition::{Definition, Requirement};
use oscost_model::point::Point;

use crate::sys::{Errno, counter, io_uring, vdso};

/// The first need that is not met at `point`, in words.
pub(super) fn missing(definition: &Definition, point: &Point) -> Option<String> {
    definition
        .needs
        .iter()
        .filter(|need| point.includes(&need.when))
        .find_map(|need| unmet(&need.what))
}

/// Whether an error says that this kernel lacks something or this place forbids it: no fault of the
/// case.
pub(super) fn is_lacking(error: Errno) -> bool {
    [Errno::ENOSYS, Errno::EPERM, Errno::EACCES, Errno::EOPNOTSUPP, Errno::EROFS].contains(&error)
}

/// A word about the filter that system calls go through here; empty where there is none.
pub(super) fn filtered() -> &'static str {
    /// The mode in which a filter decides (`Seccomp` in proc(5)).
    const BY_FILTER: &str = "2";
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
    match mode.map(str::trim) {
        Some(BY_FILTER) => {
            "; a seccomp filter decides about system calls here (docker run takes \
             --security-opt seccomp=unconfined)"
        }
        _ => "",
    }
}

/// Why there is no io_uring here, and the way to one; `None` where there is one.
fn no_io_uring() -> Option<String> {
    const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";
    let error = io_uring::Ring::new(1).err()?;
    let switch = std::fs::read_to_string(SWITCH).unwrap_or_default();
    Some(match (error, switch.trim()) {
        (Errno::ENOSYS, _) => format!(
            "this kernel has no io_uring (Linux 5.1, CONFIG_IO_URING): {error}{}",
            filtered()
        ),
        (Errno::EPERM, by @ ("1" | "2")) => format!(
            "io_uring is switched off here: {SWITCH} is {by}; \
             `sysctl kernel.io_uring_disabled=0` allows it"
        ),
        _ => format!("io_uring_setup(2) is refused here: {error}{}", filtered()),
    })
}

fn unmet(what: &Requirement) -> Option<String> {
    match what {
        Requirement::Readable(path) => File::open(path)
            .err()
            .map(|error| format!("{path} cannot be opened for reading: {error}")),
        Requirement::VdsoFunction(name) => {
            // x86-64 and aarch64 prefix the function's name differently.
            let found =
                vdso::has(&format!("__vdso_{name}")) || vdso::has(&format!("__kernel_{name}"));
            (!found).then(|| format!("this kernel's vDSO has no {name}"))
        }
        Requirement::Counter => counter::declared_unusable(),
        Requirement::IoUring => no_io_uring(),
        Requirement::Meaning(why) => Some(why.clone()),
    }
}
