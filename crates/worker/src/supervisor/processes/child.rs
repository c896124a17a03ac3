//! A job's process, as the supervisor handles it.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use oscost_model::protocol::{Event, EventHead, EventKind, Order};

use super::command;
use super::program_run::CLEANUP_TIME;
use super::undo::Undo;
use crate::kernel::Errno;
use crate::kernel::event::poll;
use crate::kernel::ipc::channels;
use crate::kernel::process::signal;
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};
use crate::supervisor::protocol::io::{read_some, time_until};
use crate::supervisor::protocol::line_reader::LineReader;

/// Maximum number of bytes kept of a job's standard error.
const MAX_STDERR_BYTES: usize = 2_000;

/// No run is longer: a forgotten attached treatment is ended then.
const MAX_ATTACH_TIME: Duration = Duration::from_secs(24 * 3_600);

/// A result of reading from a job.
pub(crate) enum Step {
    /// A line of the job, without newline, to be forwarded.
    Line(Vec<u8>),
    /// An event to be sent on its behalf.
    Event(Event),
    /// It has given its answer, or has ended.
    Done,
}

/// A running job.
pub(crate) struct JobProcess {
    pub(crate) id: u64,
    /// It serves the peer's end for a worker on another machine.
    pub(crate) is_server: bool,
    /// It has work to do at its end that only it can do: to detach a treatment, to run the commands
    /// that follow a program, or to let go of a process.
    needs_cleanup: bool,
    pid: u32,
    deadline: Instant,
    limit: Duration,
    input: Option<ChildStdin>,
    output: ChildStdout,
    errors: Option<ChildStderr>,
    lines: LineReader,
    stderr_tail: Vec<u8>,
    answered: bool,
}

