//! The machine lock: keeps other runs off this machine while the session lasts.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use oscost_model::protocol::Event;

use super::protocol::failure::failure;
use crate::kernel::machine::lock::{Holder, LockAttempt, MachineLock};

/// The session's claim to the machine.
#[derive(Default)]
pub(super) enum MachineClaim {
    /// Not requested.
    #[default]
    None,
    /// Another session holds the lock, and this job waits for it.
    Waiting {
        /// The job.
        id: u64,
        /// Closed when the holder releases the lock.
        until: UnixStream,
    },
    /// This session holds the lock, for this job.
    Owned {
        /// The job.
        id: u64,
        /// The lock.
        _lock: MachineLock,
    },
}

impl MachineClaim {
    /// Takes the lock, or reports who holds it and, if `wait`, waits for it.
    pub(super) fn acquire(&mut self, id: u64, wait: bool) -> Event {
        let ready = Event::Ready { id, pid: std::process::id(), addr: None };
        if let MachineClaim::Owned { .. } = self {
            return ready;
        }
        match MachineLock::acquire() {
            LockAttempt::Acquired(_lock) => {
                *self = MachineClaim::Owned { id, _lock };
                ready
            }
            LockAttempt::HeldBy(holder, until) => {
                *self = if wait { MachineClaim::Waiting { id, until } } else { MachineClaim::None };
                Event::Busy { id, holder: describe_holder(&holder) }
            }
            LockAttempt::Unavailable(error) => {
                *self = MachineClaim::None;
                failure(id, error.to_string())
            }
        }
    }

    /// Tries again after the holder has released the lock.
    pub(super) fn retry(&mut self) -> Event {
        let id = match self {
            MachineClaim::Waiting { id, .. } | MachineClaim::Owned { id, .. } => *id,
            MachineClaim::None => 0,
        };
        self.acquire(id, true)
    }

    /// The descriptor that becomes readable when the holder releases the lock.
    pub(super) fn holder_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            MachineClaim::Waiting { until, .. } => Some(until.as_fd()),
            MachineClaim::None | MachineClaim::Owned { .. } => None,
        }
    }

    /// Whether the claim belongs to this job.
    pub(super) fn belongs_to(&self, job: u64) -> bool {
        match self {
            MachineClaim::Waiting { id, .. } | MachineClaim::Owned { id, .. } => *id == job,
            MachineClaim::None => false,
        }
    }
}

/// The holder, for a message.
fn describe_holder(holder: &Holder) -> String {
    let command = holder.command.as_deref().unwrap_or("command line not readable");
    format!("process {} ({command})", holder.pid)
}
