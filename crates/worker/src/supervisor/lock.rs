//! The machine lock: keeps other runs off this machine while the session lasts.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use oscost_model::machine_lock::{OTHER_PROGRAM_PATIENCE, RETRY_INTERVAL, pause_before_next_try};
use oscost_model::protocol::Event;

use super::protocol::failure::failure;
use crate::kernel::machine::lock::{HeldLock, MachineLock, OtherPrograms};

/// The session's claim to the machine.
#[derive(Default)]
pub(super) enum MachineClaim {
    /// Not requested.
    #[default]
    None,
    /// Another process holds the lock, and a job waits for it.
    Waiting(Wait),
    /// This session holds the lock, for this job.
    Owned {
        /// The job.
        id: u64,
        /// The lock.
        _lock: MachineLock,
    },
}

/// A job that waits for the lock.
pub(super) struct Wait {
    id: u64,
    held: HeldLock,
    tried_at: Instant,
    /// When the lock is tried again, if that does not depend on its holder.
    retry_at: Option<Instant>,
    /// When a holder that is not oscost is ignored; `None` before the first.
    patience_ends: Option<Instant>,
}

impl MachineClaim {
    /// Takes the lock, or reports who holds it and, if `wait`, waits for it. A process that is no
    /// oscost is waited for as long as [`OTHER_PROGRAM_PATIENCE`], and then ignored.
    pub(super) fn acquire(&mut self, id: u64, wait: bool) -> Event {
        match self {
            MachineClaim::Owned { .. } => ready(id),
            MachineClaim::None | MachineClaim::Waiting(_) => self.attempt(id, wait, None),
        }
    }

    /// Tries again after the holder has released the lock, or a wait has ended; `None` as long as the
    /// same process holds it.
    pub(super) fn retry(&mut self) -> Option<Event> {
        let MachineClaim::Waiting(wait) = self else { return None };
        if wait.put_off(Instant::now()) {
            return None;
        }
        let (id, holder, patience_ends) = (wait.id, wait.held.holder.clone(), wait.patience_ends);
        let event = self.attempt(id, true, patience_ends);
        let is_unchanged =
            matches!(self, MachineClaim::Waiting(wait) if wait.held.holder == holder);
        (!is_unchanged).then_some(event)
    }

    fn attempt(&mut self, id: u64, wait: bool, patience_ends: Option<Instant>) -> Event {
        let waits = wait && patience_ends.is_none_or(|ends| Instant::now() < ends);
        let other_programs = if waits { OtherPrograms::Respect } else { OtherPrograms::Ignore };
        match MachineLock::acquire(other_programs) {
            Ok(lock) => {
                let gaps = lock.gaps().join("; ");
                *self = MachineClaim::Owned { id, _lock: lock };
                if gaps.is_empty() { ready(id) } else { failure(id, gaps) }
            }
            Err(held) if wait => {
                let holder = held.holder.awaited();
                *self = MachineClaim::Waiting(Wait::new(id, held, patience_ends));
                Event::Busy { id, holder }
            }
            Err(held) => {
                *self = MachineClaim::None;
                Event::Busy { id, holder: held.holder.to_string() }
            }
        }
    }

    /// The descriptor that becomes readable when the holder releases the lock.
    pub(super) fn holder_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            MachineClaim::Waiting(wait) => wait.held.end.as_ref().map(AsFd::as_fd),
            MachineClaim::None | MachineClaim::Owned { .. } => None,
        }
    }

    /// The time until the lock is tried again, if that does not depend on its holder.
    pub(super) fn time_left(&self) -> Option<Duration> {
        match self {
            MachineClaim::Waiting(wait) => {
                Some(wait.retry_at?.saturating_duration_since(Instant::now()))
            }
            MachineClaim::None | MachineClaim::Owned { .. } => None,
        }
    }

    /// Whether the claim belongs to this job.
    pub(super) fn belongs_to(&self, job: u64) -> bool {
        match self {
            MachineClaim::Waiting(Wait { id, .. }) | MachineClaim::Owned { id, .. } => *id == job,
            MachineClaim::None => false,
        }
    }
}

impl Wait {
    fn new(id: u64, held: HeldLock, patience_ends: Option<Instant>) -> Self {
        let now = Instant::now();
        let is_other_program = held.holder.is_other_program();
        let first = is_other_program.then(|| now + OTHER_PROGRAM_PATIENCE);
        let patience_ends = patience_ends.or(first);
        let unobserved = held.end.is_none().then(|| now + RETRY_INTERVAL);
        let other_program_ends = patience_ends.filter(|_| is_other_program);
        let retry_at = unobserved.into_iter().chain(other_program_ends).min();
        Self { id, held, tried_at: now, retry_at, patience_ends }
    }

    /// Puts off a try that would follow the last one too soon: the holder has ended the connection
    /// at once, and may do so again. Returns whether it was.
    fn put_off(&mut self, now: Instant) -> bool {
        let pause = pause_before_next_try(now.saturating_duration_since(self.tried_at));
        if pause.is_zero() {
            return false;
        }
        (self.held.end, self.retry_at) = (None, Some(now + pause));
        true
    }
}

fn ready(id: u64) -> Event {
    Event::Ready { id, pid: std::process::id(), addr: None }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::kernel::machine::lock::LockHolder;

    #[test]
    fn a_holder_that_ends_each_connection_at_once_does_not_keep_the_session_busy() {
        let (end, other_end) = UnixStream::pair().unwrap();
        drop(other_end);
        let held = HeldLock { holder: LockHolder::UNKNOWN, end: Some(end) };
        let mut wait = Wait::new(1, held, None);
        assert_eq!(wait.retry_at, None, "the end of the connection is waited for");
        let tried_at = wait.tried_at;
        assert!(wait.put_off(tried_at));
        assert!(wait.held.end.is_none(), "it would be readable at once");
        let retry_at = wait.retry_at.unwrap();
        assert!(retry_at > tried_at);
        assert!(!wait.put_off(retry_at));
    }
}
