//! A program run: one run of a program, with its companion and the commands before and after it.
//!
//! Two processes carry it out. The worker does everything that is not measured and owns the private
//! directory; a fork of it applies the treatments, starts the program and reads the clock. Each is
//! a subreaper, and no process is left when it has answered.

mod companion;
mod timing;

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use oscost_model::program::{Program, ProgramResult};
use oscost_model::protocol::{Event, EventHead, EventKind};
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::external_program::{
    self, ExternalProgram, SessionEnd, WaitLimit, WaitResult, quoted_command,
};
use super::leftovers;
use super::private_directory::PrivateDirectory;
use super::tree_counters::TreeCounters;
use crate::kernel::Errno;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::{self, Termination};
use crate::kernel::syscall;
use crate::supervisor::protocol::answer::Answer;
use crate::supervisor::protocol::failure::{describe_end, failure, refusal};
use crate::supervisor::protocol::io::read_some;
use crate::supervisor::trace::{form_tracer, tracer};
use crate::supervisor::treat;
use crate::treatments::Treatments;

/// The minimum time for the commands after a run, even if the run took all its time.
pub(super) const CLEANUP_TIME: Duration = Duration::from_secs(5);

/// Runs a program once, or counts its calls, as the order in `line` says.
pub(crate) fn run_program(id: u64, spec: &WorkerSpec, line: &[u8]) -> Answer {
    let Subject::Program(program) = &spec.subject else {
        return failure(id, "the subject of the order is not a program").into();
    };
    let deadline = Instant::now() + Duration::from_secs(program.limits.seconds.into());
    let run = ProgramRun { id, spec, line, program, deadline };
    if let Some(why) = treat::why_no_command(spec.treatments_of(0)) {
        return Event::Skipped { id, missing: why.to_owned(), arm: None }.into();
    }
    // If the supervisor is killed, this process must end what it has started: its input ends then.
    process::outlive_parent();
    let prepared = process::become_subreaper()
        .and_then(|()| PrivateDirectory::create(program))
        .map_err(|error| failure(id, format!("create a directory for the program: {error}")));
    let folders = match prepared {
        Ok(folders) => folders,
        Err(answer) => return answer.into(),
    };
    let answer = run.prepare_and_run().unwrap_or_else(Answer::from);
    let after = run.run_commands(
        "command after it: ",
        &program.after,
        WaitLimit {
            deadline: run.deadline.max(Instant::now() + CLEANUP_TIME),
            session: SessionEnd::Ignored,
        },
    );
    leftovers::kill_children();
    drop(folders);
    match after {
        Err(reason) if succeeded(&answer) => reason.into(),
        // The failure of the run itself is more useful.
        _ => answer,
    }
}

/// Whether a command that is not measured has succeeded.
fn is_zero(status: i32) -> bool {
    status == 0
}

/// Whether an answer is a success.
fn succeeded(answer: &Answer) -> bool {
    let Answer::Line(line) = answer else { return false };
    let head = serde_json::from_slice::<EventHead>(line);
    head.is_ok_and(|head| {
        matches!(
            head.event,
            EventKind::ProgramExited | EventKind::Counted | EventKind::FormsCounted
        )
    })
}

/// A program run in progress.
#[derive(Clone, Copy)]
pub(super) struct ProgramRun<'a> {
    pub(super) id: u64,
    pub(super) spec: &'a WorkerSpec,
    /// The line of the order.
    pub(super) line: &'a [u8],
    pub(super) program: &'a Program,
    pub(super) deadline: Instant,
}

