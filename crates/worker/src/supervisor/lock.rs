//! Keeping other runs off this machine while the session lasts.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use oscost_model::protocol::Event;

use crate::kernel::machine::lock::{Holder, MachineLock, Taken};

/// Whose the machine is.
#[derive(Default)]
pub(super) enum Hold {
    /// Nobody has asked.
    #[default]
    Nothing,
    /// Somebody else's, and this job waits for it.
    Waiting {
        /// The job.
        id: u64,
        /// Ends when they let go.
        until: UnixStream,
    },
    /// Ours, for this job.
    Ours {
        /// The job.
        id: u64,
        /// The name.
        _lock: MachineLock,
    },
}

impl Hold {
    /// Takes the machine, or says who has it; then, if that is wanted, waits for it.
    pub(super) fn take(&mut self, id: u64, wait: bool) -> Event {
        let ready = Event::Ready { id, pid: std::process::id(), addr: None };
        if let Hold::Ours { .. } = self {
            return ready;
        }
        match MachineLock::take() {
            Taken::Ours(_lock) => {
                *self = Hold::Ours { id, _lock };
                ready
            }
            Taken::Held(holder, until) => {
                *self = if wait { Hold::Waiting { id, until } } else { Hold::Nothing };
                Event::Busy { id, holder: in_words(&holder) }
            }
            Taken::Unavailable(error) => {
                *self = Hold::Nothing;
                Event::Failed { id, at_op: None, reason: error.to_string(), errno: None, arm: None }
            }
        }
    }

    /// Whoever had it has let go.
    pub(super) fn again(&mut self) -> Event {
        let id = match self {
            Hold::Waiting { id, .. } | Hold::Ours { id, .. } => *id,
            Hold::Nothing => 0,
        };
        self.take(id, true)
    }

    /// What ends when the holder lets go.
    pub(super) fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Hold::Waiting { until, .. } => Some(until.as_fd()),
            Hold::Nothing | Hold::Ours { .. } => None,
        }
    }

    /// Whether it is for this job.
    pub(super) fn is(&self, job: u64) -> bool {
        match self {
            Hold::Waiting { id, .. } | Hold::Ours { id, .. } => *id == job,
            Hold::Nothing => false,
        }
    }
}

/// Who holds the machine.
fn in_words(holder: &Holder) -> String {
    let command = holder.command.as_deref().unwrap_or("a command that is not shown to us");
    format!("process {} ({command})", holder.pid)
}
