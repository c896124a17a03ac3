//! Sessions through the pipes of a child process: lines out and in, one wait at a time.

mod shutdown;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use oscost_model::protocol::{Event, EventHead, Hello, MAX_LINE_BYTES, Order};

use super::stderr_tail::StderrTail;
use super::{HostError, Interrupt, WorkerBinary};
use crate::signals::end_signal_of_status;

/// The time limit of a supervisor's hello, which takes about 30 ms.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit for a child that has closed its output to exit, and for the end of its standard
/// error.
const STDERR_TIMEOUT: Duration = Duration::from_secs(2);
/// The most that is read ahead while something is written: a line, and the events before it.
const MAX_UNREAD_BYTES: usize = 2 * MAX_LINE_BYTES;
/// A pipe that is writable accepts at least one page.
const PIPE_PAGE: usize = 4_096;
/// The time limit for sending an order.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// A session through the pipes of a child.
pub(super) struct PipeSession<'a> {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    unread: Vec<u8>,
    stderr: StderrTail,
    interrupt: &'a Interrupt,
}

/// The end of a wait.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Deadline {
    fn after(timeout: Duration) -> Self {
        Self { at: Instant::now() + timeout, timeout }
    }

    /// The time left.
    fn left(self) -> Result<Duration, HostError> {
        match self.at.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(HostError::TimedOut(self.timeout)),
            left => Ok(left),
        }
    }
}

/// How a child ended.
pub(super) struct ChildEnd {
    /// Its exit status, if it has ended.
    pub(super) status: Option<ExitStatus>,
    /// The end of its standard error, if it is a pipe.
    pub(super) stderr: String,
}

/// What a wait is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitFor {
    /// Output of the child.
    Output,
    /// Output of the child, or room in its input pipe.
    OutputOrRoom,
}

/// The result of a wait.
struct Readiness {
    /// The child closed its output.
    ended: bool,
    /// The child's input is writable.
    writable: bool,
}

