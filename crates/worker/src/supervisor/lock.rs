//! Keeping other runs off this machine while the session lasts.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use oscost_model::protocol::Event;

use crate::kernel::machine::lock::{Holder, LockAttempt, MachineLock};

/// Whose the machine is.
#[derive(Default)]
pub(super) enum MachineClaim {
    /// Nobody has asked.
    #[default]
    None,
    /// Somebody else's, and this job waits for it.
    Waiting {
        /// The job.
        id: u64,
        /// Ends when they let go.
        until: UnixStream,
    },
    /// Ours, for this job.
    Owned {
        /// The job.
        id: u64,
        /// The name.
        _lock: MachineLock,
    },
}

impl MachineClaim {
    /// Takes the machine, or says who has it; then, if that is wanted, waits for it.
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
                Event::Failed { id, at_op: None, reason: error.to_string(), errno: None, arm: None }
            }
        }
    }

    /// Whoever had it has let go.
    pub(super) fn retry(&mut self) -> Event {
        let id = match self {
            MachineClaim::Waiting { id, .. } | MachineClaim::Owned { id, .. } => *id,
            MachineClaim::None => 0,
        };
        self.acquire(id, true)
    }

    /// What ends when the holder lets go.
    pub(super) fn holder_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            MachineClaim::Waiting { until, .. } => Some(until.as_fd()),
            MachineClaim::None | MachineClaim::Owned { .. } => None,
        }
    }

    /// Whether it is for this job.
    pub(super) fn belongs_to(&self, job: u64) -> bool {
        match self {
            MachineClaim::Waiting { id, .. } | MachineClaim::Owned { id, .. } => *id == job,
            MachineClaim::None => false,
        }
    }
}

/// Who holds the machine.
fn describe_holder(holder: &Holder) -> String {
    let command = holder.command.as_deref().unwrap_or("a command that is not shown to us");
    format!("process {} ({command})", holder.pid)
}
