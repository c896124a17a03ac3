//! Syscall User Dispatch (prctl(2), Linux 5.11): a byte of the process's own says whether its calls
//! reach the kernel or come back as a signal.

use crate::kernel::Errno;

const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
const PR_SYS_DISPATCH_ON: libc::c_ulong = 1;

/// Lets every call through: what stands in the byte (SYSCALL_DISPATCH_FILTER_ALLOW).
static SELECTOR: u8 = 0;

/// Switches it on for the calling thread, with a byte that lets every call through. It is not
/// inherited: a fork(2), a new thread and an execve(2) go without it.
pub fn enable() -> Result<(), Errno> {
    // SAFETY: the kernel reads the byte at every call, and it is there for ever; no range of code
    // is left out.
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
