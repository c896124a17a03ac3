//! One run per machine at a time.
//!
//! The lock is a name in the abstract socket namespace: it is machine-wide (within one network
//! namespace) and independent of the user; it leaves no file, and the kernel removes it when its
//! holder ends. Nothing is ever sent through it.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use oscost_model::protocol::{Event, LOCK_NAME, Order};

use crate::hosts::{HostError, Interrupt, Session};

/// The name.
const NAME: &[u8] = LOCK_NAME.as_bytes();

/// The lock of the machine, held until this is dropped.
#[derive(Debug)]
pub struct MachineLock {
    _name: UnixListener,
}

/// The process that holds the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id; 0 if it is in a PID namespace that is not visible here.
    pub pid: i32,
    /// Its command line, if it is readable.
    pub command: Option<String>,
}

/// Why the lock could not be acquired.
#[derive(Debug)]
pub enum LockError {
    /// Another process holds it; the stream ends when that releases it.
    HeldBy(LockHolder, UnixStream),
    /// The kernel has no abstract sockets (a sandbox): there is no lock.
    Unavailable(std::io::Error),
}

impl MachineLock {
    /// Acquires the lock, or returns its holder.
    pub fn acquire() -> Result<MachineLock, LockError> {
        Self::acquire_named(NAME)
    }

    fn acquire_named(name: &[u8]) -> Result<MachineLock, LockError> {
        loop {
            let address = SocketAddr::from_abstract_name(name).map_err(LockError::Unavailable)?;
            match UnixListener::bind_addr(&address) {
                Ok(name) => return Ok(MachineLock { _name: name }),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(LockError::Unavailable(error)),
            }
            match UnixStream::connect_addr(&address) {
                Ok(stream) => return Err(LockError::HeldBy(holder(&stream), stream)),
                // The holder released it between the two calls, or its backlog is full.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// Sleeps until the holder at the other end of `stream` releases the lock, or the user interrupts.
pub fn wait_for_release(stream: &UnixStream, interrupt: &Interrupt) -> Result<(), HostError> {
    loop {
        let mut fds = [
            PollFd::new(stream.as_fd(), PollFlags::POLLIN),
            PollFd::new(interrupt.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) if fds[1].any().unwrap_or(false) => return Err(HostError::Interrupted),
            // Nothing is ever sent: an event means that the holder has ended.
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => {
                let how = format!("that holds the machine cannot be waited for: {error}");
                return Err(HostError::SupervisorEnded(how));
            }
        }
    }
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
    loop {
        match session.next(patience)? {
            Event::Ready { id: LOCK_JOB_ID, .. } => return Ok(Claim::Acquired),
            Event::Busy { id: LOCK_JOB_ID, holder } => return Ok(Claim::HeldByOther(holder)),
            Event::Failed { id: LOCK_JOB_ID, reason, .. } => return Ok(Claim::Unavailable(reason)),
            _ => {}
        }
    }
}

fn holder(stream: &UnixStream) -> LockHolder {
    let pid = getsockopt(stream, PeerCredentials).map_or(0, |peer| peer.pid());
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok().map(|bytes| {
        let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
        // Text of another process: bounded, and without control characters.
        text.trim().chars().filter(|c| !c.is_control()).take(120).collect()
    });
    LockHolder { pid, command: command.filter(|text: &String| !text.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_gets_the_holder_and_acquires_the_lock_next() {
        let name = format!("oscost.test.{}", std::process::id());
        let first = MachineLock::acquire_named(name.as_bytes()).unwrap();
        let Err(LockError::HeldBy(holder, stream)) = MachineLock::acquire_named(name.as_bytes())
        else {
            panic!("the lock was acquired twice");
        };
        assert_eq!(holder.pid, std::process::id() as i32);
        let interrupt = Interrupt::listen().unwrap();
        let waiting = std::thread::spawn(move || wait_for_release(&stream, &interrupt));
        drop(first);
        waiting.join().unwrap().unwrap();
        assert!(MachineLock::acquire_named(name.as_bytes()).is_ok());
    }
}
