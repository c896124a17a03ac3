//! Raw system calls that are prepared once and made many times in a timed loop, by theme.

mod call;
mod descriptors;
mod file_state;
mod files;
mod locks;
mod memory;
mod pages;
mod paths;
mod process;
mod random;
mod scheduling;
mod semaphores;
mod signals;
mod start;
mod system;
mod task;
#[cfg(test)]
mod tests;
mod wait;

pub use call::{Call, CallPair, ReadyCall, ReadyCallPair};
pub use descriptors::{
    FlagCommand, PipeRequest, dup3_close, dup3_onto_open, dupfd_close, epoll_close, eventfd_close,
    fcntl_flags, memfd_close, pidfd_close, pipe_ioctl, signalfd_close, timerfd_close,
};
pub use file_state::{
    AttributeCall, StatusCall, SyncCall, VECTOR_BYTES, VectorCall, allocate_and_punch, attributes,
    readahead, status, sync_clean, truncate, vectors, will_need, wont_need,
};
pub use files::{
    access, close_closed_descriptor, dup_close, fcntl, fstat, getdents, lseek, open_close_in,
    pread, read, stat, write,
};
pub use locks::{flock, lease, record_lock};
pub use memory::{mmap_munmap, mprotect};
pub use pages::{
    get_mempolicy, mbind, merge_unmerge, mincore, mlock_munlock, process_vm_readv, set_mempolicy,
};
pub use paths::{
    OpenCall, chdir, fchdir, fgetxattr, flistxattr, getcwd, open_close_by, open_close_file,
    open_close_folder, readlink_in, stat_in,
};
pub use process::{GroupCall, LimitCall, core_limit, group_id, setpgid_and_back, waitid_any};
pub use random::{getrandom, read_urandom};
pub use scheduling::{
    batch_and_back, fifo_and_back, getpriority, migrate_and_return, sched_getaffinity,
    sched_setaffinity, set_timer_slack, setpriority, timer_slack,
};
pub use semaphores::{SemaphoreUndo, semaphore_post_wait};
pub use signals::{block_unblock, kill_0};
pub use start::{execve_missing, map_file_over, map_file_unmap, set_robust_list, set_tid_address};
pub use system::{
    capget, capset_same, get_no_new_privs, landlock_ruleset_close, mkdir_rmdir, pread_text,
    pwrite_text, pwrite_text_to_both, set_no_new_privs, setresuid_same, statfs,
};
pub use task::{brk, getcpu, getpid, getppid, gettid, getuid, invalid, prctl, sched_yield, uname};
#[cfg(test)]
pub(crate) use tests::CallCounter;
pub use wait::{
    EPOLL_WAIT, POLL, SelfSignal, epoll_wait, futex_requeue, futex_wake, poll, sigaction,
    signal_to_self,
};

pub(in crate::kernel) use files::find_closed_descriptor;
pub(in crate::kernel) use wait::no_op_action;
