//! Syscall User Dispatch (prctl(2), Linux 5.11): a selector byte in user memory decides whether
//! system calls reach the kernel or raise a signal.

use crate::kernel::Errno;

const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
const PR_SYS_DISPATCH_ON: libc::c_ulong = 1;

/// The selector's value that lets every call through (SYSCALL_DISPATCH_FILTER_ALLOW).
static SELECTOR: u8 = 0;

/// Enables it for the calling thread, with a selector that lets every call through. It is not
/// inherited over fork(2), by new threads or over execve(2).
pub fn enable() -> Result<(), Errno> {
    // SAFETY: the kernel reads the byte at every call, and it is static; no range of code is
    // exempt.
    Errno::check(unsafe {
        libc::prctl(
            PR_SET_SYSCALL_USER_DISPATCH,
            PR_SYS_DISPATCH_ON,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
            &raw const SELECTOR,
        )
    })
    .map(drop)
}
