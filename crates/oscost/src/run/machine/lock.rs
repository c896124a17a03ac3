//! One run per machine at a time.
//!
//! The lock has two parts, independent of the user. A name in the abstract socket namespace is shared
//! by the processes of one network namespace; a locked file by those that see the same folder, also
//! in other network namespaces. Nothing is ever sent or written through either. A holder that is no
//! oscost can be ignored, since any user can hold both for ever.

mod file;
mod holder;
mod name;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub use oscost_model::machine_lock::LockHolder;
use oscost_model::machine_lock::{
    HOLDER_NAMES, RETRY_INTERVAL, pause_before_next_try, without_file,
};
use oscost_model::protocol::{Event, LOCK_NAME, Order};

use crate::hosts::{HostError, Interrupt, Session, next_matching};

/// The lock of the machine, held until this is dropped.
#[derive(Debug)]
pub struct MachineLock {
    /// Released first: who finds the name free does not meet the file of the same holder.
    _file: Option<file::LockedFile>,
    _name: Option<UnixListener>,
    /// What it does not exclude, and why.
    gaps: Vec<String>,
}

/// What to do about a holder that is not oscost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherPrograms {
    /// It holds the lock.
    Respect,
    /// The lock is acquired without the part that it holds.
    Ignore,
}

/// A lock that another process holds.
#[derive(Debug)]
pub struct HeldLock {
    /// The process.
    pub holder: LockHolder,
    /// Ends when the process releases the lock; `None` if that cannot be observed.
    end: Option<UnixStream>,
}

impl MachineLock {
    /// Acquires the lock, or returns its holder.
    pub fn acquire(other_programs: OtherPrograms) -> Result<Self, HeldLock> {
        Self::acquire_parts(LOCK_NAME.as_bytes(), file::path(), other_programs)
    }

    /// What the lock does not exclude: one sentence each.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    fn acquire_parts(
        name: &[u8],
        path: io::Result<PathBuf>,
        other_programs: OtherPrograms,
    ) -> Result<Self, HeldLock> {
        let is_ignored = |holder: &LockHolder| {
            other_programs == OtherPrograms::Ignore && holder.is_other_program()
        };
        let (name, name_gap) = match name::bind(name) {
            name::Attempt::Bound(bound) => (Some(bound), None),
            name::Attempt::HeldBy(holder, _) if is_ignored(&holder) => {
                (None, Some(holder.ignored()))
            }
            name::Attempt::HeldBy(holder, end) => return Err(HeldLock { holder, end }),
            name::Attempt::Unavailable(error) => (None, Some(error.to_string())),
        };
        let (file, file_gap) = match path.map(|path| file::lock(&path)) {
            Ok(file::Attempt::Locked(locked)) => (Some(locked), None),
            Ok(file::Attempt::HeldBy(holder)) if is_ignored(&holder) => {
                (None, Some(holder.ignored()))
            }
            Ok(file::Attempt::HeldBy(holder)) => return Err(HeldLock { holder, end: None }),
            Ok(file::Attempt::Unavailable(error)) | Err(error) => (None, Some(without_file(error))),
        };
        let gaps = name_gap.into_iter().chain(file_gap).collect();
        Ok(Self { _file: file, _name: name, gaps })
    }
}

/// Gives this process the command name by which other runs recognise it, whatever its file is called.
pub fn name_holder() {
    // Without /proc nobody can read it.
    let _ = std::fs::write("/proc/self/comm", HOLDER_NAMES[0]);
}

/// Sleeps until the holder may have released the lock, `limit` has passed, or the user interrupts.
pub fn wait_for_release(
    held: &HeldLock,
    interrupt: &Interrupt,
    limit: Option<Duration>,
) -> Result<(), HostError> {
    let tried_at = Instant::now();
    let mut end = held.end.as_ref();
    let retry = end.is_none().then_some(RETRY_INTERVAL);
    let mut timeout = poll_timeout(retry.into_iter().chain(limit).min());
    loop {
        let mut fds = vec![PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
        fds.extend(end.map(|end| PollFd::new(end.as_fd(), PollFlags::POLLIN)));
        match poll(&mut fds, timeout) {
            Ok(_) if fds[0].any().unwrap_or(false) => return Err(HostError::Interrupted),
            // Nothing is ever sent: an event means that the holder has ended the connection.
            Ok(events) => {
                let pause = pause_before_next_try(tried_at.elapsed());
                if events == 0 || pause.is_zero() {
                    return Ok(());
                }
                (end, timeout) = (None, poll_timeout(Some(pause)));
            }
            Err(Errno::EINTR) => {}
            Err(error) => {
                let how = format!("that holds the machine cannot be waited for: {error}");
                return Err(HostError::SupervisorEnded(how));
            }
        }
    }
}

fn poll_timeout(time: Option<Duration>) -> PollTimeout {
    let timeout = match time {
        // Rounded up to the unit of poll(2), or the end of a wait would spin.
        Some(time) => PollTimeout::try_from(time + Duration::from_millis(1)),
        None => Ok(PollTimeout::NONE),
    };
    timeout.unwrap_or(PollTimeout::MAX)
}

/// The id of the job in which a supervisor holds the lock of its machine.
const LOCK_JOB_ID: u64 = u64::MAX;
/// Another run may take hours.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// The holder of the lock of a session's machine, as reported by its supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// This session, until it ends.
    Acquired,
    /// Another process, described here.
    HeldByOther(String),
    /// No process: there is no lock, for this reason.
    Unavailable(String),
}

