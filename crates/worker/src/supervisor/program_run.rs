//! A trial: a program runs once, with what is done before, beside and after it.
//!
//! Two processes stand for a trial. The worker does all that is not measured and keeps the folders; a
//! fork of it takes the treatments, starts the program and reads the clock. Each takes in the
//! orphans of what it has started, and nothing of that is left when it has answered.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oscost_model::program::{CompanionProgram, Program, ProgramLimits, ProgramResult};
use oscost_model::protocol::{Event, EventHead, EventKind};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::answer::Answer;
use super::external_program::{
    self, Capture, ExternalProgram, SessionEnd, WaitLimit, WaitResult, quoted_command,
};
use super::failure::{describe_end, failure, refusal};
use super::io::{read_some, time_until};
use super::{tracer, treat};
use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::file::location;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process::usage;
use crate::kernel::process::{self, Termination, WaitTarget};
use crate::treatments::Treatments;

/// What a process that outlives the program may take to end by itself.
const ORPHAN_GRACE: Duration = Duration::from_millis(200);
/// What is done after a trial may take so long at least, even where the trial took all its time.
pub(super) const CLEANUP_TIME: Duration = Duration::from_secs(5);
/// What runs beside the program is ready by then.
const COMPANION_READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs a program once, or has its calls counted, as the order in `line` says.
pub(super) fn run_program(id: u64, spec: &WorkerSpec, line: &[u8]) -> Answer {
    let Subject::Program(program) = &spec.subject else {
        return failure(id, "a case is no program").into();
    };
    let deadline = Instant::now() + Duration::from_secs(program.limits.seconds.into());
    let trial = ProgramRun { id, spec, line, program, deadline };
    if spec.treatments_of(0).contains(&AppliedTreatment::Sud) {
        let missing = treat::NO_SUD.to_owned();
        return Event::Skipped { id, missing, arm: None }.into();
    }
    // What it has started would outlive a killed supervisor, but for us: the input ends then.
    process::outlive_parent();
    let prepared = process::become_subreaper()
        .and_then(|()| PrivateDirectory::create(program))
        .map_err(|error| failure(id, format!("make a folder for the trial: {error}")));
    let folders = match prepared {
        Ok(folders) => folders,
        Err(answer) => return answer.into(),
    };
    let answer = trial.prepare_and_run().unwrap_or_else(Answer::from);
    let after = trial.run_commands(
        "after it, ",
        &program.after,
        WaitLimit {
            deadline: trial.deadline.max(Instant::now() + CLEANUP_TIME),
            session: SessionEnd::Ignored,
        },
    );
    external_program::kill_children();
    drop(folders);
    match after {
        Err(why) if succeeded(&answer) => why.into(),
        // Why the trial itself failed says more.
        _ => answer,
    }
}

/// Whether an answer is that nothing was wrong.
fn succeeded(answer: &Answer) -> bool {
    let Answer::Line(line) = answer else { return false };
    let head = serde_json::from_slice::<EventHead>(line);
    head.is_ok_and(|head| matches!(head.event, EventKind::ProgramExited | EventKind::Counted))
}

/// The private folder of a trial, with one for temporary files and one to stand in.
struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Makes them, and goes where the program is to stand.
    fn create(program: &Program) -> Result<Self, Errno> {
        // By this name the supervisor removes it if we are killed.
        let made = Self(std::env::temp_dir().join(location::own_leftover_name()));
        let make = |folder: &PathBuf| DirBuilder::new().mode(0o700).create(folder);
        make(&made.0)?;
        let (temporary, here) = (made.0.join("tmp"), made.0.join("here"));
        make(&temporary)?;
        make(&here)?;
        process::set_environment_variable("TMPDIR", temporary.as_os_str())?;
        std::env::set_current_dir(program.working_directory.as_ref().map_or(here, PathBuf::from))?;
        Ok(made)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.0).is_err() {
            // Folders that nobody may write to, as some programs make them, hold what is in them.
            let mut command = Command::new("chmod");
            command.args(["-R", "u+rwx"]).arg(&self.0).stderr(Stdio::null());
            let _ = command.status();
            // What cannot be removed goes with the supervisor's own folder, if at all.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// A trial that goes on.
struct ProgramRun<'a> {
    id: u64,
    spec: &'a WorkerSpec,
    /// The order, as it came.
    line: &'a [u8],
    program: &'a Program,
    deadline: Instant,
}

