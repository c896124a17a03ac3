//! Calls on signals that deliver none: the mask, and a check for existence.

use super::call::{Buffer, Call, CallPair};

/// Bytes of the kernel's signal mask.
const MASK_BYTES: u64 = 8;

/// rt_sigprocmask(2) that changes whether SIGUSR1 is blocked.
fn change_mask(operation: libc::c_int) -> Call {
    let set = Buffer::containing(1u64 << (libc::SIGUSR1 - 1));
    let args = [operation as u64, set.address(), 0, MASK_BYTES];
    // SAFETY: the kernel reads one set, and the call owns it. No other part of the program waits
    // for the signal meanwhile.
    unsafe { Call::new(libc::SYS_rt_sigprocmask, &args) }.with_owned(set)
}

/// rt_sigprocmask(2) that blocks a signal, and one that unblocks it.
pub fn block_unblock() -> CallPair {
    let (first, second) = (change_mask(libc::SIG_BLOCK), change_mask(libc::SIG_UNBLOCK));
    CallPair { first, second, pass_result: false }
}

/// kill(2) of the calling process with signal 0, which only checks that it exists.
pub fn kill_0() -> Call {
    // SAFETY: plain numbers; there is no signal 0 to deliver.
    unsafe { Call::new(libc::SYS_kill, &[u64::from(std::process::id()), 0]) }
}