/// Acquires the lock of the machine of a session; with `wait`, [`wait_for_claim`] returns when it
/// becomes free.
pub fn claim(session: &mut dyn Session, wait: bool) -> Result<Claim, HostError> {
    session.send(&Order::Lock { id: LOCK_JOB_ID, wait })?;
    receive_claim(session, Duration::from_secs(20))
}

/// Sleeps until the lock is acquired.
pub fn wait_for_claim(session: &mut dyn Session) -> Result<Claim, HostError> {
    loop {
        match receive_claim(session, MAX_LOCK_WAIT)? {
            // Another waiter acquired it first.
            Claim::HeldByOther(_) => {}
            claim => return Ok(claim),
        }
    }
}

fn receive_claim(session: &mut dyn Session, patience: Duration) -> Result<Claim, HostError> {
    next_matching(session, patience, |event| match event {
        Event::Ready { id: LOCK_JOB_ID, .. } => Some(Claim::Acquired),
        Event::Busy { id: LOCK_JOB_ID, holder } => Some(Claim::HeldByOther(holder)),
        Event::Failed { id: LOCK_JOB_ID, reason, .. } => Some(Claim::Unavailable(reason)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a lock that no other process uses.
    struct Parts {
        name: String,
        folder: tempfile::TempDir,
    }

    impl Parts {
        fn new(test: &str) -> Self {
            let name = format!("oscost.test.{test}.{}", std::process::id());
            Self { name, folder: tempfile::tempdir().unwrap() }
        }

        fn acquire(&self, other_programs: OtherPrograms) -> Result<MachineLock, HeldLock> {
            self.acquire_as(&self.name, other_programs)
        }

        fn acquire_as(
            &self,
            name: &str,
            other_programs: OtherPrograms,
        ) -> Result<MachineLock, HeldLock> {
            let file = self.folder.path().join("lock");
            MachineLock::acquire_parts(name.as_bytes(), Ok(file), other_programs)
        }
    }

    #[test]
    fn a_second_run_gets_the_holder_and_acquires_the_lock_next() {
        let parts = Parts::new("second");
        let first = parts.acquire(OtherPrograms::Respect).unwrap();
        assert_eq!(first.gaps(), [""; 0]);
        let held = parts.acquire(OtherPrograms::Respect).unwrap_err();
        assert_eq!(held.holder.pid, std::process::id() as i32);
        let interrupt = Interrupt::listen().unwrap();
        // If the release is not seen, the test fails and does not hang.
        let limit = Some(Duration::from_secs(60));
        let waiting = std::thread::spawn(move || wait_for_release(&held, &interrupt, limit));
        drop(first);
        waiting.join().unwrap().unwrap();
        parts.acquire(OtherPrograms::Respect).unwrap();
    }

    #[test]
    fn a_holder_that_ends_each_connection_at_once_is_waited_for() {
        let (end, other_end) = UnixStream::pair().unwrap();
        drop(other_end);
        let held = HeldLock { holder: LockHolder::UNKNOWN, end: Some(end) };
        let interrupt = Interrupt::listen().unwrap();
        wait_for_release(&held, &interrupt, None).unwrap();
        wait_for_release(&held, &interrupt, Some(Duration::from_millis(1))).unwrap();
    }

    #[test]
    fn a_run_that_does_not_share_the_name_is_excluded_by_the_file() {
        let parts = Parts::new("file");
        let first = parts.acquire(OtherPrograms::Respect).unwrap();
        let elsewhere = format!("{}.elsewhere", parts.name);
        let held = parts.acquire_as(&elsewhere, OtherPrograms::Respect).unwrap_err();
        assert_eq!(held.holder.pid, std::process::id() as i32);
        drop(first);
        parts.acquire_as(&elsewhere, OtherPrograms::Respect).unwrap();
    }

    #[test]
    fn another_program_can_be_ignored_and_is_named() {
        let parts = Parts::new("other-program");
        // The command name of a test is not oscost's.
        let other = parts.acquire(OtherPrograms::Respect).unwrap();
        let lock = parts.acquire(OtherPrograms::Ignore).unwrap();
        let named = format!("process {} (", std::process::id());
        assert_eq!(lock.gaps().len(), 2, "name and file");
        for gap in lock.gaps() {
            assert!(gap.starts_with(&named), "{gap}");
            assert!(gap.ends_with(" (not oscost) holds its lock, and is ignored"), "{gap}");
        }
        drop(other);
        // Who ignores the holder of the name still holds the file.
        let name_alone = UnixListener::bind_addr(&address(&parts.name)).unwrap();
        let lock = parts.acquire(OtherPrograms::Ignore).unwrap();
        assert_eq!(lock.gaps().len(), 1);
        let elsewhere = format!("{}.elsewhere", parts.name);
        assert!(parts.acquire_as(&elsewhere, OtherPrograms::Respect).is_err());
        drop(name_alone);
    }

    fn address(name: &str) -> std::os::unix::net::SocketAddr {
        use std::os::linux::net::SocketAddrExt;
        std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
    }
}
