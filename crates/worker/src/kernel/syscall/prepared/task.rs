//! Calls that ask who and where a task is, or that next to nothing stands behind.

use super::call::{ANY_SUCCESS, Buffer, Call};

/// A number that no kernel gives to a call: x86-64 has some 470, and numbers grow by a few a year.
const UNKNOWN_CALL: i64 = 65_535;

/// A call that no kernel knows: what is right is that it fails with ENOSYS.
pub fn invalid() -> Call {
    // SAFETY: there is no such call, so that nothing is done.
    unsafe { Call::new(UNKNOWN_CALL, &[]) }.with_error(libc::ENOSYS)
}

/// getpid(2).
pub fn getpid() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_getpid, &[]) }.with_results(1..=i64::MAX)
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

/// `brk(0)`, which moves nothing and says where the break is.
pub fn brk() -> Call {
    // SAFETY: no break lies at 0, so that the kernel leaves it where it is.
    unsafe { Call::new(libc::SYS_brk, &[0]) }.with_results(1..=i64::MAX)
}

/// sched_yield(2).
pub fn sched_yield() -> Call {
    // SAFETY: it takes no argument.
    unsafe { Call::new(libc::SYS_sched_yield, &[]) }
}

/// `prctl(PR_GET_DUMPABLE)`.
pub fn prctl() -> Call {
    // SAFETY: plain numbers; this option only asks.
    unsafe { Call::new(libc::SYS_prctl, &[libc::PR_GET_DUMPABLE as u64, 0, 0, 0, 0]) }
        .with_results(0..=2)
}

/// getcpu(2), asked for the CPU and its node.
pub fn getcpu() -> Call {
    let room = Buffer::zeroed(16);
    // SAFETY: two words are written, and the call holds them.
    unsafe { Call::new(libc::SYS_getcpu, &[room.address(), room.address() + 8, 0]) }.owning(room)
}

/// uname(2).
pub fn uname() -> Call {
    let room = Buffer::zeroed(size_of::<libc::utsname>());
    // SAFETY: one utsname is written, and the call holds room for it.
    unsafe { Call::new(libc::SYS_uname, &[room.address()]) }.owning(room)
}
