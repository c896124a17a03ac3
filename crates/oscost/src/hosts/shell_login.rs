//! A login to a shell on another machine, until the supervisor there has said hello.
//!
//! How the shell is reached, and why that failed, is known to its transport: ssh, or Slurm's srun.

use std::time::{Duration, Instant};

use oscost_model::protocol::Hello;

use super::session::{ChildEnd, PipeSession};
use super::worker_copy::{ScriptReply, UnfitMachine, WorkerCopy};
use super::{HostError, WorkerBinary};

/// The time limit for copying the worker: 2 MB at 100 kbit/s.
const COPY_TIMEOUT: Duration = Duration::from_secs(180);
/// The script asks for the worker once for each folder that it tries.
const MAX_COPIES: usize = 4;
/// The maximum number of lines that a login may print before the script's reply.
const MAX_BANNER_LINES: usize = 1_000;
/// The maximum length of a program's output that is shown, its end.
const MAX_ERROR_CHARS: usize = 300;
/// How often a login that does not answer is asked whether it is queued.
const QUEUE_POLL: Duration = Duration::from_millis(500);

/// Why a shell was not reached, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoginFailure {
    pub(super) why: String,
    pub(super) hint: String,
}

/// How a shell on another machine is reached.
pub(super) trait Transport {
    /// The program that reaches it.
    fn program(&self) -> &'static str;

    /// The machine as the target names it.
    fn host(&self) -> String;

    /// The time limit of a login, in which no time passes while it is queued.
    fn login_timeout(&self) -> Duration;

    /// What must work.
    fn hint(&self) -> String;

    /// The program runs, as this process.
    fn started(&mut self, _pid: u32) {}

    /// Whether a login with this output waits for its turn, and may wait on.
    fn is_queued(&mut self, stderr: &str) -> Result<bool, LoginFailure>;

    /// Why a login ended without a reply.
    fn diagnose(&self, end: &ChildEnd) -> LoginFailure;
}

/// A session before its hello.
pub(super) struct Opening<'a, 'b> {
    pub(super) transport: &'b mut dyn Transport,
    pub(super) copy: WorkerCopy,
    pub(super) pipes: PipeSession<'a>,
}

impl Opening<'_, '_> {
    /// Logs in, copies the worker if it is not there, and starts the supervisor.
    pub(super) fn start_supervisor(&mut self, program: &WorkerBinary) -> Result<Hello, HostError> {
        let timeout = self.transport.login_timeout();
        let mut reply = self.read_reply(timeout)?;
        for _ in 0..MAX_COPIES {
            if reply.word != "copy" {
                break;
            }
            self.check_machine(&reply)?;
            self.copy_worker()?;
            reply = self.read_reply(COPY_TIMEOUT)?;
        }
        if reply.word != "run" {
            return Err(self.no_usable_folder());
        }
        self.check_machine(&reply)?;
        self.pipes.hello(program)
    }

    /// The next reply of the remote script, within `timeout` in all. Other output of the login is
    /// skipped.
    fn read_reply(&mut self, timeout: Duration) -> Result<ScriptReply, HostError> {
        let mut deadline = Instant::now() + timeout;
        for _ in 0..MAX_BANNER_LINES {
            match self.read_line(&mut deadline, timeout)? {
                Some(line) => {
                    if let Some(reply) = self.copy.reply(&line) {
                        return Ok(reply);
                    }
                }
                None => return Err(self.login_failure()),
            }
        }
        let why = "its login prints too much".to_owned();
        Err(self.unreachable(&why, "its login must not print without a terminal"))
    }

