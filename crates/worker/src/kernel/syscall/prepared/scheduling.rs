//! Calls that read or set how and where the calling thread is scheduled.

use super::call::{ANY_SUCCESS, Buffer, Call, CallPair};
use crate::kernel::process::realtime::{self, RealtimeRight};
use crate::kernel::{Errno, arch};

/// Words of an affinity mask that names 8192 CPUs; the kernel reads no more than it has itself.
const MASK_WORDS: usize = 8_192 / 64;
const MASK_BYTES: u64 = 8 * MASK_WORDS as u64;

/// `sched_getaffinity(0)`, the mask of the calling thread.
pub fn sched_getaffinity() -> Call {
    let mask = Buffer::zeroed(MASK_BYTES as usize);
    // SAFETY: at most this many bytes are written, and the call owns them.
    unsafe { Call::new(libc::SYS_sched_getaffinity, &[0, MASK_BYTES, mask.address()]) }
        .with_results(1..=i64::MAX)
        .with_owned(mask)
}

/// `sched_setaffinity(0)` with the mask that the thread has.
pub fn sched_setaffinity() -> Result<Call, Errno> {
    let mask = Buffer::zeroed(MASK_BYTES as usize);
    // SAFETY: at most this many bytes are written to the buffer.
    let given = unsafe {
        let args = [0, MASK_BYTES, mask.address(), 0, 0, 0];
        arch::syscall(libc::SYS_sched_getaffinity, args)
    };
    if given < 0 {
        return Err(Errno(-given as i32));
    }
    // SAFETY: this many bytes are read, and the call owns them: the mask is the one in force.
    let call = unsafe { Call::new(libc::SYS_sched_setaffinity, &[0, MASK_BYTES, mask.address()]) };
    Ok(call.with_owned(mask))
}

/// `sched_setaffinity(0)` to one CPU alone.
fn pin(cpu: u32) -> Result<Call, Errno> {
    let mut mask = [0u64; MASK_WORDS];
    let word = mask.get_mut(cpu as usize / 64).ok_or(Errno::EINVAL)?;
    *word |= 1 << (cpu % 64);
    let mask = Buffer::containing(mask);
    // SAFETY: this many bytes are read, and the call owns them. The callers below come back.
    let call = unsafe { Call::new(libc::SYS_sched_setaffinity, &[0, MASK_BYTES, mask.address()]) };
    Ok(call.with_owned(mask))
}

/// `sched_setaffinity(0)` to another CPU, and back to the one that the thread is pinned to.
pub fn migrate_and_return(here: u32, there: u32) -> Result<CallPair, Errno> {
    Ok(CallPair { first: pin(there)?, second: pin(here)?, pass_result: false })
}

/// `sched_setscheduler(0)` to SCHED_BATCH, and back to SCHED_OTHER, which the thread must have.
pub fn batch_and_back() -> Result<CallPair, Errno> {
    policy_and_back(libc::SCHED_BATCH, 0)
}

/// `sched_setscheduler(0)` to SCHED_FIFO with the lowest priority, and back to SCHED_OTHER, which
/// the thread must have.
pub fn fifo_and_back() -> Result<CallPair, Errno> {
    let right = RealtimeRight::obtain();
    let CallPair { first, second, pass_result } =
        policy_and_back(libc::SCHED_FIFO, realtime::PRIORITY)?;
    Ok(CallPair { first: first.with_owned(right), second, pass_result })
}

/// `sched_setscheduler(0)` to a policy, and back to SCHED_OTHER.
fn policy_and_back(there: libc::c_int, priority: i32) -> Result<CallPair, Errno> {
    // SAFETY: a plain number.
    let policy = Errno::check(unsafe { libc::sched_getscheduler(0) })?;
    if policy != libc::SCHED_OTHER {
        return Err(Errno::unavailable(format!(
            "this thread has the scheduling policy {policy} and not SCHED_OTHER: start oscost \
             without chrt(1)"
        )));
    }
    let to = |policy: libc::c_int, priority: i32| {
        // The kernel's sched_param.
        let priority = Buffer::containing(priority);
        let args = [0, policy as u64, priority.address()];
        // SAFETY: one sched_param is read, and the call owns it.
        unsafe { Call::new(libc::SYS_sched_setscheduler, &args) }.with_owned(priority)
    };
    let (first, second) = (to(there, priority), to(libc::SCHED_OTHER, 0));
    Ok(CallPair { first, second, pass_result: false })
}

/// `getpriority(PRIO_PROCESS, 0)`: the kernel returns 20 minus the nice value.
pub fn getpriority() -> Call {
    // SAFETY: plain numbers.
    unsafe { Call::new(libc::SYS_getpriority, &[libc::PRIO_PROCESS as u64, 0]) }
        .with_results(1..=40)
}

/// `setpriority(PRIO_PROCESS, 0)` with the nice value that the thread has.
pub fn setpriority() -> Result<Call, Errno> {
    let nice = 20 - getpriority().ready().make()?;
    let args = [libc::PRIO_PROCESS as u64, 0, nice as u64];
    // SAFETY: plain numbers: the value is the one in force.
    Ok(unsafe { Call::new(libc::SYS_setpriority, &args) })
}

/// `prctl(PR_GET_TIMERSLACK)`, in nanoseconds.
pub fn timer_slack() -> Call {
    // SAFETY: plain numbers; this option only queries.
    unsafe { Call::new(libc::SYS_prctl, &[libc::PR_GET_TIMERSLACK as u64, 0, 0, 0, 0]) }
        .with_results(ANY_SUCCESS)
}

/// `prctl(PR_SET_TIMERSLACK)` with the slack that the thread has.
pub fn set_timer_slack() -> Result<Call, Errno> {
    let slack_ns = timer_slack().ready().make()?;
    if slack_ns == 0 {
        // 0 would set the default.
        return Err(Errno::unavailable(
            "this thread has no timer slack, as under a real-time policy: start oscost without \
             chrt(1)"
                .to_owned(),
        ));
    }
    let args = [libc::PR_SET_TIMERSLACK as u64, slack_ns as u64, 0, 0, 0];
    // SAFETY: plain numbers: the value is the one in force.
    Ok(unsafe { Call::new(libc::SYS_prctl, &args) })
}
