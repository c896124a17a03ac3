//! Failures of the peer, and calls that an alarm interrupts.

use std::time::Duration;

use crate::kernel::Errno;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::net::control_stream::InterruptHandler;

/// The error with which the peer ended, if `errno` says that the channel to it is closed; `None` if
/// it still runs, or is not a child.
pub(super) fn exit_error(peer: Option<&PeerProcess>, errno: Errno) -> Option<Errno> {
    /// An exiting process closes its descriptors some time before its parent is notified.
    const CHECKS: u32 = 50;
    let is_disconnected =
        matches!(errno, Errno::EPIPE | Errno::ESRCH | Errno(libc::ECONNRESET | libc::ECONNREFUSED));
    let peer = peer.filter(|_| is_disconnected)?;
    for _ in 0..CHECKS {
        match peer.check_running() {
            Ok(()) => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Some(error),
        }
    }
    None
}

/// The cause of a failure: that the peer has died is more specific than a closed channel.
pub(crate) fn failure_cause(peer: Option<&PeerProcess>, errno: Errno) -> Errno {
    match exit_error(peer, errno) {
        Some(Errno::ESRCH) => {
            Errno::check_failed("the peer was killed during the measurement".to_owned())
        }
        Some(error) => Errno::check_failed(format!("the peer has failed: {error}")),
        None => errno,
    }
}

/// Repeats a blocking call until no alarm interrupts it.
#[inline(always)]
pub(crate) fn retry_interrupted<T>(
    on_interrupt: InterruptHandler<'_>,
    mut call: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut interruptions = 0;
    loop {
        match call() {
            Err(Errno::EINTR) => {
                interruptions += 1;
                on_interrupt(interruptions)?;
            }
            result => return result,
        }
    }
}