impl ProgramRun<'_> {
    /// Runs everything except the commands after it.
    fn prepare_and_run(&self) -> Result<Answer, Event> {
        for (name, value) in &self.program.variables {
            self.set_variable(name, value.into())?;
        }
        let limit = WaitLimit { deadline: self.deadline, session: SessionEnd::Cancels };
        self.run_commands("command before it: ", &self.program.before, limit)?;
        let mut companion = match &self.program.companion {
            Some(companion) => Some(self.start_companion(companion)?),
            None => None,
        };
        let answer = self.run_in_fork(&mut companion);
        if let (Some(child), Some(companion)) = (companion, &self.program.companion) {
            self.end_companion(child, companion)?;
        }
        answer
    }

    pub(super) fn failure(&self, reason: &[&str]) -> Event {
        failure(self.id, reason.concat())
    }

    fn set_variable(&self, name: &str, value: OsString) -> Result<(), Event> {
        let set = process::set_environment_variable(name, &value);
        set.map_err(|_| self.failure(&["cannot set the variable `", name, "` to this value"]))
    }

    /// Runs one command after the other; each must succeed.
    pub(super) fn run_commands(
        &self,
        lead: &str,
        commands: &[Vec<String>],
        limit: WaitLimit,
    ) -> Result<(), Event> {
        for command in commands {
            let mut child = self.start_helper(lead, command)?;
            loop {
                match external_program::wait_for_event(Some(&mut child), None, limit) {
                    Ok(WaitResult::Exited) => break,
                    Ok(WaitResult::Output | WaitResult::Other) => {}
                    Ok(result) => {
                        process::kill_group(child.pid);
                        return Err(self.interruption(
                            lead,
                            command,
                            &child.output.last_output_clause(),
                            result,
                        ));
                    }
                    Err(error) => {
                        return Err(self.command_failure(lead, command, "waited for", error));
                    }
                }
            }
            let end = child
                .reap()
                .map_err(|error| self.command_failure(lead, command, "waited for", error))?;
            child.drain_output();
            self.check_end(lead, command, &child, end.termination, is_zero)?;
        }
        Ok(())
    }

    /// Starts a command that is not measured.
    fn start_helper(&self, lead: &str, command: &[String]) -> Result<ExternalProgram, Event> {
        let started = ExternalProgram::start(command);
        started.map_err(|error| self.command_failure(lead, command, "started", error))
    }

    fn command_failure(&self, lead: &str, command: &[String], act: &str, error: Errno) -> Event {
        self.failure(&[
            lead,
            &quoted_command(command),
            " cannot be ",
            act,
            ": ",
            &error.to_string(),
        ])
    }

    /// Checks that a command has exited with one of these statuses.
    fn check_end(
        &self,
        lead: &str,
        command: &[String],
        child: &ExternalProgram,
        termination: Termination,
        accepts: impl Fn(i32) -> bool,
    ) -> Result<(), Event> {
        match termination {
            Termination::Exited(status) if accepts(status) => Ok(()),
            _ => {
                let termination = external_program::describe_end(termination, &self.program.limits);
                let last = child.output.tail_clause(": ");
                Err(self.failure(&[lead, &quoted_command(command), " ", &termination, &last]))
            }
        }
    }

    /// The limit of output that is read, in MiB. In a warm-up it is higher, since the program's
    /// timed runs write to /dev/null: only a program that never stops writing is to be stopped.
    fn max_output_mib(&self) -> u32 {
        const MORE: u32 = 16;
        let warms = matches!(self.spec.task, Task::Run { warm_up: true, .. });
        let limit = self.program.limits.output_mib;
        if warms && !self.program.captures_output { limit.saturating_mul(MORE) } else { limit }
    }

    /// The event for a command that was stopped.
    pub(super) fn interruption(
        &self,
        lead: &str,
        command: &[String],
        last: &str,
        result: WaitResult,
    ) -> Event {
        let (seconds, output_mib) = (self.program.limits.seconds, self.max_output_mib());
        let subject = [lead, &quoted_command(command)].concat();
        match result {
            WaitResult::TimedOut => Event::TimedOut {
                id: self.id,
                after_ms: u64::from(seconds) * 1_000,
                reason: Some(format!("{subject} exceeded its time limit of {seconds} s{last}")),
            },
            WaitResult::Output => {
                failure(self.id, format!("{subject} exceeded its output limit of {output_mib} MiB"))
            }
            _ => self.failure(&[&subject, " was stopped before it had exited", last]),
        }
    }

    /// Runs the program, or counts its calls, in a fork, and reads the companion's output
    /// meanwhile.
    fn run_in_fork(&self, companion: &mut Option<ExternalProgram>) -> Result<Answer, Event> {
        let id = self.id;
        let counts = matches!(self.spec.task, Task::Count { .. } | Task::CountForms);
        // A counted program applies its treatments itself; its tracer has none.
        let applied = if counts { &[] } else { self.spec.treatments_of(0) };
        let lost = |error: Errno| failure(id, format!("read the result of the program: {error}"));
        let (mut reader, writer) = pipe().map_err(lost)?;
        let mut writer = Some(writer);
        let treatments = Treatments { applied, cpu: self.spec.cpu, arm: 0 };
        // Opened in the fork before its treatments: a filter of system calls may forbid that.
        let counters = Cell::new(None);
        let mut open_counters = || match &self.spec.task {
            Task::Run { counted, .. } if !counted.is_empty() => {
                counters.set(Some(TreeCounters::open(counted, self.spec.cpu)));
            }
            _ => {}
        };
        let started = treatments.start_prepared(&mut open_counters, &mut |_| {
            let answer = match self.spec.task {
                Task::Count { .. } => tracer::count(id, self.spec, self.line),
                Task::CountForms => form_tracer::count(id, self.spec, self.line),
                Task::Run { warm_up, .. } => {
                    let timed = self
                        .become_starter()
                        .and_then(|()| self.time_program(warm_up, counters.take(), None));
                    self.exit_event(timed).into()
                }
                Task::RunMarked { token } => {
                    // The mark comes after the failing start of `become_starter`: the next process
                    // that is created is the program.
                    let timed = self.become_starter().and_then(|()| {
                        syscall::mark_program_start(token);
                        self.time_program(false, None, None)
                    });
                    self.exit_event(timed).into()
                }
                _ => failure(id, "a program can only be run, or its calls counted").into(),
            };
            let line = match answer {
                Answer::Event(event) => serde_json::to_vec(&event).unwrap_or_default(),
                Answer::Line(line) => line,
                Answer::Sent => Vec::new(),
            };
            let written = writer.take().map(|mut writer: File| writer.write_all(&line));
            i32::from(!matches!(written, Some(Ok(()))))
        });
        let running = started.map_err(|reason| refusal(id, reason))?;
        drop(writer);
        // The fork stops a timed program itself, in time; a tracer only waits, and must be killed.
        let grace = if counts { Duration::ZERO } else { 2 * CLEANUP_TIME };
        let limit = WaitLimit { deadline: self.deadline + grace, session: SessionEnd::Cancels };
        let mut line = Vec::new();
        loop {
            match external_program::wait_for_event(companion.as_mut(), Some(reader.as_fd()), limit)
                .map_err(lost)?
            {
                WaitResult::Other => {
                    if read_some(&mut reader, &mut line).map_err(lost)? == 0 {
                        break;
                    }
                }
                WaitResult::Output | WaitResult::Exited => {}
                WaitResult::Cancelled if !counts => {
                    reader.read_to_end(&mut line).map_err(|error| lost(error.into()))?;
                    break;
                }
                result => return Err(self.interruption("", &self.program.command, "", result)),
            }
        }
        match running.wait() {
            Ok(Termination::Exited(0)) => Ok(Answer::Line(line)),
            Ok(termination) => {
                Err(self.failure(&["the worker ", &describe_end(termination, applied)]))
            }
            Err(reason) => Err(refusal(id, reason)),
        }
    }

    fn exit_event(&self, timed: Result<ProgramResult, Event>) -> Event {
        match timed {
            Ok(result) => Event::ProgramExited { id: self.id, result: Box::new(result) },
            Err(event) => event,
        }
    }
}
