//! What it takes to hand the CPU to the other side and to get it back.

use crate::kernel::Errno;

/// Asks whether the other side is gone; only ever called when a wait came back without a reason.
pub(super) type Gone<'a> = &'a dyn Fn() -> Result<(), Errno>;

/// A way to wake the other side, and to wait until it wakes this one.
pub(super) trait Means {
    /// Wakes the other side.
    fn wake(&self) -> Result<(), Errno>;

    /// Waits until the other side has woken this one.
    fn wait(&self, gone: Gone<'_>) -> Result<(), Errno>;
}

/// What sides are made for.
pub(super) struct Setting {
    /// Whether they are threads of one process, or processes.
    pub(super) threads: bool,
    /// Whether one process is both of them.
    pub(super) alone: bool,
    /// The signal mask under which a signal comes through.
    pub(super) mask: u64,
}
