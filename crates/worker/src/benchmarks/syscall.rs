//! Entering the kernel.
//!
//! A benchmark stands in the file of its theme, as a constant with its name; the list below is the
//! order of the price list, from cheap to dear as it came out where it was first measured.

use super::prelude::*;
use crate::kernel::cpu::black_box::keep;
use crate::kernel::cpu::eviction::Eviction;

mod descriptors;
mod door;
mod memory;
mod paths;
mod waiting;

pub(super) const FAMILY: Family = Family {
    name: "syscall",
    about: "what it costs to enter the kernel, and what the simplest calls do there",
    benches: BENCHES,
};

const BENCHES: &[Bench] = &[
    door::FUNCTION,
    door::SBRK_0,
    door::INVALID,
    door::GETCPU,
    door::GETUID,
    door::BRK,
    waiting::EPOLL_WAIT,
    door::GETPID,
    door::GETTID,
    door::GETPPID,
    descriptors::LSEEK,
    descriptors::FCNTL,
    descriptors::CLOSE_CLOSED,
    waiting::SIGACTION,
    door::UNAME,
    descriptors::WRITE,
    waiting::FUTEX_WAKE,
    descriptors::READ,
    door::PRCTL,
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

/// The way in, where the library's costs what the bare instruction does, or nearly.
const VIA: Axis = Axis {
    name: "via",
    sets: "the way in: the bare instruction, or the C library's wrapper",
    points: Points::Words(&["raw", "libc"]),
    default_points: Points::Words(&["raw"]),
};

/// What the core remembers of the op. It came later than the ops, so that what is usual goes unsaid.
const STATE: Axis = Axis {
    name: "state",
    sets: "what the core remembers: the op that it has just done, or nothing, after an eviction \
           before each of 21 single shots",
    points: Points::Words(&["warm", "cold"]),
    default_points: Points::Implied("warm"),
};

/// The kernel's bare door: a number that no call has, refused as soon as it is looked up.
const DOOR: &str = "syscall/invalid";

/// The work in the state that the point names.
///
/// Cold: a walk through twice the last-level cache of this CPU, at most 256 MiB, and a run of
/// branches; see [`Eviction`].
fn in_state(at: Params<'_>, work: Work) -> Result<Work, Errno> {
    if at.word("state") != "cold" {
        return Ok(work);
    }
    let mut eviction = Eviction::for_this_cpu()?;
    Ok(work.with_eviction(move || {
        keep(eviction.evict().lines);
        Ok(())
    }))
}

/// Whether the point wants the bare instruction.
fn is_raw(at: Params<'_>) -> bool {
    at.word("via") == "raw"
}