impl<'a> PipeSession<'a> {
    /// Starts the child.
    pub(super) fn start(
        command: &mut Command,
        interrupt: &'a Interrupt,
    ) -> std::io::Result<PipeSession<'a>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::ErrorKind::BrokenPipe.into()); // Both are pipes, see above.
        };
        Ok(PipeSession {
            stderr: StderrTail::from_child(&mut child),
            child,
            input: Some(input),
            output,
            unread: Vec::new(),
            interrupt,
        })
    }

    /// The child's process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads the supervisor's hello, and checks that it is the expected one.
    pub(super) fn hello(&mut self, program: &WorkerBinary) -> Result<Hello, HostError> {
        self.hello_within(program, HELLO_TIMEOUT)
    }

    /// The same with another time limit.
    pub(super) fn hello_within(
        &mut self,
        program: &WorkerBinary,
        timeout: Duration,
    ) -> Result<Hello, HostError> {
        match self.next_event(timeout)? {
            Event::Hello(hello) => program.check_hello(&hello).map(|()| *hello),
            other => Err(HostError::InvalidMessage(format!("expected a hello, got {other:?}"))),
        }
    }

    /// Sleeps until the child has written output, or until there is room in its input pipe.
    fn wait(&mut self, wait_for: WaitFor, deadline: Deadline) -> Result<Readiness, HostError> {
        loop {
            let left = deadline.left()?;
            let [has_output, interrupted, has_stderr, writable] = {
                // A descriptor that is absent or not waited for is replaced by the interrupt's.
                let interrupt = || PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN);
                let stderr = self.stderr.source();
                let input = self.input.as_ref().filter(|_| wait_for == WaitFor::OutputOrRoom);
                let mut fds = [
                    PollFd::new(self.output.as_fd(), PollFlags::POLLIN),
                    interrupt(),
                    stderr.map_or_else(interrupt, |it| PollFd::new(it, PollFlags::POLLIN)),
                    input.map_or_else(interrupt, |it| PollFd::new(it.as_fd(), PollFlags::POLLOUT)),
                ];
                let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
                match poll(&mut fds, timeout) {
                    Ok(_) | Err(Errno::EINTR) => {}
                    Err(error) => return Err(unreadable(&error)),
                }
                fds.map(|fd| fd.any().unwrap_or(false))
            };
            if interrupted {
                return Err(HostError::Interrupted);
            }
            if has_stderr {
                self.stderr.read_available();
            }
            let mut ready = Readiness { ended: false, writable };
            if has_output {
                let mut chunk = [0; 64 << 10];
                let read = self.output.read(&mut chunk).map_err(|error| unreadable(&error))?;
                self.unread.extend_from_slice(&chunk[..read]);
                ready.ended = read == 0;
                if self.unread.len() > MAX_UNREAD_BYTES {
                    let why = "it writes more than it was asked for".to_owned();
                    return Err(HostError::InvalidMessage(why));
                }
            }
            if has_output || writable {
                return Ok(ready);
            }
        }
    }

    /// Writes bytes to the child, a page at a time, within `timeout`.
    pub(super) fn write(&mut self, bytes: &[u8], timeout: Duration) -> Result<(), HostError> {
        let deadline = Deadline::after(timeout);
        for page in bytes.chunks(PIPE_PAGE) {
            loop {
                let ready = self.wait(WaitFor::OutputOrRoom, deadline)?;
                if ready.ended {
                    return Err(self.supervisor_ended());
                }
                if ready.writable {
                    break;
                }
            }
            let written = match &mut self.input {
                Some(input) => input.write_all(page),
                None => {
                    return Err(HostError::SupervisorEnded("accepts no more orders".to_owned()));
                }
            };
            if written.is_err() {
                return Err(self.supervisor_ended());
            }
        }
        Ok(())
    }

    /// The next line with its newline; `None` at end of file.
    pub(super) fn read_line(&mut self, timeout: Duration) -> Result<Option<Vec<u8>>, HostError> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                return Ok(Some(self.unread.drain(..=end).collect()));
            }
            if self.unread.len() > MAX_LINE_BYTES {
                return Err(HostError::InvalidMessage("a line that is too long".to_owned()));
            }
            if self.wait(WaitFor::Output, deadline)?.ended {
                return Ok(None);
            }
        }
    }

    /// Sends an order.
    pub(super) fn send(&mut self, order: &Order) -> Result<(), HostError> {
        let line = serde_json::to_vec(order);
        let mut line = line.map_err(|error| {
            HostError::SupervisorEnded(format!("cannot be sent an order: {error}"))
        })?;
        line.push(b'\n');
        self.write(&line, SEND_TIMEOUT)
    }

    /// The next event.
    pub(super) fn next_event(&mut self, timeout: Duration) -> Result<Event, HostError> {
        match self.read_line(timeout)? {
            Some(line) => parse_event(&line),
            None => Err(self.supervisor_ended()),
        }
    }

    /// The error for a supervisor that ended early.
    fn supervisor_ended(&mut self) -> HostError {
        if self.is_interrupted() {
            // Ctrl-C in the terminal also kills an ssh in the foreground.
            return HostError::Interrupted;
        }
        let ChildEnd { status, stderr } = self.wait_for_end();
        let how = status.map_or("closed its output".to_owned(), end_text);
        HostError::SupervisorEnded(match stderr.as_str() {
            "" => how,
            stderr => format!("{how}: {stderr}"),
        })
    }

    /// What the child has written to its standard error so far, its end.
    pub(super) fn stderr_text(&self) -> String {
        printable(&self.stderr.text())
    }

    /// Whether the user interrupted; waits a moment, since the signal may arrive after the child's
    /// end.
    pub(super) fn is_interrupted(&self) -> bool {
        let mut fds = [PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut fds, PollTimeout::from(50u8)), Ok(1..))
    }

    /// Waits for a child that has closed its output.
    pub(super) fn wait_for_end(&mut self) -> ChildEnd {
        self.input = None;
        let deadline = Instant::now() + STDERR_TIMEOUT;
        let mut status = None;
        while status.is_none() && Instant::now() < deadline {
            status = self.child.try_wait().ok().flatten();
            std::thread::sleep(Duration::from_millis(1));
        }
        // Another process that holds its standard error (a persistent ssh connection) is not waited
        // for.
        while let Some(source) = self.stderr.source()
            && Instant::now() < deadline
            && {
                let mut fds = [PollFd::new(source, PollFlags::POLLIN)];
                matches!(poll(&mut fds, PollTimeout::from(100u8)), Ok(1..))
            }
        {
            self.stderr.read_available();
        }
        ChildEnd { status, stderr: printable(&self.stderr.text()) }
    }
}

/// How a process ended, as the end of a sentence. One that was asked to end exits with the status
/// of a shell for that signal.
pub(super) fn end_text(status: ExitStatus) -> String {
    let asked = status.code().and_then(end_signal_of_status);
    match (status.signal().or(asked), status.code()) {
        (Some(number), _) => match Signal::try_from(number) {
            Ok(signal) => format!("was ended by {}", signal.as_str()),
            Err(_) => format!("was ended by signal {number}"),
        },
        (None, Some(code)) => format!("ended with exit status {code}"),
        (None, None) => format!("ended: {status}"),
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> HostError {
    HostError::SupervisorEnded(format!("sent what cannot be read: {error}"))
}

/// Parses an event. If only its head is valid, the worker has failed and the session continues.
pub(super) fn parse_event(line: &[u8]) -> Result<Event, HostError> {
    serde_json::from_slice(line).or_else(|error| {
        let why = format!("invalid message from the worker: {error}");
        match serde_json::from_slice::<EventHead>(line) {
            Ok(head) => {
                Ok(Event::Failed { id: head.id, at_op: None, reason: why, errno: None, arm: None })
            }
            Err(error) => Err(HostError::InvalidMessage(error.to_string())),
        }
    })
}

/// Text of another program as one line: control characters and bidirectional formatting characters
/// are escaped.
pub(super) fn printable(text: &str) -> String {
    let lines = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
    let mut shown = String::new();
    for c in lines.collect::<Vec<_>>().join("; ").chars() {
        let is_mark = matches!(c, '\u{200e}' | '\u{200f}');
        let is_bidirectional = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match c.is_control() || is_mark || is_bidirectional {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests;
