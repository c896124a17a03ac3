//! How a supervisor is reached, and what goes back and forth.
//!
//! What this room is for: a session with a supervisor, wherever it stands: orders out, events in,
//! one wait at a time. What it may not know: why an order is given, and what an event means.

mod fake;
mod local;
mod session;
mod ssh;
mod stderr_tail;
pub mod vm;

pub use fake::{FakeSession, Scenario};
pub use local::{LocalSession, WorkerBinary};
pub use ssh::SshSession;

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
    /// Who it is and where it stands.
    fn hello(&self) -> &Hello;

    /// Gives an order.
    fn send(&mut self, order: &Order) -> Result<(), HostError>;

    /// Sleeps until the next event, or until `patience` is at its end.
    fn next(&mut self, patience: Duration) -> Result<Event, HostError>;
}

/// Why a session cannot go on.
#[derive(Debug, Error)]
pub enum HostError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// No worker program was found.
    #[error(
        "cannot find the program `oscost-worker`: looked for {looked}\n  hint: `make build` makes it; OSCOST_WORKER names one that lies elsewhere"
    )]
    WorkerNotFound {
        /// Where it was looked for.
        looked: String,
    },
    /// The worker could not be started.
    #[error("cannot start {program}: {why}")]
    CannotStart {
        /// Its path.
        program: String,
        /// Why.
        why: String,
    },
    /// Tool and worker do not belong together.
    #[error("cannot use {program}: {why}\n  hint: `make build` makes a pair that fits")]
    WorkerMismatch {
        /// The worker's path.
        program: String,
        /// What differs.
        why: String,
    },
    /// Another machine cannot be reached, or cannot be used.
    #[error("cannot reach `{host}`: {why}\n  hint: {hint}")]
    Unreachable {
        /// The reach.
        host: String,
        /// Why.
        why: String,
        /// What to do about it.
        hint: String,
    },
    /// What a place takes is not installed here: it is not there to be measured, and nothing failed.
    #[error("cannot reach `{host}`: {why}\n  hint: {hint}")]
    Unavailable {
        /// The reach.
        host: String,
        /// What is lacking.
        why: String,
        /// The way to it.
        hint: String,
    },
    /// The supervisor has ended.
    #[error("the supervisor ended: {0}")]
    SupervisorEnded(String),
    /// The supervisor says nothing for too long.
    #[error("the supervisor was silent for {0:?}")]
    TimedOut(Duration),
    /// What the supervisor says cannot be understood.
    #[error("the supervisor spoke nonsense: {0}")]
    InvalidMessage(String),
    /// A fake place's file cannot be used.
    #[error("cannot read the scenario {file}: {why}")]
    BadScenario {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
}

/// The user's wish to stop (SIGINT, SIGTERM, SIGHUP), as something to wait for.
#[derive(Debug)]
pub struct Interrupt {
    stop_signal: UnixStream,
    _sender: UnixStream,
    /// The signal's number; 0 before one came.
    signal: Arc<AtomicUsize>,
}

/// Signals that come so soon after the first are the same wish: timeout(1) signals its child and then
/// the whole process group, child included; a terminal that is closed sends SIGHUP more than once.
const SIGNAL_GRACE: Duration = Duration::from_millis(300);

impl Interrupt {
    /// Listens from now on. The first signal asks for an orderly end; another one, a moment later,
    /// ends at once.
    pub fn listen() -> std::io::Result<Self> {
        let (wish, sender) = UnixStream::pair()?;
        let (mut first, to_arm) = UnixStream::pair()?;
        let armed = Arc::new(AtomicBool::new(false));
        let which = Arc::new(AtomicUsize::new(0));
        for (signal, number) in [(SIGINT, 2), (SIGTERM, 15), (SIGHUP, 1)] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&armed))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&which), number)?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
            signal_hook::low_level::pipe::register(signal, to_arm.try_clone()?)?;
        }
        // Whoever should hear the wish may be stuck: it is not left to them to arm the second one.
        std::thread::Builder::new().name("second-signal".to_owned()).spawn(move || {
            if first.read_exact(&mut [0]).is_ok() {
                std::thread::sleep(SIGNAL_GRACE);
                armed.store(true, Ordering::Relaxed);
            }
        })?;
        Ok(Self { stop_signal: wish, _sender: sender, signal: which })
    }

    /// The exit status that tells which signal it was, as shells have it; that of Ctrl-C before one
    /// has come.
    pub fn exit_status(&self) -> u8 {
        match self.signal.load(Ordering::Relaxed) {
            0 => 130,
            number => u8::try_from(128 + number).unwrap_or(130),
        }
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stop_signal.as_fd()
    }
}
