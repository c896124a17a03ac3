//! Calls that end early because the process was notified of something else.

use super::super::prelude::*;

/// Makes `call` again as long as it is interrupted.
///
/// An io_uring that this process closed before (to see whether it may have one) ends in the
/// background: a kernel thread then notifies the process as a signal would, without one being
/// delivered, and epoll_wait(2) returns EINTR instead of continuing (fs/eventpoll.c: `ep_poll`).
/// Under load that takes until the op is measured.
#[inline(always)]
pub(super) fn repeat_if_interrupted<T>(
    mut call: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    const MAX_INTERRUPTIONS: u32 = 100;
    for _ in 0..MAX_INTERRUPTIONS {
        match call() {
            Err(Errno::EINTR) => {}
            done => return done,
        }
    }
    Err(Errno::EINTR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interrupted_call_is_made_again_and_not_for_ever() {
        let mut results = vec![Ok(7), Err(Errno::EINTR), Err(Errno::EINTR)];
        assert_eq!(repeat_if_interrupted(|| results.pop().unwrap()), Ok(7));
        assert!(results.is_empty());
        let mut results = vec![Ok(7), Err(Errno::EAGAIN), Err(Errno::EINTR)];
        assert_eq!(repeat_if_interrupted(|| results.pop().unwrap()), Err(Errno::EAGAIN));
        assert_eq!(results, [Ok(7)]);
        assert_eq!(repeat_if_interrupted(|| Err::<(), _>(Errno::EINTR)), Err(Errno::EINTR));
    }
}
