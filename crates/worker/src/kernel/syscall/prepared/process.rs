//! Calls on processes: groups and sessions, children that run, resource limits.

use std::any::Any;

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use crate::kernel::Errno;

/// A call that returns an id that several processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupCall {
    /// getpgid(2): its process group.
    Getpgid,
    /// getsid(2): its session.
    Getsid,
}

/// The call for a process; 0 is the caller.
pub fn group_id(call: GroupCall, pid: u32, keeps_alive: impl Any) -> Call {
    let number = match call {
        GroupCall::Getpgid => libc::SYS_getpgid,
        GroupCall::Getsid => libc::SYS_getsid,
    };
    // SAFETY: it takes a plain number and only queries.
    let call = unsafe { Call::new(number, &[u64::from(pid)]) };
    // 0 where the leader is in another process namespace.
    call.with_results(ANY_SUCCESS).with_owned(keeps_alive)
}

/// `setpgid(child, child)`, and `setpgid(child, group)`: a child that has not called execve(2)
/// moves to a group of its own, and back to that of its parent.
pub fn setpgid_and_back(child: u32, group: u32, keeps_alive: impl Any) -> CallPair {
    let pid = u64::from(child);
    // SAFETY: plain numbers; only the child's group changes. The second call owns the child, and
    // both are dropped together.
    let (leave, join) = unsafe {
        (
            Call::new(libc::SYS_setpgid, &[pid, pid]),
            Call::new(libc::SYS_setpgid, &[pid, u64::from(group)]),
        )
    };
    CallPair { first: leave, second: join.with_owned(keeps_alive), pass_result: false }
}

/// waitid(2) for any child that has exited, without waiting and without reaping (WNOHANG, WNOWAIT).
pub fn waitid_any() -> Call {
    let room = Buffer::zeroed(size_of::<libc::siginfo_t>());
    let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as u64;
    let args = [u64::from(libc::P_ALL), 0, room.address(), options, 0];
    // SAFETY: one siginfo is written, and the call owns it; no child is reaped.
    unsafe { Call::new(libc::SYS_waitid, &args) }.with_owned(room)
}

/// A call that reads or sets a resource limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitCall {
    /// getrlimit(2).
    Getrlimit,
    /// prlimit(2) that reads.
    PrlimitGet,
    /// prlimit(2) that sets what was set before.
    PrlimitSet,
}

/// The call for this process's limit of core files, which no benchmark needs.
pub fn core_limit(call: LimitCall) -> Result<Call, Errno> {
    let which = libc::RLIMIT_CORE as u64;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: one rlimit is written, to a local.
    Errno::check(unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) })?;
    let room = Buffer::containing(limit);
    // SAFETY: one rlimit is written or read, and the call owns it. What is set is what was set.
    let call = unsafe {
        match call {
            LimitCall::Getrlimit => Call::new(libc::SYS_getrlimit, &[which, room.address()]),
            LimitCall::PrlimitGet => Call::new(libc::SYS_prlimit64, &[0, which, 0, room.address()]),
            LimitCall::PrlimitSet => Call::new(libc::SYS_prlimit64, &[0, which, room.address(), 0]),
        }
    };
    Ok(call.with_owned(room))
}
