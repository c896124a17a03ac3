//! The interface by which one end of a round trip wakes the other and waits for it.

use crate::kernel::Errno;

/// Checks whether the other end still runs; called only when a wait returned without a reason.
pub(super) type PeerCheck<'a> = &'a dyn Fn() -> Result<(), Errno>;

/// A mechanism that wakes the other end, and waits until the other end wakes this one.
pub(super) trait Handoff {
    /// Wakes the other end.
    fn wake(&self) -> Result<(), Errno>;

    /// Waits until the other end has woken this one.
    fn wait(&self, check_peer: PeerCheck<'_>) -> Result<(), Errno>;
}

/// What the ends are created for.
pub(super) struct EndSetup {
    /// Whether they are threads of one process, or two processes.
    pub(super) threads: bool,
    /// Whether one process is both ends.
    pub(super) single_process: bool,
    /// The signal mask during a wait, under which the signal is delivered.
    pub(super) wait_mask: u64,
}
