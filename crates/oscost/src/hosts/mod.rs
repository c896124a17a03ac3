//! Hosts: starting a supervisor, and exchanging messages with it.
//!
//! Purpose: a session with a supervisor on any host: orders out, events in, one wait at a time. It
//! must not know why an order is sent or what an event means.

mod fake;
mod local;
mod session;
mod shell_login;
mod shell_session;
pub mod slurm;
mod ssh;
mod stderr_tail;
pub mod vm;
mod worker_binary;
mod worker_copy;

pub use fake::{FakeSession, Scenario};
pub use local::LocalSession;
pub use ssh::SshSession;
pub use worker_binary::WorkerBinary;

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oscost_model::protocol::{Event, Hello, Order};
use thiserror::Error;

use crate::signals::{end_signals, watch_end_signals};

/// A session with a supervisor.
pub trait Session {
    /// Its hello: identity and machine.
    fn hello(&self) -> &Hello;

    /// Sends an order.
    fn send(&mut self, order: &Order) -> Result<(), HostError>;

    /// Sleeps until the next event, at most for `timeout`.
    fn next(&mut self, timeout: Duration) -> Result<Event, HostError>;
}

/// The first event that `select` takes, within `timeout` in all, however many others arrive.
pub fn next_matching<T>(
    session: &mut dyn Session,
    timeout: Duration,
    mut select: impl FnMut(Event) -> Option<T>,
) -> Result<T, HostError> {
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let event = session.next(left).map_err(|error| match error {
            HostError::TimedOut(_) => HostError::TimedOut(timeout),
            other => other,
        })?;
        if let Some(found) = select(event) {
            return Ok(found);
        }
    }
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
    #[error("cannot start {program}: {why}{}", start_hint(why))]
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
    /// The supervisor has ended, or its events cannot be read: how, as the end of a sentence.
    #[error(
        "the worker process {0}\n  hint: what was measured by then is not lost; run it again for \
         the rest"
    )]
    SupervisorEnded(String),
    /// The supervisor did not answer in time.
    #[error(
        "cannot use the supervisor: it did not answer within {0:?}\n  hint: a stopped or \
         overloaded machine answers late; run it again"
    )]
    TimedOut(Duration),
    /// A message of the supervisor is invalid.
    #[error(
        "invalid message from the supervisor: {0}\n  hint: run it again; if it stays, `make build` \
         builds a matching pair of programs"
    )]
    InvalidMessage(String),
    /// The scenario file of a fake host is invalid.
    #[error(
        "cannot read the scenario {file}: {why}\n  hint: docs/reference/TARGETS.md documents the \
         keys of such a file"
    )]
    BadScenario {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
}

/// What to do where the worker cannot be started, if the reason does not say.
fn start_hint(why: &str) -> &'static str {
    match why.contains("hint: ") {
        true => "",
        false => {
            "\n  hint: it must be executable, and `ulimit -a` shows the limits that it may exceed"
        }
    }
}

/// The user's interrupt (SIGINT, SIGTERM, SIGHUP) as a file descriptor for poll(2).
#[derive(Debug)]
pub struct Interrupt {
    stop_signal: UnixStream,
    _sender: UnixStream,
}

/// Signals this soon after the first belong to it: timeout(1) signals its child and then the whole
/// process group, child included; a closing terminal sends SIGHUP more than once.
const SIGNAL_GRACE: Duration = Duration::from_millis(300);

impl Interrupt {
    /// Installs the handlers. The first signal requests an orderly end; a later one ends the
    /// process at once. A SIGHUP that is ignored stays ignored.
    pub fn listen() -> std::io::Result<Self> {
        let (stop_signal, sender) = UnixStream::pair()?;
        stop_signal.set_nonblocking(true)?;
        let (mut first_signal, to_arm) = UnixStream::pair()?;
        let armed = Arc::new(AtomicBool::new(false));
        // First, so that the signal is known when its arrival is read from the descriptor.
        watch_end_signals()?;
        for signal in end_signals() {
            let status = 128 + signal;
            signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&armed))?;
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
        Ok(Self { stop_signal, _sender: sender })
    }

    /// Takes the request, by whoever ends in an orderly way what it was for: a session goes on then.
    pub fn take(&self) {
        // Each signal has written a byte; without any there is nothing to read.
        let _ = (&self.stop_signal).read(&mut [0; 64]);
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stop_signal.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session that always has an event of another job, until its time is up.
    struct OtherJobs(Hello);

    impl Session for OtherJobs {
        fn hello(&self) -> &Hello {
            &self.0
        }

        fn send(&mut self, _: &Order) -> Result<(), HostError> {
            Ok(())
        }

        fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
            match timeout.is_zero() {
                true => Err(HostError::TimedOut(timeout)),
                false => Ok(Event::BatchesDone { id: 1 }),
            }
        }
    }

    #[test]
    fn events_of_other_jobs_do_not_prolong_a_wait() {
        let timeout = Duration::from_millis(20);
        let mut others = 0;
        let found = next_matching(&mut OtherJobs(Hello::default()), timeout, |_| {
            others += 1;
            None::<()>
        });
        assert!(matches!(found, Err(HostError::TimedOut(limit)) if limit == timeout), "{found:?}");
        assert!(others > 0);
        let found = next_matching(&mut OtherJobs(Hello::default()), timeout, |event| event.id());
        assert!(matches!(found, Ok(1)), "{found:?}");
    }

    #[test]
    fn every_failure_of_a_session_but_an_interrupt_has_one_hint() {
        let text = |text: &str| text.to_owned();
        for error in [
            HostError::WorkerNotFound { tried: text("x") },
            HostError::CannotStart { program: text("x"), why: text("EMFILE") },
            HostError::CannotStart { program: text("x"), why: text("no\n  hint: mknod") },
            HostError::WorkerMismatch { program: text("x"), why: text("y") },
            HostError::SupervisorEnded(text("ended")),
            HostError::TimedOut(Duration::from_secs(1)),
            HostError::InvalidMessage(text("x")),
            HostError::BadScenario { file: text("x"), why: text("y") },
        ] {
            let words = error.to_string();
            assert_eq!(words.matches("\n  hint: ").count(), 1, "{words}");
        }
    }
}
