//! One run per machine at a time.
//!
//! The lock is a name in the abstract socket space: the kernel keeps it, machine-wide (within one
//! network namespace) and whoever the user is; it leaves no file behind and is gone with its
//! holder, however that ends. Nobody ever reads what is sent to it.

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

/// The machine is ours until this is dropped.
#[derive(Debug)]
pub struct MachineLock {
    _name: UnixListener,
}

/// Who holds the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process; 0 where it lives in a process namespace that we cannot see.
    pub pid: i32,
    /// Its command line, where we may read it.
    pub command: Option<String>,
}

/// Why the machine is not ours.
#[derive(Debug)]
pub enum LockError {
    /// Somebody holds it; the stream ends when they let go.
    HeldBy(LockHolder, UnixStream),
    /// The kernel has no such names (a sandbox without abstract sockets): there is no lock.
    Unavailable(std::io::Error),
}

impl MachineLock {
    /// Takes the machine, or says who has it.
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
                // The holder has let go between the two calls, or more than its backlog wait.
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// Sleeps until the holder at the other end of `stream` lets go, or the user wants to stop.
pub fn wait_for_release(stream: &UnixStream, interrupt: &Interrupt) -> Result<(), HostError> {
    loop {
        let mut fds = [
            PollFd::new(stream.as_fd(), PollFlags::POLLIN),
            PollFd::new(interrupt.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) if fds[1].any().unwrap_or(false) => return Err(HostError::Interrupted),
            // Nothing is ever sent: what shows is the end of the holder.
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(HostError::SupervisorEnded(error.to_string())),
        }
    }
}

/// The job under which a supervisor keeps its machine for us: no other has this name.
const LOCK_JOB_ID: u64 = u64::MAX;
/// Somebody else's run may take hours.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// Whose the machine of a session is, as its own supervisor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Ours until the session ends.
    Acquired,
    /// Somebody else's, in words.
    HeldByOther(String),
    /// Nobody's: it cannot be kept, for this reason.
    Unavailable(String),
}

/// Takes the machine at the other end of a session; with `wait`, [`until_ours`] tells when it is
/// free if it is not.
pub fn claim(session: &mut dyn Session, wait: bool) -> Result<Claim, HostError> {
    session.send(&Order::Lock { id: LOCK_JOB_ID, wait })?;
    receive_claim(session, Duration::from_secs(20))
}

/// Sleeps until the machine is ours.
pub fn wait_for_claim(session: &mut dyn Session) -> Result<Claim, HostError> {
    loop {
        match receive_claim(session, MAX_LOCK_WAIT)? {
            // The next in the queue was quicker.
            Claim::HeldByOther(_) => {}
            done => return Ok(done),
        }
    }
}

fn receive_claim(session: &mut dyn Session, patience: Duration) -> Result<Claim, HostError> {
    loop {
        match session.next(patience)? {
            Event::Ready { id: LOCK_JOB_ID, .. } => return Ok(Claim::Acquired),
            Event::Busy { id: LOCK_JOB_ID, holder: by } => return Ok(Claim::HeldByOther(by)),
            Event::Failed { id: LOCK_JOB_ID, reason: why, .. } => {
                return Ok(Claim::Unavailable(why));
            }
            _ => {}
        }
    }
}

fn holder(stream: &UnixStream) -> LockHolder {
    let pid = getsockopt(stream, PeerCredentials).map_or(0, |peer| peer.pid());
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok().map(|bytes| {
        let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
        // Another process's words: bounded, and no control characters on our terminal.
        text.trim().chars().filter(|c| !c.is_control()).take(120).collect()
    });
    LockHolder { pid, command: command.filter(|text: &String| !text.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_one_is_told_who_holds_the_machine_and_gets_it_next() {
        let name = format!("oscost.test.{}", std::process::id());
        let first = MachineLock::acquire_named(name.as_bytes()).unwrap();
        let Err(LockError::HeldBy(holder, stream)) = MachineLock::acquire_named(name.as_bytes())
        else {
            panic!("the machine was given twice");
        };
        assert_eq!(holder.pid, std::process::id() as i32);
        let interrupt = Interrupt::listen().unwrap();
        let waiting = std::thread::spawn(move || wait_for_release(&stream, &interrupt));
        drop(first);
        waiting.join().unwrap().unwrap();
        assert!(MachineLock::acquire_named(name.as_bytes()).is_ok());
    }
}