    /// The next line. The deadline moves while the login is queued.
    fn read_line(
        &mut self,
        deadline: &mut Instant,
        timeout: Duration,
    ) -> Result<Option<Vec<u8>>, HostError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pipes.read_line(left.min(QUEUE_POLL)) {
                Err(HostError::TimedOut(_)) => {}
                other => return other,
            }
            let stderr = self.pipes.stderr_text();
            let queued = self.transport.is_queued(&stderr);
            if queued.map_err(|failure| self.unreachable(&failure.why, &failure.hint))? {
                *deadline = Instant::now() + timeout;
            } else if Instant::now() >= *deadline {
                let output =
                    if stderr.is_empty() { stderr } else { format!(": {}", tail(&stderr)) };
                let why = format!("no reply within {timeout:?}{output}");
                return Err(self.unreachable(&why, &self.transport.hint()));
            }
        }
    }

    /// Copies the worker.
    fn copy_worker(&mut self) -> Result<(), HostError> {
        let written = self.pipes.write(self.copy.file(), COPY_TIMEOUT);
        written.map_err(|error| match error {
            HostError::SupervisorEnded(why) => {
                let program = self.transport.program();
                let why = format!("copying the worker failed: {program} {why}");
                self.unreachable(&why, "try again")
            }
            HostError::TimedOut(timeout) => {
                let why = format!("copying the worker took longer than {timeout:?}");
                self.unreachable(&why, &self.transport.hint())
            }
            other => other,
        })
    }

    /// Checks that the worker runs on the machine that replied.
    fn check_machine(&self, reply: &ScriptReply) -> Result<(), HostError> {
        let checked = self.copy.check_machine(reply);
        checked.map_err(|UnfitMachine { why, hint }| self.unreachable(&why, hint))
    }

    /// Why the transport or the remote shell ended without a reply.
    fn login_failure(&mut self) -> HostError {
        if self.pipes.is_interrupted() {
            return HostError::Interrupted;
        }
        let end = self.pipes.wait_for_end();
        let LoginFailure { why, hint } = self.transport.diagnose(&end);
        self.unreachable(&why, &hint)
    }

    /// No remote directory is usable for the worker.
    fn no_usable_folder(&mut self) -> HostError {
        let end = self.pipes.wait_for_end();
        let why = format!("the worker cannot be stored there: {}", tail(&end.stderr));
        let hint = "it needs 4 MiB in ~/.cache, TMPDIR, /tmp or /var/tmp, where programs may run";
        self.unreachable(&why, hint)
    }

    fn unreachable(&self, why: &str, hint: &str) -> HostError {
        HostError::Unreachable {
            host: self.transport.host(),
            why: why.to_owned(),
            hint: hint.to_owned(),
        }
    }
}

/// The end of a text, short enough for an error.
pub(super) fn tail(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_ERROR_CHARS {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - MAX_ERROR_CHARS).collect();
    format!("...{end}")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use oscost_model::definition::Catalog;

    use super::*;
    use crate::hosts::Interrupt;

    const LIMIT: Duration = Duration::from_secs(60);

    /// A transport whose logins are queued so many times, half a second at most each.
    struct QueuedLogin {
        times: u32,
        timeout: Duration,
    }

    impl Transport for QueuedLogin {
        fn program(&self) -> &'static str {
            "sh"
        }

        fn host(&self) -> String {
            "ssh:db1".to_owned()
        }

        fn login_timeout(&self) -> Duration {
            self.timeout
        }

        fn hint(&self) -> String {
            "it must work".to_owned()
        }

        fn is_queued(&mut self, _: &str) -> Result<bool, LoginFailure> {
            let is_queued = self.times > 0;
            self.times = self.times.saturating_sub(1);
            Ok(is_queued)
        }

        fn diagnose(&self, end: &ChildEnd) -> LoginFailure {
            LoginFailure { why: format!("it ended: {}", end.stderr), hint: self.hint() }
        }
    }

    /// The error of a login by a script in place of ssh.
    fn refusal(script: &str, transport: &mut QueuedLogin) -> String {
        let interrupt = Interrupt::listen().unwrap();
        let catalog = Catalog { families: vec![], benchmarks: vec![], timers: vec![] };
        let (path, catalog_hash) = ("oscost-worker".into(), String::new());
        let program = WorkerBinary { path, catalog, catalog_hash };
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::piped());
        let pipes = PipeSession::start(&mut command, &interrupt).unwrap();
        let mut opening = Opening { transport, copy: WorkerCopy::of("0a", b"x"), pipes };
        let error = opening.start_supervisor(&program).unwrap_err();
        opening.pipes.terminate_within(Duration::from_secs(2));
        error.to_string()
    }

    #[test]
    fn a_login_has_one_limit_for_all_its_lines_and_copies() {
        let timeout = Duration::from_millis(300);
        // Each line comes within the limit, all of them do not.
        let drips = "while :; do echo hello; sleep 0.1; done";
        let error = refusal(drips, &mut QueuedLogin { times: 0, timeout });
        assert!(error.contains("no reply within 300ms"), "{error}");
        let copies = "while :; do echo oscost-0a copy Linux x; head -c 1 > /dev/null; done";
        let error = refusal(copies, &mut QueuedLogin { times: 0, timeout: LIMIT });
        assert!(error.contains("cannot be stored there"), "{error}");
    }

    #[test]
    fn no_time_passes_while_a_login_is_queued() {
        let mut queued = QueuedLogin { times: 3, timeout: Duration::from_millis(300) };
        let error = refusal("echo late >&2; exec sleep 60", &mut queued);
        assert!(error.contains("no reply within 300ms: late"), "{error}");
        assert_eq!(queued.times, 0);
    }

    #[test]
    fn a_login_that_ends_is_told_by_its_transport() {
        let error = refusal("echo gone >&2", &mut QueuedLogin { times: 0, timeout: LIMIT });
        assert!(error.contains("`ssh:db1`: it ended: gone\n  hint: it must work"), "{error}");
    }

    #[test]
    fn the_end_of_a_long_text_is_shown() {
        assert_eq!(tail("short"), "short");
        assert_eq!(tail(&"x".repeat(10_000)).chars().count(), MAX_ERROR_CHARS + 3);
    }
}
