//! Nice values.

use crate::kernel::Errno;

/// The calling thread's nice value.
pub fn get() -> Result<i32, Errno> {
    // SAFETY: plain numbers. The call itself, unlike the library's, returns 20 minus the value:
    // never below 0.
    let seen = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    Errno::check(seen).map(|seen| 20 - seen as i32)
}

/// Sets it, for the calling thread and all that it starts. The kernel takes what lies outside its
/// range for the nearest value inside.
pub fn set(value: i32) -> Result<(), Errno> {
    // SAFETY: plain numbers.
    Errno::check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, value) }).map(drop)
}
