//! Programs of the system that are asked something: dpkg-deb, apt.
//!
//! They are started from a list of words and never through a shell, read nothing, are heard as far
//! as a bound goes, and are gone with all that they have started when the asking ends, however.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::hosts::Interrupt;
use crate::hosts::stderr_tail::StderrTail;

/// How long a program that has closed its output may take to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A program that was asked.
pub(super) struct RunningCommand<'a> {
    child: Child,
    output: ChildStdout,
    stderr: StderrTail,
    with_interrupt: Instant,
    interrupt: Option<&'a Interrupt>,
    /// Whether it has ended by itself, and nobody has its number any more.
    has_ended: bool,
    /// Why it was stopped before its end.
    stopped: Option<CommandError>,
    /// Told each second that passes in silence.
    tick: Option<&'a mut dyn FnMut()>,
}

/// Why a program was not heard to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandError {
    /// The user wants to stop.
    Interrupted,
    /// It took too long.
    TimedOut,
    /// It says more than there can be to say.
    TooMuchOutput,
    /// Its output cannot be read.
    Unreadable(String),
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// Its status.
    pub(super) status: ExitStatus,
    /// What it said to people, the end of it.
    pub(super) stderr: String,
}

impl<'a> RunningCommand<'a> {
    /// Starts it, for `patience` at most.
    pub(super) fn start(
        command: &mut Command,
        patience: Duration,
    ) -> io::Result<RunningCommand<'a>> {
        // Of a group of its own, so that all of it can be ended, and a Ctrl-C is ours to answer.
        let command = command.process_group(0).stdin(Stdio::null());
        // What it says is looked at, and must be in the words that are looked for.
        let command = command.env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let words = StderrTail::from_child(&mut child);
        let Some(output) = child.stdout.take() else {
            return Err(io::ErrorKind::BrokenPipe.into()); // It was asked for above.
        };
        let until = Instant::now() + patience;
        Ok(RunningCommand {
            child,
            output,
            stderr: words,
            with_interrupt: until,
            interrupt: None,
            has_ended: false,
            stopped: None,
            tick: None,
        })
    }

    /// Stops when the user wants to.
    pub(super) fn until(mut self, interrupt: &'a Interrupt) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// Tells of each second that passes in silence.
    pub(super) fn on_tick(mut self, tick: &'a mut dyn FnMut()) -> Self {
        self.tick = Some(tick);
        self
    }

    /// Hears all of it, `most` bytes of output at most.
    pub(super) fn read_all(mut self, most: u64) -> Result<(Vec<u8>, End), CommandError> {
        let mut output = Vec::new();
        let read = self.by_ref().take(most + 1).read_to_end(&mut output);
        if let Some(stop) = self.stopped.take() {
            return Err(stop);
        }
        read.map_err(|error| CommandError::Unreadable(error.to_string()))?;
        if output.len() as u64 > most {
            return Err(CommandError::TooMuchOutput);
        }
        Ok((output, self.end()?))
    }

    /// Why it was stopped, if it was.
    pub(super) fn stopped(&self) -> Option<CommandError> {
        self.stopped.clone()
    }

    /// How it ended, once its output has.
    pub(super) fn end(mut self) -> Result<End, CommandError> {
        self.with_interrupt = self.with_interrupt.min(Instant::now() + EXIT_TIMEOUT);
        while self.stderr.source().is_some() {
            if self.wait(false).is_err() {
                return Err(self.stopped.clone().unwrap_or(CommandError::TimedOut));
            }
        }
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.has_ended = true;
                    return Ok(End { status, stderr: self.stderr.text() });
                }
                Ok(None) if Instant::now() < self.with_interrupt => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(None) => return Err(CommandError::TimedOut),
                Err(error) => return Err(CommandError::Unreadable(error.to_string())),
            }
        }
    }

    /// Sleeps until it has said something, to people or, where that is waited for, in its output.
    fn wait(&mut self, for_output: bool) -> io::Result<()> {
        let stop = loop {
            let left = self.with_interrupt.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break CommandError::TimedOut;
            }
            let [said, words, wish] = {
                let output = Some(self.output.as_fd()).filter(|_| for_output);
                let watched = [output, self.stderr.source(), self.interrupt.map(AsFd::as_fd)];
                let mut fds: Vec<PollFd<'_>> = watched
                    .iter()
                    .filter_map(|&fd| Some(PollFd::new(fd?, PollFlags::POLLIN)))
                    .collect();
                let slice = left.min(Duration::from_secs(1));
                let timeout = PollTimeout::try_from(slice).unwrap_or(PollTimeout::MAX);
                match poll(&mut fds, timeout) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(error) => break CommandError::Unreadable(error.to_string()),
                }
                let mut ready = fds.iter().map(|fd| fd.any().unwrap_or(false));
                watched.map(|fd| fd.is_some() && ready.next().unwrap_or(false))
            };
            if wish {
                break CommandError::Interrupted;
            }
            if words {
                self.stderr.read_available();
            }
            if said || (words && !for_output) {
                return Ok(());
            }
            if let Some(tick) = &mut self.tick {
                tick();
            }
        };
        self.stopped = Some(stop);
        Err(io::Error::other("stopped"))
    }
}

impl Read for RunningCommand<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.wait(true)?;
        self.output.read(bytes)
    }
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // Until it is waited for its number is nobody else's, and so is that of its group.
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
