//! futex(2) on words that several threads wait for.

use std::sync::atomic::AtomicU32;

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;

/// FUTEX_WAKE of all waiters of a word that is private to the process; returns the number woken.
#[inline(always)]
pub fn wake_all(word: &AtomicU32) -> Result<i64, Errno> {
    let op = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;
    let args = [word.as_ptr() as u64, op, i32::MAX as u64, 0, 0, 0];
    // SAFETY: the kernel uses the word's address as a key and accesses no more than the word.
    raw_result(unsafe { arch::syscall(libc::SYS_futex, args) })
}

/// The number of threads that wait for a word that is private to the process and is 0. None is
/// woken: FUTEX_CMP_REQUEUE moves all of them from the word to that same word, and counts them.
pub fn count_waiters(word: &AtomicU32) -> Result<i64, Errno> {
    let op = (libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG) as u64;
    let at = word.as_ptr() as u64;
    // SAFETY: the kernel reads the word, which is borrowed, and uses its address as a key.
    raw_result(unsafe { arch::syscall(libc::SYS_futex, [at, op, 0, i32::MAX as u64, at, 0]) })
}
