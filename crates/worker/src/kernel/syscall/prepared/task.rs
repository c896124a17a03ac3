//! Calls that query a task's identity or CPU, or that do next to nothing.

use super::call::{ANY_SUCCESS, Buffer, Call};

/// A number that no call has: x86-64 has some 470, and a few are added each year.
const UNKNOWN_CALL: i64 = 65_535;

/// An unknown call, which must fail with ENOSYS.
pub fn invalid() -> Call {
    // SAFETY: there is no such call, so nothing is done.
    unsafe { Call::new(UNKNOWN_CALL, &[]) }.with_error(libc::ENOSYS)
}

/// getpid(2).
pub fn getpid() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_getpid, &[]) }.with_results(1..=i64::MAX)
}

/// getppid(2); the parent of the first process of a namespace is 0.
pub fn getppid() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_getppid, &[]) }.with_results(ANY_SUCCESS)
}

/// gettid(2).
pub fn gettid() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_gettid, &[]) }.with_results(1..=i64::MAX)
}

/// getuid(2).
pub fn getuid() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_getuid, &[]) }.with_results(ANY_SUCCESS)
}

/// `brk(0)`, which only returns the program break.
pub fn brk() -> Call {
    // SAFETY: 0 is no valid break, so the kernel leaves it unchanged.
    unsafe { Call::new(libc::SYS_brk, &[0]) }.with_results(1..=i64::MAX)
}

/// sched_yield(2).
pub fn sched_yield() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_sched_yield, &[]) }
}

/// `prctl(PR_GET_DUMPABLE)`.
pub fn prctl() -> Call {
    // SAFETY: plain numbers; this option only queries.
    unsafe { Call::new(libc::SYS_prctl, &[libc::PR_GET_DUMPABLE as u64, 0, 0, 0, 0]) }
        .with_results(0..=2)
}

/// getcpu(2) of the CPU and its node.
pub fn getcpu() -> Call {
    let room = Buffer::zeroed(16);
    // SAFETY: two words are written, and the call owns them.
    unsafe { Call::new(libc::SYS_getcpu, &[room.address(), room.address() + 8, 0]) }
        .with_owned(room)
}

/// uname(2).
pub fn uname() -> Call {
    let room = Buffer::zeroed(size_of::<libc::utsname>());
    // SAFETY: one utsname is written, and the call owns the buffer.
    unsafe { Call::new(libc::SYS_uname, &[room.address()]) }.with_owned(room)
}