impl JobProcess {
    /// Starts the process of a job, in a process group of its own, and sends it the line of its
    /// order.
    pub(crate) fn start(order: &Order, line: &[u8], undo: &mut Undo) -> Result<JobProcess, Errno> {
        let limit = match order {
            Order::Measure { spec, .. } | Order::Count { spec, .. } | Order::Serve { spec, .. } => {
                Duration::from_millis(spec.timeout_ms)
            }
            Order::Probe { spin_ms, .. } => Duration::from_millis(spin_ms + 10_000),
            // Detaching takes a second at most.
            Order::CountProcess { for_ms, .. } => {
                Duration::from_millis(for_ms.saturating_add(10_000))
            }
            // It sleeps for as long as the tool probes.
            Order::Watch { .. } => Duration::from_secs(60),
            // It stays attached for as long as a run lasts.
            Order::Attach { .. } => MAX_ATTACH_TIME,
            _ => Duration::from_secs(10),
        };
        let mut command = command::job_command(order, undo);
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        undo.add_group(child.id());
        if let Order::Attach { treatments, .. } = order {
            // It changes nothing before it reads the order.
            undo.add_attaching_group(child.id(), treatments);
        }
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Errno::EINVAL); // Both are piped above.
        };
        let mut started = JobProcess {
            id: order.id(),
            is_server: matches!(order, Order::Serve { .. }),
            needs_cleanup: matches!(order, Order::Attach { .. } | Order::CountProcess { .. })
                || command::spec(order).is_some_and(command::runs_program),
            pid: child.id(),
            deadline: Instant::now() + limit,
            limit,
            input: Some(input),
            output,
            errors: child.stderr.take(),
            lines: LineReader::default(),
            stderr_tail: Vec::new(),
            answered: false,
        };
        started.send_line(line);
        Ok(started)
    }

    /// Sends a line to the job. A job that has closed its input has ended, which its output shows.
    pub(crate) fn send_line(&mut self, line: &[u8]) {
        if let Some(input) = &mut self.input {
            let line = [line, b"\n"].concat();
            // A wrapper may never read its input: this must not block the other jobs.
            channels::grow_pipe(&*input, line.len());
            if input.write_all(&line).is_err() {
                self.input = None;
            }
        }
    }

    /// The descriptors to poll: its events and its standard error.
    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        let errors = self.errors.as_ref().map_or(self.output.as_fd(), AsFd::as_fd);
        [self.output.as_fd(), errors]
    }

    /// The time left until its timeout.
    pub(crate) fn time_left(&self) -> Duration {
        time_until(self.deadline)
    }

    /// Reads the available output.
    pub(crate) fn read_events(&mut self, readable: &[bool]) -> Vec<Step> {
        let mut steps = Vec::new();
        if readable.get(1) == Some(&true) {
            self.read_stderr();
        }
        if readable.first() == Some(&true) {
            match self.lines.read_from(&mut self.output) {
                Ok(more) => {
                    while let Some(line) = self.lines.next_line() {
                        if self.answered {
                            break; // It has answered; the rest is ignored.
                        }
                        steps.push(self.check_line(line));
                    }
                    if self.answered || !more {
                        self.report_end(&mut steps);
                        steps.push(Step::Done);
                    }
                }
                Err(error) => {
                    self.answered = true;
                    steps.push(Step::Event(
                        self.failure(format!("cannot read the events of the worker: {error}")),
                    ));
                    steps.push(Step::Done);
                }
            }
        }
        if !self.answered && self.time_left().is_zero() {
            self.answered = true;
            let after_ms = self.limit.as_millis() as u64;
            steps.push(Step::Event(Event::TimedOut { id: self.id, after_ms, reason: None }));
            steps.push(Step::Done);
        }
        steps
    }

    /// Parses the head of a line of the job; an invalid line becomes a failure.
    fn check_line(&mut self, line: Vec<u8>) -> Step {
        match serde_json::from_slice::<EventHead>(&line) {
            Ok(head) if head.id == self.id => {
                self.answered = !matches!(head.event, EventKind::Ready | EventKind::BatchesDone);
                Step::Line(line)
            }
            Ok(_) => {
                self.answered = true;
                Step::Event(self.failure("the worker answered for another job".to_owned()))
            }
            Err(error) => {
                self.answered = true;
                Step::Event(self.failure(format!("cannot parse an event of the worker: {error}")))
            }
        }
    }

    /// Reports how a job ended that gave no answer.
    fn report_end(&mut self, steps: &mut Vec<Step>) {
        if self.answered {
            return;
        }
        self.answered = true;
        // Its output has ended, but it may still be exiting: on a busy machine, or while its memory
        // is dumped, for longer than a slice.
        const PAUSE: Duration = Duration::from_millis(10);
        const PAUSES: u32 = 50;
        let mut ended = process::wait(WaitTarget::Child(self.pid), false);
        for _ in 0..PAUSES {
            if !matches!(ended, Ok(None)) {
                break;
            }
            std::thread::sleep(PAUSE);
            ended = process::wait(WaitTarget::Child(self.pid), false);
        }
        let end = match ended {
            Ok(Some(EndedChild { termination: Termination::Killed(by), .. })) => {
                format!("the worker was killed by {}", signal::name(by))
            }
            Ok(Some(EndedChild { termination: Termination::Exited(status), .. })) => {
                format!("the worker exited without an answer, with status {status}")
            }
            _ => "the worker closed its output without an answer".to_owned(),
        };
        self.read_stderr();
        let words = String::from_utf8_lossy(&self.stderr_tail);
        let words: Vec<&str> =
            words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let reason = if words.is_empty() { end } else { format!("{end}: {}", words.join("; ")) };
        steps.push(Step::Event(self.failure(reason)));
    }

    fn failure(&self, reason: String) -> Event {
        Event::Failed { id: self.id, at_op: None, reason, errno: None, arm: None }
    }

    /// Reads what is available of the job's standard error.
    fn read_stderr(&mut self) {
        let Some(errors) = &mut self.errors else { return };
        let ready = poll::readable(&[errors.as_fd()], Some(Duration::ZERO));
        if ready.is_ok_and(|ready| ready[0])
            && !matches!(read_some(errors, &mut self.stderr_tail), Ok(1..))
        {
            self.errors = None;
        }
        self.stderr_tail.truncate(MAX_STDERR_BYTES);
    }

    /// Closes its input, at the end of the session.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until a job has cleaned up after itself. Its answer comes last; a job that gives none
    /// is killed later.
    pub(crate) fn wait_for_cleanup(&mut self) {
        let deadline = Instant::now() + CLEANUP_TIME;
        let ready = |output: &ChildStdout| {
            let readable = poll::readable(&[output.as_fd()], Some(time_until(deadline)));
            readable.is_ok_and(|ready| ready[0])
        };
        while self.needs_cleanup && !self.answered && ready(&self.output) {
            if !matches!(self.lines.read_from(&mut self.output), Ok(true)) {
                return;
            }
            while let Some(line) = self.lines.next_line() {
                // The tool no longer reads: all that matters is whether this was the answer.
                let _ = self.check_line(line);
            }
        }
    }

    /// Kills the job's process group and reaps it.
    pub(crate) fn end(&mut self, undo: &mut Undo) {
        self.input = None;
        undo.end_group(self.pid);
    }
}
