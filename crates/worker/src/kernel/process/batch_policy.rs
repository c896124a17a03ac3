//! The scheduling policy of threads that must not preempt the one that wakes them.

use crate::kernel::Errno;
use crate::kernel::arch;
use crate::kernel::errno::raw_result;

/// Gives the calling thread the policy SCHED_BATCH, which needs no privilege: such a thread never
/// preempts one of the normal policy when it wakes up. Between ticks it runs when that one waits or
/// yields.
pub fn use_batch_policy() -> Result<(), Errno> {
    // The kernel's sched_param: a priority, which is 0 for this policy.
    let priority = 0i32;
    let args = [0, libc::SCHED_BATCH as u64, &raw const priority as u64, 0, 0, 0];
    // SAFETY: the kernel reads one number.
    raw_result(unsafe { arch::syscall(libc::SYS_sched_setscheduler, args) }).map(drop)
}