impl ProgramRun<'_> {
    /// All that comes before what is done afterwards.
    fn prepare_and_run(&self) -> Result<Answer, Event> {
        for (name, value) in &self.program.variables {
            self.set_variable(name, value.into())?;
        }
        let to = WaitLimit { deadline: self.deadline, session: SessionEnd::Cancels };
        self.run_commands("before it, ", &self.program.before, to)?;
        let mut beside = match &self.program.companion {
            Some(beside) => Some(self.start_companion(beside)?),
            None => None,
        };
        let answer = self.run_in_fork(&mut beside);
        if let (Some(outside), Some(beside)) = (beside, &self.program.companion) {
            self.end_companion(outside, beside)?;
        }
        answer
    }

    fn failure(&self, why: &[&str]) -> Event {
        failure(self.id, why.concat())
    }

    fn set_variable(&self, name: &str, value: OsString) -> Result<(), Event> {
        let set = process::set_environment_variable(name, &value);
        set.map_err(|_| self.failure(&["the variable `", name, "` cannot be set to that"]))
    }

    /// Does one thing after the other, each of which must end well.
    fn run_commands(
        &self,
        lead: &str,
        commands: &[Vec<String>],
        to: WaitLimit,
    ) -> Result<(), Event> {
        for command in commands {
            let mut outside =
                self.start(lead, command, Capture::Both, &ProgramLimits::default())?;
            loop {
                match external_program::wait_for_event(Some(&mut outside), None, to) {
                    Ok(WaitResult::Exited) => break,
                    Ok(WaitResult::Output | WaitResult::Other) => {}
                    Ok(turn) => {
                        process::kill_group(outside.pid);
                        return Err(self.interruption(
                            lead,
                            command,
                            &outside.output.last_output_clause(),
                            turn,
                        ));
                    }
                    Err(error) => {
                        return Err(self.command_failure(lead, command, "waited for", error));
                    }
                }
            }
            let (how, ..) = outside
                .reap()
                .map_err(|error| self.command_failure(lead, command, "waited for", error))?;
            outside.drain_output();
            self.check_end(lead, command, (&outside, how), &[])?;
        }
        Ok(())
    }

    fn start(
        &self,
        lead: &str,
        command: &[String],
        reads: Capture,
        bounds: &ProgramLimits,
    ) -> Result<ExternalProgram, Event> {
        let started = ExternalProgram::start(command, reads, bounds);
        started.map_err(|error| self.command_failure(lead, command, "started", error))
    }

    fn command_failure(&self, lead: &str, command: &[String], what: &str, error: Errno) -> Event {
        self.failure(&[
            lead,
            &quoted_command(command),
            " cannot be ",
            what,
            ": ",
            &error.to_string(),
        ])
    }

    /// Whether a command ended as it should.
    fn check_end(
        &self,
        lead: &str,
        command: &[String],
        (outside, how): (&ExternalProgram, Termination),
        statuses: &[i32],
    ) -> Result<(), Event> {
        let statuses = if statuses.is_empty() { &[0] } else { statuses };
        match how {
            Termination::Exited(status) if statuses.contains(&status) => Ok(()),
            _ => {
                let how = external_program::describe_end(how, &self.program.limits);
                let last = outside.output.tail_clause(": ");
                Err(self.failure(&[lead, &quoted_command(command), " ", &how, &last]))
            }
        }
    }

    /// MiB that may be written to what is read. Of a warm-up that is more than goes to /dev/null in
    /// its trials: only who never ends is to be cut short.
    fn max_output_mib(&self) -> u32 {
        const MORE: u32 = 16;
        let warms = matches!(self.spec.task, Task::Run { warm_up: true });
        let limit = self.program.limits.output_mib;
        if warms && !self.program.captures_output { limit.saturating_mul(MORE) } else { limit }
    }

    /// What is said of a command that was not let come to its end.
    fn interruption(&self, lead: &str, command: &[String], last: &str, turn: WaitResult) -> Event {
        let (seconds, output_mib) = (self.program.limits.seconds, self.max_output_mib());
        let subject = [lead, &quoted_command(command)].concat();
        match turn {
            WaitResult::TimedOut => Event::TimedOut {
                id: self.id,
                after_ms: u64::from(seconds) * 1_000,
                reason: Some(format!("{subject} took longer than its limit of {seconds} s{last}")),
            },
            WaitResult::Output => {
                failure(self.id, format!("{subject} wrote more than its limit of {output_mib} MiB"))
            }
            _ => self.failure(&[&subject, " was stopped before it had ended", last]),
        }
    }

    /// Starts what is to run beside the program, and waits for its first line.
    fn start_companion(&self, beside: &CompanionProgram) -> Result<ExternalProgram, Event> {
        let (lead, command) = ("beside it, ", &beside.command);
        let mut outside = self.start(lead, command, Capture::Both, &ProgramLimits::default())?;
        let ready_by = Instant::now() + COMPANION_READY_TIMEOUT;
        let deadline = self.deadline.min(ready_by);
        let to = WaitLimit { deadline, session: SessionEnd::Cancels };
        let line = loop {
            if let Some(line) = outside.output.first_line() {
                break line;
            }
            match external_program::wait_for_event(Some(&mut outside), None, to) {
                Ok(WaitResult::Output | WaitResult::Other) => {}
                // What it said last may be the line.
                Ok(WaitResult::Exited) => {
                    outside.drain_output();
                    match outside.output.first_line() {
                        Some(line) => break line,
                        None => return Err(self.companion_failure(beside, &outside)),
                    }
                }
                Ok(WaitResult::TimedOut) if deadline == ready_by => {
                    let last = outside.output.last_output_clause();
                    let words = " has written no line within 30 s";
                    return Err(self.failure(&[lead, &quoted_command(command), words, &last]));
                }
                Ok(turn) => {
                    return Err(self.interruption(
                        lead,
                        command,
                        &outside.output.last_output_clause(),
                        turn,
                    ));
                }
                Err(error) => return Err(self.command_failure(lead, command, "waited for", error)),
            }
        };
        if !beside.variable.is_empty() {
            let value = [beside.prefix.as_bytes(), &line].concat();
            self.set_variable(&beside.variable, OsString::from_vec(value))?;
        }
        Ok(outside)
    }

    /// What ran beside the program has ended before it was ready.
    fn companion_failure(&self, beside: &CompanionProgram, outside: &ExternalProgram) -> Event {
        let (lead, command) = ("beside it, ", &beside.command);
        match outside.reap() {
            Ok((Termination::Exited(0), ..)) => {
                self.failure(&[lead, &quoted_command(command), " ended and has written no line"])
            }
            Ok((how, ..)) => match self.check_end(lead, command, (outside, how), &[]) {
                Err(why) => why,
                Ok(()) => self.failure(&[lead, &quoted_command(command)]),
            },
            Err(error) => self.command_failure(lead, command, "waited for", error),
        }
    }

    /// Ends what ran beside the program. That it had to be ended is as it should be, and so is that
    /// it ended well.
    fn end_companion(
        &self,
        mut outside: ExternalProgram,
        beside: &CompanionProgram,
    ) -> Result<(), Event> {
        let early = process::wait(WaitTarget::Child(outside.pid), false);
        process::kill_group(outside.pid);
        match early {
            Ok(Some((_, how))) => {
                outside.drain_output();
                self.check_end("beside it, ", &beside.command, (&outside, how), &[])
            }
            _ => Ok(()),
        }
    }

    /// Has the program run, or its calls counted, by a process of its own, and takes in meanwhile
    /// what is said beside it.
    fn run_in_fork(&self, beside: &mut Option<ExternalProgram>) -> Result<Answer, Event> {
        let id = self.id;
        let counts = matches!(self.spec.task, Task::Count { .. });
        // Who is counted takes its treatments itself, and its tracer has none.
        let applied = if counts { &[] } else { self.spec.treatments_of(0) };
        let lost = |error: Errno| failure(id, format!("hear from the trial: {error}"));
        let (mut heard, says) = pipe().map_err(lost)?;
        let mut says = Some(says);
        let treatments = Treatments { applied, cpu: self.spec.cpu, arm: 0 };
        let started = treatments.start(&mut |_| {
            let answer = match self.spec.task {
                Task::Count { .. } => tracer::count(id, self.spec, self.line),
                Task::Run { warm_up: warms } => {
                    self.time_program(warms).unwrap_or_else(|event| event).into()
                }
                _ => failure(id, "a program can be run, or its calls be counted").into(),
            };
            let line = match answer {
                Answer::Event(event) => serde_json::to_vec(&event).unwrap_or_default(),
                Answer::Line(line) => line,
                Answer::Sent => Vec::new(),
            };
            let said = says.take().map(|mut says: File| says.write_all(&line));
            i32::from(!matches!(said, Some(Ok(()))))
        });
        let running = started.map_err(|why| refusal(id, why))?;
        drop(says);
        // Who runs the program ends it by itself, in time; a tracer only waits for it, and ends it by
        // being killed.
        let grace = if counts { Duration::ZERO } else { 2 * CLEANUP_TIME };
        let to = WaitLimit { deadline: self.deadline + grace, session: SessionEnd::Cancels };
        let mut line = Vec::new();
        loop {
            match external_program::wait_for_event(beside.as_mut(), Some(heard.as_fd()), to)
                .map_err(lost)?
            {
                WaitResult::Other => {
                    if read_some(&mut heard, &mut line).map_err(lost)? == 0 {
                        break;
                    }
                }
                WaitResult::Output | WaitResult::Exited => {}
                WaitResult::Cancelled if !counts => {
                    heard.read_to_end(&mut line).map_err(|error| lost(error.into()))?;
                    break;
                }
                turn => return Err(self.interruption("", &self.program.command, "", turn)),
            }
        }
        match running.wait() {
            Ok(Termination::Exited(0)) => Ok(Answer::Line(line)),
            Ok(how) => Err(self.failure(&["the worker ", &describe_end(how, applied)])),
            Err(why) => Err(refusal(id, why)),
        }
    }

    /// Runs the program in this process's name.
    fn time_program(&self, warms: bool) -> Result<Event, Event> {
        let (id, program) = (self.id, self.program);
        process::become_subreaper()
            .map_err(|error| failure(id, format!("take in orphans: {error}")))?;
        if let Some(cpu) = self.spec.cpu {
            affinity::pin(cpu)
                .map_err(|error| failure(id, format!("pin to CPU {cpu}: {error}")))?;
        }
        let (command, limits) = (&program.command, &program.limits);
        let is_read = warms || program.captures_output;
        let reads = if is_read { Capture::Both } else { Capture::Stderr };
        // A fork copies each page that it writes to for the first time. What it takes to start a
        // program is done once for nothing, so that the clock does not run meanwhile.
        let _ = ExternalProgram::start(&[String::new()], reads, &ProgramLimits::default());
        let mut outside = self.start("", command, reads, limits)?;
        let most_bytes = u64::from(self.max_output_mib()) << 20;
        let to = WaitLimit { deadline: self.deadline, session: SessionEnd::Cancels };
        let ended = loop {
            match external_program::wait_for_event(Some(&mut outside), None, to) {
                Ok(WaitResult::Exited) => break outside.reap(),
                Ok(WaitResult::Output) if outside.output.bytes <= most_bytes => {}
                Ok(turn) => {
                    process::kill_group(outside.pid);
                    external_program::kill_children();
                    return Err(self.interruption(
                        "",
                        command,
                        &outside.output.last_output_clause(),
                        turn,
                    ));
                }
                Err(error) => break Err(error),
            }
        };
        let ended = ended.inspect_err(|_| drop(external_program::kill_children()));
        let (how, mut usage, ended_ns) =
            ended.map_err(|error| self.command_failure("", command, "waited for", error))?;
        let farewell =
            WaitLimit { deadline: Instant::now() + ORPHAN_GRACE, session: SessionEnd::Ignored };
        while let Ok(left) = usage::wait(WaitTarget::Any, false) {
            match left {
                Some((_, of_orphan)) => usage = usage.merged_with(of_orphan),
                None if time_until(farewell.deadline).is_zero() => break,
                None => {
                    let soon = Instant::now() + Duration::from_millis(1);
                    let to = WaitLimit { deadline: soon, ..farewell };
                    // They may speak until then, and whoever is not listened to waits.
                    let _ = external_program::wait_for_event(Some(&mut outside), None, to);
                }
            }
        }
        let names = external_program::kill_children();
        outside.drain_output();
        if outside.output.bytes > most_bytes {
            return Err(self.interruption("", command, "", WaitResult::Output));
        }
        self.check_end("", command, (&outside, how), &program.ok_statuses)?;
        if let Some(left) = external_program::describe_leftovers(&names) {
            return Err(self.failure(&[&quoted_command(command), " ", &left]));
        }
        let ran = ProgramResult {
            real_ns: ended_ns.saturating_sub(outside.started_ns),
            usage,
            lines: is_read.then(|| outside.output.line_count()),
            output: outside.output.tail_text(),
        };
        Ok(Event::ProgramExited { id, result: Box::new(ran) })
    }
}
