//! Raw system calls that are prepared once and made many times in a timed loop, by theme.

mod call;
mod files;
mod memory;
mod task;
#[cfg(test)]
mod tests;
mod wait;

pub use call::{Call, CallPair, ReadyCall, ReadyCallPair};
pub use files::{
    access, close_closed_descriptor, dup_close, fcntl, fstat, getdents, lseek, open_close_in,
    pread, read, stat, write,
};
pub use memory::{mmap_munmap, mprotect};
pub use task::{brk, getcpu, getpid, gettid, getuid, invalid, prctl, sched_yield, uname};
#[cfg(test)]
pub(crate) use tests::CallCounter;
pub use wait::{
    EPOLL_WAIT, POLL, SelfSignal, epoll_wait, futex_wake, poll, sigaction, signal_to_self,
};

pub(in crate::kernel) use files::find_closed_descriptor;
pub(in crate::kernel) use wait::no_op_action;
