//! Entering the kernel.
//!
//! Each benchmark is a constant in the file of its subject; the list below is the order of the
//! price list, from inexpensive to expensive as first measured.

use super::prelude::*;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::cpu::eviction::Eviction;

mod descriptors;
mod entry;
mod memory;
mod paths;
mod waiting;

pub(super) const FAMILY: Family = Family {
    name: "syscall",
    about: "the cost of entering the kernel, and of the simplest system calls",
    benches: BENCHES,
};

const BENCHES: &[Bench] = &[
    entry::FUNCTION,
    entry::SBRK_0,
    entry::INVALID,
    entry::GETCPU,
    entry::GETUID,
    entry::BRK,
    waiting::EPOLL_WAIT,
    entry::GETPID,
    entry::GETTID,
    entry::GETPPID,
    descriptors::LSEEK,
    descriptors::FCNTL,
    descriptors::CLOSE_CLOSED,
    waiting::SIGACTION,
    entry::UNAME,
    descriptors::WRITE,
    waiting::FUTEX_WAKE,
    descriptors::READ,
    entry::PRCTL,
    waiting::POLL,
    descriptors::FSTAT,
    descriptors::DUP_CLOSE,
    descriptors::PREAD,
    waiting::IO_URING,
    paths::CLOSE,
    waiting::SCHED_YIELD,
    paths::ACCESS,
    paths::STAT,
    paths::OPEN_DEPTH,
    paths::OPEN,
    memory::MPROTECT,
    descriptors::GETDENTS,
    paths::OPEN_CLOSE,
    waiting::SIGNAL,
    memory::MMAP_MUNMAP,
];

/// The entry path, where the cost of the wrapper is close to that of the raw instruction.
const VIA: Axis = Axis {
    name: "via",
    sets: "entry path: raw system-call instruction, or C library wrapper",
    points: Points::Words(&["raw", "libc"]),
    default_points: Points::Words(&["raw"]),
};

/// Whether caches and predictors are warm. The axis was added after the ops, so the warm state is
/// implied.
const STATE: Axis = Axis {
    name: "state",
    sets: "warm: after the previous op; cold: after evicting caches and branch predictors before \
           each of 21 single shots",
    points: Points::Words(&["warm", "cold"]),
    default_points: Points::Implied("warm"),
};

/// A null system call: a number that no call has, rejected as soon as it is looked up.
const NULL_CALL: &str = "syscall/invalid";

/// The work in the state that the point selects.
///
/// Cold: a walk through twice the last-level cache of this CPU, at most 256 MiB, and a run of
/// branches; see [`Eviction`].
fn in_state(params: Params<'_>, work: Work) -> Result<Work, Errno> {
    if params.word("state") != "cold" {
        return Ok(work);
    }
    let mut eviction = Eviction::for_current_cpu()?;
    Ok(work.with_eviction(move || {
        consume(eviction.evict().lines);
        Ok(())
    }))
}

/// Whether the point selects the raw instruction.
fn is_raw(params: Params<'_>) -> bool {
    params.word("via") == "raw"
}
