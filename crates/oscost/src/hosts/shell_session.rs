//! Sessions with a supervisor on another machine, which a shell there has started.

use std::process::Command;
use std::time::Duration;

#[cfg(feature = "fault-injection")]
use oscost_model::fault_injection::ANSWER_LIMIT_MS;
use oscost_model::protocol::{Event, Hello, Order};

use super::session::PipeSession;
use super::shell_login::{Opening, Transport};
use super::worker_copy::WorkerCopy;
use super::{HostError, Interrupt, WorkerBinary};

/// A supervisor on another machine.
pub(super) struct ShellSession<'a> {
    pipes: PipeSession<'a>,
    hello: Hello,
    state: SessionState,
    end_limit: Duration,
}

/// Whether the end of a session is worth waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    /// No order was sent: there is nothing to undo.
    Idle,
    /// Its supervisor answers, and undoes what it has begun.
    Working,
    /// The last answer did not come in time, or was none. Its supervisor ends with its input,
    /// whether it is waited for or not.
    Lost,
}

impl SessionState {
    /// The state after an exchange.
    fn after<T>(exchange: &Result<T, HostError>) -> Self {
        match exchange {
            Err(HostError::TimedOut(_) | HostError::InvalidMessage(_)) => SessionState::Lost,
            _ => SessionState::Working,
        }
    }
}

/// The command that reaches the shell, which runs a copy's script.
pub(super) struct ShellCommand {
    pub(super) command: Command,
    pub(super) copy: WorkerCopy,
    /// The time in which the command ends when it is asked to.
    pub(super) end_limit: Duration,
}

impl<'a> ShellSession<'a> {
    /// Copies the worker if needed, and starts the supervisor. `not_started` is the error of a
    /// command that cannot be started.
    pub(super) fn open(
        shell: ShellCommand,
        transport: &mut dyn Transport,
        program: &WorkerBinary,
        interrupt: &'a Interrupt,
        not_started: impl FnOnce(&Command, &std::io::Error) -> HostError,
    ) -> Result<Self, HostError> {
        let ShellCommand { mut command, copy, end_limit } = shell;
        let pipes = PipeSession::start(&mut command, interrupt);
        let pipes = pipes.map_err(|error| not_started(&command, &error))?;
        transport.started(pipes.pid());
        let mut opening = Opening { transport, copy, pipes };
        match opening.start_supervisor(program) {
            Ok(hello) => {
                Ok(Self { pipes: opening.pipes, hello, state: SessionState::Idle, end_limit })
            }
            Err(error) => {
                // Nothing was measured there, so that nothing has to be undone: a peer that hangs is
                // not waited for. What was started there ends with its input.
                opening.pipes.terminate_within(end_limit);
                Err(error)
            }
        }
    }

    pub(super) fn hello(&self) -> &Hello {
        &self.hello
    }

    pub(super) fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let sent = self.pipes.send(order);
        self.state = SessionState::after(&sent);
        sent
    }

    pub(super) fn next(&mut self, timeout: Duration) -> Result<Event, HostError> {
        let event = self.pipes.next_event(answer_limit(timeout));
        self.state = SessionState::after(&event);
        event
    }
}

impl Drop for ShellSession<'_> {
    fn drop(&mut self) {
        if self.state == SessionState::Working {
            self.pipes.wait_for_shutdown();
        }
        self.pipes.terminate_within(self.end_limit);
    }
}

/// The time limit of an answer.
#[cfg(not(feature = "fault-injection"))]
const fn answer_limit(timeout: Duration) -> Duration {
    timeout
}

/// The time limit of an answer: less in a test of a session that hangs.
#[cfg(feature = "fault-injection")]
fn answer_limit(timeout: Duration) -> Duration {
    let limit_ms = std::env::var(ANSWER_LIMIT_MS).ok().and_then(|text| text.parse().ok());
    limit_ms.map_or(timeout, |limit_ms| timeout.min(Duration::from_millis(limit_ms)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Stdio;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);

    /// A session with a script in place of ssh, which goes on at the end of its input. It leaves a
    /// mark if it is asked to end, and not if it is killed after the time of an orderly shutdown.
    fn session_of<'a>(script: &str, mark: &Path, interrupt: &'a Interrupt) -> ShellSession<'a> {
        let script =
            format!("trap ': > \"$0\"; exit' TERM; {script}\nwhile :; do sleep 0.01; done");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(mark);
        let pipes = PipeSession::start(command.stderr(Stdio::piped()), interrupt).unwrap();
        let (hello, state) = (Hello::default(), SessionState::Idle);
        ShellSession { pipes, hello, state, end_limit: LIMIT }
    }

    #[test]
    fn a_session_that_is_lost_is_not_waited_for() {
        let interrupt = Interrupt::listen().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (mark, short) = (folder.path().join("asked"), Duration::from_millis(50));
        for (script, timeout, state) in [
            // Without an answer, with one that is none, and never asked anything.
            (":", Some(short), SessionState::Lost),
            ("echo hello", Some(Duration::from_secs(60)), SessionState::Lost),
            ("yes &", Some(Duration::from_secs(60)), SessionState::Lost),
            (":", None, SessionState::Idle),
        ] {
            let mut session = session_of(script, &mark, &interrupt);
            if let Some(timeout) = timeout {
                session.next(timeout).unwrap_err();
            }
            assert_eq!(session.state, state, "{script}");
            drop(session);
            std::fs::remove_file(&mark).unwrap();
        }
    }

    #[test]
    fn a_session_that_answered_is_waited_for() {
        let answered = Ok(Event::BatchesDone { id: 1 });
        assert_eq!(SessionState::after(&answered), SessionState::Working);
        // The user's Ctrl-C does not end the supervisor: it still undoes what it has begun.
        assert_eq!(SessionState::after::<()>(&Err(HostError::Interrupted)), SessionState::Working);
    }
}
