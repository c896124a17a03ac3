//! What the file of every family imports.

pub(super) use crate::bench::{
    Axis, Bench, Capability, ChannelObservation, ExpectedCall, Family, FileObservation, Need,
    OpError, Params, Points, RawCall, Resource, Shape, Unit, Value, Work, WorkBody, at_least,
    exactly, once_per, other_calls, up_to,
};
pub(super) use crate::kernel::{self, Errno};

/// A null system call: the floor of ops that make one.
pub(super) const NULL_CALL: &str = "syscall/getppid:via=raw";

/// Kernel entry and exit alone, by a number that no call has: the floor of calls that may do less
/// than getppid(2).
pub(super) const KERNEL_ENTRY: &str = "syscall/invalid";

/// Whether code is optimised, or unoptimised as in some studies.
pub(super) const CODE: Axis = Axis {
    name: "code",
    sets: "whether counter and arguments stay in registers, or go through memory as in \
           unoptimised code",
    points: Points::Words(&["optimised", "plain"]),
    default_points: Points::Implied("optimised"),
};

/// A skipped row whose processes cannot be pinned.
pub(super) fn unpinned_work() -> Work {
    Work::unavailable(
        "each process must stay on its CPU, and sched_setaffinity(2) is not permitted here",
    )
}

/// A skipped row that would compare time stamps of two CPUs whose clocks are not known to agree.
pub(super) fn incomparable_clocks() -> Work {
    Work::unavailable(
        "time stamps of two CPUs are compared by the cycle counter, and the kernel does not use it \
         as clocksource here: select peer_cpu=same",
    )
}

/// The work; or, if the system lacks a resource or a feature, a skipped row that says so.
pub(super) fn or_unavailable(work: Result<Work, Errno>) -> Result<Work, Errno> {
    match work {
        Err(Errno::EAGAIN) => Ok(Work::unavailable(
            "no further process or thread can be created here: `ulimit -u` or a pids cgroup sets \
             the limit",
        )),
        Err(Errno::ENOMEM) => Ok(Work::unavailable(
            "no memory for the peer: `ulimit -v` or a memory cgroup sets the limit",
        )),
        Err(Errno::UNAVAILABLE) => Ok(Work::unavailable(Errno::UNAVAILABLE.to_string())),
        Err(Errno(libc::EAFNOSUPPORT)) => Ok(Work::unavailable(
            "this kernel has no sockets of this kind, or a filter blocks them",
        )),
        other => other,
    }
}
