//! Running apt's programs.
//!
//! They are started from a list of words, never through a shell, and read no input. Their output is
//! bounded, and when the run ends, for whatever reason, their whole process group is killed.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use thiserror::Error;

use crate::files::null_device::null_device;
use crate::hosts::Interrupt;
use crate::hosts::stderr_tail::StderrTail;

/// The time limit for a program that has closed its output to exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of progress reports.
const TICK: Duration = Duration::from_secs(1);

/// The limits of a run, and who watches it.
pub(super) struct RunOptions<'a> {
    pub(super) timeout: Duration,
    pub(super) max_output_bytes: usize,
    pub(super) interrupt: Option<&'a Interrupt>,
    /// Called after each second without output.
    pub(super) on_tick: Option<&'a mut dyn FnMut()>,
}

/// Why a run did not end by itself.
#[derive(Debug, Error)]
pub(super) enum CommandError {
    /// The program cannot be started.
    #[error("cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The time limit was exceeded.
    #[error("took longer than {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The output limit was exceeded.
    #[error("prints more than expected")]
    TooMuchOutput,
    /// The output or the exit status cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    /// The end of its standard error.
    pub(super) stderr: String,
}

/// Runs a command to its end.
pub(super) fn run(
    command: &mut Command,
    mut options: RunOptions<'_>,
) -> Result<CommandOutput, CommandError> {
    // In a process group of its own, so that all of it can be killed and Ctrl-C reaches only us.
    let input = null_device().map_err(CommandError::NotStarted)?;
    let command = command.process_group(0).stdin(input);
    // Its messages are searched, so they must not be translated.
    let command = command.env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(CommandError::NotStarted)?;
    let mut stderr = StderrTail::from_child(&mut child);
    let mut output = child.stdout.take();
    let mut group = ProcessGroup { child, has_ended: false };
    let mut deadline = Instant::now() + options.timeout;
    let mut stdout = Vec::new();
    while output.is_some() || stderr.source().is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CommandError::TimedOut(options.timeout));
        }
        let [has_output, has_stderr, interrupted] = {
            let sources = [
                output.as_ref().map(AsFd::as_fd),
                stderr.source(),
                options.interrupt.map(AsFd::as_fd),
            ];
            let mut fds: Vec<PollFd<'_>> =
                sources.iter().flatten().map(|&fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            let timeout = PollTimeout::try_from(left.min(TICK)).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(CommandError::Unreadable(error.into())),
            }
            let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(false));
            sources.map(|source| source.is_some() && ready.next().unwrap_or(false))
        };
        if interrupted {
            return Err(CommandError::Interrupted);
        }
        if has_stderr {
            stderr.read_available();
        }
        match output.as_mut().filter(|_| has_output) {
            Some(pipe) => {
                let mut chunk = [0; 64 << 10];
                let read = pipe.read(&mut chunk).map_err(CommandError::Unreadable)?;
                stdout.extend_from_slice(&chunk[..read]);
                if stdout.len() > options.max_output_bytes {
                    return Err(CommandError::TooMuchOutput);
                }
                if read == 0 {
                    output = None;
                    deadline = deadline.min(Instant::now() + EXIT_TIMEOUT);
                }
            }
            None => options.on_tick.iter_mut().for_each(|tick| tick()),
        }
    }
    loop {
        match group.child.try_wait().map_err(CommandError::Unreadable)? {
            Some(status) => {
                group.has_ended = true;
                return Ok(CommandOutput { status, stdout, stderr: stderr.text() });
            }
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            None => return Err(CommandError::TimedOut(options.timeout)),
        }
    }
}

/// A program and all processes that it started.
struct ProcessGroup {
    child: Child,
    /// Whether the program was waited for: its id may belong to another process since.
    has_ended: bool,
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
