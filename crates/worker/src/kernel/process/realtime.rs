//! Real-time scheduling policies (sched(7)).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::kernel::errno::raw_result;
use crate::kernel::{Errno, arch};

/// The priority of real-time tasks here: the lowest.
pub const PRIORITY: i32 = 1;

/// The right to the lowest real-time priority, by RLIMIT_RTPRIO, until dropped. The worker of root
/// has dropped CAP_SYS_NICE, but may raise limits.
pub struct RealtimeRight(Rlimit);

impl RealtimeRight {
    /// Raises the limit, if it is too low. Where that is not permitted, the call that sets a policy
    /// says so.
    pub fn obtain() -> Self {
        let before = getrlimit(Resource::Rtprio);
        let suffices = |limit: Option<u64>| limit.is_none_or(|limit| limit >= PRIORITY as u64);
        if !suffices(before.current) {
            let wanted = Some(PRIORITY as u64);
            let maximum = if suffices(before.maximum) { before.maximum } else { wanted };
            let _ = setrlimit(Resource::Rtprio, Rlimit { current: wanted, maximum });
        }
        Self(before)
    }
}

impl Drop for RealtimeRight {
    fn drop(&mut self) {
        // Lowering a limit needs no privilege.
        let _ = setrlimit(Resource::Rtprio, self.0);
    }
}

/// Gives the calling thread the policy SCHED_FIFO, so that it runs before every task of the usual
/// policy until it waits: a child that waits after each act calls this.
pub fn use_fifo_policy() -> Result<(), Errno> {
    // The kernel's sched_param.
    let priority = PRIORITY;
    let args = [0, libc::SCHED_FIFO as u64, &raw const priority as u64, 0, 0, 0];
    // SAFETY: the kernel reads one number.
    raw_result(unsafe { arch::syscall(libc::SYS_sched_setscheduler, args) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::spawn::reap;
    use crate::kernel::process::{fork, in_own_process};

    /// The policy of the calling thread, in a system call.
    fn policy() -> i32 {
        // SAFETY: a plain number.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_child_has_the_policy_if_it_may_and_the_limit_is_as_before() {
        in_own_process(|| {
            let limit = || getrlimit(Resource::Rtprio).current;
            let (before, own_policy) = (limit(), policy());
            let right = RealtimeRight::obtain();
            let child = fork(|| match use_fifo_policy() {
                Ok(()) => i32::from(policy() != libc::SCHED_FIFO),
                Err(error) => {
                    eprintln!("cannot run here: {error}");
                    i32::from(!error.is_unavailable())
                }
            });
            assert_eq!(child.and_then(reap), Ok(()));
            drop(right);
            assert_eq!((limit(), policy()), (before, own_policy));
        });
    }
}
