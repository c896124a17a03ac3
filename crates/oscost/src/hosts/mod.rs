//! Hosts: starting a supervisor, and exchanging messages with it.
//!
//! Purpose: a session with a supervisor on any host: orders out, events in, one wait at a time. It
//! must not know why an order is sent or what an event means.

mod fake;
mod local;
mod session;
mod ssh;
mod stderr_tail;
pub mod vm;
mod worker_binary;

pub use fake::{FakeSession, Scenario};
pub use local::LocalSession;
pub use ssh::SshSession;
pub use worker_binary::WorkerBinary;

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use oscost_model::protocol::{Event, Hello, Order};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use thiserror::Error;

/// A session with a supervisor.
pub trait Session {
    /// Its hello: identity and machine.
    fn hello(&self) -> &Hello;

    /// Sends an order.
    fn send(&mut self, order: &Order) -> Result<(), HostError>;

    /// Sleeps until the next event, at most for `timeout`.
    fn next(&mut self, timeout: Duration) -> Result<Event, HostError>;
}

/// Why a session failed.
#[derive(Debug, Error)]
pub enum HostError {
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// No worker program was found.
    #[error(
        "cannot find the program `oscost-worker`: tried {tried}\n  hint: `make build` \
         builds it; OSCOST_WORKER names one at another path"
    )]
    WorkerNotFound {
        /// The paths that were tried.
        tried: String,
    },
    /// The worker could not be started.
    #[error("cannot start {program}: {why}")]
    CannotStart {
        /// Its path.
        program: String,
        /// Why.
        why: String,
    },
    /// Tool and worker do not match.
    #[error("cannot use {program}: {why}\n  hint: `make build` builds a matching pair")]
    WorkerMismatch {
        /// The worker's path.
        program: String,
        /// What differs.
        why: String,
    },
    /// A host is unreachable or unusable.
    #[error("cannot reach `{host}`: {why}\n  hint: {hint}")]
    Unreachable {
        /// The host.
        host: String,
        /// Why.
        why: String,
        /// How to fix it.
        hint: String,
    },
    /// A requirement of the host is not installed here: its rows are skipped, not failed.
    #[error("cannot reach `{host}`: {why}\n  hint: {hint}")]
    Unavailable {
        /// The host.
        host: String,
        /// What is missing.
        why: String,
        /// How to install it.
        hint: String,
    },
    /// The supervisor has ended.
    #[error("the supervisor ended: {0}")]
    SupervisorEnded(String),
    /// The supervisor did not answer in time.
    #[error("the supervisor did not answer within {0:?}")]
    TimedOut(Duration),
    /// A message of the supervisor is invalid.
    #[error("invalid message from the supervisor: {0}")]
    InvalidMessage(String),
    /// The scenario file of a fake host is invalid.
    #[error("cannot read the scenario {file}: {why}")]
    BadScenario {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
}

/// The user's interrupt (SIGINT, SIGTERM, SIGHUP) as a file descriptor for poll(2).
#[derive(Debug)]
pub struct Interrupt {
    stop_signal: UnixStream,
    _sender: UnixStream,
    /// The signal's number; 0 before the first.
    signal: Arc<AtomicUsize>,
}

/// Signals this soon after the first belong to it: timeout(1) signals its child and then the whole
/// process group, child included; a closing terminal sends SIGHUP more than once.
const SIGNAL_GRACE: Duration = Duration::from_millis(300);

impl Interrupt {
    /// Installs the handlers. The first signal requests an orderly end; a later one ends the
    /// process at once. A SIGHUP that the parent ignores stays ignored: a run by nohup(1) survives
    /// its terminal.
    pub fn listen() -> std::io::Result<Self> {
        let (stop_signal, sender) = UnixStream::pair()?;
        let (mut first_signal, to_arm) = UnixStream::pair()?;
        let armed = Arc::new(AtomicBool::new(false));
        let received = Arc::new(AtomicUsize::new(0));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for (signal, number) in [(SIGINT, 2), (SIGTERM, 15), (SIGHUP, 1)] {
            if signal == SIGHUP && is_ignored(&status, signal) {
                continue;
            }
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&armed))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&received), number)?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
            signal_hook::low_level::pipe::register(signal, to_arm.try_clone()?)?;
        }
        // The main thread may be stuck, so this thread arms the second signal.
        std::thread::Builder::new().name("second-signal".to_owned()).spawn(move || {
            if first_signal.read_exact(&mut [0]).is_ok() {
                std::thread::sleep(SIGNAL_GRACE);
                armed.store(true, Ordering::Relaxed);
            }
        })?;
        Ok(Self { stop_signal, _sender: sender, signal: received })
    }

    /// The exit status for the signal, as in shells: 128 plus its number; 130 before the first
    /// signal.
    pub fn exit_status(&self) -> u8 {
        match self.signal.load(Ordering::Relaxed) {
            0 => 130,
            number => u8::try_from(128 + number).unwrap_or(130),
        }
    }
}

/// Whether a process ignores a signal, by its /proc/PID/status: bit 0 of the mask is signal 1.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stop_signal.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_a_bit_of_a_mask() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT));
        assert!(!is_ignored("", SIGHUP));
    }
}
