//! Entering the kernel.
//!
//! Each benchmark is a constant in the file of its subject; the list below is the order of the
//! price list, from inexpensive to expensive as first measured.

use super::prelude::{Bench, Family};

mod axes;
mod descriptors;
mod entry;
mod memory;
mod paths;
mod wait;

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
    wait::EPOLL_WAIT,
    entry::GETPID,
    entry::GETTID,
    entry::GETPPID,
    descriptors::LSEEK,
    descriptors::FCNTL,
    descriptors::CLOSE_CLOSED,
    wait::SIGACTION,
    entry::UNAME,
    descriptors::WRITE,
    wait::FUTEX_WAKE,
    descriptors::READ,
    entry::PRCTL,
    wait::POLL,
    descriptors::FSTAT,
    descriptors::DUP_CLOSE,
    descriptors::PREAD,
    wait::IO_URING,
    paths::CLOSE,
    wait::SCHED_YIELD,
    paths::ACCESS,
    paths::STAT,
    paths::OPEN_DEPTH,
    paths::OPEN,
    memory::MPROTECT,
    descriptors::GETDENTS,
    paths::OPEN_CLOSE,
    wait::SIGNAL,
    memory::MMAP_MUNMAP,
];
